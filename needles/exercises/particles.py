"""The exercises of the page on particles."""

import numpy as np

from ..grading import Routine, Statistical
from ..study import Exercise
from ..variants import stratified


def _one_uniform(weights, uniforms):
    return stratified(weights, np.full(len(uniforms), uniforms[0]))


def _multinomial(weights, uniforms):
    return np.searchsorted(np.cumsum(weights) / np.sum(weights), uniforms, side="right")


def _not_normalised(weights, uniforms):
    size = len(uniforms)
    return np.searchsorted(np.cumsum(weights), (np.arange(size) + uniforms) / size, side="right")


_UNEVEN = np.array([0.4, 0.05, 1.2, 0.0, 0.35])
_POINTS = np.array([0.91, 0.15, 0.55, 0.32, 0.78, 0.04])

EXERCISES = (
    Exercise(
        "importance-stratified",
        expects=Routine(
            stratified,
            cases=(
                (_UNEVEN / _UNEVEN.sum(), _POINTS),
                (_UNEVEN, _POINTS),
                (np.ones(6), _POINTS),
                (np.array([0.0, 1.0, 0.0]), np.array([0.5, 0.99])),
            ),
        ),
        mistakes={
            "That is systematic resampling: use each point's own uniform.": _one_uniform,
            "That is multinomial resampling: the j-th point must lie in (j, j+1)/N.": _multinomial,
            "Divide the weights by their sum first.": _not_normalised,
        },
        recipe="Points (j + u_j) / N, looked up in the cumulative weights.",
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
