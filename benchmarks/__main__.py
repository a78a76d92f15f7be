"""Run every benchmark, print its table and write ``benchmarks/results/<name>.json``."""

import json
import os
import platform
import sys
from pathlib import Path

import numba
import numpy as np

from . import against_c, start_up

RESULTS = Path(__file__).parent / "results"
BENCHMARKS = {"start_up": start_up.measure, "against_c": against_c.measure}


def machine():
    """Describe what the numbers were measured on."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.split(": ")[1] for line in lines if "model name" in line), model)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def main(names):
    RESULTS.mkdir(exist_ok=True)
    for name in names or BENCHMARKS:
        rows = BENCHMARKS[name]()
        if rows is None:
            continue
        text = json.dumps({"machine": machine(), "rows": rows}, indent=1)
        (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
