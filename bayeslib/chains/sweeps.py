"""Chains of states whose law their kernel knows by itself: there is no density to ask."""

import numpy as np

from ..compile.callback import STOP
from ..errors import BayeslibError, warn
from .blocks import Outcome, advance
from .loop import Account


class _Brake:
    """What stops a kernel before its next sweep."""

    def __init__(self):
        self.handle = np.zeros(1, dtype=np.int64)

    def stop(self):
        self.handle[0] += STOP


def run_sweeps(control, chain, kernel, rng, state, num_warmup, draws, num_updates):
    """Run one chain and return its `Outcome`; each sweep counts as so many evaluations.

    Parameters
    ----------
    control : Control
    chain : int
    kernel : Kernel
        kernel(handle, rng, span, num_warmup, state, draws, log_p) does the sweeps ``span[0]``, …,
        ``span[1] - 1`` and returns where it stopped: early only where ``handle[0]`` is not zero.
    rng : Generator
    state : NamedTuple
    num_warmup : int
    draws : numpy.ndarray, shape (num_samples, dim)
    num_updates : int
    """
    brake, log_p = _Brake(), np.empty(len(draws))

    def step(first, last):
        span = np.array([first, last])
        return kernel(brake.handle, rng, span, num_warmup, state, draws, log_p)

    done = advance(step, brake, control, chain, num_warmup + len(draws))
    account = np.zeros(1, dtype=Account)[0]
    account.num_evals = done * num_updates
    return Outcome(done, draws, log_p, {}, {}, account, None, None, rng.bit_generator.state)


def check_two_valued(array, name, low, high, remedy=""):
    """Raise unless all entries are one of two numbers."""
    wrong = np.argwhere((array != low) & (array != high))
    if wrong.size:
        raise BayeslibError(
            f"{name} must hold {low} and {high}, got {array[tuple(wrong[0])]:g} at "
            f"{wrong[0].tolist()}{remedy}"
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
