"""`metropolis` and `hmc` against the same loops in C, on three posteriors of the book.

Both sides consume the same stream of PCG64, so their draws agree, which is checked. The C loop has
the density inlined and is compiled four ways; the fastest counts. The library is timed as a user
calls it, checks and allocation included. Runs alternate; the least of each is compared.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from bayeslib import hmc, metropolis
from bayeslib.posteriors import eight_schools, funnel, gaussian

LIMIT = 1.3  # the library may take this many times as long
ROUNDS = 15
LEAPFROGS = 20
FAST = "-fno-math-errno -fno-trapping-math -fno-signed-zeros -fassociative-math -freciprocal-math"
VARIANTS = {
    "O3": "-O3 -march=native -fno-math-errno",
    "O3 fast": f"-O3 -march=native {FAST}",
    "O2": "-O2 -march=native -fno-math-errno",
    "Ofast": "-Ofast -march=native",
}
TARGETS = {
    "gaussian": (lambda: gaussian([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]]), 0.8, 0.1),
    "funnel": (lambda: funnel(10), 0.3, 0.02),
    "schools": (lambda: eight_schools(centered=False), 0.4, 0.2),
}
WALK_STEPS, HMC_DRAWS = 1_000_000, 100_000


class Data(ctypes.Structure):
    """Mirror of data_t in limit.c."""

    _fields_ = [("dim", ctypes.c_long), ("num_rows", ctypes.c_long)] + [
        (name, ctypes.c_void_p) for name in "abc"
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
    pointers = [array.ctypes.data for array in arrays] + [None] * (3 - len(arrays))
    rows = arrays[0].size if arrays else 0
    return Data(target.dim, rows, *pointers), arrays


def c_walk(library, name, target, start, scale):
    data, arrays = c_data(target)
    function = library[f"walk_{name}"]

    def call():
        n, dim = WALK_STEPS, target.dim
        rng = np.random.default_rng(1)
        values, logdensity, rates = np.empty((n, dim)), np.empty(n), np.empty(n)
        accepted, scales = np.empty(n, dtype=bool), np.full(dim, scale)
        outputs = [_pointer(a) for a in (values, logdensity, rates, accepted)]
        function(
            ctypes.byref(data), rng.bit_generator.ctypes.bit_generator, _pointer(start),
            _pointer(scales), ctypes.c_long(n), *outputs,
        )  # fmt: skip
        return values

    call.arrays = arrays
    return call


def c_hmc(library, name, target, start, step_size):
    data, arrays = c_data(target)
    function = library[f"hmc_{name}"]

    def call():
        n, dim = HMC_DRAWS, target.dim
        rng = np.random.default_rng(1)
        values, numbers = np.empty((n, dim)), np.empty((5, n))
        taken, flags = np.empty(n, dtype=np.int64), np.empty((2, n), dtype=bool)
        metric = np.ones(dim)
        outputs = [_pointer(a) for a in (values, numbers, taken, flags[0], flags[1])]
        function(
            ctypes.byref(data), rng.bit_generator.ctypes.bit_generator, _pointer(start),
            _pointer(metric), ctypes.c_double(step_size), ctypes.c_long(LEAPFROGS),
            ctypes.c_long(n), *outputs,
        )  # fmt: skip
        return values

    call.arrays = arrays
    return call


def contestants(algorithm, name, libraries):
    """Return {name: function without arguments that returns the draws}, and its steps."""
    make, scale, step_size = TARGETS[name]
    target = make()
    start = np.full(target.dim, 0.1)
    options = {"num_warmup": 0, "num_chains": 1, "rng": 1, "progress": False}
    if algorithm == "metropolis":
        calls = {
            "bayeslib": lambda: metropolis(
                target, start, scale=scale, num_samples=WALK_STEPS, **options
            ).values[0]
        }
        calls |= {k: c_walk(lib, name, target, start, scale) for k, lib in libraries.items()}
        return calls, WALK_STEPS
    calls = {
        "bayeslib": lambda: hmc(
            target, start, step_size=step_size, num_steps=LEAPFROGS, num_samples=HMC_DRAWS,
            **options,
        ).values[0]
    }  # fmt: skip
    calls |= {k: c_hmc(lib, name, target, start, step_size) for k, lib in libraries.items()}
    return calls, HMC_DRAWS * LEAPFROGS


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
    print(f"{'':21}{'bayeslib':>10}{'C, best':>10}   ns a step (leapfrog)")
    with tempfile.TemporaryDirectory() as folder:
        libraries = build(folder)
        for algorithm in ("metropolis", "hmc"):
            for name in TARGETS:
                calls, steps = contestants(algorithm, name, libraries)
                seconds = compare(calls)
                ns = {key: 1e9 * value / steps for key, value in seconds.items()}
                ours = ns.pop("bayeslib")
                best = min(ns, key=ns.get)
                ratio = ours / ns[best]
                verdict = "" if ratio <= LIMIT else f"  above {LIMIT}"
                print(f"{algorithm:12}{name:9}{ours:10.1f}{ns[best]:10.1f}   {ratio:.2f} × C"
                      f" ({best}){verdict}")  # fmt: skip
                rows.append({
                    "algorithm": algorithm, "target": name, "bayeslib_ns": round(ours, 2),
                    "c_ns": {key: round(value, 2) for key, value in ns.items()},
                    "ratio": round(ratio, 3),
                })  # fmt: skip
    return rows
