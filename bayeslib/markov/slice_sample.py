"""Slice sampling, one coordinate after another."""

import numpy as np

from ..chains.blocks import (
    INFINITE,
    NUM_EVALS,
    NUM_NAN,
    STATUS,
    UNDEFINED,
    Record,
    advance,
    outcome,
    warmup_windows,
)
from ..chains.run import as_counts, sample_chains
from ..compile.callback import (
    ADDRESS,
    FLAGS,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    density,
    helper,
    kernel,
    together,
)
from ..errors import BayeslibError, TargetError, warn
from ..target.target import as_target
from ..validate import as_count, as_scale, shown

_ORDERS = ("systematic", "random")
_MOST_SHRINKS = 1000  # an interval of floats is a point after fewer
_OFTEN = 0.1  # draws that reached the limit, above which it is said

# What a coordinate's update found out: steps out, proposals outside the slice, whether it could not
# be completed.
_OUT, _IN, _BROKEN = range(3)
# What adaptation keeps for each coordinate: logarithm of the width, its average.
_LOG, _AVERAGE = range(2)


@helper
def _value_at(address, handle, position, unused, i, x, counts, points):
    """Return the log density with coordinate i at x; -inf where it is nan."""
    position[i] = x
    value = density(address, position, unused, handle)
    counts[NUM_EVALS] += 1
    if value != value:
        if counts[NUM_NAN] == 0:
            points[0] = position
        counts[NUM_NAN] += 1
        return -np.inf
    if value == np.inf:
        counts[STATUS] = INFINITE
        points[1] = position
    return value


@helper
def _update(address, handle, rng, position, unused, i, lp, width, most, counts, points, found):
    """Draw coordinate i from the slice in place; return its log density (Neal, 2003, figs 3, 5)."""
    x, last_word = position[i], handle.size - 1
    level = lp + np.log(1.0 - rng.random())
    left = x - width * rng.random()
    right = left + width
    steps_left = int(rng.random() * (most + 1.0))
    steps_right = most - steps_left
    found[_OUT] = found[_IN] = found[_BROKEN] = 0
    while _value_at(address, handle, position, unused, i, left, counts, points) >= level:
        if steps_left == 0:
            break
        steps_left -= 1
        found[_OUT] += 1
        left -= width
        if handle[last_word] != 0 or counts[STATUS] != 0:
            break
    while _value_at(address, handle, position, unused, i, right, counts, points) >= level:
        if steps_right == 0:
            break
        steps_right -= 1
        found[_OUT] += 1
        right += width
        if handle[last_word] != 0 or counts[STATUS] != 0:
            break
    while found[_IN] < _MOST_SHRINKS and handle[last_word] == 0 and counts[STATUS] == 0:
        new = left + rng.random() * (right - left)
        value = _value_at(address, handle, position, unused, i, new, counts, points)
        if value >= level and handle[last_word] == 0 and counts[STATUS] == 0:
            return value
        found[_IN] += 1
        if new < x:
            left = new
        else:
            right = new
    position[i] = x
    found[_BROKEN] = 1
    if found[_IN] == _MOST_SHRINKS:
        counts[STATUS] = UNDEFINED
        points[1] = position
    return lp


@helper
def _adapt(i, found, count, widths, width):
    """Balance steps out and rejections (Tibbits, Groendyke, Haran and Liechty, 2014)."""
    total = found[_OUT] + found[_IN]
    if total > 0:
        widths[_LOG, i] += 2.0 * count**-0.6 * (found[_OUT] / total - 0.5)
    weight = count**-0.75
    widths[_AVERAGE, i] += weight * (widths[_LOG, i] - widths[_AVERAGE, i])
    width[i] = np.exp(widths[_LOG, i])


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INT, INT, INT, INTS, INTS, VECTOR, VECTOR, VECTOR,
    MATRIX, INTS, MATRIX, MATRIX, VECTOR, INTS, FLAGS, seconds=6,
)  # fmt: skip
def slice_kernel(
    address, handle, rng, first, last, most, at_random, adapts, ends, window, position, current,
    width, widths, counts, points, draws, logdensity, spent, cut,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of `dim` updates; the first ``ends[-1]`` are warm-up.

    `current` holds the log density at `position`; `window` which of the windows that end at
    `ends` it is, and its updates. Returns where it stopped.
    """
    dim = position.size
    unused, found = np.empty(dim), np.zeros(3, dtype=np.int64)
    num_warmup = ends[ends.size - 1]
    for t in range(first, last):
        adapting = adapts != 0 and t < num_warmup
        before, was_cut = counts[NUM_EVALS], False
        window[1] += 1
        for k in range(dim):
            i = int(rng.random() * dim) if at_random != 0 else k
            current[0] = _update(
                address, handle, rng, position, unused, i, current[0], width[i], most, counts,
                points, found,
            )  # fmt: skip
            if found[_BROKEN] != 0:
                return t
            was_cut = was_cut or (found[_OUT] == most and most > 0)
            if adapting:
                _adapt(i, found, float(window[1]), widths, width)
        if adapting and t + 1 == ends[window[0]]:
            window[0] += 1
            window[1] = 0
            for i in range(dim):
                widths[_LOG, i] = widths[_AVERAGE, i]
                width[i] = np.exp(widths[_LOG, i])
        if t < num_warmup:
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        logdensity[n] = current[0]
        spent[n] = counts[NUM_EVALS] - before
        cut[n] = was_cut
    return last


def _slice_chain(
    control, chain, target, rng, start, width, max_steps_out, at_random, num_warmup, num_samples
):
    dim, adapts = target.dim, width is None
    bound, record = target.bind(gradient=False), Record(dim)
    position, width, widths = together(start, np.ones(dim) if adapts else width, np.zeros((2, dim)))
    current = np.array([bound(position, np.empty(dim))])
    values, logdensity = np.empty((num_samples, dim)), np.empty(num_samples)
    spent, cut = np.empty(num_samples, dtype=np.int64), np.empty(num_samples, dtype=bool)
    ends = warmup_windows(num_warmup) if adapts else np.array([num_warmup])
    window = np.zeros(2, dtype=np.int64)

    def step(first, last):
        return slice_kernel(
            bound.address, bound.handle, rng, first, last, max_steps_out, at_random, adapts, ends,
            window, position, current, width, widths, record.counts, record.points, values,
            logdensity, spent, cut,
        )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=bound, control=control, chain=chain, num_iterations=num_iterations)
    raised = None
    if record.counts[STATUS] == UNDEFINED:
        raised = TargetError(
            f"the log density at {shown(record.points[1])} differs from what it was there before: "
            "it must be a function of theta and the data alone, without random numbers"
        )
    return outcome(
        done, bound=bound, record=record, rng=rng, values=values, logdensity=logdensity,
        stats={"num_evals": spent, "reached_max_steps_out": cut}, settings={"width": width},
        raised=raised,
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
        None draws a start for each chain, see Notes.
    width : float or array_like, shape (dim,), optional
        Of the first interval in each dimension. Given, nothing is adapted and the warm-up is only
        a run-in. None adapts it in the warm-up, until steps out and rejected proposals balance;
        it is frozen before the first draw that is kept. It costs evaluations if it does not fit
        the posterior, not correctness.
    max_steps_out : int
        An update widens its interval at most this many times, left and right together, so that no
        density can keep it for ever.
    order : {"systematic", "random"}
        An iteration updates every coordinate in turn, or `dim` times one that is drawn (which
        makes the chain reversible): what `gibbs` calls its ``scan``.
    num_samples : int
        Draws kept in each chain, one an iteration.
    num_warmup : int
        Iterations before them, in each chain; not kept, but counted in `num_evals`.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. A process pool, or ``client.get_executor()`` of
        a Dask cluster, makes the same draws. If a chain is lost with its worker for good, the
        executor's error is raised, and its `partial` keeps the other chains.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        stats: ``num_evals``, evaluations spent on the draw; ``reached_max_steps_out``, an interval
        was widened as often as it may be. Settings: ``width`` (num_chains, dim), and
        ``tail_index`` (see `nuts`). Interrupted, it returns what was drawn,
        ``settings["interrupted"]`` set.

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
        point, the density was nan somewhere, draws reach beyond 1e10, or there is no warm-up to
        adapt in.

    Notes
    -----
    For coordinate i at x, with the others fixed: a level log y = log p + log(1 - u1); an interval
    from left = x - width * u2 to left + width; of the steps out at most floor(u3 *
    (max_steps_out + 1)) to the left and the rest to the right, each while log p >= log y at that
    end; then x' = left + u * (right - left) until log p >= log y there, the interval being cut at
    every x' that fails, on its side of x. Draw order, for each update: under random order a
    uniform u0, i = floor(u0 * dim); u1, u2, u3; and one uniform for each x'. Where the density is
    nan counts as outside the slice (``settings["num_nan"]``). When `initial_position` is None,
    `dim` uniforms for each attempted start come first (see `nuts`).

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
    dim = as_target(target).dim
    counts = as_counts(num_samples, num_warmup, num_chains)
    max_steps_out = as_count(max_steps_out, "max_steps_out", minimum=0)
    if not (isinstance(order, str) and order in _ORDERS):
        raise BayeslibError(f'order must be "systematic" or "random", got {order!r}')
    if width is not None:
        width = as_scale(width, "width", dim)
    elif counts[1] == 0:
        warn("num_warmup=0 leaves no time to adapt the width, which stays at 1; pass width")
    draws = sample_chains(
        _slice_chain, (width, max_steps_out, order == "random"), kernel=slice_kernel,
        target=target, initial_position=initial_position, counts=counts, numbers=3, rng=rng,
        executor=executor, progress=progress, method="slice_sample",
        settings={
            "adapted": width is None, "max_steps_out": max_steps_out, "order": order,
        },
    )  # fmt: skip
    share = draws.stats["reached_max_steps_out"].mean()
    if share > _OFTEN:
        warn(
            f"{100.0 * share:.0f} % of the draws reached max_steps_out={max_steps_out}: the width "
            "is far too small, or the posterior improper; adapt the width, or pass a larger one"
        )
    return draws
