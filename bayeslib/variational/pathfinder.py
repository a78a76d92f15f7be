"""Pathfinder: the best of the Gaussians that a quasi-Newton optimiser passes on its way up."""

from typing import NamedTuple

import numpy as np

from ..chains.run import spawn
from ..chains.starts import initial_positions
from ..diagnostics.trouble import failed_paths
from ..errors import BayeslibError
from ..results import Gaussian
from ..target import as_target, unconstrained
from ..validate import as_bool, as_count, as_floats, as_rng, check_memory, shown
from ..waiting import watched
from .elsewhere import elsewhere_problem
from .gaussian_family import log_density
from .newton import Slopes, run_optimiser
from .verdict import checked

_MOST = 1000  # dimensions
_NUM_PATHS = 4
_CURVATURE = 1e-12  # the least curvature, in units of the gradient's change, that is learned from


class PathGaussian(NamedTuple):
    """N(mean, cov) with cov = D (I + Q (M - I) Q') D, D diagonal, M = L L' and Q orthonormal.

    Attributes
    ----------
    mean, root : numpy.ndarray, shape (dim,)
        `root` is the diagonal of D.
    basis : numpy.ndarray, shape (dim, k)
        Q.
    factor : numpy.ndarray, shape (k, k)
        L.
    """

    mean: np.ndarray
    root: np.ndarray
    basis: np.ndarray
    factor: np.ndarray

    def place(self, normals):
        """Return draws, (n, dim), and their log densities, (n,), for (n, dim) normals."""
        inside = normals @ self.basis
        moved = normals + (inside @ self.factor.T - inside) @ self.basis.T
        log_det = np.log(self.root).sum() + np.log(np.diag(self.factor)).sum()
        log_q = log_density(log_det, np.square(normals).sum(axis=1), self.mean.size)
        return self.mean + self.root * moved, log_q

    @property
    def cov(self):
        """The covariance, (dim, dim)."""
        across = self.basis @ (self.factor - np.eye(len(self.factor))) @ self.basis.T
        factor = self.root[:, None] * (np.eye(self.mean.size) + across)
        return factor @ factor.T


def gaussians(positions, gradients, history):
    """Yield (index, PathGaussian) for each point after the first that allows one.

    Parameters
    ----------
    positions, gradients : numpy.ndarray, shape (n, dim)
        Gradients of the log density, uphill.
    history : int
        Pairs of steps and changes of the gradient that an inverse Hessian is made of.
    """
    diagonal = np.ones(positions.shape[1])
    steps = changes = np.empty((0, diagonal.size))
    for i in range(1, len(positions)):
        step, change = positions[i] - positions[i - 1], gradients[i - 1] - gradients[i]
        if step @ change > _CURVATURE * (change @ change):
            diagonal = next_diagonal(diagonal, step, change)
            steps = np.vstack([steps, step])[-history:]
            changes = np.vstack([changes, change])[-history:]
        if len(steps):
            found = _gaussian(positions[i], gradients[i], diagonal, steps, changes)

            if found is not None:
                yield i, found


def next_diagonal(diagonal, step, change):
    """Update the diagonal inverse Hessian by one pair (Gilbert and Lemaréchal 1989)."""
    a, b = change @ (diagonal * change), change @ step
    c = step @ (step / diagonal)
    precision = a / (b * diagonal) + change**2 / b - a * step**2 / (b * c * diagonal**2)
    return 1.0 / np.maximum(precision, np.finfo(float).tiny)


def inverse_hessian(diagonal, steps, changes):
    """Return B (dim, 2k) and C (2k, 2k): the inverse Hessian is diag(diagonal) + B C B'.

    The compact form of k BFGS updates (Byrd, Nocedal and Schnabel 1994) by `steps` and `changes`,
    (k, dim), the oldest first.
    """
    k = len(steps)
    products = steps @ changes.T
    inverse = np.linalg.inv(np.triu(products))
    scaled = changes * diagonal
    corner = inverse.T @ (np.diag(np.diag(products)) + scaled @ changes.T) @ inverse
    middle = np.block([[np.zeros((k, k)), -inverse], [-inverse.T, corner]])
    return np.concatenate([scaled, steps]).T, middle


def _gaussian(position, gradient, diagonal, steps, changes):
    try:
        outer, middle = inverse_hessian(diagonal, steps, changes)
        root = np.sqrt(diagonal)
        basis, triangle = np.linalg.qr(outer / root[:, None])
        core = triangle @ middle @ triangle.T
        factor = np.linalg.cholesky(np.eye(len(core)) + 0.5 * (core + core.T))
    except np.linalg.LinAlgError:
        return None
    mean = position + diagonal * gradient + outer @ (middle @ (outer.T @ gradient))
    found = PathGaussian(mean, root, basis, factor)
    finite = all(np.isfinite(part).all() for part in found)
    return found if finite and np.diag(factor).min() > 0.0 else None


class Path(NamedTuple):
    """One path: its points, and for each a Gaussian with its bound, or None, as for the first.

    `gaussian` is the `Gaussian` where the bound is highest, or None where no bound is finite, and
    `odd` says where the log density of a draw was nan or +inf.
    """

    positions: np.ndarray
    found: list
    elbos: np.ndarray
    gaussian: Gaussian | None
    num_evals: int
    odd: str


def find_paths(target, initial_position, rng, num_paths, history, max_iterations, num_elbo_draws):
    """Return the target without constraints, its `Path`s, evaluations, and what settings say."""
    free = unconstrained(target)
    if free.dim > _MOST:
        raise BayeslibError(f"pathfinder takes up to {_MOST} dimensions, got {free.dim}: take advi")
    how = {
        "history": as_count(history, "history", maximum=10_000),
        "max_iterations": as_count(max_iterations, "max_iterations"),
        "num_elbo_draws": as_count(num_elbo_draws, "num_elbo_draws"),
    }
    check_memory((num_elbo_draws, 2 * free.dim), "the draws")
    num_paths = None if num_paths is None else as_count(num_paths, "num_paths", maximum=10_000)
    if initial_position is not None:
        given = as_floats(target.flatten(initial_position), "initial_position")
        rows = given.size // target.dim
        if num_paths not in (None, rows):
            found = f"initial_position has {rows} rows, but num_paths={num_paths}"
            raise BayeslibError(f"{found}: give one start each")
        num_paths = rows
    num_paths = num_paths or _NUM_PATHS
    generators = spawn(rng, num_paths)
    starts = free.starts(initial_position, num_paths)
    starts, num_evals = initial_positions(free, starts, generators, gradient=True)
    paths = [_path(free, *pair, **how) for pair in zip(starts, generators, strict=True)]
    num_evals += sum(path.num_evals for path in paths)
    if not any(path.gaussian for path in paths):
        found = f"none of {num_paths} paths met a Gaussian with a finite evidence lower bound"
        found += next((path.odd for path in paths if path.odd), "")
        raise BayeslibError(f"{found}: begin elsewhere, or say the target's support")
    elbos = np.array([path.elbos.max() for path in paths])
    lengths = np.array([len(path.elbos) - 1 for path in paths])
    settings = how | {"num_paths": num_paths, "elbos": elbos, "lengths": lengths}
    return free, paths, num_evals, settings


def _path(free, start, rng, *, history, max_iterations, num_elbo_draws):
    slopes = Slopes(free)
    positions, gradients = run_optimiser(slopes, start, history, max_iterations)
    found, elbos, odd = [None] * len(positions), np.full(len(positions), -np.inf), ""
    for i, gaussian in gaussians(positions, gradients, history):
        x, log_q = gaussian.place(rng.standard_normal((num_elbo_draws, free.dim)))
        values, slopes.num_evals = free.many(x), slopes.num_evals + num_elbo_draws
        if not (odd or (fine := values < np.inf).all()):
            first = fine.argmin()
            theta = shown(free.constrain(x[first]))
            odd = f", as the log density is {values[first]} at theta={theta}"
        with np.errstate(over="ignore"):  # of log densities near -1e308
            elbo = np.mean(values - log_q)
        found[i], elbos[i] = gaussian, elbo if np.isfinite(elbo) else -np.inf
    best = found[elbos.argmax()]
    gaussian = best and Gaussian(best.mean, best.cov)
    return Path(positions, found, elbos, gaussian, slopes.num_evals, odd)


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
        Paths to take the best of: as many as there are starts, 4 when they are drawn. With one
        start, of shape (dim,), only None or 1 will do.
    history : int
        Steps of the optimiser that each inverse Hessian is made of: where many parameters are
        correlated all of the path, for which any large number will do.
    max_iterations : int
        Of the optimiser.
    num_elbo_draws : int
        Draws for the evidence lower bound at each point of a path.
    num_check : int
        Draws that first judge the fit, at least 100; up to fifty times as many where in doubt.
    keep_path : bool
        Keep the Gaussians along the best path in the settings.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Gaussian
        Of unconstrained coordinates where the support is bounded. ``elbo``, with its standard
        error, is of num_check draws. ``elbo_trace`` (n - 1,): the bound at each point of the best
        path after its start, -inf where there was no Gaussian or it left the support. Settings:

        - ``elbos`` (num_paths,): -inf for a path that failed;
        - ``lengths`` (num_paths,): the optimiser's steps;
        - ``path`` (n, dim): the best path in the target's coordinates, its start first;
          ``chosen``: the index in it of the Gaussian returned, one more than in ``elbo_trace``;
        - ``khat``, ``num_weighed`` and ``num_scouted``: see :ref:`How a fit is judged
          <sec-api-judged>`; ``seed``;
        - ``num_paths`` taken; as asked for, ``history``, ``max_iterations``, ``num_elbo_draws`` and
          ``num_check``;
        - with `keep_path`, ``means`` (n - 1, dim) and ``covs`` (n - 1, dim, dim), in unconstrained
          coordinates, nan where there was no Gaussian.

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
        path met, and moments that weighted draws contradict or cannot judge.

    Notes
    -----
    All is in unconstrained coordinates x, where log p has the Jacobian. From each start L-BFGS
    climbs log p. At each later point it estimates H, the inverse Hessian of -log p: a diagonal,
    updated by every step, plus a matrix of rank at most ``2 * history`` from the last `history`
    steps. With grad, the gradient of log p there, the Gaussian is ``N(x + H @ grad, H)``. Steps
    along which the gradient does not fall are left out of H.

    Draw order: one path draws from `rng`, several from ``rng.spawn(num_paths)``: the start when it
    is drawn, as in `advi`, then num_elbo_draws × dim standard normals for each Gaussian in order.
    Last, `rng` gives num_check × dim normals for the check, and more draws that judge the fit as in
    `advi`.

    References
    ----------
    Zhang, Carpenter, Gelman and Vehtari (2022), "Pathfinder: Parallel quasi-Newton variational
    inference". Gilbert and Lemaréchal (1989), "Some numerical experiments with
    variable-storage quasi-Newton algorithms", for the diagonal.

    Examples
    --------
    >>> target = bl.posteriors.challenger()
    >>> q = bl.pathfinder(target, rng=1)
    >>> print(q.mean.round(2), target.truth.mean.round(2))
    [-1.17 -2.21] [-1.31 -2.69]

    This is Laplace's Gaussian. Chains take starts and metric from it, and fifty steps of warm-up:

    >>> how = dict(initial_position=q.sample(4, rng=2), inverse_mass_matrix=q.cov, num_warmup=50)
    >>> draws = bl.nuts(target, **how, rng=3)
    >>> print(draws.expect(), draws.problems)
    [-1.321 ± 0.011, -2.727 ± 0.023] ()

    Two parameters are too few for that to save much. With twenty that are correlated, a metric
    from all of the path made draws far cheaper; `laplace` did so more surely. Starts alone saved
    nothing, and where the mode lay away from the mass the metric made draws dearer: see
    :ref:`their prices <sec-pathfinder-when>`. (With bounds, fit and sample ``free``, as in the last
    example of `laplace`.)
    """
    rng, seed = as_rng(rng)
    num_check = as_count(num_check, "num_check", minimum=100)
    check_memory((num_check, 2 * as_target(target).dim), "the draws")
    keep_path = as_bool(keep_path, "keep_path")
    free, paths, num_evals, settings = find_paths(
        target, initial_position, rng, num_paths, history, max_iterations, num_elbo_draws
    )
    best = paths[settings["elbos"].argmax()]
    settings |= {"num_check": num_check, "seed": seed, "path": free.constrain(best.positions)}
    settings |= {"chosen": int(best.elbos.argmax())}
    if keep_path:
        check_memory((len(best.found), free.dim, free.dim), "the path's covariances")
        none = (np.full(free.dim, np.nan), np.full((free.dim, free.dim), np.nan))
        means, covs = zip(*((g.mean, g.cov) if g else none for g in best.found[1:]), strict=True)
        settings |= {"means": np.array(means), "covs": np.array(covs)}
    elbos, gaussians = settings["elbos"], [path.gaussian for path in paths]
    problems = failed_paths(elbos), elsewhere_problem(gaussians, elbos, free.transform, "path")
    approximation = Gaussian(
        best.gaussian.mean, best.gaussian.cov, elbo_trace=best.elbos[1:], names=target.names,
        method="pathfinder", transform=free.transform, num_evals=num_evals, settings=settings,
        problems=tuple(filter(None, problems)),
    )  # fmt: skip
    return checked(free, approximation, num_check, rng)
