"""Black-box variational inference: a Gaussian fitted by noisy gradients of the bound."""

import numpy as np

from ..chains.starts import initial_positions
from ..results import Gaussian
from ..target import unconstrained
from ..validate import as_bool, as_count, as_positive, as_real, as_rng, as_scale, check_memory
from ..waiting import watched
from .bbvi_ascent import Fit, as_num_draws, as_optimiser
from .gaussian_family import pack, unpack
from .verdict import checked

_KEEP = 0.9  # what the baseline keeps of its running averages each step


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
        How the gradient is estimated, see Notes. "loo" suits most; "rao_blackwell" is less noisy
        with many parameters, at dim + 1 evaluations a draw. The others are for comparison (with a
        gradient take `advi`).
    num_steps : int
        Steps of the ascent.
    num_draws : int
        Draws for each gradient; "loo" needs at least two.
    optimiser : {"adam", "adagrad", "sgd"}
        "sgd" is plain stochastic gradient ascent.
    step_size : float
        Of the first step, see `decay`.
    decay, delay : float
        `decay` from 0 to 1, `delay` above 0. Step t = 0, 1, … is of size
        ``step_size * (1 + t / delay) ** -decay``, before Adam or AdaGrad divide by the gradient's
        size. With "sgd", the Robbins-Monro conditions (steps sum to infinity, their squares do
        not) hold for 0.5 < decay <= 1. With ``decay=0`` the parameters keep wandering.
    average : bool
        Whether to return the parameters' mean over the second half of the steps, or the last ones.
    num_check : int
        Draws that first judge the fit, at least 100; up to fifty times as many where in doubt.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.
    rng : int, Generator, SeedSequence or None

    Returns
    -------
    Gaussian
        Of unconstrained coordinates where the support is bounded. ``elbo``, ``elbo_trace``
        (num_steps,): the bound as estimated by each step's draws, nan for a step not taken.
        Settings: the arguments but the first two, `progress` and `rng`, and

        - ``khat``, ``num_weighed`` and ``num_scouted``: see :ref:`How a fit is judged
          <sec-api-judged>`;
        - ``num_skipped``: how many draws had no finite log density (their steps are not taken);
        - ``seed``; ``interrupted``: whether it was.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named, and when the parameters run off.
    StartError
        When the density at the start is nan, infinite or zero.
    GradientError
        When "reparam" finds no gradient.
    TargetError
        When the log density is +inf at a draw, or when no step had all its draws finite.

    Warns
    -----
    BayeslibWarning
        What is in ``problems``: moments that weighted draws contradict or cannot judge, another
        mode, steps not taken, a bound that was still rising, draws of the result without a finite
        density, an interrupt.

    Notes
    -----
    ``q = N(m, L @ L.T)``, and ``f = log p - log q`` at ``m + L @ z``. h is the gradient of log q in
    its parameters, which are m, the logarithms of L's diagonal and, for "fullrank", the entries of
    L below it, row by row. The estimates, averaged over the draws:

    - "score": ``h * f``. That f depends on the parameters, too, adds zero on average.
    - "baseline": ``h * (f - c)``, c the ratio of ``E[f * h**2]`` and ``E[h**2]`` for each
      parameter, estimated from earlier steps only (a running average, 0 at the first step), so that
      nothing is biased.
    - "loo": ``h * (f - mean of f over the other draws)``.
    - "rao_blackwell": ``h[i] * (f(theta) - f(theta with coordinate i at its mean))``, "meanfield"
      only. Terms without coordinate i cancel.
    - "reparam": the gradient of log p along ``m + L @ z``, the entropy in closed form.

    Draw order: the start when it is drawn (dim uniforms an attempt), for each step num_draws × dim
    standard normals in C order, then num_check × dim for the check, and for more draws that judge
    the fit as in `advi`.

    References
    ----------
    Ranganath, Gerrish and Blei (2014), "Black box variational inference". Robbins and Monro
    (1951), "A stochastic approximation method". Kool, van Hoof and Welling (2019), "Buy 4 REINFORCE
    samples, get a baseline for free!", for "loo". Kingma and Ba (2015), "Adam: a method for
    stochastic optimization", and Duchi, Hazan and Singer (2011), "Adaptive subgradient methods for
    online learning and stochastic optimization", for the optimisers; Polyak and Juditsky (1992),
    "Acceleration of stochastic approximation by averaging".

    Examples
    --------
    >>> target = bl.posteriors.gaussian([1.0, 2.0], [1.0, 4.0])
    >>> q = bl.bbvi(target, num_steps=3000, rng=1)  # from values alone
    >>> print(q.mean.round(1), np.diag(q.cov).round(1), q.problems)
    [1. 2.] [1. 4.] ()
    """
    free = unconstrained(target)
    dim = free.dim
    num_draws = as_num_draws(num_draws, estimator, family)
    num_steps = as_count(num_steps, "num_steps")
    num_check = as_count(num_check, "num_check", minimum=100)
    schedule = {
        "step_size": as_positive(step_size, "step_size"),
        "decay": as_real(decay, "decay", minimum=0.0, maximum=1.0),
        "delay": as_positive(delay, "delay"),
    }
    code = as_optimiser(optimiser)
    scale = as_scale(initial_scale, "initial_scale", dim)
    average = as_bool(average, "average")
    check_memory((num_draws + num_check, dim), "the draws")
    check_memory((num_steps, 1), "the trace")
    rng, seed = as_rng(rng)
    starts = free.starts(initial_position, 1)
    starts, spent = initial_positions(free, starts, [rng], gradient=estimator == "reparam")
    fit = Fit(
        free, pack(starts[0], np.diag(scale), family == "fullrank"), num_draws, num_steps,
        estimator=estimator, optimiser=code, entropy=True, keep=_KEEP,
        average_from=num_steps // 2 if average else num_steps - 1, **schedule,
    )  # fmt: skip
    try:
        fit.run(rng)
    except KeyboardInterrupt:
        if fit.done == 0:
            raise
    done = fit.done
    mean, factor = unpack(fit.climb.averaged if done == num_steps else fit.climb.parameters, dim)
    approximation = Gaussian(
        mean, factor @ factor.T, elbo_trace=fit.trace[:done], names=target.names, method="bbvi",
        num_evals=spent + int(fit.account.num_evals), transform=free.transform,
        settings=schedule | {
            "family": family, "estimator": estimator, "optimiser": optimiser,
            "num_steps": num_steps, "num_draws": num_draws, "average": average, "seed": seed,
            "initial_scale": scale, "num_check": num_check,
            "num_skipped": int(fit.account.num_outside), "interrupted": done < num_steps,
        },
        problems=tuple(fit.problems()),
    )  # fmt: skip
    return checked(free, approximation, num_check, rng)
