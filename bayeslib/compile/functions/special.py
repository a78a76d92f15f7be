"""The functions of scipy.special that log densities call, for compiled code.

Nothing here imports SciPy: `teach` names its functions to numba once a reader has imported it.
"""

import math
import operator
import sys

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from ..internals import is_nonelike, make_array
from ..kinds import EXACT, REAL
from .elementwise import active, elementwise, generic, result_type
from .logistic import log_sigmoid, sigmoid

ROOT_HALF = math.sqrt(0.5)
LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
ABOVE = 8.0  # from here on an asymptotic series has all digits


def digamma(x):
    """Derivative of log |Gamma(x)|: recurrence, then Stirling's series (absolute 1e-14)."""
    shift = 0.0
    if x < 0.0:
        shift = -math.pi / math.tan(math.pi * (x - math.floor(x)))
        x = 1.0 - x
    while x < ABOVE:
        shift -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    tail = 1 / 240 - r * (1 / 132 - r * (691 / 32760 - r / 12))
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * tail)))
    return shift + math.log(x) - 0.5 / x - series


def trigamma(x):
    """Derivative of digamma, in the same way."""
    shift, sign = 0.0, 1.0
    if x < 0.0:
        shift, sign = (math.pi / math.sin(math.pi * (x - math.floor(x)))) ** 2, -1.0
        x = 1.0 - x
    total = 0.0
    while x < ABOVE:
        total += 1.0 / (x * x)
        x += 1.0
    r = 1.0 / (x * x)
    tail = 1 / 30 - r * (5 / 66 - r * (691 / 2730 - r * 7 / 6))
    series = r * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * tail)))
    return shift + sign * (total + (1.0 + 0.5 / x + series) / x)


def log_ndtr(x):
    """Logarithm of the normal distribution function; Lentz's continued fraction far left."""
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x * ROOT_HALF))
    if x > -5.0:
        return math.log(0.5 * math.erfc(-x * ROOT_HALF))
    fraction = -x
    for k in range(60, 0, -1):
        fraction = -x + k / fraction
    return -0.5 * x * x - LOG_ROOT_2PI - math.log(fraction)


def ndtri(y):
    """Quantile of the normal distribution: the lower tail's by Newton's method on `log_ndtr`."""
    if not 0.0 < y < 1.0:
        return -math.inf if y == 0.0 else (math.inf if y == 1.0 else math.nan)
    level = math.log(min(y, 1.0 - y))
    x = -math.sqrt(-2.0 * level)  # left of it, whence concave functions lead straight to it
    for _ in range(8):
        value = log_ndtr(x)
        x += (level - value) * math.exp(value + 0.5 * x * x + LOG_ROOT_2PI)
    return x if y < 0.5 else -x


digamma, trigamma = elementwise(digamma, ruled=True), elementwise(trigamma, ruled=True)
log_ndtr, ndtri = elementwise(log_ndtr, ruled=True), elementwise(ndtri, ruled=True)


@elementwise
def gammaln(x):
    return math.lgamma(x)


@elementwise
def gamma(x):
    return math.gamma(x)


@elementwise
def erf(x):
    return math.erf(x)


@elementwise
def erfc(x):
    return math.erfc(x)


@elementwise
def ndtr(x):
    return 0.5 * math.erfc(-x * ROOT_HALF)


@elementwise
def logit(x):
    return np.log(x) - np.log1p(-x)


@elementwise
def xlogy(x, y):
    return 0.0 if x == 0.0 and y <= 0.0 else x * np.log(y)


@elementwise
def xlog1py(x, y):
    return 0.0 if x == 0.0 and y <= -1.0 else x * np.log1p(y)


@elementwise
def betaln(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@elementwise
def beta(a, b):
    return np.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))


@elementwise
def binom(n, k):
    return np.exp(math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0))


@elementwise
def clip(a, a_min, a_max):
    return a_min if a < a_min else (a_max if a > a_max else a)


@overload(np.clip)
def clip_of(a, a_min, a_max):
    if active((a, a_min, a_max)) or not isinstance(a, types.Array):
        return lambda a, a_min, a_max: clip(a, a_min, a_max)
    return None


@overload(abs)
def abs_of_array(x):
    return (lambda x: np.abs(x)) if isinstance(x, types.Array) else None


@overload(np.mean)
def mean_along(a, axis=None):
    return None if is_nonelike(axis) else lambda a, axis=None: np.sum(a, axis) / a.shape[axis]


@overload(np.dot)
@overload(operator.matmul)
def product_of_unlike(a, b):
    """Numba's own wants two arrays of one kind of float: not a matrix of 0 and 1."""
    kinds = [getattr(kind, "dtype", None) for kind in (a, b)]
    if not all(isinstance(kind, REAL) for kind in kinds):
        return None
    if kinds[0] == kinds[1] and isinstance(kinds[0], types.Float):
        return None
    return lambda a, b: np.dot(a.astype(np.float64), b.astype(np.float64))


@intrinsic
def of_one(typingctx, a, b):
    """Whether two arrays are parts of one."""

    def codegen(context, builder, signature, args):
        owners = map(lambda kind, x: make_array(kind)(context, builder, x).meminfo, (a, b), args)
        return builder.icmp_unsigned("==", *owners)

    return types.boolean(a, b), codegen


def change_inplace(change, combine):
    """Let `a[1:] -= a[:-1]` subtract what was there before: numba's own changes it on the way."""

    def changed(a, b):
        return combine(a, b.copy(), a) if of_one(a, b) else combine(a, b, a)

    @overload(change, target="cpu", jit_options=EXACT)  # asked before numba's own
    def choose(a, b):
        alike = isinstance(a, types.Array) and isinstance(b, types.Array) and a.dtype == b.dtype
        return changed if alike and not active((a,)) else None


BY = {"iadd": np.add, "isub": np.subtract, "imul": np.multiply, "itruediv": np.divide}
for name, combine in BY.items():
    change_inplace(getattr(operator, name), combine)


@generic
def logsumexp(a):
    top = np.max(a)
    if not -math.inf < top < math.inf:
        return top
    total = 0.0
    for x in a.flat:
        total += np.exp(x - top)
    return top + np.log(total)


@generic
def log_softmax(x):
    return x - logsumexp(x)


@generic
def softmax(x):
    return np.exp(x - logsumexp(x))


@generic
def solve_triangular(a, b, trans=0, lower=False):
    """Solve a x = b, or with trans=1 a.T x = b, where half of `a` counts as zero."""
    n = a.shape[0]
    x = np.empty(b.shape, result_type(a, b)).reshape(n, b.size // n)
    x[:] = b.reshape(x.shape)
    forward = lower != (trans == 1)
    for step in range(n):
        i = step if forward else n - 1 - step
        for k in range(step):
            j = k if forward else n - 1 - k
            factor = a[j, i] if trans == 1 else a[i, j]
            for column in range(x.shape[1]):
                x[i, column] -= factor * x[j, column]
        for column in range(x.shape[1]):
            x[i, column] /= a[i, i]
    return x.reshape(b.shape)


NAMES = {
    "scipy.special": {
        "psi": digamma, "loggamma": gammaln, "expit": sigmoid, "log_expit": log_sigmoid,
    } | {own.__name__: own for own in (
        digamma, gammaln, gamma, erf, erfc, ndtr, log_ndtr, ndtri, logit, xlogy, xlog1py, betaln,
        beta, binom, logsumexp, softmax, log_softmax,
    )},
    "scipy.linalg": {"solve_triangular": solve_triangular},
}  # fmt: skip
taught = {}  # function of SciPy: what stands in for it


def teach():
    """Tell numba what stands in for SciPy's functions, of the modules that have been imported."""
    for home in NAMES.keys() & sys.modules.keys():
        for name, own in NAMES[home].items():
            function = getattr(sys.modules[home], name)
            if function not in taught:
                taught[function] = own
                stand_in(function, own)


def stand_in(function, own):
    compiled = (lambda *numbers: own(*numbers)) if own.__compiled__ else own
    overload(function, strict=False, jit_options=EXACT)(lambda *kinds, **named: compiled)
