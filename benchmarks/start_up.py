"""How long a cold process takes to its first draws, with the engine's cache warm."""

import os
import subprocess
import sys
import time
from pathlib import Path

ROUNDS = 5
SCRIPT = """
import time; began = time.perf_counter()
import numpy, numba; bare = time.perf_counter()
from bayeslib import Target, hmc, metropolis; imported = time.perf_counter()
def logdensity(theta):
    return -0.5 * theta[0] ** 2 - 0.5 * (theta[1] - {unique} * theta[0] ** 2) ** 2
target = Target(logdensity, dim=2, gradient={gradient})
draws = {call}
print(bare - began, imported - bare, time.perf_counter() - imported)
"""
CALLS = {
    "metropolis": ("metropolis(target, None, rng=1)", "None"),
    "hmc": ("hmc(target, num_steps=10, rng=1)", '"auto"'),
}


def measure():
    """Print the table; return its rows, in seconds of wall time, the median of five processes."""
    rows = []
    print(f"{'':12}{'numpy+numba':>12}{'bayeslib':>10}{'new density':>13}{'process':>9}   seconds")
    for name, (call, gradient) in CALLS.items():
        times = sorted((_run(call, gradient) for _ in range(ROUNDS + 1)), key=lambda row: row[-1])
        bare, imported, first, whole = times[ROUNDS // 2]
        print(f"{name:12}{bare:12.2f}{imported:10.2f}{first:13.2f}{whole:9.2f}")
        rows.append({
            "algorithm": name, "import_numpy_numba": round(bare, 3),
            "import_bayeslib": round(imported, 3), "first_run": round(first, 3),
            "process": round(whole, 3),
        })  # fmt: skip
    return rows


def _run(call, gradient):
    """Start a process with a density that no cache has seen."""
    code = SCRIPT.format(
        unique=repr(0.5 + 1e-9 * time.time_ns() % 1.0), call=call, gradient=gradient
    )
    root = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": root}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True, text=True
    )
    return (*map(float, run.stdout.split()), time.perf_counter() - began)
