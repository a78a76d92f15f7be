"""Pathfinder: the best of the Gaussians that an optimiser passes on its way up."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ..chains.blocks import spawn
from ..chains.starts import initial_positions
from ..diagnostics.trouble import tail_problem
from ..errors import BayeslibError, warn
from ..independent.importance_sample import importance_sample, with_tails
from ..independent.mixture import StudentMixture
from ..results import Gaussian
from ..target.target import as_target
from ..validate import as_bool, as_count, as_floats, as_rng, check_memory
from ..waiting import watched
from .checking import freed
from .elsewhere import scout
from .newton import run_optimiser
from .path import gaussians
from .verdict import check_approximation, elsewhere_problem, warn_of

_MOST_DIMENSIONS = 1000
_NUM_PATHS = 4
_WIDE_SHARE = 0.2  # of the draws of `multipathfinder`
_WIDTH = 2.0  # of a wide part, in units of its Gaussian, which the bound makes too narrow
_DF = 3.0  # of a wide part; with fewer, exp of a coordinate may overflow


@watched("for before its path has ended no Gaussian is the best")
def pathfinder(
    target,
    initial_position=None,
    *,
    num_paths=None,
    history=6,
    max_iterations=1000,
    num_elbo_draws=100,
    num_check=2000,
    keep_path=False,
    progress=None,
    rng,
):
    """Approximate by the best Gaussian that an optimiser passes on its way to the mode.

    Parameters
    ----------
    target : Target
        With a gradient; it is compared with finite differences at the first start.
    initial_position : array_like, shape (dim,) or (num_paths, dim), optional
        Where paths begin, in the target's coordinates. None draws a start for each path in
        unconstrained coordinates, on (-2, 2) in each.
    num_paths : int, optional
        Paths to take the best of: as many as there are starts, 4 when they are drawn. One start
        (dim,) is one path, and more are refused.
    history : int
        Steps of the optimiser that each inverse Hessian is made of.
    max_iterations : int
        Of the optimiser.
    num_elbo_draws : int
        Draws for the evidence lower bound at each point of a path.
    num_check : int
        Draws for the final bound and the first ones for its verdict, as in `advi`; at least 100.
    keep_path : bool
        Keep the Gaussians along the best path in the settings.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Gaussian
        Of unconstrained coordinates where the support is bounded. ``elbo_trace``: the bound at
        each point of the best path, -inf where there was no Gaussian or it left the support.
        Settings: ``elbos`` (num_paths,), -inf for a path that failed; ``lengths`` (num_paths,),
        the optimiser's steps; ``path`` (n, dim), the best path in the target's coordinates, its
        start first, and ``chosen``, the index in it; ``khat``, ``num_weighed`` and
        ``num_scouted`` as in `advi`, ``seed``. With `keep_path` also ``means`` (n - 1, dim) and
        ``covs`` (n - 1, dim, dim), in unconstrained coordinates, nan where there was no Gaussian.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; for more than 1000 dimensions; when every path
        failed.
    StartError, GradientError
        As in `nuts`.

    Warns
    -----
    BayeslibWarning
        What is in ``problems``: paths that failed or ended at another mode, another mode that no
        path met, and moments that weighted draws contradict.

    Notes
    -----
    From each start L-BFGS climbs log p. At each point theta after the first, the last `history`
    steps make an inverse Hessian H, a diagonal plus a matrix of rank 2 * history, and with it the
    Gaussian N(theta + H grad log p(theta), H). Steps along which the gradient does not fall
    (no positive curvature) are left out of H.

    Draw order: one path draws from `rng`, several from ``rng.spawn(num_paths)``: the start when it
    is drawn (dim uniforms an attempt; as in `nuts`, paths 1, 3, 5, … begin without, at the mirror
    image of the one before), then num_elbo_draws × dim standard normals for each Gaussian in order.
    Last, `rng` gives num_check × dim normals for the check, and for more of it as in `advi`.

    References
    ----------
    Zhang, Carpenter, Gelman and Vehtari (2022), Pathfinder: Parallel quasi-Newton variational
    inference.

    Examples
    --------
    >>> target = bl.posteriors.challenger()
    >>> q = bl.pathfinder(target, rng=1)
    >>> print(np.abs(q.mean - target.truth.mean) < np.sqrt(np.diag(target.truth.cov)))
    [ True  True]
    >>> print(q.settings["path"].shape[1], q.settings["khat"] < 0.7)
    2 True
    """
    rng, seed = as_rng(rng)
    num_check = as_count(num_check, "num_check", minimum=100)
    check_memory((num_check, 2 * as_target(target).dim), "the draws")
    keep_path = as_bool(keep_path, "keep_path")
    free, transform, paths = _find(
        target, initial_position, num_paths, history, max_iterations, num_elbo_draws, rng
    )
    best = max(paths, key=lambda path: path.elbo)
    chosen = int(np.argmax(best.elbos))
    gaussian = best.found[chosen]
    settings = {
        "num_paths": len(paths), "history": history, "max_iterations": max_iterations,
        "num_elbo_draws": num_elbo_draws, "num_check": num_check, "seed": seed,
        "elbos": np.array([path.elbo for path in paths]),
        "lengths": np.array([len(path.elbos) for path in paths]),
        "path": best.positions if transform is None else free.constrain(best.positions),
        "chosen": chosen + 1,
    }  # fmt: skip
    if keep_path:
        check_memory((len(best.elbos), free.dim, free.dim), "the path's covariances")
        settings["means"] = np.array([_or_nan(g, "mean", (free.dim,)) for g in best.found])
        settings["covs"] = np.array([_or_nan(g, "cov", (free.dim, free.dim)) for g in best.found])
    approximation = Gaussian(
        gaussian.mean, gaussian.cov,
        elbo_trace=best.elbos, names=target.names, method="pathfinder", transform=transform,
        num_evals=sum(path.num_evals for path in paths), settings=settings,
        problems=tuple(_problems(paths, transform)),
    )  # fmt: skip
    approximation = check_approximation(free, approximation, num_check, rng)
    warn_of(approximation)
    return approximation


@watched("for its draws weigh all paths against each other")
def multipathfinder(
    target,
    initial_position=None,
    *,
    num_paths=None,
    num_samples=1000,
    history=6,
    max_iterations=1000,
    num_elbo_draws=100,
    progress=None,
    rng,
):
    """Draw from near the best Gaussians of several paths, weighted to stand for the target.

    Parameters
    ----------
    target : Target
    initial_position : array_like, shape (dim,) or (num_paths, dim), optional
    num_paths : int, optional
    num_samples : int
    history : int
    max_iterations : int
    num_elbo_draws : int
        All as in `pathfinder`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, dim), in the target's coordinates, with ``log_weights``,
        ``log_evidence`` and ``settings["khat"]`` as `importance_sample` has them, and the settings
        ``elbos``, ``lengths`` and ``num_scouted`` of `pathfinder`, and ``elsewhere``, what is said
        of another mode, or None. ``num_evals`` counts the paths too. `resample` makes them equally
        weighted.

    Raises
    ------
    BayeslibError
        As `pathfinder`; ZeroWeightsError when no draw has a positive weight.

    Warns
    -----
    BayeslibWarning
        When k-hat is too large, as `importance_sample` does, or another mode was found.

    Notes
    -----
    The proposal is a mixture in which all paths have equal parts, so that a mode which only some
    reached is weighted by how much they know of it together. Four fifths of a part are the path's
    Gaussian, one fifth is a Student-t of 3 degrees of freedom about the same mean and twice as
    wide. A Gaussian alone falls faster than most targets: its weights have no variance, and errors
    come out too small long before k-hat objects. Against the wide share weights are bounded unless
    the target's tails are heavier than the t's; a Gaussian that is exact loses at most a fifth of
    its draws' worth.

    Draw order: as `pathfinder` up to its check, then one multinomial for the number of draws of
    each wide part and of all Gaussians together, for each wide part its standard normals and its
    chi-square variates, and for the Gaussians an integer a draw for the path and the normals.

    References
    ----------
    As for `pathfinder`; there each path's draws are weighted by its own Gaussian, and resampled by
    smoothed weights. Hesterberg (1995) for the wide share.

    Examples
    --------
    >>> two = bl.posteriors.mixture([0.3, 0.7], [-4.0, 4.0], [1.0, 1.0])
    >>> draws = bl.multipathfinder(two, [[-6.0], [6.0]], num_samples=2000, rng=1)
    >>> print(draws.expect(), two.truth.mean.round(2))
    [1.521 ± 0.082] [1.6]
    >>> print(draws.log_evidence)
    -0.002 ± 0.011
    """
    rng, seed = as_rng(rng)
    num_samples = as_count(num_samples, "num_samples")
    check_memory((num_samples, as_target(target).dim + 3), "the draws")
    free, transform, paths = _find(
        target, initial_position, num_paths, history, max_iterations, num_elbo_draws, rng
    )
    gaussians = [path.gaussian for path in paths if path.fine]
    draws = importance_sample(free, _defended(gaussians), num_samples=num_samples, rng=rng)
    other, num_scouted = scout(free, gaussians, float(draws.log_evidence), transform)
    if other:
        warn(other)
    num_evals = draws.num_evals + sum(path.num_evals for path in paths) + num_scouted
    settings = draws.settings | {
        "proposal": "mixture of paths", "elsewhere": other, "num_scouted": num_scouted,
        "num_paths": len(paths), "history": history, "max_iterations": max_iterations,
        "num_elbo_draws": num_elbo_draws, "seed": seed,
        "elbos": np.array([path.elbo for path in paths]),
        "lengths": np.array([len(path.elbos) for path in paths]),
    }  # fmt: skip
    draws = draws if transform is None else free.constrain(draws)
    draws = with_tails(target, replace(
        draws, method="multipathfinder", num_evals=num_evals, settings=settings,
        log_evidence=replace(draws.log_evidence, num_evals=num_evals),
    ))  # fmt: skip
    heavy = tail_problem(draws)
    if heavy:
        warn(heavy)
    return draws


@dataclass(frozen=True)
class _Path:
    """One path: its points, and a Gaussian (or None) with its bound for each after the first."""

    positions: np.ndarray
    found: list
    elbos: np.ndarray
    num_evals: int

    @property
    def elbo(self):
        return float(self.elbos.max(initial=-np.inf))

    @property
    def fine(self):
        return self.elbo > -np.inf

    @property
    def gaussian(self):
        """The `Gaussian` with the highest bound, or None."""
        if not self.fine:
            return None
        found = self.found[int(np.argmax(self.elbos))]
        return Gaussian(found.mean, found.cov)


def _defended(gaussians):
    """The equal mixture of `gaussians`, and a share of wide, heavy-tailed ones about each."""
    shares = np.full(len(gaussians), _WIDE_SHARE / len(gaussians))
    means = np.array([gaussian.mean for gaussian in gaussians])
    covs = _WIDTH**2 * np.array([gaussian.cov for gaussian in gaussians])
    return StudentMixture(
        np.append(shares, 1.0 - _WIDE_SHARE), means, covs, _DF, _Mixture(gaussians)
    )


class _Mixture:
    """The equal mixture of path Gaussians, as a proposal."""

    def __init__(self, parts):
        self._parts = parts
        self._factors = [part.scale for part in self._parts]
        self.dim = self._parts[0].dim

    def sample(self, num_samples, rng):
        which = rng.integers(len(self._parts), size=num_samples)
        x = rng.standard_normal((num_samples, self.dim))
        for i, (part, factor) in enumerate(zip(self._parts, self._factors, strict=True)):
            x[which == i] = part.mean + x[which == i] @ factor.T
        return x

    def logdensity(self, x):
        each = [part.logdensity(x) for part in self._parts]
        return special.logsumexp(each, axis=0) - np.log(len(each))


def _find(target, initial_position, num_paths, history, max_iterations, num_elbo_draws, rng):
    """Return the target in unconstrained coordinates, their Transform and the paths."""
    free, transform = freed(target)
    if free.dim > _MOST_DIMENSIONS:
        raise BayeslibError(
            f"pathfinder returns a full covariance, and takes at most {_MOST_DIMENSIONS} "
            f"dimensions, got {free.dim}; advi with family='meanfield' takes more"
        )
    history = as_count(history, "history", maximum=10_000)
    max_iterations = as_count(max_iterations, "max_iterations")
    num_elbo_draws = as_count(num_elbo_draws, "num_elbo_draws")
    check_memory((num_elbo_draws, 2 * free.dim), "the draws")
    starts, num_paths = _as_starts(initial_position, num_paths, free.dim)
    if starts is not None and transform is not None:
        starts = free.unconstrain(starts)
    generators = spawn(rng, num_paths)
    starts, spent = initial_positions(free, starts, generators, gradient=True)
    paths = [
        _run(free, start, history, max_iterations, num_elbo_draws, generator, spent * (i == 0))
        for i, (start, generator) in enumerate(zip(starts, generators, strict=True))
    ]
    if not any(path.fine for path in paths):
        raise BayeslibError(
            f"none of {num_paths} paths met a Gaussian whose evidence lower bound is finite: a "
            "start at the mode, a density that grows without end, or one with an edge; begin "
            "elsewhere, say the target's support, or use advi"
        )
    return free, transform, paths


def _as_starts(initial_position, num_paths, dim):
    if num_paths is not None:
        num_paths = as_count(num_paths, "num_paths", maximum=10_000)
    if initial_position is None:
        return None, num_paths or _NUM_PATHS
    starts = as_floats(initial_position, "initial_position")
    if starts.ndim == 0 or (starts.shape == (dim,) and num_paths in (None, 1)):
        starts = starts.reshape(1, -1)
    if dim == 1 and starts.ndim == 1:
        starts = starts[:, None]
    if starts.ndim != 2 or starts.shape[1] != dim or not len(starts):
        raise BayeslibError(
            f"initial_position must have shape ({dim},) or (num_paths, {dim}), got {starts.shape}; "
            "from one point all paths would be the same"
        )
    if num_paths not in (None, len(starts)):
        raise BayeslibError(
            f"initial_position has {len(starts)} rows, but num_paths={num_paths}: give one start a "
            "path, or none"
        )
    return starts, len(starts)


def _run(free, start, history, max_iterations, num_elbo_draws, rng, spent):
    positions, gradients, num_evals = run_optimiser(
        free, start, history=history, max_iterations=max_iterations
    )
    found, elbos = [None] * (len(positions) - 1), np.full(max(len(positions) - 1, 0), -np.inf)
    for i, gaussian in gaussians(positions, gradients, history):
        x, log_q = gaussian.place(rng.standard_normal((num_elbo_draws, free.dim)))
        elbo = np.mean(free.many(x) - log_q)
        num_evals += num_elbo_draws
        found[i - 1], elbos[i - 1] = gaussian, elbo if np.isfinite(elbo) else -np.inf
    return _Path(positions, found, elbos, num_evals + spent)


def _or_nan(gaussian, part, shape):
    return np.full(shape, np.nan) if gaussian is None else getattr(gaussian, part)


def _problems(paths, transform):
    failed = [i for i, path in enumerate(paths) if not path.fine]
    if failed:
        yield (
            f"{len(failed)} of {len(paths)} paths failed ({', '.join(map(str, failed))}): no "
            "Gaussian on them has a finite evidence lower bound"
        )
    gaussians, elbos = [path.gaussian for path in paths], np.array([path.elbo for path in paths])
    elsewhere = elsewhere_problem(gaussians, elbos, transform, "path")
    if elsewhere:
        yield elsewhere
