"""Automatic differentiation variational inference."""

from dataclasses import replace

import numpy as np

from ..chains.run import spawn
from ..chains.starts import initial_positions
from ..errors import BayeslibError
from ..target import unconstrained
from ..validate import as_bool, as_choice, as_count, as_positive, as_real, as_rng, check_memory
from ..waiting import watched
from .advi_ascent import Fit
from .elsewhere import elsewhere_problem
from .gaussian_family import FAMILIES
from .verdict import checked, weigh


@watched()
def advi(
    target,
    initial_position=None,
    *,
    family="meanfield",
    num_draws=10,
    step_size=0.1,
    num_steps=None,
    max_steps=50_000,
    tolerance=0.01,
    estimator="stl",
    num_restarts=1,
    initial_scale=1.0,
    num_check=2000,
    keep_path=False,
    progress=None,
    rng,
):
    """Fit a Gaussian in unconstrained coordinates by climbing the evidence lower bound.

    Parameters
    ----------
    target : Target
        With a gradient; it is compared with finite differences at the first start.
    initial_position : array_like, shape (dim,) or (num_restarts, dim), optional
        Where the approximation is centred first, in the parameters of `target`. None draws it in
        unconstrained coordinates, on (-2, 2) in each.
    family : {"meanfield", "fullrank"}
        Independent coordinates ("meanfield"), cheap in many dimensions but blind to correlations;
        or any covariance ("fullrank"), whose work grows with dim squared, or faster.
    num_draws : int
        Draws of the approximation for each gradient.
    step_size : float
        Of the first round, at most 1; the steps are in units of the approximation's own scale.
    num_steps : int, optional
        So many steps of one size, at least 2, of which the last half is averaged. None goes on in
        rounds, each with half the step size, until two rounds agree to `tolerance`.
    max_steps : int
        The most steps of all rounds together, at least 2.
    tolerance : float
        The most by which two rounds may differ: the symmetrised Kullback-Leibler divergence
        (Jeffreys') between their averages, in nats.
    estimator : {"stl", "entropy"}
        How the gradient of the entropy is estimated. "stl" (sticking the landing) along the draws,
        so that the gradient has no variance where the fit is exact; "entropy" in closed form.
    num_restarts : int
        Fits from as many starts, of which the one with the highest bound is returned.
    initial_scale : float
        Standard deviation of every unconstrained coordinate at the start.
    num_check : int
        Draws that first judge the fit, at least 100; up to fifty times as many where in doubt.
    keep_path : bool
        Whether to keep the means and scales after every step in the settings.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None
        One fit draws from it; several draw from ``rng.spawn(num_restarts)``.

    Returns
    -------
    Gaussian
        With ``transform`` where a parameter is bounded; ``elbo``, of num_check draws, with its
        standard error; and ``elbo_trace``, by `num_draws` draws before each step. Settings:

        - ``converged``: whether two rounds agreed; False when `num_steps` was given;
        - ``num_steps``: how many were taken; ``step_sizes`` (rounds,): the step of each round;
        - ``elbos`` (num_restarts,): the bound of each fit;
        - ``khat``, ``num_weighed`` and ``num_scouted``: see :ref:`How a fit is judged
          <sec-api-judged>`;
        - ``num_outside``: how many draws had no finite density or gradient;
        - ``seed``; ``interrupted``: whether it was;
        - as asked for, ``family``, ``estimator``, ``num_draws``, ``max_steps``, ``tolerance``,
          ``initial_scale`` and ``num_check``;
        - with `keep_path`, ``means`` and ``scales`` (standard deviations), (num_steps, dim), of the
          unconstrained coordinates.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named.
    StartError
        When the density at a start is nan, infinite or zero.
    GradientError
        For a missing or wrong gradient.
    ImproperError
        When the approximation runs off, as there is nothing to hold it.
    TargetError
        When it leaves the support for good.

    Warns
    -----
    BayeslibWarning
        What is in ``problems``: no convergence, draws of the result without a finite density,
        another mode, moments that weighted draws contradict or cannot judge.

    Notes
    -----
    Gradient: in unconstrained coordinates, where log p has the Jacobian, the approximation is
    ``x = m + L @ z``. A step replaces m by ``m + L @ a``, and L by ``L @ (I + b)``, with b lower
    triangular, or diagonal for "meanfield". With v for ``L.T`` times the gradient of log p at x,
    the gradient in a and b is the average over the draws of::

        stl:      a = v + z    b = tril(outer(v + z, z))
        entropy:  a = v        b = tril(outer(v, z)) + I

    But for a factor of two on the diagonal of b, this is the natural gradient.

    Step:

    - m moves by L times ``step_size * a``, each component of which is clipped to [-1, 1];
    - L is multiplied by the matrix with ``exp(step_size * b[i, i])`` on the diagonal, the exponent
      clipped to [-0.2, 0.2], and ``step_size * b[i, j]`` below it, shrunk to a Frobenius norm of at
      most 0.2;
    - a draw without a finite density counts as ``a = 0, b = -I``;
    - averages are of m, of the logarithms of L's diagonal, and of its other entries.

    Draw order: the start, when it is drawn (`dim` uniforms an attempt; as in `nuts`, restarts 1, 3,
    5, ... take the mirror image of the one before, and no uniforms); for each step num_draws × dim
    standard normals in C order; after the last step num_check × dim normals; of the best fit's
    generator, normals and chi-square variates for the wider draws, and for more of both.

    References
    ----------
    - Kucukelbir, Tran, Ranganath, Gelman and Blei (2017), "Automatic differentiation variational
      inference".
    - Roeder, Wu and Duvenaud (2017), "Sticking the landing".
    - For the rounds: Dhaka, Catalina, Andersen, Magnusson, Huggins and Vehtari (2020), "Robust,
      accurate stochastic optimization for variational inference"; Welandawe, Andersen, Vehtari and
      Huggins (2024), "A framework for improving the reliability of black-box variational
      inference".
    - For the verdict: Huggins, Kasprzak, Campbell and Broderick (2020), "Validated variational
      inference via practical posterior error bounds".

    Examples
    --------
    >>> target = bl.posteriors.coal_mining()
    >>> q = bl.advi(target, rng=1)
    >>> print(q.expect().value.round(2), target.truth.mean.round(2))
    [ 1.12 -0.09] [ 1.12 -0.09]
    >>> print(float(q.elbo) < target.truth.log_evidence, q.problems)
    True ()

    Where parameters are correlated, "meanfield" is too narrow, and says so:

    >>> import warnings
    >>> tilted = bl.posteriors.gaussian([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]])
    >>> for family in ("meanfield", "fullrank"):
    ...     with warnings.catch_warnings(action="ignore"):
    ...         q = bl.advi(tilted, family=family, rng=3)
    ...     print(np.sqrt(np.diag(q.cov)).round(2), *q.problems)
    [0.44 0.44] theta[1]'s spread is 0.44 of the posterior's, by 20000 weighted
    draws (2 of 2 parameters are off): a mean-field fit knows no correlations, try
    family="fullrank"; reparameterise, or use nuts
    [1. 1.]
    """
    free = unconstrained(target)
    dim = free.dim
    as_choice(family, "family", FAMILIES)
    as_choice(estimator, "estimator", ("stl", "entropy"))
    num_draws = as_count(num_draws, "num_draws", maximum=1_000_000)
    num_restarts = as_count(num_restarts, "num_restarts", maximum=10_000)
    num_check = as_count(num_check, "num_check", minimum=100)
    num_steps = None if num_steps is None else as_count(num_steps, "num_steps", minimum=2)
    max_steps = as_count(max_steps, "max_steps", minimum=2)
    step_size = as_real(as_positive(step_size, "step_size"), "step_size", maximum=1)
    tolerance = as_positive(tolerance, "tolerance")
    keep_path = as_bool(keep_path, "keep_path")
    initial_scale = as_positive(initial_scale, "initial_scale")
    check_memory((num_steps or max_steps, 2 * dim + 1), "the path")
    check_memory((num_check, 2 * dim), "the draws")
    rng, seed = as_rng(rng)
    generators = spawn(rng, num_restarts)
    starts = free.starts(initial_position, num_restarts)
    if starts is not None and num_restarts > 1 and np.all(starts == starts[0]):
        raise BayeslibError("all restarts begin at one initial_position: pass one each, or None")
    starts, spent = initial_positions(free, starts, generators, gradient=True)
    fits, interrupted = [], False
    try:
        for start, generator in zip(starts, generators, strict=True):
            fit = Fit(
                free, start, generator, scale=initial_scale, dense=family == "fullrank",
                num_draws=num_draws, sticking=estimator == "stl",
            )  # fmt: skip
            fits.append(fit)
            fit.ascend(num_steps, max_steps, step_size, tolerance)
            fit.weighed = weigh(free, fit.gaussian, num_check, generator)
    except KeyboardInterrupt:
        interrupted = True
        fits = [fit for fit in fits if fit.weighed] or [fit for fit in fits if fit.num_steps]
        if not fits:
            raise
    elbos = np.array([fit.weighed.elbo.value if fit.weighed else np.nan for fit in fits])
    best = fits[int(np.argmax(elbos))]
    settings = {
        "family": family, "estimator": estimator, "num_draws": num_draws, "seed": seed,
        "num_steps": best.num_steps, "max_steps": max_steps, "tolerance": tolerance,
        "initial_scale": initial_scale,
        "step_sizes": np.array(best.step_sizes), "converged": best.converged, "elbos": elbos,
        "num_check": num_check, "num_outside": int(best.climb.how.num_outside),
        "interrupted": interrupted,
    }  # fmt: skip
    if keep_path:
        path = np.concatenate(best.paths)
        settings |= {"means": path[:, :dim], "scales": np.exp(path[:, dim:])}
    problems = [elsewhere_problem([fit.gaussian for fit in fits], elbos, free.transform, "fit")]
    after = f"after {best.num_steps} steps"
    if interrupted:
        problems.append(f"the fit was interrupted {after}")
    elif num_steps is None and not best.converged:
        problems.append(f"the fit had not settled {after}: raise max_steps or num_draws")
    spent += sum(fit.num_steps * num_draws for fit in fits) + num_check * (len(fits) - 1)
    result = replace(
        best.gaussian, elbo_trace=np.concatenate(best.traces), names=target.names,
        num_evals=spent, method="advi", transform=free.transform, settings=settings,
        problems=tuple(filter(None, problems)),
    )  # fmt: skip
    return checked(free, result, num_check, best.rng, weighed=best.weighed)
