"""How far a run of resampled draws can be trusted, read off who descends from whom."""

import numpy as np

_FORGOTTEN = 0.3
_FEW = 20  # families, of which nobody can say whether they are of uneven size


class Genealogy:
    """Families of particles, and the error of the evidence that their unequal fates betray.

    Particles share nothing but their ancestors, so the ancestors' families vary independently,
    nearly: the spread of the families' weights is the error of the product of mean weights
    (Chan and Lai, 2013; Lee and Whiteley, 2018). Families die out. Before few are left, younger
    ones that were counted meanwhile take over, and what the old ones had that they have not is
    kept (a fixed lag of adaptive length, after Olsson and Douc, 2019). That is right of particles
    that have forgotten where they were when the younger families began. Where positions are told
    and still correlate with those, along some principal axis, the old families stay, and
    `fewest` is how many they were worth when it was least.

    Parameters
    ----------
    size : int
        The number of particles.
    """

    def __init__(self, size):
        self.family = np.arange(size)
        self._younger = None
        self._noise = self._younger_noise = 0.0
        self._kept = 0.0
        self._size = self.fewest = size
        self.least_even = 1.0

    def resample(self, chosen, weights, values=None):
        """Take note that the particles `chosen`, now at `values`, replace all, of such weights."""
        self._noise += self._rounding(self.family, chosen, weights)
        self.family = self.family[chosen]
        if self._younger is None:
            self._younger, self._origin = np.arange(self._size), values
        else:
            self._younger_noise += self._rounding(self._younger, chosen, weights)
            self._younger = self._younger[chosen]
            self._origin = None if values is None else self._origin[chosen]
        equal = np.full(self._size, 1.0 / self._size)
        alive = np.count_nonzero(np.bincount(self.family))
        worth = 1.0 / (self._spread(self.family, equal) + 1.0 / self._size)
        if (alive if values is None else worth) < max(2.0 * np.sqrt(self._size), 2):
            # a correlation that counts as none, given how many of the younger families live
            memory = _FORGOTTEN + 2.0 / np.sqrt(np.count_nonzero(np.bincount(self._younger)))
            if values is not None and self._correlation(values) > memory:
                self.fewest = min(self.fewest, worth)
                return
            self.least_even = min(self.least_even, self.evenness(equal))
            old = self._spread(self.family, equal) - self._noise
            young = self._spread(self._younger, equal) - self._younger_noise
            self._kept += max(old - young, 0.0)
            self.family, self._noise = self._younger, self._younger_noise
            self._younger, self._younger_noise = np.arange(self._size), 0.0
            self._origin = values

    def variance(self, weights):
        """Relative variance of the evidence, given the particles' normalised weights.

        What resampling alone did to the families is no error of the evidence, and is taken off;
        where that leaves next to nothing, chance has, and a quarter of the whole stands for it.
        """
        whole = self._spread(self.family, weights)
        return self._kept + max(whole - self._noise, 0.25 * whole, 0.0)

    def evenness(self, weights):
        """What the living families are worth over their number: by chance alone about a half."""
        totals = np.bincount(self.family, weights)
        alive = np.count_nonzero(totals)
        return float(1.0 / np.square(totals).sum() / alive) if alive > _FEW else 1.0

    def _correlation(self, values):
        """The largest, along the cloud's principal axes, with where the younger families began."""
        now, then = values - values.mean(axis=0), self._origin - self._origin.mean(axis=0)
        axes = np.linalg.eigh(now.T @ now)[1]
        now, then = now @ axes, then @ axes
        with np.errstate(invalid="ignore"):
            sizes = np.linalg.norm(now, axis=0) * np.linalg.norm(then, axis=0)
            found = np.sum(now * then, axis=0) / sizes
        return np.nan_to_num(np.abs(found), nan=1.0).max()

    def _spread(self, family, weights):
        return np.square(np.bincount(family, weights, self._size)).sum() - 1.0 / self._size

    def _rounding(self, family, chosen, weights):
        """What the families' weights changed by resampling alone, squared."""
        before = np.bincount(family, weights, minlength=self._size)
        after = np.bincount(family[chosen], minlength=self._size) / chosen.size
        return np.square(after - before).sum()
