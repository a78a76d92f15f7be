"""Chains of states whose law their step knows by itself: there is no density to ask."""

import numpy as np

from ..compile.callback import STOP
from ..errors import warn
from ..validate import check_fits


class Unasked:
    """In place of a target and its `Bound`, where a step knows by itself how likely a state is."""

    address = num_errors = 0

    def __init__(self, dim):
        self.dim, self.failed_at = dim, np.empty(dim)
        self.handle = np.zeros(1, dtype=np.int64)

    def bind(self, gradient):
        """Return another, for a chain of its own."""
        return Unasked(self.dim)

    def __call__(self, theta, gradient):
        return 0.0

    def stop(self):
        """Ask the loop that runs on this handle to return; it does after one step."""
        self.handle[0] += STOP


def one_a_chain(states, shape, num_chains):
    """Return starts, (num_chains, *shape), from that or from one for all, which is warned of."""
    several = (num_chains, *shape)
    rule = f"have shape {shape}, or {several} for one state a chain"
    check_fits(states.shape in (shape, several), states, "initial", rule)
    states = np.broadcast_to(states, several)
    if num_chains > 1 and np.all(states == states[0]):
        warn(
            f"all {num_chains} chains start from the same state, so R-hat cannot show a chain that "
            "is stuck; pass one state a chain, or leave `initial` out, which draws them"
        )
    return states
