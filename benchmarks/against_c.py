"""`metropolis`, `hmc` and `nuts` against the same loops in C, on five posteriors of the book.

Both sides consume the same stream of PCG64, so their draws agree, which is checked. The C loop has
the density inlined and is compiled four ways; the fastest counts. The library is timed as a user
calls it, checks and allocation included. Runs alternate; the least of each is compared.
"""

import ctypes
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from bayeslib import hmc, metropolis, nuts
from bayeslib.posteriors import eight_schools, funnel, gaussian, logistic_regression

LIMIT = 1.25  # the library may take this many times as long
ROUNDS = 15
LEAPFROGS = 20
FAST = "-fno-math-errno -fno-trapping-math -fno-signed-zeros -fassociative-math -freciprocal-math"
VARIANTS = {
    "O3": "-O3 -march=native -fno-math-errno",
    "O3 fast": f"-O3 -march=native {FAST}",
    "O2": "-O2 -march=native -fno-math-errno",
    "Ofast": "-Ofast -march=native",
}


def rows_of_25():
    """A logistic regression with 1,000 rows and 25 columns."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 25))
    y = (rng.random(1000) < 1 / (1 + np.exp(-X @ (0.5 * rng.standard_normal(25))))).astype(float)
    return logistic_regression(X, y, prior_scale=1.0)


def chain_of_100():
    """A Gaussian of 100 dimensions, correlated like a time series."""
    distance = np.abs(np.subtract.outer(np.arange(100), np.arange(100)))
    return gaussian(np.zeros(100), 0.9**distance)


@dataclass(frozen=True)
class Case:
    """A posterior, the functions of limit.c for it, and what to run."""

    make: Callable
    in_c: str
    scale: float
    step_size: float
    nuts_step_size: float
    num_steps: int  # of Metropolis
    num_draws: int  # of hmc and nuts, so many that the checks before a run do not count


TARGETS = {
    "gaussian": Case(
        lambda: gaussian([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]]),
        "gaussian",
        0.8,
        0.1,
        0.3,
        1_000_000,
        400_000,
    ),
    "funnel": Case(lambda: funnel(10), "funnel", 0.3, 0.02, 0.1, 1_000_000, 200_000),
    "schools": Case(
        lambda: eight_schools(centered=False), "schools", 0.4, 0.2, 0.4, 1_000_000, 200_000
    ),
    "logistic": Case(rows_of_25, "logistic", 0.02, 0.02, 0.05, 20_000, 1_000),
    "gaussian100": Case(chain_of_100, "gaussian", 0.05, 0.1, 0.2, 40_000, 10_000),
}


class Data(ctypes.Structure):
    """Mirror of data_t in limit.c."""

    _fields_ = [("dim", ctypes.c_long), ("num_rows", ctypes.c_long)] + [
        (name, ctypes.c_void_p) for name in "abcd"
    ]


def build(folder):
    """Compile limit.c once for each set of flags."""
    source = Path(__file__).with_name("limit.c")
    random = Path(np.__file__).parent / "random" / "lib" / "libnpyrandom.a"
    headers = [f"-I{path}" for path in (np.get_include(), sysconfig.get_path("include"))]
    libraries = {}
    for i, (name, flags) in enumerate(VARIANTS.items()):
        path = Path(folder) / f"limit{i}.so"
        command = ["gcc", *flags.split(), "-shared", "-fPIC", *headers, str(source), str(random)]
        command += ["-lm", "-o", str(path)]
        subprocess.run(command, check=True)
        libraries[name] = ctypes.CDLL(str(path))
    return libraries


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data if array.size else None)


def c_data(target):
    """Return the target's data as limit.c takes them, and the arrays to keep alive."""
    arrays = [np.atleast_1d(np.asarray(a, dtype=float)).copy() for a in target.data]
    pointers = [array.ctypes.data for array in arrays] + [None] * (4 - len(arrays))
    rows = arrays[0].shape[0] if arrays else 0
    return Data(target.dim, rows, *pointers), arrays


# What each loop of limit.c writes beside the draws.
OUTPUTS = {
    "metropolis": lambda n: (*np.empty((2, n)), np.empty(n, dtype=bool)),
    "hmc": lambda n: (
        np.empty((5, n)), np.empty(n, dtype=np.int64), *np.empty((2, n), dtype=bool),
    ),
    "nuts": lambda n: (
        np.empty((4, n)), np.empty((2, n), dtype=np.int64), np.empty((2, n), dtype=bool),
    ),
}  # fmt: skip


def contestants(algorithm, name, libraries):
    """Return {name: function without arguments that returns the draws}, and its steps."""
    case = TARGETS[name]
    target = case.make()
    start = np.full(target.dim, 0.1)
    data, arrays = c_data(target)
    run, loop, n, options, scale, settings = {
        "metropolis": (metropolis, "walk", case.num_steps, {"scale": case.scale}, case.scale, ()),
        "hmc": (
            hmc, "hmc", case.num_draws, {"step_size": case.step_size, "num_steps": LEAPFROGS}, 1.0,
            (ctypes.c_double(case.step_size), ctypes.c_long(LEAPFROGS)),
        ),
        "nuts": (
            nuts, "nuts", case.num_draws, {"step_size": case.nuts_step_size}, 1.0,
            (ctypes.c_double(case.nuts_step_size),),
        ),
    }[algorithm]  # fmt: skip
    options |= {"num_warmup": 0, "num_chains": 1, "rng": 1, "progress": False}

    def ours():
        return run(target, start, num_samples=n, **options)

    def in_c(library):
        rng, scales = np.random.default_rng(1), np.full(target.dim, scale)
        outputs = (np.empty((n, target.dim)), *OUTPUTS[algorithm](n))
        getattr(library, f"{loop}_{case.in_c}")(
            ctypes.byref(data), rng.bit_generator.ctypes.bit_generator, pointer(start),
            pointer(scales), *settings, ctypes.c_long(n), *map(pointer, outputs),
        )  # fmt: skip
        return outputs[0]

    in_c.arrays = arrays  # `data` points to them
    calls = {"bayeslib": lambda: ours().values[0]}
    calls |= {name: partial(in_c, library) for name, library in libraries.items()}
    if algorithm == "nuts":
        return calls, int(ours().stats["n_steps"].sum())
    return calls, n * (LEAPFROGS if algorithm == "hmc" else 1)


def compare(calls):
    """Return the least seconds of processor time of each call, interleaved."""
    reference = calls["bayeslib"]()[:20]
    for name, call in calls.items():
        np.testing.assert_allclose(call()[:20], reference, rtol=1e-6, err_msg=name)
    seconds = dict.fromkeys(calls, np.inf)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            began = time.process_time()
            call()
            seconds[name] = min(seconds[name], time.process_time() - began)
    return seconds


def measure():
    """Print the table; return its rows, or None where there is no compiler."""
    if shutil.which("gcc") is None:
        print("against_c: gcc is not installed; skipped")
        return None
    rows = []
    print(f"{'':24}{'bayeslib':>10}{'C, best':>10}   ns a step (leapfrog)")
    with tempfile.TemporaryDirectory() as folder:
        libraries = build(folder)
        for algorithm in ("metropolis", "hmc", "nuts"):
            for name in TARGETS:
                calls, steps = contestants(algorithm, name, libraries)
                seconds = compare(calls)
                ns = {key: 1e9 * value / steps for key, value in seconds.items()}
                ours = ns.pop("bayeslib")
                best = min(ns, key=ns.get)
                ratio = ours / ns[best]
                verdict = "" if ratio <= LIMIT else f"  above {LIMIT}"
                print(f"{algorithm:12}{name:12}{ours:10.1f}{ns[best]:10.1f}   {ratio:.2f} × C"
                      f" ({best}){verdict}")  # fmt: skip
                rows.append({
                    "algorithm": algorithm, "target": name, "bayeslib_ns": round(ours, 2),
                    "c_ns": {key: round(value, 2) for key, value in ns.items()},
                    "ratio": round(ratio, 3),
                })  # fmt: skip
    return rows
