"""The exercises of the page on particles."""

import numpy as np

from ..grading import Statistical, Value
from ..study import Exercise
from ..variants import ess, stratified

_WEIGHTS, _UNIFORMS = np.array([2.0, 9.0, 1.0, 4.0]), np.array([0.9, 0.2, 0.1, 0.6])
_CHOSEN = stratified(_WEIGHTS, _UNIFORMS)

_BEFORE, _DENSITIES = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.9, 0.05, 0.02, 0.01])
_AFTER = _BEFORE * _DENSITIES

EXERCISES = (
    Exercise(
        "importance-observation",
        expects=Value(np.array([_AFTER.sum(), ess(_AFTER)])),
        mistakes={
            "Weight the densities: that is their plain mean.": np.array(
                [_DENSITIES.mean(), ess(_AFTER)]
            ),
            "Multiply by the old weights too: those are the densities alone.": np.array(
                [_DENSITIES.mean(), ess(_DENSITIES)]
            ),
            "The ESS is that before the weighting.": np.array([_AFTER.sum(), ess(_BEFORE)]),
            "Divide the new weights by their sum before you square them.": np.array(
                [_AFTER.sum(), 1 / np.sum(_AFTER**2)]
            ),
        },
        recipe="Multiply the weights by the densities: first the sum of the products, then its "
        "square over the sum of their squares.",
        praise="Below N/2 = 2: the filter resamples before it moves on.",
    ),
    Exercise(
        "importance-stratified",
        expects=Value(_CHOSEN.astype(float), atol=0.0),
        mistakes={
            "That is systematic resampling: use each point's own uniform number.": stratified(
                _WEIGHTS, np.full(4, _UNIFORMS[0])
            ).astype(float),
            "That is multinomial resampling: point j must lie between j/4 and (j + 1)/4.": np.array(
                [3.0, 1.0, 0.0, 1.0]
            ),
            "Divide the weights by their sum, 16, first.": np.zeros(4),
            "Count the particles from zero.": _CHOSEN + 1.0,
            "Those are the numbers of copies. Name, point by point, "
            "the particle on which it falls.": np.bincount(_CHOSEN, minlength=4).astype(float),
        },
        recipe="Points (j + u_j) / 4, looked up between the ends 0.125, 0.6875, 0.75 and 1.",
        praise="Each particle's copies differ from their average by less than two.",
    ),
    Exercise(
        "importance-distant",
        expects=Statistical(lambda: 0.0, max_mcse=0.05),
        mistakes={
            "That is the larger mode alone: the other "
            "one died out. Use more particles.": lambda a: (
                a[1] < 0.06 and abs(a[0] - np.log(0.75)) < 0.1
            ),
            "That is the smaller mode alone: the other "
            "one died out. Use more particles.": lambda a: (
                a[1] < 0.2 and abs(a[0] - np.log(0.25)) < 0.3
            ),
            "Far too low: next to no draw has reached a mode. Go there in small steps.": lambda a: (
                a[0] < -2.0
            ),
        },
        recipe="Temper: bl.smc, with some thousand particles.",
        praise="Two needles in a five-dimensional haystack, weighed to a few per cent.",
    ),
)
