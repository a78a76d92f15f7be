"""The posteriors every contestant samples. Needs NumPy only: it runs in both environments.

Besides those of the contest, three families that grow: ``ar_30`` is a Gaussian of 30 dimensions,
each correlated with the next, ``groups_30`` a hierarchy of 30 groups, ``rows_1000`` a logistic
regression on 1000 rows.
"""

from dataclasses import dataclass

import numpy as np

NUM_CHAINS, NUM_WARMUP, NUM_SAMPLES = 4, 1000, 1000
TARGET_ACCEPT = 0.8
NUM_CORES = 2
NUM_OWN_WARMUP = 400  # of nutpie, by default
CORRELATION, NUM_COLUMNS, ROWS_A_GROUP, NOISE = 0.9, 10, 10, 3.0  # of the families


@dataclass(frozen=True)
class Problem:
    """A posterior of the contest.

    Attributes
    ----------
    title : str
    dim : int
    ranked : bool
        False where no sampler mixes, so that its effective sample size ranks nothing.
    num_rounds : int
        Of warm calls; more where a call takes hundredths of a second and its time scatters.
    """

    title: str
    dim: int
    ranked: bool = True
    num_rounds: int = 5


PROBLEMS = {
    "gaussian_2": Problem("Gaussian, correlation 0.9", 2, num_rounds=15),
    "funnel_10": Problem("Neal's funnel, centred", 10, ranked=False),
    "schools": Problem("eight schools, non-centred", 10, num_rounds=15),
    "logistic": Problem("logistic regression, 1000 rows", 25),
    "gaussian_100": Problem("Gaussian, correlation 0.9 to the distance", 100),
}


def family(name):
    """Return which density a posterior has: its own name, or its family's."""
    return name if name in PROBLEMS else name.split("_")[0]


def dim(name):
    """Return the number of a posterior's parameters."""
    if name in PROBLEMS:
        return PROBLEMS[name].dim
    size = int(name.split("_")[1])
    return {"ar": size, "groups": size + 2, "rows": NUM_COLUMNS}[family(name)]


def data(name):
    """Return a posterior's data, a tuple of arrays; the same numbers for everybody."""
    if name in ("gaussian_2", "gaussian_100"):
        return (np.ascontiguousarray(np.linalg.inv(covariance(name))),)
    if name == "schools":
        effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
        return effects, np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    if name == "logistic" or family(name) == "rows":
        rng, num_rows = np.random.default_rng(1), 1000
        if name != "logistic":
            num_rows = int(name.split("_")[1])
        rows = rng.standard_normal((num_rows, dim(name)))
        rows[:, 0] = 1.0
        weights = 0.5 * rng.standard_normal(dim(name))
        labels = rng.random(num_rows) < 1.0 / (1.0 + np.exp(-rows @ weights))
        return rows, labels.astype(float)
    if family(name) == "groups":
        rng, num_groups = np.random.default_rng(1), dim(name) - 2
        group = np.repeat(np.arange(num_groups), ROWS_A_GROUP)
        effects = 1.0 + 0.7 * rng.standard_normal(num_groups)
        return effects[group] + NOISE * rng.standard_normal(group.size), group
    return ()


def covariance(name):
    """Return the covariance of a Gaussian posterior, (dim, dim)."""
    i = np.arange(dim(name))
    return CORRELATION ** np.abs(i[:, None] - i)


def starts(name, seed):
    """Return a start for each chain, uniform in (-2, 2), shape (NUM_CHAINS, dim)."""
    shape = NUM_CHAINS, dim(name)
    return np.random.default_rng(seed).uniform(-2.0, 2.0, shape)
