"""The errors and warnings of bayeslib.

::

    BayeslibError (ValueError)
    ├── BayeslibTypeError (also a TypeError)   the wrong kind of thing was passed
    ├── TooLargeError (also a MemoryError)     more was asked for than there is room or time for
    ├── TargetError                            a log density that cannot be used
    │   ├── StartError                         its value at the start is nan, +inf or -inf
    │   └── GradientError                      a gradient that is missing, wrong or not derivable
    ├── EnvelopeError                          rejection sampling: the envelope does not cover
    ├── RejectionError                         rejection sampling: (almost) nothing is accepted
    ├── ZeroWeightsError                       importance sampling: no draw has any weight
    └── ImproperError                          the posterior seems not to be integrable

    BayeslibWarning (UserWarning)              a result that is not to be trusted, said once
"""

import re
import sys
import traceback
import warnings

_HOMES = __file__.removesuffix("errors.py"), warnings.__file__.removesuffix("warnings.py")
LIBRARY = re.compile("|".join(map(re.escape, _HOMES)) + r"|.*[/\\](site|dist)-packages[/\\]")
_ALL = "Only your own lines; all: import sys, traceback; traceback.print_exception(sys.last_value)"


class BayeslibError(ValueError):
    """Base of the errors by which bayeslib refuses something.

    Attributes
    ----------
    partial : object or None
        What had been computed when the error struck, where there is any: the draws of chains, of
        `rejection_sample` and of `adaptive_rejection_sample`, and what an interrupt would have
        returned of `simulation_based_calibration` and `geweke_test`. Other errors have it too.

    Examples
    --------
    >>> try:
    ...     bl.posteriors.coin(8, -2)
    ... except bl.BayeslibError as error:
    ...     print(error)
    tails must be at least 0, got -2
    >>> issubclass(bl.BayeslibError, ValueError)
    True
    """

    partial = None

    def _render_traceback_(self):
        """Return what IPython shows: the reader's own lines, those of causes too, and messages."""
        told = part = traceback.TracebackException.from_exception(self)
        cell = sys.modules["IPython"].get_ipython().compile.format_code_name
        while part:
            part.stack[:] = [f for f in part.stack if f.line and not LIBRARY.match(f.filename)]
            for f in part.stack:
                f.filename = " ".join(cell(f.filename) or [f.filename])
            part = part.__cause__ or part.__context__
        return [_ALL, *"".join(told.format()).splitlines()]


class BayeslibTypeError(BayeslibError, TypeError):
    """The wrong kind of thing was passed.

    Examples
    --------
    >>> try:
    ...     bl.Target("a formula", dim=1)
    ... except TypeError as error:
    ...     print(error)
    logdensity must be a function, got 'a formula'
    """


class TooLargeError(BayeslibError, MemoryError):
    """More was asked for than there is memory, or time, for.

    Examples
    --------
    >>> try:
    ...     bl.metropolis(bl.posteriors.coin(8, 2), num_warmup=10**12, rng=1)
    ... except MemoryError as error:
    ...     print(error)
    num_warmup must be at most 1,000,000,000, got 1,000,000,000,000
    """


class TargetError(BayeslibError):
    """A log density, or its gradient, that cannot be used.

    Examples
    --------
    >>> nowhere = bl.Target(lambda x: np.nan * x[0], dim=1, gradient=None)
    >>> try:
    ...     bl.grid_posterior(nowhere, (0, 1), num_points=2)
    ... except bl.TargetError as error:
    ...     print(error)
    the log density is nan at theta=[0.25]
    """


class StartError(TargetError):
    """The log density is nan, +inf or -inf at the starting point.

    Examples
    --------
    >>> try:
    ...     bl.metropolis(bl.posteriors.coin(8, 2), [1.5], num_chains=1, rng=1)
    ... except bl.StartError as error:
    ...     print(error)
    the log density at initial_position=[1.5] is -inf: this is outside the
    support; start where the density is positive
    """


class GradientError(TargetError):
    """A gradient is missing, is wrong, or cannot be derived.

    Examples
    --------
    >>> flat = bl.Target(lambda theta: 0.0, dim=1, gradient=None)
    >>> try:
    ...     bl.hmc(flat, num_steps=10, rng=1)
    ... except bl.GradientError as error:
    ...     print(error)
    Target(<lambda>, dim=1) has no gradient: leave gradient="auto", or give one
    """


class EnvelopeError(BayeslibError):
    """The envelope does not cover the target.

    Attributes
    ----------
    position : numpy.ndarray, shape (dim,)
        Where the envelope fails.
    log_ratio : float
        How far the log target is above it there: from `rejection_sample`, log target - log
        proposal - log_bound; from `adaptive_rejection_sample`, log target minus the lowest
        tangent, zero or less where the target dips below a chord instead.
    needed_log_bound : float or None
        From `rejection_sample`, the smallest `log_bound` that would have covered every point
        seen; else None.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.coin(8, 2)
    >>> how = dict(log_bound=-8.0, num_samples=100, rng=1)  # too low
    >>> try:
    ...     bl.rejection_sample(target, stats.uniform(), **how)
    ... except bl.EnvelopeError as error:
    ...     print(error.position.round(2), error.needed_log_bound <= target(0.8))
    [0.8] True
    """

    def __init__(self, message, *, position=None, log_ratio=None, needed_log_bound=None):
        super().__init__(message)
        self.position = position
        self.log_ratio = log_ratio
        self.needed_log_bound = needed_log_bound


class RejectionError(BayeslibError):
    """Rejection sampling accepts too rarely to finish; `partial` keeps what was accepted.

    Examples
    --------
    >>> from scipy import stats
    >>> target = bl.posteriors.coin(8, 2)
    >>> how = dict(log_bound=0.0, num_samples=1000, rng=1)  # far too high
    >>> try:
    ...     bl.rejection_sample(
    ...         target, stats.uniform(), max_proposals=10_000, **how
    ...     )
    ... except bl.RejectionError as error:
    ...     print(error.partial.num_samples)
    23
    """


class ZeroWeightsError(BayeslibError):
    """No draw has a positive weight, as when the proposal misses the target's support.

    Examples
    --------
    >>> from scipy import stats
    >>> target, beside = bl.posteriors.coin(8, 2), stats.uniform(2.0, 1.0)
    >>> try:
    ...     bl.importance_sample(target, beside, num_samples=100, rng=1)
    ... except bl.ZeroWeightsError as error:
    ...     print(error)
    none of 100 draws of uniform(2.0, 1.0), the first at theta=[2.51182], lies in
    the target's support: move or widen the proposal
    """


class ImproperError(BayeslibError):
    """The posterior seems not to be integrable.

    Examples
    --------
    >>> endless = bl.Target(lambda theta: theta[0], dim=1)  # rises for ever
    >>> try:
    ...     bl.laplace(endless, initial_position=[0.0])
    ... except bl.ImproperError as error:
    ...     print(error)
    the log density still rises at theta=[5010010000.0] (max_steps=200): it has no
    maximum; check the priors, or raise max_steps
    """


class BayeslibWarning(UserWarning):
    """A result that is not to be trusted as it stands, or a run that is slow; says what to do.

    ``warnings.simplefilter("error", bl.BayeslibWarning)`` stops a script at the first, ``"ignore"``
    silences them; the `problems` of a result stay.

    Examples
    --------
    >>> import warnings
    >>> from scipy import stats
    >>> target, narrow = bl.posteriors.gaussian(0.0, 9.0), stats.norm(0.0, 0.5)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", bl.BayeslibWarning)
    ...     draws = bl.importance_sample(target, narrow, num_samples=1000, rng=1)
    >>> print(caught[0].message)
    k-hat is 1.00, above 0.67: a few weights dominate; use a proposal nearer to
    the target, with heavier tails
    >>> print(draws.problems == (str(caught[0].message),))
    True
    """


def warn(*messages):
    """Warn of the messages that say something, in one, naming the line that called the library."""
    said = "; ".join(filter(None, messages))
    if not said:
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("bayeslib."):
        level, frame = level + 1, frame.f_back
    warnings.warn(said, BayeslibWarning, stacklevel=level)
