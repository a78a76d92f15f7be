"""The errors and warnings of bayeslib.

::

    BayeslibError (ValueError)
    ├── BayeslibTypeError (also a TypeError)   the wrong kind of thing was passed
    ├── TargetError                            a log density that cannot be used
    │   ├── StartError                         its value at the start is nan, +inf or -inf
    │   └── GradientError                      a gradient that is missing, wrong or not derivable
    ├── EnvelopeError                          rejection sampling: the envelope does not cover
    ├── RejectionError                         rejection sampling: (almost) nothing is accepted
    ├── ZeroWeightsError                       importance sampling: no draw has any weight
    └── ImproperError                          the posterior seems not to be integrable

    BayeslibWarning (UserWarning)              a result that is not to be trusted, said once
"""

import sys
import warnings


class BayeslibError(ValueError):
    """Base of every error that bayeslib raises on purpose.

    Attributes
    ----------
    partial : object or None
        What had been computed when the error struck, where there is any.
    """

    partial = None


class BayeslibTypeError(BayeslibError, TypeError):
    """The wrong kind of thing was passed."""


class TargetError(BayeslibError):
    """A log density that cannot be compiled or evaluated."""


class StartError(TargetError):
    """The log density is nan, +inf or -inf at the starting point."""


class GradientError(TargetError):
    """A gradient is missing, is wrong, or cannot be derived."""


class EnvelopeError(BayeslibError):
    """The scaled proposal does not cover the target.

    Attributes
    ----------
    position : numpy.ndarray, shape (dim,)
        Where the target rises above the envelope.
    log_ratio : float
        log target - log proposal - log_bound at that point (positive).
    needed_log_bound : float
        The smallest `log_bound` that would have covered every point seen.
    """

    def __init__(self, message, *, position=None, log_ratio=None, needed_log_bound=None):
        super().__init__(message)
        self.position = position
        self.log_ratio = log_ratio
        self.needed_log_bound = needed_log_bound


class RejectionError(BayeslibError):
    """Rejection sampling accepts too rarely to finish; `partial` keeps what was accepted."""


class ZeroWeightsError(BayeslibError):
    """No draw has a positive weight."""


class ImproperError(BayeslibError):
    """The posterior seems not to be integrable."""


class BayeslibWarning(UserWarning):
    """A result that is not to be trusted as it stands; says why and what to do."""


def warn(message):
    """Issue a `BayeslibWarning` at the first line outside bayeslib that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("bayeslib."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, BayeslibWarning, stacklevel=level)
