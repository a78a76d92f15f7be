"""Steps of stochastic gradient ascent, for kernels."""

import numpy as np
from numba import types

from ..compile.callback import helper, kernel
from ..compile.kinds import FLOAT, INT, VECTOR

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8  # of Adam, as its authors chose them


@helper
def adam(parameters, gradient, first, second, t, step_size):
    """Take Adam's step number `t`, from 1, uphill along `gradient`; all arrays (k,), in place.

    `first` and `second` are the running moments, zero before the first step.
    """
    for i in range(parameters.size):
        first[i] = FIRST_DECAY * first[i] + (1.0 - FIRST_DECAY) * gradient[i]
        second[i] = SECOND_DECAY * second[i] + (1.0 - SECOND_DECAY) * gradient[i] ** 2
        mean = first[i] / (1.0 - FIRST_DECAY**t)
        spread = np.sqrt(second[i] / (1.0 - SECOND_DECAY**t))
        parameters[i] += step_size * mean / (spread + TINY)


@kernel(types.void, VECTOR, VECTOR, VECTOR, VECTOR, INT, FLOAT)
def adam_step(parameters, gradient, first, second, t, step_size):
    """`adam`, for callers that are not compiled."""
    adam(parameters, gradient, first, second, t, step_size)
