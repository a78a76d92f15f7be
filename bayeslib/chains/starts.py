"""Where chains begin, and whether they can."""

import numpy as np

from ..errors import GradientError, StartError, warn
from ..validate import as_positions, blame, check_fits, shown

_TRIES = 100


def initial_positions(target, initial_position, generators, *, gradient=False, draw=None):
    """Return one start a chain at which the density is finite, checked.

    Parameters
    ----------
    target : Target
    initial_position : array_like or None
        (dim,) for all chains, or (num_chains, dim). None draws them: for every attempt one uniform
        a dimension, on the support where it is bounded on both sides, else on (-2, 2), as the
        logarithm of the distance to a single bound where there is one (Stan's rule). Chains 0, 2,
        4, … draw from their own generators; chains 1, 3, 5, … take the uniforms of the chain
        before from the other end, 1 - u, and draw their own only if the density is not finite
        there. So of two modes on two sides of the middle, both have chains that start towards them.
    generators : list of numpy.random.Generator
    gradient : bool
        Whether the chains will need gradients; they are then checked by finite differences.
    draw : callable, optional
        draw(rng) -> (dim,) makes an attempted start, in place of the uniforms.

    Returns
    -------
    starts : numpy.ndarray, shape (num_chains, dim)
    num_evals : int
        Evaluations spent.

    Raises
    ------
    StartError
        If the log density is nan or infinite at a start.
    GradientError
        If the gradient there is not finite, or is not the derivative.
    """
    num_chains = len(generators)
    if initial_position is None:
        starts, num_evals = _draw_starts(target, generators, draw, gradient)
    else:
        starts = as_positions(initial_position, "initial_position", target.dim, num_chains)
        num_evals = num_chains
        warn_of_one_start(starts, "point", "initial_position")
        for start in np.unique(starts, axis=0):
            check_start(target, start, gradient=gradient)
    target.verify(starts[0], gradient=gradient)
    if gradient:
        for start in starts:
            slope = target.gradient(start)
            for i in np.flatnonzero(~np.isfinite(slope)):
                found = f"the gradient {_at(target, start)} is {slope[i]} in component {i}"
                raise GradientError(f"{found} ({target.names[i]})")
        num_evals += target.check_gradient(starts[0], thorough=False)
    return starts, num_evals


def warn_of_one_start(starts, what, name):
    """Warn if several chains begin at the same point, or `what` it is called."""
    if len(starts) > 1 and np.all(starts == starts[0]):
        told = f"all {len(starts)} chains start at the same {what}: R-hat cannot tell if all stick"
        warn(f"{told}; pass one {what} a chain, or leave {name} out")


def as_states(states, shape, num_chains):
    """Return starts, (num_chains, *shape), from that or from one for all, which is warned of."""
    several = (num_chains, *shape)
    rule = f"have shape {shape}, or {several} for one state a chain"
    check_fits(states.shape in (shape, several), states, "initial", rule)
    states = np.broadcast_to(states, several)
    warn_of_one_start(states, "state", "initial")
    return states


def _draw_starts(target, generators, draw, gradient):
    starts, num_evals, uniforms = [], 0, None
    for i, rng in enumerate(generators):
        mirrors = int(i % 2 and not draw)
        for tried in range(_TRIES + mirrors):
            if draw:
                start = draw(rng)
            else:
                uniforms = 1.0 - uniforms if tried < mirrors else rng.random(target.dim)
                start = scatter(uniforms, target.support)
            num_evals += 1
            if target.finite(start, gradient=gradient):
                break
        else:
            remedy = "a proposal that covers the target" if draw else "support=, or constraints"
            last = f"{target(start)} at theta={shown(target._place(start))}"
            found = f"no start with a finite log density in {_TRIES} attempts; {last}"
            remedy = f"check the data, or pass initial_position, or {remedy}"
            raise StartError(blame(target, f"{found}: {remedy}"))
        starts.append(start)
    return np.stack(starts), num_evals


def scatter(uniforms, support):
    """Map uniforms on (0, 1), shape (dim,), to a start inside the support."""
    start = 4.0 * uniforms - 2.0
    for i, (low, high) in enumerate(support or ()):
        if np.isfinite(low) and np.isfinite(high):
            start[i] = low + (high - low) * uniforms[i]
        elif np.isfinite(low):
            start[i] = low + np.exp(start[i])
        elif np.isfinite(high):
            start[i] = high - np.exp(start[i])
    return start


def check_start(target, start, what="the log density", *, gradient=False):
    """Raise if the density, or that which comes with the gradient, is not finite at a start."""
    if not target.finite(start, gradient=gradient):
        value = target(start)
        reason = "is +inf: it overflows there, or the density is not integrable"
        if np.isnan(value):
            reason = "is nan; look for 0/0, inf - inf, or a logarithm or root of a negative number"
        elif value < 0:
            reason = "is -inf: this is outside the support; start where the density is positive"
        raise StartError(blame(target, f"{what} {_at(target, start)} {reason}"))


def _at(target, start):
    return f"at initial_position={shown(target._place(start))}"
