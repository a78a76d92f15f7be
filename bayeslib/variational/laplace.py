"""Laplace's approximation: the Gaussian with the mode and the curvature of the posterior."""

from dataclasses import replace

import numpy as np

from ..chains.starts import initial_positions, scatter
from ..errors import BayeslibError, StartError, warn
from ..exact.scouts import evenly_spread
from ..results import Estimate, Gaussian
from ..results.coordinates import as_transform
from ..target import as_separate, as_target, unconstrained
from ..validate import as_choice, as_count, as_floats, as_positions, blame, check_memory, shown
from ..waiting import watched
from .newton import FAR, Slopes, climb, run_optimiser
from .verdict import checked

_COORDINATES = ("own", "unconstrained")
_NUM_STARTS = 8
_SAME, _NEAR = 1e-3, 0.1  # posterior standard deviations between two climbs to one mode, two ends
_HISTORY, _RUNS = 10, 3  # steps that L-BFGS knows the curvature from; at most so many runs of it
_SEED = 20  # of the draws for the verdict, the same in every run


@watched("for a point on the way is no mode")
def laplace(
    target, initial_position=None, *, coordinates=None, max_steps=200, num_check=2000, progress=None
):
    """Fit a Gaussian to the mode of the posterior and the curvature there.

    Parameters
    ----------
    target : Target
        With a gradient.
    initial_position : array_like, shape (dim,) or (k, dim), optional
        Where to climb from, in the parameters of `target`: a climb for each point. From one point
        no other mode is looked for. None takes 8 fixed points, less those of zero density; like the
        starts of `nuts` they are spread over (-2, 2), or between the bounds.
    coordinates : {None, "own", "unconstrained"}
        Whether the Gaussian is over the parameters themselves ("own"), or over the coordinates that
        `unconstrained` makes of them; the mode depends on it. None is "unconstrained" for a target
        with ``parameters=``, and "own" for others.
    max_steps : int
        The most steps of each run of L-BFGS (a climb makes up to three), and of Newton's method
        after them.
    num_check : int
        Draws that first judge the fit, at least 100; up to fifty times as many where in doubt.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Gaussian
        Centred at the highest mode found; ``transform`` is set when it is over unconstrained
        coordinates and a parameter is bounded. Its `log_evidence`, of the highest mode alone, is
        ``log p(mode) + dim / 2 * log(2 * pi) - log det(H) / 2``, with nan for its error: it is no
        average, and its bias is not known. Settings:

        - ``coordinates``: "own" or "unconstrained";
        - ``mode`` (dim,): the highest mode, in the parameters of `target`;
        - ``logdensity``: the log density there, in the coordinates of the Gaussian (if they are
          unconstrained, with the Jacobian);
        - ``hessian`` H (dim, dim): minus its Hessian there, in the same coordinates;
        - ``modes`` (m, dim): all modes that were found, in the parameters, the highest first;
          ``mode_logdensities`` (m,): their log densities;
        - ``num_starts``: how many climbs; ``num_failed``: how many of them found no mode;
        - ``khat``, ``num_weighed`` and ``num_scouted``: see :ref:`How a fit is judged
          <sec-api-judged>`.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; for a `unit_vector`, whose coordinates have no mode;
        when all climbs fail, as the density rises to an edge of the support, or has no maximum
        where the gradient vanishes (the direction is named).
    StartError
        When the density at any given start is nan, infinite or zero, or at all of the 8.
    GradientError
        For a missing or wrong gradient.
    ImproperError
        When all climbs fail, as the density rises without end.

    Warns
    -----
    BayeslibWarning
        What is in ``problems``: several modes, climbs that found none, moments that weighted draws
        contradict or cannot judge; and when all points of `initial_position` are the same, which
        makes one climb.

    Notes
    -----
    Nothing is random: the draws that judge the result are the same in every run, too. To test a
    verdict anew, raise `num_check`. A draw beyond an edge of the support has no weight.

    Climb: from each start by L-BFGS; where it ends, unless another climb ended there, by Newton
    steps damped as by Levenberg and Marquardt, and plain ones at the end. H comes from fourth-order
    finite differences of the exact gradient.

    References
    ----------
    Laplace (1774), "Mémoire sur la probabilité des causes par les évènements". Tierney and Kadane
    (1986), "Accurate approximations for posterior moments and marginal densities". Liu and Nocedal
    (1989), "On the limited memory BFGS method for large scale optimization".

    Examples
    --------
    >>> target = bl.posteriors.challenger()
    >>> q = bl.laplace(target)
    >>> print(q.mean.round(2), target.truth.mean.round(2))
    [-1.17 -2.21] [-1.31 -2.69]
    >>> print(round(float(q.log_evidence), 2), round(target.truth.log_evidence, 2))
    -14.1 -14.02

    Its means are off, but within the limit of half a standard deviation:

    >>> sd = np.sqrt(np.diag(target.truth.cov))
    >>> print(((q.mean - target.truth.mean) / sd).round(2), q.problems)
    [0.23 0.41] ()

    Weighted draws of a Student-t of its shape correct means and evidence, here to within two of
    their errors. (Its own draws never reach the tails: their errors would be too small.)

    >>> from scipy import stats
    >>> wide = stats.multivariate_t(q.mean, q.cov, df=5)
    >>> draws = bl.importance_sample(target, wide, num_samples=10_000, rng=1)
    >>> print(draws.expect(), draws.log_evidence)
    [-1.3262 ± 0.0069, -2.708 ± 0.014] -14.0107 ± 0.0045

    Where parameters are bounded, fit and weight without the bounds, and take the draws back:

    >>> coin = bl.posteriors.coin(9, 3)  # its theta lies between 0 and 1
    >>> free = bl.unconstrained(coin)
    >>> q = bl.laplace(free)
    >>> wide = stats.multivariate_t(q.mean, q.cov, df=5)
    >>> weighted = bl.importance_sample(free, wide, num_samples=10_000, rng=1)
    >>> draws = free.constrain(weighted)
    >>> print(draws.expect(), coin.truth.mean.round(4))
    [0.7129 ± 0.0011] [0.7143]
    """
    if coordinates is None:
        coordinates = _COORDINATES[as_target(target).layout is not None]
    own = as_choice(coordinates, "coordinates", _COORDINATES) == "own"
    work = as_separate(target, "laplace in its own coordinates") if own else unconstrained(target)
    dim = work.dim
    max_steps = as_count(max_steps, "max_steps")
    num_check = as_count(num_check, "num_check", minimum=100)
    check_memory((num_check, 2 * dim), "the draws")
    check_memory((4, dim, dim), "the Hessian")
    transform = as_transform(None, dim) if own else work.transform
    if any(kind == "unit_vector" for kind, *_ in transform.blocks):
        raise BayeslibError("the coordinates of a unit_vector have no mode: use nuts, or advi")
    if initial_position is None and target.layout:
        starts = _starts(work, None)
    else:
        starts = transform.unconstrain(_starts(target, target.flatten(initial_position)))
    spent = 0
    if initial_position is None:
        usable = [start for start in starts if work.finite(start, gradient=True)]
        if not usable:
            words = f"none of {len(starts)} starts has a finite log density: pass initial_position"
            raise StartError(blame(work, words))
        spent, starts = len(starts), np.array(usable)
    starts, num_evals = initial_positions(work, starts, [None] * len(starts), gradient=True)
    slopes = Slopes(work)
    modes, errors = _modes(slopes, starts, max_steps)
    if not modes:
        raise errors[0]
    best = modes[0]
    spent += num_evals + slopes.num_evals
    positions = transform.constrain([mode.position for mode in modes])
    result = Gaussian(
        best.position, _inverse(best.hessian), names=target.names, num_evals=spent,
        method="laplace", transform=transform,
        settings={
            "coordinates": coordinates, "mode": positions[0], "logdensity": best.value,
            "hessian": best.hessian, "modes": positions,
            "mode_logdensities": np.array([mode.value for mode in modes]),
            "num_starts": len(starts), "num_failed": len(errors),
        },
        problems=tuple(_problems(positions, modes, starts, errors)),
    )  # fmt: skip
    result = checked(work, result, num_check, np.random.default_rng(_SEED), edges=True)
    return replace(result, log_evidence=Estimate(best.log_mass, np.nan, result.num_evals))


def _modes(slopes, starts, max_steps):
    """Return the modes above the starts, the highest first, and the errors met on other climbs."""
    modes, errors, different = [], [], []
    ends = [(_ascend(slopes, start, max_steps), start) for start in starts]
    for end, start in sorted(ends, key=lambda pair: -slopes(pair[0])[0]):
        if any(mode.distance(end) <= _NEAR for mode in modes):
            continue
        try:
            modes.append(climb(slopes, end, max_steps, origin=start))
        except BayeslibError as error:
            errors.append(error)
    for mode in sorted(modes, key=lambda mode: -mode.value):
        if all(other.distance(mode.position) > _SAME for other in different):
            different.append(mode)
    return different, errors


def _starts(target, initial_position):
    """Return points to climb from, (k, dim), in the parameters of `target`."""
    if initial_position is None:
        cube = evenly_spread(np.arange(_NUM_STARTS), target.dim)
        return np.array([scatter(u, target.support) for u in np.clip(cube, 1e-3, 1.0 - 1e-3)])
    starts = as_floats(initial_position, "initial_position")
    rows = max(len(starts), 1) if starts.ndim == 2 else 1
    starts = as_positions(starts, "initial_position", target.dim, rows)
    if rows > 1 and np.all(starts == starts[0]):
        warn(f"all {rows} points of initial_position are the same: pass others, or None")
        return starts[:1]
    return starts


def _ascend(slopes, start, max_steps):
    """Return where L-BFGS leads, or `start` where it ran off."""
    end = start
    for _ in range(_RUNS):
        path, _ = run_optimiser(slopes, end, _HISTORY, max_steps)

        end = path[-1]
        if np.abs(end).max() > FAR * (1.0 + np.abs(start).max()):
            return start
        if len(path) <= 2:
            break
    return end


def _inverse(hessian):
    """Invert a positive definite matrix, exactly symmetric."""
    factor = np.linalg.inv(np.linalg.cholesky(hessian))
    return factor.T @ factor


def _problems(positions, modes, starts, errors):
    if len(modes) > 1:
        below = modes[0].value - modes[1].value
        found = f"{len(modes)} modes were found; the next lies at theta={shown(positions[1])}"
        yield f"{found}, {below:.3g} lower in log density: one Gaussian does not cover both"
    if errors:
        yield f"{len(errors)} of {len(starts)} climbs found no mode; one of them: {errors[0]}"
