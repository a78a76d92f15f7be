"""Slice sampling, one coordinate after another."""

from typing import NamedTuple

import numpy as np
from numba import types

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import UNDEFINED, Chain, copy, ended, laid_out, log_density, record
from ..chains.warmup import warmup_windows
from ..compile.callback import helper
from ..compile.kinds import INT, VECTOR
from ..errors import TargetError, warn
from ..target.transforms import walked
from ..validate import as_choice, as_count, as_scale, shown

_MOST_SHRINKS = 10_000  # an interval of floats is a point after fewer
_OFTEN = 0.1  # draws that reached the limit, above which it is said

Window = record(updates="i8")  # of every coordinate, since it began


class Slices(NamedTuple):
    """What a chain of slices remembers."""

    position: VECTOR
    width: VECTOR
    log_width: VECTOR
    average: VECTOR  # of log_width
    most: INT  # steps out of an interval
    at_random: types.boolean
    adapts: types.boolean
    window: Window


Note = record(num_evals="i8", reached_max_steps_out="?")


def slice_step(target, rng, log_p, s, note):
    """Update every coordinate in turn, or as many that are drawn."""
    dim, before = s.position.size, target.account.num_evals
    note.reached_max_steps_out = False
    s.window.updates += 1
    for k in range(dim):
        i = int(rng.random() * dim) if s.at_random else k
        log_p, out, inside = slice_update(target, rng, log_p, s.position, i, s.width[i], s.most)
        if ended(target):
            return log_p
        if out == s.most and s.most > 0:
            note.reached_max_steps_out = True
        if s.adapts and target.account.warming:
            balance(i, out, inside, s)
    note.num_evals = target.account.num_evals - before
    return log_p


@helper
def slice_update(target, rng, log_p, theta, i, width, most):
    """Draw coordinate i from its slice in place (Neal, 2003, figures 3 and 5).

    Returns its log density, the steps out, and the proposals outside of the slice.
    """
    x = theta[i]
    level = log_p + np.log(1.0 - rng.random())
    left = x - width * rng.random()
    right = left + width
    steps_left = int(rng.random() * (most + 1.0))
    left, out_left = step_out(target, theta, i, left, -width, level, steps_left)
    right, out_right = step_out(target, theta, i, right, width, level, most - steps_left)
    for rejected in range(_MOST_SHRINKS):
        theta[i] = left + rng.random() * (right - left)
        log_new = log_density(target, theta)
        if ended(target):
            break
        if log_new >= level:
            return log_new, out_left + out_right, rejected
        if theta[i] < x:
            left = theta[i]
        else:
            right = theta[i]
    theta[i] = x
    if not ended(target):
        target.account.status = UNDEFINED
        copy(theta, target.points[1])
    return log_p, 0, 0


@helper
def step_out(target, theta, i, end, step, level, most):
    """Move one end of an interval outwards while it is in the slice, at most so often."""
    theta[i] = end
    for out in range(most):
        if log_density(target, theta) < level or ended(target):
            return theta[i], out
        theta[i] += step
    log_density(target, theta)
    return theta[i], most


@helper
def balance(i, out, rejected, s):
    """Balance steps out and rejections (Tibbits, Groendyke, Haran and Liechty, 2014)."""
    count = float(s.window.updates)
    if out + rejected > 0:
        s.log_width[i] += 2.0 * count**-0.6 * (out / (out + rejected) - 0.5)
    s.average[i] += count**-0.75 * (s.log_width[i] - s.average[i])
    s.width[i] = np.exp(s.log_width[i])


def learn_widths(t, windows, target, rng, log_p, s, note):
    """Go on from the averages at a window's end."""
    if not s.adapts or t + 1 != windows[target.account.window]:
        return
    s.window.updates = 0
    for i in range(s.width.size):
        s.log_width[i] = s.average[i]
        s.width[i] = np.exp(s.average[i])


def initial(run, start, width, max_steps_out, at_random):
    dim, adapts = start.size, width is None
    return laid_out(
        Slices, dim, position=start, width=np.ones(dim) if adapts else width, most=max_steps_out,
        at_random=at_random, adapts=adapts,
    )  # fmt: skip


def raised(run):
    if run.account.status == UNDEFINED:
        where = f"at {shown(run.density.points[1])} differs from what it was there before"
        return TargetError(f"the log density {where}: it must depend on theta and data alone")


SLICE_SAMPLE = Algorithm(
    "slice_sample", Chain(slice_step, Slices, Note, learn=learn_widths, seconds=3), initial,
    lambda run: {"width": run.state.width},
    lambda num_warmup, s: warmup_windows(num_warmup, s.adapts), raised=raised,
)  # fmt: skip


def slice_sample(
    target,
    initial_position=None,
    *,
    width=None,
    max_steps_out=50,
    order="systematic",
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample by slice sampling, coordinate by coordinate, with stepping out and shrinkage.

    Parameters
    ----------
    target : Target
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, as `nuts` does (see its Notes).
    width : float or array_like, shape (dim,), optional
        Of the first interval in each dimension. Given, nothing is adapted and the warm-up is only
        burn-in. None adapts it in the warm-up, until steps out and rejected proposals balance;
        it is frozen before the first draw that is kept. A width that does not fit the posterior
        costs evaluations; the draws stay right.
    max_steps_out : int
        An update widens its interval at most this many times, left and right together, so that it
        ends under any density.
    order : {"systematic", "random"}
        An iteration updates every coordinate in turn, or `dim` times a coordinate drawn at random
        (which makes the chain reversible). `gibbs` calls this its ``scan``.
    num_samples : int
        Draws kept in each chain, one an iteration.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. See `metropolis`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``num_evals``: evaluations spent on the draw;
        - ``reached_max_steps_out``: whether an interval was widened as often as it may be.

        Settings: ``width`` (num_chains, dim), and ``tail_index`` (see `nuts`).

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when the density at a start is nan,
        infinite or zero; TargetError when it is +inf, or not the same at the same point.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When more than a tenth of the draws reached `max_steps_out`; when all chains start at one
        point, the density was nan somewhere, draws reach beyond 1e10 or a parameter ran to its
        bound, or there is no warm-up to adapt in.

    Notes
    -----
    An update of coordinate i at x, the others fixed, takes uniforms u1, u2, ... and has three
    steps. A point where the density is nan is outside the slice (``settings["num_nan"]`` counts).

    - A level: ``log y = log p + log(1 - u1)``.
    - An interval from ``left = x - width * u2`` to ``left + width``. It may take `max_steps_out`
      steps out, of which ``floor(u3 * (max_steps_out + 1))`` to the left; each side goes on while
      ``log p >= log y`` at its end.
    - Points ``left + u * (right - left)`` until ``log p >= log y`` at one, the next state. One that
      fails cuts the interval on its side of x.

    Draw order, for each update: under random order a uniform u0, ``i = floor(u0 * dim)``; u1, u2,
    u3; and one uniform for each point. When `initial_position` is None, `dim` uniforms for each
    attempted start come first (see `nuts`).

    References
    ----------
    Neal (2003), Slice sampling, The Annals of Statistics 31. Tibbits, Groendyke, Haran and Liechty
    (2014), Automated factor slice sampling, for the adaptation.

    Examples
    --------
    >>> target = bl.posteriors.gamma_student()
    >>> draws = bl.slice_sample(target, num_samples=2000, rng=1)  # nothing to tune
    >>> print(draws.expect(), target.truth.mean.round(3))
    [4.146 ± 0.015] [4.167]
    >>> print(round(draws.stats["num_evals"].mean(), 0), "evaluations a draw")
    5.0 evaluations a draw
    """
    target = walked(target)
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    max_steps_out = as_count(max_steps_out, "max_steps_out", minimum=0)
    as_choice(order, "order", ("systematic", "random"))
    if width is not None:
        width = as_scale(width, "width", target.dim)
    elif plan.num_warmup == 0:
        warn("num_warmup=0 leaves no time to adapt the width, which stays at 1; pass width")
    options = {"width": width, "max_steps_out": max_steps_out, "at_random": order == "random"}
    settings = {"adapted": width is None, "max_steps_out": max_steps_out, "order": order}
    draws = SLICE_SAMPLE.sample(target, initial_position, options, plan, settings)
    share = draws.stats["reached_max_steps_out"].mean()
    if share > _OFTEN:
        warn(f"{100.0 * share:.0f} % of the draws reached {max_steps_out=}: pass a larger width")
    return draws
