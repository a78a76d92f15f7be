"""Make tests/data/outside.npz again: ``python tests/tools/outside_truths.py [NAME...]``.

Mean and covariance from four chains of `nuts`, 4000 draws each, that flag nothing; the log evidence
from importance weights of 200,000 draws of Student's t, 5 degrees of freedom, of that mean and
covariance, where their k-hat is below 0.6 and they are worth a thousand draws; nan otherwise. Of
the held-back posteriors mean and covariance alone.
"""

import itertools
import math
import sys

import numpy as np
from heldback_models import HELD_BACK
from outside_models import LEARNED, OUTSIDE, STORED
from scipy import stats

import bayeslib as bl


def permuted(values):
    """The draws of a mixture under all six labellings of its components."""
    logits = np.column_stack([values[:, 6:], np.zeros(len(values))])
    every = []
    for order in itertools.permutations(range(3)):
        o = np.array(order)
        w = logits[:, o] - logits[:, o[2:]]
        every.append(np.column_stack([values[:, o], values[:, 3 + o], w[:, :2]]))
    return every


def make(name):
    """Return mean, covariance and log evidence."""
    target = OUTSIDE[name]
    mixed = name == "mixture of three"
    start = np.tile([-3.0, 0.0, 3.0, -0.5, -0.5, -0.5, 0.0, 0.0], (4, 1)) if mixed else None
    accept = 0.995 if name == "stochastic volatility" else 0.95
    draws = bl.nuts(target, start, num_samples=4000, target_accept=accept, rng=811)
    assert draws.problems == (), (name, draws.problems)
    flat = draws.flat
    error = np.max(draws.expect().mcse / flat.std(axis=0))
    t = stats.multivariate_t(flat.mean(axis=0), np.cov(flat.T), df=5, seed=812)
    weighted = bl.importance_sample(target, t, num_samples=200_000, rng=812)
    khat, ess = weighted.settings["khat"], weighted.settings["ess"]
    evidence = float(weighted.log_evidence)
    print(f"{name}: error {error:.3f} sd, log evidence {weighted.log_evidence}, "
          f"k-hat {khat:.2f}, worth {ess:.0f}", flush=True)  # fmt: skip
    if not (khat < 0.6 and ess > 1000):
        evidence = math.nan
    if mixed:
        flat, evidence = np.concatenate(permuted(flat)), evidence + math.log(6.0)
    return flat.mean(axis=0), np.atleast_2d(np.cov(flat.T)).astype(np.float32), evidence


def held_back(name):
    """Return mean and covariance, in the centred model by way of the other."""
    centred = name == "groups, centred"
    name = "groups, non-centred" if centred else name
    draws = bl.nuts(HELD_BACK[name][0], num_samples=4000, target_accept=0.9, rng=813)
    print(f"{name}: {draws.problems}", flush=True)
    z = [float(draws.expect(f).z(truth)) for _, f, truth in HELD_BACK[name][1]]
    assert draws.problems == () and np.max(np.abs(z)) < 5.0, (name, draws.problems)
    flat = draws.flat.copy()
    if centred:
        flat[:, 1:] *= np.exp(flat[:, :1])
    return flat.mean(axis=0), np.atleast_2d(np.cov(flat.T)).astype(np.float32)


if __name__ == "__main__":
    known = dict(np.load(STORED)) if STORED.exists() else {}
    for name in sys.argv[1:] or LEARNED:
        held = name.startswith("heldback: ")
        parts = held_back(name.split(": ")[1]) if held else make(name)
        for what, value in zip(("mean", "cov", "log_evidence"), parts, strict=False):
            known[f"{name}/{what}"] = value
        np.savez_compressed(STORED, **known)
