"""Judging draws by exact truth, with standard errors that owe nothing to the library's own."""

import numpy as np
from scipy import special
from verdict import two_sided

BATCHES = 20  # a chain
ENOUGH = 400  # effective draws, below which batches are too short to be independent
_FEW = 10  # longer batches, which show how few draws slow chains are worth


def pvalues_of_means(values, truth):
    """Judge the mean of chains (num_chains, n): Student's t over 20 batch means a chain."""
    num_chains, n = values.shape
    batches = values[:, : n - n % BATCHES].reshape(num_chains * BATCHES, -1).mean(axis=1)
    spread = batches.std(ddof=1)
    if spread == 0.0:
        return 1.0 if batches.mean() == truth else 0.0
    t = (batches.mean() - truth) / (spread / np.sqrt(batches.size))
    return float(2.0 * special.stdtr(batches.size - 1, -abs(t)))


def effective(values):
    """Return how many independent draws chains (num_chains, n) are worth, by batch means.

    No fewer than there are batches: slow chains are worth ten each, however slow.
    """
    num_chains, n = values.shape
    means = values[:, : n - n % _FEW].reshape(num_chains * _FEW, -1).mean(axis=1)
    variance = means.var(ddof=1)
    return values.var() / variance * means.size if variance > 0.0 else 0.0


def tails(draws, truth):
    """Whether draws lie below each known quantile: (name, indicator (chain, draw), probability)."""
    for p, point in (truth.quantiles or {}).items():
        if p in (0.05, 0.5, 0.95):
            for i, name in enumerate(draws.names):
                yield f"{name} below {p}", draws.values[:, :, i] <= np.ravel(point)[i], p


def statistics(draws, truth):
    """Yield (name, values (chain, draw), truth) of means, variances and tails."""
    deviation = draws.values - truth.mean
    for i, name in enumerate(draws.names):
        if np.isfinite(truth.cov[i, i]):
            yield f"mean of {name}", deviation[:, :, i], 0.0
            yield f"variance of {name}", deviation[:, :, i] ** 2, truth.cov[i, i]
    for name, below, p in tails(draws, truth):
        yield name, below.astype(float), p


def judge(draws, truth, *, enough=ENOUGH):
    """Return p-values of all statistics; too few effective draws fail before any is judged."""
    rows = list(statistics(draws, truth))
    sizes = {name: effective(values) for name, values, _ in rows}
    worst = min(sizes, key=sizes.get)
    assert sizes[worst] > enough, f"{draws.method}: {worst}: too few effective draws to judge"
    return np.array([pvalues_of_means(values, exact) for _, values, exact in rows])


def judge_weighted(draws, truth):
    """The same for weighted or independent draws, through their own standard error."""
    z = [draws.expect().z(truth.mean)]
    z.append(draws.expect(lambda x: (x - truth.mean) ** 2).z(np.diag(truth.cov)))
    return two_sided(np.concatenate(z))
