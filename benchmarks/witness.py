"""The means that only long runs of our own `nuts` know, held against another sampler's, nutpie's.

The densities and their gradients are ours, the sampler is not: it runs in the peers' environment.
"""

import json
import os
import subprocess
import sys

import numpy as np

from .contest.contestants import PEERS
from .contest.process import ROOT

NUM_CHAINS, NUM_WARMUP, NUM_SAMPLES = 4, 1000, 4000
TARGET_ACCEPT = 0.95, 0.995  # the second where the first diverges
CENTRED = "heldback: groups, centred"


def measure():
    """Print and return a row for each posterior: how far apart the means are at most.

    Returns
    -------
    list of dict, or None where nutpie is not installed
        ``name``, ``dim``, ``sds`` (posterior standard deviations), ``errors`` (standard errors of
        a difference, ours taken as large as nutpie's), ``rhat`` and ``diverged`` of nutpie's run.
    """
    if not (PEERS / "bin" / "python").exists():
        print("witness: nutpie is not installed; skipped")
        return None
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "tools")])
    command = [PEERS / "bin" / "python", "-m", "benchmarks.witness"]
    environment = os.environ | {"PYTHONPATH": path}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def main():
    """Sample every posterior of `LEARNED`; print its row."""
    from outside_models import LEARNED

    for name in LEARNED:
        row = witness(name)
        print(json.dumps(row), flush=True)
        print("{name}: {sds:.3f} sds, {errors:.1f} errors".format(**row), file=sys.stderr)


def witness(name):
    """Return the row of a posterior; some are sampled as the stored truth was."""
    from heldback_models import HELD_BACK
    from outside_models import OUTSIDE
    from outside_truths import permuted

    import bayeslib as bl

    target, start = OUTSIDE[name], None
    if name == CENTRED:
        target = HELD_BACK["groups, non-centred"][0]
    if mixed := name == "mixture of three":
        start = np.array([-3.0, 0.0, 3.0, -0.5, -0.5, -0.5, 0.0, 0.0])
    for accept in TARGET_ACCEPT:
        values, diverged = sampled(target, start, accept)
        if not diverged:
            break
    if name == CENTRED:
        values[..., 1:] *= np.exp(values[..., :1])
    if mixed:
        values = np.array([np.mean(permuted(chain), axis=0) for chain in values])
    truth, mean = OUTSIDE[name].truth, values.mean(axis=(0, 1))
    apart, sd = np.abs(mean - truth.mean), np.sqrt(np.diag(truth.cov))
    error = np.fmax(bl.mcse(values), 1e-9 * sd)  # nothing, where all permutations make a constant
    return {
        "name": name, "dim": target.dim, "sds": float(np.max(apart / sd)),
        "errors": float(np.max(apart / (np.sqrt(2.0) * error))),
        "rhat": float(np.nanmax(bl.rhat(values))), "diverged": diverged,
    }  # fmt: skip


def sampled(target, start, accept):
    """Return nutpie's draws, (chain, draw, dim), and how many of its steps diverged."""
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    def starting(seed):
        if start is not None:
            return start
        return np.random.default_rng(seed).uniform(-1.0, 1.0, target.dim)

    model = from_pyfunc(
        target.dim,
        lambda: lambda x: (target(x), target.gradient(x)),
        lambda *_: lambda x: {"x": x},
        [np.dtype("f8")], [(target.dim,)], ["x"], make_initial_point_fn=starting,
    )  # fmt: skip
    trace = nutpie.sample(
        model, draws=NUM_SAMPLES, tune=NUM_WARMUP, chains=NUM_CHAINS, cores=NUM_CHAINS, seed=814,
        target_accept=accept, progress_bar=False,
    )  # fmt: skip
    diverged = int(trace["sample_stats"]["diverging"].sum())
    return np.array(trace["posterior"]["x"]), diverged


if __name__ == "__main__":
    main()
