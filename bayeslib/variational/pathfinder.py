"""Pathfinder: the best of the Gaussians that an optimiser passes on its way up."""

import numpy as np

from ..results import Gaussian
from ..target.target import as_target
from ..validate import as_bool, as_count, as_rng, check_memory
from ..waiting import watched
from .elsewhere import elsewhere_problem
from .path import find_paths
from .verdict import checked


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
        Settings:

        - ``elbos`` (num_paths,): -inf for a path that failed;
        - ``lengths`` (num_paths,): the optimiser's steps;
        - ``path`` (n, dim): the best path in the target's coordinates, its start first;
          ``chosen``: the index in it;
        - ``khat``, ``num_weighed`` and ``num_scouted``, as in `advi`; ``seed``;
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
        path met, and moments that weighted draws contradict.

    Notes
    -----
    From each start L-BFGS climbs log p. At each point ``theta`` after the first, the last `history`
    steps make an inverse Hessian H, a diagonal plus a matrix of rank ``2 * history``, and with it
    the Gaussian ``N(theta + H @ grad, H)``, with the gradient of log p there. Steps along which the
    gradient does not fall (no positive curvature) are left out of H.

    Draw order: one path draws from `rng`, several from ``rng.spawn(num_paths)``: the start when it
    is drawn (`dim` uniforms an attempt; as in `nuts`, paths 1, 3, 5, ... begin without, at the
    mirror image of the one before), then num_elbo_draws × dim standard normals for each Gaussian in
    order. Last, `rng` gives num_check × dim normals for the check, and for more of it as in `advi`.

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
    free, paths, num_evals, settings = find_paths(
        target, initial_position, rng, num_paths=num_paths, history=history,
        max_iterations=max_iterations, num_elbo_draws=num_elbo_draws,
    )  # fmt: skip
    best = max(paths, key=lambda path: path.elbo)
    settings |= {
        "num_check": num_check, "seed": seed, "path": free.constrain(best.positions),
        "chosen": best.chosen,
    }  # fmt: skip
    if keep_path:
        check_memory((len(best.found), free.dim, free.dim), "the path's covariances")
        none = (np.full(free.dim, np.nan), np.full((free.dim, free.dim), np.nan))
        means, covs = zip(*((g.mean, g.cov) if g else none for g in best.found[1:]), strict=True)
        settings |= {"means": np.array(means), "covs": np.array(covs)}
    approximation = Gaussian(
        best.gaussian.mean, best.gaussian.cov, elbo_trace=best.elbos[1:], names=target.names,
        method="pathfinder", transform=free.transform, num_evals=num_evals, settings=settings,
        problems=tuple(filter(None, _problems(paths, free.transform))),
    )  # fmt: skip
    return checked(free, approximation, num_check, rng)


def _problems(paths, transform):
    failed = [i for i, path in enumerate(paths) if path.gaussian is None]
    if failed:
        yield (
            f"{len(failed)} of {len(paths)} paths failed ({', '.join(map(str, failed))}): no "
            "Gaussian on them has a finite evidence lower bound"
        )
    gaussians, elbos = [path.gaussian for path in paths], np.array([path.elbo for path in paths])
    yield elsewhere_problem(gaussians, elbos, transform, "path")
