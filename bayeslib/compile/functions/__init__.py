"""Functions that log densities call: fast when compiled, accurate, and known to `autodiff`.

Each works on numbers and arrays in plain Python, in a compiled log density, and under
``gradient="auto"``. A function carries ``__compiled__``, what its compiled form is made of: it is
replaced by that form rather than compiled from its Python code.
"""

from .logistic import log1pexp, log_sigmoid, sigmoid
from .regression import linear_log_likelihood, logistic_log_likelihood

__all__ = ["linear_log_likelihood", "log1pexp", "log_sigmoid", "logistic_log_likelihood", "sigmoid"]
