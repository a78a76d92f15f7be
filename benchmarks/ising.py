"""Sweeps of `ising_sample` against the same loop in C, without and with a field for every site.

Both sides consume the same stream of PCG64 and give the same lattices, which is checked. The
library is timed as a user calls it. Runs alternate; a ratio is that of a round, to the C that is
fastest overall, and the median of all rounds counts.
"""

import ctypes
import shutil
import tempfile
import time

import numpy as np

from bayeslib import ising_sample
from bayeslib.markov.ising_model import as_model, bordered, tables

from .against_c import LIMIT, build, pointer

ROUNDS = 25
COUPLING = 0.4406868
SITES = 8_000_000  # drawn in a run
SIZES = (64, 256)
STEPS = {"checkerboard": 2, "systematic": 1}


def cases():
    """Yield (method, size, whether there is a field, the field, sweeps)."""
    for method in STEPS:
        for size in SIZES:
            for with_field in (False, True):
                field = np.random.default_rng(1).standard_normal((size, size))
                yield method, size, with_field, 0.1 * field, SITES // size**2


def ours(method, size, with_field, field, num_sweeps):
    """Return a function without arguments: the library's draws and last lattice."""

    def call():
        draws = ising_sample(
            (size, size), inverse_temperature=COUPLING, field=field if with_field else 0.0,
            method=method, initial="up", num_samples=num_sweeps, num_warmup=0, num_chains=1,
            rng=1, progress=False,
        )  # fmt: skip
        return draws.values[0], draws.settings["lattices"][0]

    return call


def in_c(library, method, size, with_field, field, num_sweeps):
    """The same in C."""
    model = as_model((size, size), COUPLING, field if with_field else 0.0, 1.0, True)
    table, odds = tables(model)

    def call():
        rng = np.random.default_rng(1)
        lattice = bordered(np.ones((size, size), dtype=np.int8), True)
        sums, draws = np.zeros((size, size), dtype=np.int64), np.empty((num_sweeps, 2))
        library.ising(
            pointer(lattice), ctypes.c_long(size), ctypes.c_long(size),
            rng.bit_generator.ctypes.bit_generator, ctypes.c_long(num_sweeps),
            ctypes.c_long(STEPS[method]), pointer(table), pointer(odds), pointer(model.field),
            ctypes.c_double(1.0), pointer(sums), pointer(draws),
        )  # fmt: skip
        return draws, lattice[1:-1, 1:-1]

    return call


def compare(calls, num_rounds=ROUNDS):
    """Return seconds of processor time, (num_rounds,) for each call, after checking agreement."""
    values, lattice = calls["bayeslib"]()
    for name, call in calls.items():
        found = call()
        np.testing.assert_allclose(found[0], values, rtol=1e-9, atol=1e-12, err_msg=name)
        np.testing.assert_array_equal(found[1], lattice, err_msg=name)
    seconds = {name: np.empty(num_rounds) for name in calls}
    for number in range(num_rounds):
        for name, call in calls.items():
            began = time.process_time()
            call()
            seconds[name][number] = time.process_time() - began
    return seconds


def measure():
    """Print the table; return its rows, or None where there is no compiler."""
    if shutil.which("gcc") is None:
        print("ising: gcc is not installed; skipped")
        return None
    rows = []
    print(f"{'':36}{'bayeslib':>10}{'C, best':>10}   ns a site")
    with tempfile.TemporaryDirectory() as folder:
        libraries = build(folder)
        for case in cases():
            method, size, with_field, _, num_sweeps = case
            calls = {"bayeslib": ours(*case)}
            calls |= {name: in_c(library, *case) for name, library in libraries.items()}
            seconds = compare(calls)
            per_site = {k: 1e9 * v / (num_sweeps * size**2) for k, v in seconds.items()}
            spent = per_site.pop("bayeslib")
            best = min(per_site, key=lambda name: np.median(per_site[name]))
            ratio = float(np.median(spent / per_site[best]))
            verdict = "" if ratio <= LIMIT else f"  above {LIMIT}"
            title = f"{method} {size} × {size}{' with field' if with_field else ''}"
            print(f"{title:36}{np.median(spent):10.2f}{np.median(per_site[best]):10.2f}   "
                  f"{ratio:.2f} × C ({best}){verdict}", flush=True)  # fmt: skip
            rows.append({
                "method": method, "size": size, "field": with_field,
                "bayeslib_ns": round(float(np.median(spent)), 3),
                "c_ns": {k: round(float(np.median(v)), 3) for k, v in per_site.items()},
                "ratio": round(ratio, 3),
            })  # fmt: skip
    return rows
