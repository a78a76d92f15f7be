"""How far a run of resampled draws can be trusted, read off who descends from whom."""

import numpy as np


class Genealogy:
    """Families of particles, and the error of the evidence that their unequal fates betray.

    Particles share nothing but their ancestors, so the ancestors' families vary independently,
    nearly: the spread of the families' weights is the error of the product of mean weights
    (Chan and Lai, 2013; Lee and Whiteley, 2018). Families die out. Before few are left, younger
    ones that were counted meanwhile take over, and what the old ones had that they have not is
    kept (a fixed lag of adaptive length, after Olsson and Douc, 2019).

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
        self._size = size

    def resample(self, chosen, weights):
        """Take note that the particles `chosen` replace all, whose normalised weights are given."""
        self._noise += self._rounding(self.family, chosen, weights)
        self.family = self.family[chosen]
        if self._younger is None:
            self._younger = np.arange(self._size)
        else:
            self._younger_noise += self._rounding(self._younger, chosen, weights)
            self._younger = self._younger[chosen]
        if np.count_nonzero(np.bincount(self.family)) < self._fewest():
            equal = np.full(self._size, 1.0 / self._size)
            old = self._spread(self.family, equal) - self._noise
            young = self._spread(self._younger, equal) - self._younger_noise
            self._kept += max(old - young, 0.0)
            self.family, self._noise = self._younger, self._younger_noise
            self._younger, self._younger_noise = np.arange(self._size), 0.0

    def variance(self, weights):
        """Relative variance of the evidence, given the particles' normalised weights.

        What resampling alone did to the families is no error of the evidence, and is taken off;
        where that leaves next to nothing, chance has, and a quarter of the whole stands for it.
        """
        whole = self._spread(self.family, weights)
        return self._kept + max(whole - self._noise, 0.25 * whole, 0.0)

    def _fewest(self):
        return max(2.0 * np.sqrt(self._size), 2)

    def _spread(self, family, weights):
        totals = np.bincount(family, weights, minlength=self._size)
        return np.square(totals).sum() - 1.0 / self._size

    def _rounding(self, family, chosen, weights):
        """What the families' weights changed by resampling alone, squared."""
        before = np.bincount(family, weights, minlength=self._size)
        after = np.bincount(family[chosen], minlength=self._size) / chosen.size
        return np.square(after - before).sum()
