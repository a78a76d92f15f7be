"""`metropolis`, `hmc` and `nuts` against the same loops in C, on five posteriors of the book.

Both sides consume the same stream of PCG64, so their draws agree, which is checked. The C loop has
the density inlined and is compiled four ways; the fastest counts. The library is timed as a user
calls it, checks and allocation included. Runs alternate; the least of each is compared.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
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
    libraries = {}
    for i, (name, flags) in enumerate(VARIANTS.items()):
        path = Path(folder) / f"limit{i}.so"
        command = ["gcc", *flags.split(), "-shared", "-fPIC", f"-I{np.get_include()}"]
        command += [_python_include(), str(source), str(random), "-lm", "-o", str(path)]
        subprocess.run(command, check=True)
        libraries[name] = ctypes.CDLL(str(path))
    return libraries


def _python_include():
    import sysconfig

    return f"-I{sysconfig.get_path('include')}"


def _pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def c_data(target):
    """Return the target's data as limit.c takes them, and the arrays to keep alive."""
    arrays = [np.atleast_1d(np.asarray(a, dtype=float)).copy() for a in target.data]
    pointers = [array.ctypes.data for array in arrays] + [None] * (4 - len(arrays))
    rows = arrays[0].shape[0] if arrays else 0
    return Data(target.dim, rows, *pointers), arrays


def c_walk(library, case, target, start):
    """Return a function without arguments that runs the C loop of `metropolis`."""
    data, arrays = c_data(target)
    n, dim = case.num_steps, target.dim

    def call():
        rng = np.random.default_rng(1)
        values, logdensity, rates = np.empty((n, dim)), np.empty(n), np.empty(n)
        accepted, scales = np.empty(n, dtype=bool), np.full(dim, case.scale)
        outputs = [_pointer(a) for a in (values, logdensity, rates, accepted)]
        library[f"walk_{case.in_c}"](
            ctypes.byref(data), rng.bit_generator.ctypes.bit_generator, _pointer(start),
            _pointer(scales), ctypes.c_long(n), *outputs,
        )  # fmt: skip
        return values

    call.arrays = arrays
    return call


def c_hmc(library, case, target, start):
    """The same for `hmc`."""
    data, arrays = c_data(target)
    n, dim = case.num_draws, target.dim

    def call():
        rng = np.random.default_rng(1)
        values, numbers = np.empty((n, dim)), np.empty((5, n))
        taken, flags = np.empty(n, dtype=np.int64), np.empty((2, n), dtype=bool)
        metric = np.ones(dim)
        outputs = [_pointer(a) for a in (values, numbers, taken, flags[0], flags[1])]
        library[f"hmc_{case.in_c}"](
            ctypes.byref(data), rng.bit_generator.ctypes.bit_generator, _pointer(start),
            _pointer(metric), ctypes.c_double(case.step_size), ctypes.c_long(LEAPFROGS),
            ctypes.c_long(n), *outputs,
        )  # fmt: skip
        return values

    call.arrays = arrays
    return call


def c_nuts(library, case, target, start):
    """The same for `nuts`."""
    data, arrays = c_data(target)
    n, dim = case.num_draws, target.dim

    def call():
        rng = np.random.default_rng(1)
        values, numbers = np.empty((n, dim)), np.empty((4, n))
        whole, flags = np.empty((2, n), dtype=np.int64), np.empty((2, n), dtype=bool)
        root = np.ones(dim)
        outputs = [_pointer(a) for a in (values, numbers, whole, flags)]
        library[f"nuts_{case.in_c}"](
            ctypes.byref(data), rng.bit_generator.ctypes.bit_generator, _pointer(start),
            _pointer(root), ctypes.c_double(case.nuts_step_size), ctypes.c_long(n), *outputs,
        )  # fmt: skip
        return values

    call.arrays = arrays
    return call


def contestants(algorithm, name, libraries):
    """Return {name: function without arguments that returns the draws}, and its steps."""
    case = TARGETS[name]
    target = case.make()
    start = np.full(target.dim, 0.1)
    options = {"num_warmup": 0, "num_chains": 1, "rng": 1, "progress": False}
    draws, steps = case.num_draws, case.num_draws * LEAPFROGS
    if algorithm == "metropolis":
        steps, in_c = case.num_steps, c_walk

        def ours():
            return metropolis(target, start, scale=case.scale, num_samples=steps, **options)

    elif algorithm == "hmc":
        in_c = c_hmc

        def ours():
            return hmc(
                target, start, step_size=case.step_size, num_steps=LEAPFROGS, num_samples=draws,
                **options,
            )  # fmt: skip

    else:
        in_c = c_nuts

        def ours():
            return nuts(target, start, step_size=case.nuts_step_size, num_samples=draws, **options)

        steps = int(ours().stats["n_steps"].sum())
    calls = {"bayeslib": lambda: ours().values[0]}
    return calls | {k: in_c(lib, case, target, start) for k, lib in libraries.items()}, steps


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
