"""The book's posteriors, each a `Target` with its exact truth.

Every density has two forms: the plain one, as it stands in the book, and a fused one that returns
the same number and fills in the gradient in the same pass (`pumps` leaves that to autodiff;
`noisy_or` is discrete and no Target). A log density contains all its
constants unless its docstring says otherwise, so that ``target.truth.log_evidence`` is the
logarithm of its integral. Quantiles are known at the probabilities 0.025, 0.05, 0.25, 0.5, 0.75,
0.95 and 0.975, and are computed when first looked at.
"""

from .counts import coal_mining, pumps
from .gaussians import gaussian, mixture
from .line import coin, gamma_student
from .noisy_or import NoisyOr, noisy_or
from .regressions import challenger, linear_regression, logistic_regression
from .schools import eight_schools
from .shapes import banana, donut, funnel

__all__ = [
    "NoisyOr", "banana", "challenger", "coal_mining", "coin", "donut", "eight_schools", "funnel",
    "gamma_student", "gaussian", "linear_regression", "logistic_regression", "mixture", "noisy_or",
    "pumps",
]  # fmt: skip
