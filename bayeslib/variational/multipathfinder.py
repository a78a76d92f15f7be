"""Draws from several paths, weighted against each other."""

from dataclasses import replace

import numpy as np
from scipy import special

from ..diagnostics.trouble import failed_paths, tail_problem
from ..errors import warn
from ..independent.importance_sample import importance_sample, looked_into, with_tails
from ..independent.mixture import StudentMixture
from ..target.target import as_target
from ..validate import as_count, as_rng, check_memory
from ..waiting import watched
from .elsewhere import scout
from .pathfinder import find_paths
from .verdict import DF, SHARE, WIDTH


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
    """Draw from a mixture of the best Gaussians of several paths, and weight the draws.

    On a bent valley the draws may be wrong without a warning: where no path's Gaussian reaches its
    ends, no weight tells of them. Compare with `nuts` there.

    Parameters
    ----------
    target : Target
        With a gradient; it is compared with finite differences at the first start.
    initial_position : array_like, shape (dim,) or (num_paths, dim), optional
        Where paths begin, in the target's coordinates. None draws a start for each path in
        unconstrained coordinates, on (-2, 2) in each.
    num_paths : int, optional
        Paths to mix: as many as there are starts, 4 when they are drawn. With one start, of shape
        (dim,), only None or 1 will do.
    num_samples : int
        Draws to make and weight.
    history, max_iterations, num_elbo_draws : int
        As in `pathfinder`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Draws
        Independent, shape (1, num_samples, dim), in the target's coordinates, with `log_weights`,
        `log_evidence` and ``settings["khat"]`` as `importance_sample` has them. `resample` makes
        them equally weighted. `num_evals` counts the paths too. Other settings: ``elbos`` (-inf for
        a path that failed, which is left out), ``lengths`` and ``num_scouted`` of `pathfinder`;
        ``elsewhere``, what is said of another mode, or None; ``tail_index``, see `nuts`.

    Raises
    ------
    BayeslibError
        As `pathfinder`.
    ZeroWeightsError
        When no draw has a positive weight.

    Warns
    -----
    BayeslibWarning
        As `importance_sample` does; for paths that failed; when another mode was found; when
        ``tail_index`` says that means or variances do not exist.

    Notes
    -----
    The proposal is a mixture in which all paths have equal parts; each draw is weighted against the
    whole mixture, so that a mode is not counted twice because two paths reached it. Four fifths of
    a part are the path's Gaussian, one fifth is a Student-t of 3 degrees of freedom about the same
    mean, with twice the scale.

    Tails: a Gaussian falls faster than most targets. Its weights then have no finite variance, and
    errors come out too small long before k-hat objects. With the wide share weights are bounded
    unless the target's tails are heavier than the t's; that costs at most a fifth of the draws'
    worth.

    Draw order: as `pathfinder` up to its check, then one multinomial for the number of draws of
    each wide part and of all Gaussians together, for each wide part its standard normals and its
    chi-square variates, and for the Gaussians an integer a draw for the path and the normals.

    References
    ----------
    As for `pathfinder`; there each path's draws are weighted by its own Gaussian, and resampled by
    smoothed weights. Hesterberg (1995), "Weighted average importance sampling and defensive mixture
    distributions", for the wide share.

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
    free, paths, num_evals, settings = find_paths(
        target, initial_position, rng, num_paths, history, max_iterations, num_elbo_draws
    )
    gaussians = [path.gaussian for path in paths if path.gaussian]
    # the equal mixture of them, and a share of wide, heavy-tailed ones about each
    shares = [*[SHARE / len(gaussians)] * len(gaussians), 1.0 - SHARE]
    means = np.array([gaussian.mean for gaussian in gaussians])
    covs = WIDTH**2 * np.array([gaussian.cov for gaussian in gaussians])
    proposal = StudentMixture(np.array(shares), means, covs, DF, _Mixture(gaussians))
    draws = importance_sample(free, proposal, num_samples=num_samples, rng=rng)
    other, num_scouted = scout(free, gaussians, float(draws.log_evidence), free.transform)
    draws = replace(free.constrain(draws), method="multipathfinder")
    draws = looked_into(
        draws, num_evals + num_scouted, **settings, proposal="mixture of paths", elsewhere=other,
        num_scouted=num_scouted, seed=seed,
    )  # fmt: skip
    draws = with_tails(target, draws)
    warn(failed_paths(settings["elbos"]), other, tail_problem(draws))
    return draws


class _Mixture:
    """The equal mixture of path Gaussians, as a proposal."""

    def __init__(self, parts):
        self._parts, self.dim = parts, parts[0].dim

    def sample(self, num_samples, rng):
        which = rng.integers(len(self._parts), size=num_samples)
        x = rng.standard_normal((num_samples, self.dim))
        for i, part in enumerate(self._parts):
            x[which == i] = part.mean + x[which == i] @ part.scale.T
        return x

    def logdensity(self, x):
        each = [part.logdensity(x) for part in self._parts]
        return special.logsumexp(each, axis=0) - np.log(len(each))
