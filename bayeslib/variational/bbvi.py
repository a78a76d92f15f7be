"""Black-box variational inference: a Gaussian fitted by noisy gradients of the bound."""

import numpy as np

from ..chains.blocks import INFINITE, NUM_EVALS, NUM_NAN, STATUS, Control, Record, advance
from ..chains.starts import initial_positions
from ..compile.callback import together
from ..errors import BayeslibError, TargetError
from ..results import Gaussian
from ..validate import (
    as_bool,
    as_count,
    as_floats,
    as_position,
    as_positive,
    as_real,
    as_rng,
    as_scale,
    blame,
    check_finite,
    check_memory,
    shown,
)
from ..waiting import count, watched
from .bbvi_kernels import ESTIMATORS, LOO, OPTIMISERS, RAO_BLACKWELL, REPARAM, bbvi_kernel
from .checking import FAMILIES, freed, one_of
from .verdict import check_approximation, warn_of

_FORGET = 0.9  # what the baseline keeps of its running averages each step
_PILOT = 10_000  # draws that `bbvi_gradients` estimates a baseline from
_CLIMB = 0.05  # nats by which the bound may rise while it is averaged
_BATCHES = 10


@watched()
def bbvi(
    target,
    initial_position=None,
    *,
    initial_scale=1.0,
    family="meanfield",
    estimator="loo",
    num_steps=5000,
    num_draws=10,
    optimiser="adam",
    step_size=0.1,
    decay=0.75,
    delay=100.0,
    average=True,
    num_check=2000,
    progress=None,
    rng,
):
    """Fit a Gaussian by noisy ascent of the evidence lower bound, if need be without gradients.

    Parameters
    ----------
    target : Target
        ``gradient=None`` is enough for every estimator but "reparam".
    initial_position : array_like, shape (dim,), optional
        Where the mean begins, in the target's coordinates. None draws it in unconstrained
        coordinates, on (-2, 2) in each.
    initial_scale : float or array_like, shape (dim,)
        Standard deviations to begin with, in unconstrained coordinates.
    family : {"meanfield", "fullrank"}
        Independent coordinates ("meanfield"), or any covariance ("fullrank").
    estimator : {"loo", "score", "baseline", "rao_blackwell", "reparam"}
        How the gradient is estimated, see Notes.
    num_steps : int
    num_draws : int
        Draws for each gradient; "loo" needs two.
    optimiser : {"adam", "adagrad", "sgd"}
    step_size : float
    decay, delay : float
        From 0 to 1, and above 0. Step t = 0, 1, … is of size
        ``step_size * (1 + t / delay) ** -decay``, before Adam or AdaGrad divide by the gradient's
        size. With "sgd", the Robbins-Monro conditions (steps sum to infinity, their squares do
        not) hold for 0.5 < decay <= 1; ``decay=0`` is a constant step, after which the parameters
        keep wandering.
    average : bool
        Return the mean of the parameters over the second half of the steps, else the last ones.
    num_check : int
        Draws for the final bound and the first ones for its verdict, as in `advi`; at least 100.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Gaussian
        Of unconstrained coordinates where the support is bounded. ``elbo``, ``elbo_trace``
        (num_steps,): the bound as estimated by each step's draws, nan for a step not taken.
        Settings: the arguments but target, start and `rng`; ``khat``, ``num_weighed`` and
        ``num_scouted`` as in `advi`, ``seed``, ``interrupted``, and ``num_skipped``, how many
        draws had no finite log density (their steps are not taken).

    Raises
    ------
    BayeslibError
        For arguments out of range, each named, and when the parameters run off; StartError when
        the density at the start is nan, infinite or zero.
    GradientError
        When "reparam" finds no gradient.
    TargetError
        When the log density is +inf at a draw, or finite at none.

    Warns
    -----
    BayeslibWarning
        What is in ``problems``: moments that weighted draws contradict, another mode, steps not
        taken, a bound that was still rising, draws of the result without a finite density, an
        interrupt.

    Notes
    -----
    q = N(m, L L'), and f = log p - log q at m + L z. h is the gradient of log q by the parameters,
    which are m, the logarithms of L's diagonal and, for "fullrank", the entries of L below it,
    row by row. The estimates, averaged over the draws:

    - "score": h f. No gradient of p is needed, because the expectation of h is zero.
    - "baseline": h (f - c), c the ratio of E[f h^2] and E[h^2] for each parameter, estimated from
      earlier steps only (a running average, 0 at the first step), so that nothing is biased.
    - "loo": h (f - mean of f over the other draws).
    - "rao_blackwell": h_i (f(theta) - f(theta with coordinate i at its mean)), "meanfield" only.
      What coordinate i does not enter cancels exactly, as if the factors of p had been told apart
      by hand; it costs dim + 1 evaluations a draw.
    - "reparam": the gradient of log p along m + L z, the entropy in closed form.

    Draw order: the start when it is drawn (dim uniforms an attempt), for each step num_draws × dim
    standard normals in C order, then num_check × dim for the check, and for more of it as in
    `advi`.

    References
    ----------
    Ranganath, Gerrish and Blei (2014), Black box variational inference. Robbins and Monro (1951).
    Kool, van Hoof and Welling (2019) for "loo". Kingma and Ba (2015), Duchi, Hazan and Singer
    (2011) for the optimisers; Polyak and Juditsky (1992) for averaging.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0, 2.0], [1.0, 4.0])
    >>> q = bl.bbvi(target, num_steps=3000, rng=1)  # from values alone
    >>> error = np.abs(q.mean - target.truth.mean).max()
    >>> print(error < 0.2, np.diag(q.cov).round(0))
    True [1. 4.]
    """
    free, transform = freed(target)
    code, dense = _as_choice(estimator, family, num_draws)
    num_draws = as_count(num_draws, "num_draws")
    num_steps = as_count(num_steps, "num_steps")
    num_check = as_count(num_check, "num_check", minimum=100)
    constants = _as_schedule(step_size, decay, delay)
    rule = one_of(optimiser, OPTIMISERS, "optimiser")
    scale = as_scale(initial_scale, "initial_scale", free.dim)
    average = as_bool(average, "average")
    check_memory((num_draws + num_check, free.dim), "the draws")
    check_memory((num_steps, 1), "the trace")
    rng, seed = as_rng(rng)
    if initial_position is not None:
        start = as_position(initial_position, "initial_position", free.dim)
        initial_position = start if transform is None else free.unconstrain(start)
    gradient = code == REPARAM
    starts, spent = initial_positions(free, initial_position, [rng], gradient=gradient)
    loop = _Loop(free, pack(starts[0], np.diag(scale), dense), num_draws, num_steps, 1, gradient)
    first_averaged = num_steps // 2 if average else num_steps - 1
    loop.options[:] = code, dense, 1, rule, first_averaged
    loop.constants[:] = (*constants, _FORGET)
    done = loop.run(rng, num_steps)
    mean, factor = unpack(loop.averaged if done == num_steps else loop.parameters, free.dim, dense)
    trace = loop.traces[0, :done]
    approximation = Gaussian(
        mean, factor @ factor.T,
        elbo_trace=trace, names=target.names, method="bbvi", num_evals=spent + loop.num_evals,
        transform=transform,
        settings={
            "family": family, "estimator": estimator, "optimiser": optimiser,
            "num_steps": num_steps, "num_draws": num_draws, "step_size": constants[0],
            "decay": constants[1], "delay": constants[2], "average": average, "seed": seed,
            "initial_scale": scale, "num_check": num_check,
            "num_skipped": int(loop.counts[NUM_NAN]), "interrupted": done < num_steps,
        },
        problems=tuple(_problems(loop, trace, done, num_steps)),
    )  # fmt: skip
    approximation = check_approximation(free, approximation, num_check, rng)
    warn_of(approximation)
    return approximation


def bbvi_gradients(
    target,
    mean,
    scale,
    *,
    estimator,
    num_draws=1,
    num_samples=1000,
    baseline=None,
    entropy=True,
    rng,
):
    """Estimate the gradient of the evidence lower bound many times, as `bbvi` does at each step.

    Parameters
    ----------
    target : Target
    mean : array_like, shape (dim,)
        Of q, in unconstrained coordinates.
    scale : float or array_like, shape (dim,) or (dim, dim)
        Standard deviations of a q of family "meanfield", or the lower triangular factor of one of
        "fullrank".
    estimator : {"score", "baseline", "loo", "rao_blackwell", "reparam"}
        As in `bbvi`.
    num_draws : int
        Draws for each estimate.
    num_samples : int
        Estimates.
    baseline : float or array_like, shape (num_parameters,), optional
        The c of "baseline". None estimates the best one from 10,000 draws made before.
    entropy : bool
        False leaves out log q: the gradient is that of the expectation of log p alone.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    numpy.ndarray, shape (num_samples, num_parameters)
        Independent rows: the gradient by the means, by the logarithms of the scales (the factor's
        diagonal) and by the factor's entries below it, row by row.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named.
    TargetError
        When the log density is not finite at a draw.

    Notes
    -----
    Draw order: 10,000 × dim standard normals when a baseline is to be estimated, then for each
    estimate num_draws × dim.

    Examples
    --------
    >>> target = bl.posteriors.gaussian([0.0], 1.0)
    >>> how = dict(num_draws=4, rng=1)
    >>> for estimator in ("score", "loo", "reparam"):
    ...     g = bl.bbvi_gradients(target, [1.0], 0.5, estimator=estimator, **how)
    ...     print(estimator, g.mean(axis=0).round(1), g.std(axis=0).round(1))
    score [-1.   0.8] [1.2 1.3]
    loo [-1.   0.8] [1.4 1.6]
    reparam [-1.   0.8] [0.3 0.3]
    """
    free, _ = freed(target)
    mean = as_position(mean, "mean", free.dim)
    factor, dense = _as_factor(scale, free.dim)
    family = FAMILIES[dense]
    code, _ = _as_choice(estimator, family, num_draws)
    num_draws = as_count(num_draws, "num_draws")
    num_samples = as_count(num_samples, "num_samples")
    entropy = as_bool(entropy, "entropy")
    parameters = pack(mean, factor, dense)
    check_memory((num_samples, parameters.size), "the gradients")
    check_memory((num_draws, free.dim), "the draws")
    rng, _ = as_rng(rng)

    def loop(num_draws, num_samples, keep, controls=None):
        made = _Loop(free, parameters, num_draws, num_samples, num_samples, code == REPARAM)
        made.options[:] = code, dense, entropy, 0, num_samples
        made.constants[:] = 0.0, 0.0, 1.0, keep
        if controls is not None:
            made.controls[:] = controls
        made.run(rng, num_samples)
        if made.counts[NUM_NAN]:
            words = (
                f"the log density is not finite at {made.counts[NUM_NAN]} draws of q, the first "
                f"at {shown(made.points[0])} in unconstrained coordinates: take a narrower scale"
            )
            raise TargetError(blame(free, words))
        return made

    controls = None
    if ESTIMATORS[code] == "baseline":
        if baseline is None:
            controls = loop(_PILOT, 1, 0.0).controls
        else:
            controls = np.stack([_as_baseline(baseline, parameters.size), np.ones(parameters.size)])
    elif baseline is not None:
        raise BayeslibError(f'baseline belongs to estimator="baseline", not to {estimator!r}')
    return np.array(loop(num_draws, num_samples, 1.0, controls).gradients)


class _Loop:
    """The arrays of one run of the kernel."""

    def __init__(self, free, parameters, num_draws, num_steps, num_kept, gradient):
        dim, size = free.dim, parameters.size
        self.free, self.bound, self.record = free, free.bind(gradient=gradient), Record(dim)
        self.counts, self.points = self.record.counts, self.record.points
        self.options, self.constants = np.zeros(5, dtype=np.int64), np.zeros(4)
        (
            self.parameters, self.averaged, self.memory, self.controls, self._factor,
            self._normals, self._gradient, self._score, self._work, self.gradients, self.traces,
        ) = together(
            parameters, np.zeros(size), np.zeros((2, size)), np.zeros((2, size)),
            np.zeros((dim, dim)), np.zeros((num_draws, dim)), np.zeros(size), np.zeros(size),
            np.zeros((6, max(dim, num_draws, size))), np.zeros((num_kept, size)),
            np.zeros((1, num_steps)),
        )  # fmt: skip

    @property
    def num_evals(self):
        return int(self.counts[NUM_EVALS])

    def run(self, rng, num_steps):
        """Do the steps, or those before an interrupt; return how many."""

        def step(first, last):
            count((last - first) * len(self._normals))
            return bbvi_kernel(
                self.bound.address, self.bound.handle, rng, first, last, self.options,
                self.constants, self.parameters, self.averaged, self.memory, self.controls,
                self._factor, self._normals, self._gradient, self._score, self._work,
                self.gradients, self.traces, self.counts, self.points,
            )  # fmt: skip

        control = Control(1)
        try:
            done = advance(
                step, bound=self.bound, control=control, chain=0, num_iterations=num_steps
            )
        except KeyboardInterrupt:
            if control.done[0] == 0:
                raise
            return control.done[0]
        if done < num_steps:
            self._raise(done)
        return done

    def _raise(self, done):
        where = f"step {done}"
        if self.bound.num_errors:
            error = self.free.explain(self.bound.failed_at)
            error.add_note(f"bayeslib: raised at x={shown(self.bound.failed_at)} in {where}")
            raise error
        if self.counts[STATUS] == INFINITE:
            raise TargetError(
                f"the log density is +inf at x={shown(self.points[1])} in {where}: it overflows, "
                "or the density is not integrable there"
            )
        raise BayeslibError(
            f"the parameters ran off at {where}: the gradients are too noisy for this step. Take "
            'a smaller step_size, more draws, estimator="loo" or "reparam", or optimiser="adam"'
        )


def pack(mean, factor, dense):
    """Return the variational parameters of N(mean, L L') as one array."""
    below = factor[np.tril_indices(mean.size, -1)] if dense else ()
    return np.concatenate([mean, np.log(np.diag(factor)), below])


def unpack(parameters, dim, dense):
    """Return mean and L, (dim, dim)."""
    factor = np.diag(np.exp(parameters[dim : 2 * dim]))
    if dense:
        factor[np.tril_indices(dim, -1)] = parameters[2 * dim :]
    return parameters[:dim].copy(), factor


def _problems(loop, trace, done, num_steps):
    if done < num_steps:
        yield f"the fit was interrupted after {done} of {num_steps} steps"
    taken = trace[np.isfinite(trace)]
    if not taken.size:
        raise TargetError(
            f"every one of {done} steps had a draw where the log density is not finite, the first "
            f"at x={shown(loop.points[0])}: begin elsewhere, or with a smaller initial_scale"
        )
    skipped = done - taken.size
    if skipped:
        yield (
            f"{skipped} of {done} steps were not taken, because the log density is not finite at "
            f"one of their draws, the first at x={shown(loop.points[0])}: a Gaussian puts mass "
            "there, so that its evidence lower bound is -inf; say the target's support"
        )
    window = taken[taken.size // 2 :]
    if window.size >= 4 * _BATCHES:
        halves = np.array_split(window, 2)
        batches = [[b.mean() for b in np.array_split(half, _BATCHES)] for half in halves]
        rise = np.mean(batches[1]) - np.mean(batches[0])
        error = np.sqrt(np.var(batches, axis=1, ddof=1).sum() / _BATCHES)
        if rise > max(_CLIMB, 5.0 * error):
            yield (
                f"the bound rose by {rise:.2g} within the last half of the steps: not converged; "
                "take more steps, or larger ones"
            )


def _as_choice(estimator, family, num_draws):
    code = one_of(estimator, ESTIMATORS, "estimator")
    dense = one_of(family, FAMILIES, "family")
    as_count(num_draws, "num_draws")
    if code == LOO and num_draws < 2:
        raise BayeslibError(
            'estimator="loo" compares each draw with the others: num_draws must be at least 2, '
            f"got {num_draws}"
        )
    if code == RAO_BLACKWELL and dense:
        raise BayeslibError(
            'estimator="rao_blackwell" needs independent coordinates: take family="meanfield", or '
            'estimator="loo"'
        )
    return code, dense


def _as_schedule(step_size, decay, delay):
    step_size = as_positive(step_size, "step_size")
    decay = as_real(decay, "decay", minimum=0.0, maximum=1.0)
    return step_size, decay, as_positive(delay, "delay")


def _as_factor(scale, dim):
    """Return L and whether it is dense."""
    array = as_floats(scale, "scale")
    if array.ndim < 2:
        return np.diag(as_scale(scale, "scale", dim)), 0
    if array.shape != (dim, dim):
        raise BayeslibError(f"scale must have shape ({dim},) or ({dim}, {dim}), got {array.shape}")
    check_finite(array, "scale")
    if np.any(np.triu(array, 1)) or not np.all(np.diag(array) > 0.0):
        raise BayeslibError(
            "scale must be lower triangular with a positive diagonal: a covariance's factor, "
            "np.linalg.cholesky(cov)"
        )
    return array, 1


def _as_baseline(baseline, size):
    array = as_floats(baseline, "baseline")
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise BayeslibError(
            f"baseline must be a number or have shape ({size},), one for each parameter, got "
            f"{array.shape}"
        )
    check_finite(array, "baseline")
    return array
