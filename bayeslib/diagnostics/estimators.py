"""How much chains x of one quantity, (num_chains, num_samples), tell; nan where none can say."""

import numpy as np
import scipy  # its parts are loaded where they are first asked for: that takes long


def _split(x):
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _rank_normalise(x):
    ranks = scipy.stats.rankdata(x, method="average").reshape(x.shape)
    return scipy.special.ndtri((ranks - 0.375) / (x.size + 0.25))


def autocovariance(x):
    n = x.shape[1]
    size = scipy.fft.next_fast_len(2 * n)
    spectrum = scipy.fft.rfft(x - x.mean(axis=1, keepdims=True), n=size, axis=1)
    return scipy.fft.irfft(np.abs(spectrum) ** 2, n=size, axis=1)[:, :n] / n


def _ess_mean(x):
    return _ess(_split(x))


def _ess_quantile(x, probability):
    return _ess_mean((x <= np.quantile(x, probability)).astype(float))


def _mcse_mean(x):
    return np.std(x, ddof=1) / np.sqrt(_ess_mean(x))


def _mcse_sd(x):
    squares = np.square(x - x.mean())
    return np.sqrt(squares.var() / _ess_mean(squares) / squares.mean()) / 2.0


def _mcse_quantile(x, probability):
    size = _ess_quantile(x, probability)
    if np.isnan(size):
        return np.nan
    within_one_error = scipy.special.ndtr([-1.0, 1.0])
    shape = size * probability + 1.0, size * (1.0 - probability) + 1.0
    low, high = scipy.special.betaincinv(*shape, within_one_error) * x.size - 1.0
    x = np.sort(x, axis=None)
    return (x[min(int(np.ceil(high)), x.size - 1)] - x[max(int(low), 0)]) / 2.0


def _ess(x):
    """Geyer's initial monotone sequence on chains x, (num_chains, num_samples)."""
    chains, n = x.shape
    if np.ptp(x) < np.finfo(float).resolution:
        return np.nan
    covariance = autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1.0)
    total = covariance[0]
    if chains > 1:
        total += x.mean(axis=1).var(ddof=1)
    rho = 1.0 - (within - covariance) / total
    tau = max(_integrated_time(rho), 1.0 / np.log10(x.size))
    return x.size / tau


def _integrated_time(rho):
    """1 + 2 Σ rho, cut where the sum of a pair of neighbouring lags turns negative."""
    rho = np.concatenate([[1.0], rho[1:]])
    num_pairs = max((rho.size - 1) // 2, 1)
    pairs = rho[: 2 * num_pairs].reshape(num_pairs, 2).sum(axis=1)
    cut = int(np.argmin(np.append(pairs[:-1] > 0.0, False)))
    # Pair sums of a reversible chain decrease: what rises is noise.
    total = np.minimum.accumulate(pairs[:cut]).sum()
    even = rho[2 * cut]
    return -1.0 + 2.0 * total + (even if pairs[cut] >= 0.0 else max(even, 0.0))


def rhat_of_ranks(x):
    if len(x) < 2:
        return np.nan
    halves = _split(x)
    plain, folded = _rhat(_rank_normalise(halves)), np.abs(halves - np.median(halves))
    if np.ptp(folded) == 0.0:
        return plain  # of two values, each half of the time: both lie as far from the median
    return max(plain, _rhat(_rank_normalise(folded)))


def _rhat(x):
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean()
    between = n * x.mean(axis=1).var(ddof=1)
    return np.sqrt((between / within + n - 1.0) / n) if within > 0.0 else np.inf


ESS = {
    "bulk": lambda x: _ess(_rank_normalise(_split(x))),
    "tail": lambda x: min(_ess_quantile(x, 0.05), _ess_quantile(x, 0.95)),
    "mean": _ess_mean,
    "sd": lambda x: _ess_mean(np.square(x - x.mean())),
    "quantile": _ess_quantile,
}
MCSE = {"mean": _mcse_mean, "sd": _mcse_sd, "quantile": _mcse_quantile}
