"""Chains of states whose law their kernel knows by itself: there is no density to ask."""

import numpy as np

from ..compile.callback import STOP
from ..errors import BayeslibError, warn
from .blocks import Outcome, advance
from .loop import Account


class Sweeps:
    """One chain, ready to run.

    Parameters
    ----------
    kernel : Kernel
        kernel(handle, rng, span, num_warmup, state, draws, log_p) does the sweeps ``span[0]``, …,
        ``span[1] - 1`` and returns where it stopped: early only where ``handle[0]`` is not zero.
    rng : Generator
    state : NamedTuple
    num_warmup : int
    draws : numpy.ndarray, shape (num_samples, dim)
    """

    def __init__(self, kernel, rng, state, num_warmup, draws):
        self.kernel, self.handle = kernel, np.zeros(1, dtype=np.int64)
        self.rng, self.num_warmup = rng, num_warmup
        self.state, self.draws, self.log_p = state, draws, np.empty(len(draws))

    def stop(self):
        """Ask the kernel to return before its next sweep."""
        self.handle[0] += STOP

    def advance(self, first, last):
        """Do the sweeps first, …, last - 1; return where it stopped."""
        span = np.array([first, last])
        return self.kernel(
            self.handle, self.rng, span, self.num_warmup, self.state, self.draws, self.log_p
        )

    def run(self, control, chain, num_updates):
        """Return the `Outcome`; each sweep counts as so many evaluations."""
        done = advance(self.advance, self, control, chain, self.num_warmup + len(self.draws))
        account = np.zeros(1, dtype=Account)[0]
        account.num_evals = done * num_updates
        return Outcome(
            done, self.draws, self.log_p, {}, {}, account, None, None, self.rng.bit_generator.state
        )


def one_a_chain(states, shape, num_chains):
    """Return starts, (num_chains, *shape), from that or from one for all, which is warned of."""
    if states.shape not in (shape, (num_chains, *shape)):
        raise BayeslibError(
            f"initial must have shape {shape}, or {(num_chains, *shape)} for one state a chain, "
            f"got {states.shape}"
        )
    states = np.broadcast_to(states, (num_chains, *shape))
    if num_chains > 1 and np.all(states == states[0]):
        warn(
            f"all {num_chains} chains start from the same state, so R-hat cannot show a chain that "
            "is stuck; pass one state a chain, or leave `initial` out, which draws them"
        )
    return states
