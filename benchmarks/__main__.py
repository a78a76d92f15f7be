"""Run every benchmark, print its table and write ``benchmarks/results/<name>.json``."""

import argparse
import datetime
import json
import os
import platform
import signal
import sys
import time
from pathlib import Path

import numba
import numpy as np

from needles.tested import machine

from . import against_c, against_peers, gradients, growth, ising, posteriordb, start_up, witness

RESULTS = Path(__file__).parent / "results"
BENCHMARKS = {
    "start_up": start_up.measure,
    "gradients": gradients.measure,
    "against_c": against_c.measure,
    "ising": ising.measure,
    "against_peers": against_peers.measure,
    "growth": growth.measure,
    "witness": witness.measure,
    "posteriordb": posteriordb.measure,
}
VERSIONS = {
    "python": platform.python_version(),
    "numpy": np.__version__,
    "numba": numba.__version__,
}


def main(arguments=None):
    """Run the benchmarks that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="the contest in small; not stored")
    parser.add_argument("--rounds", type=int, help="of warm calls in the contest")
    parser.add_argument("--cold", type=int, help="rounds of cold processes in the contest")
    parser.add_argument(
        "--posteriors", nargs="+", metavar="posterior", help="of the contest; others stay as stored"
    )
    parser.add_argument("--output", type=Path, help="folder for the results")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the workers are ended too
    for name in chosen.names or BENCHMARKS:
        options = {}
        if name == "against_peers":
            options = {"quick": chosen.quick, "num_rounds": chosen.rounds,
                       "num_cold": chosen.cold, "posteriors": chosen.posteriors}  # fmt: skip
        began = time.monotonic()
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        found = BENCHMARKS[name](**options)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        if found is None or (chosen.quick and name == "against_peers" and chosen.output is None):
            continue
        found = found if isinstance(found, dict) else {"rows": found}
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        stored = {"date": when, "load": load, "machine": machine() | VERSIONS, **found}
        folder = chosen.output or RESULTS
        if name == "against_peers" and chosen.posteriors and (folder / f"{name}.json").exists():
            earlier = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            stored = against_peers.merge(earlier, stored)
        write(folder, name, stored)


def write(folder, name, stored):
    """Write results as JSON; a number that is nan or infinite becomes null."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(_text(_finite(stored)), encoding="utf-8")


def _text(stored):
    """JSON with an item of each list on a line of its own."""
    lines = []
    for key, value in stored.items():
        if isinstance(value, list):
            items = ",\n  ".join(json.dumps(item, allow_nan=False) for item in value)
            text = f"[\n  {items}\n ]"
        else:
            text = json.dumps(value, allow_nan=False)
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _finite(value):
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value


if __name__ == "__main__":
    main()
