"""What a density may use: every name of the list on the page Targets, in an expression."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as sp
from densities import slope
from sparing import over

from bayeslib import Target
from bayeslib.compile.autodiff import compilable, differentiate
from bayeslib.errors import GradientError

PAGE = Path(__file__).parents[2] / "chapters" / "api_target.md"


def expressions(text):
    return [line.strip() for line in text.split(";")]


# t is the vector of parameters, x, y, z its first entries, M a positive definite matrix of them, L
# its Cholesky factor; c, B, S and k4 are data, k whole numbers.
SMOOTH = expressions(
    """
    x + y; x - c[0]; x * y; x / y; -x; x**2; x**y; 2.0**x; abs(x - 1.0); abs(c * t); min(x, y);
    max(x, 1.0); min(z, y, x); max(x, 1.0, z, y); pow(x, 3); float(x); np.float64(x); sum((x, y));
    x if x > y else y; x * (x > y); math.exp(x); math.expm1(x); math.log(x); math.log1p(x);
    math.log2(x); math.log10(x); math.sqrt(x); math.sin(x); math.cos(x); math.tan(x);
    math.asin(x / 3); math.acos(x / 3); math.atan(x); math.atan2(x, y); math.sinh(x); math.cosh(x);
    math.tanh(x); math.asinh(x); math.acosh(x + 1.0); math.atanh(x / 3); math.hypot(x, y);
    math.pow(x, y); math.fabs(x); math.copysign(x, -y); math.erf(x); math.erfc(x); math.lgamma(x);
    math.gamma(x); math.radians(x); math.degrees(x); x * math.isnan(x); x * math.isinf(x);
    x * math.isfinite(x); t + c; t - c; t * 2.0; 1.0 / t; t**2; t**c; np.exp(t); np.expm1(t);
    np.exp2(t); np.log(t); np.log1p(t); np.log2(t); np.log10(t); np.sqrt(t); np.cbrt(c * t);
    np.square(t); np.reciprocal(t); np.abs(c * t); np.fabs(c * t); np.sign(c * t) * t;
    np.copysign(t, c); np.sin(t); np.cos(t); np.tan(t / 3); np.arcsin(t / 3); np.arccos(t / 3);
    np.arctan(t); np.arctan2(t, c); np.sinh(t); np.cosh(t); np.tanh(t); np.arcsinh(t);
    np.arccosh(t + 1.0); np.arctanh(t / 3); np.hypot(t, c); np.power(t, 2.5); np.logaddexp(t, c);
    np.maximum(t, c); np.minimum(t, 1.0); np.clip(t, 0.7, 1.5); np.clip(x, 0.7, 1.5);
    np.where(t > 1.0, t, c); np.where(M > 1.0, M, B); np.where(x > 1.0, x, y); np.deg2rad(t);
    np.rad2deg(t); np.interp(x, k4, c); np.interp(c, k4, t); np.sum(t); t.sum(); np.sum(M, axis=0);
    np.sum(M, axis=1); np.sum(x); np.mean(M, axis=0); np.mean(B, axis=-1) * x; np.mean(t); t.mean();
    np.var(t); t.var(); np.std(M); t.std(); np.prod(t); t.prod(); np.cumsum(t); t.cumsum();
    np.cumprod(t); np.max(t); np.min(M); np.ptp(t); np.diff(t); np.sum(t > 1.0) * x;
    np.argmax(t) * x; np.any(t > 1.0) * x; np.all(t > 1.0) * x; np.array([x, y]);
    np.array([x, 0.0, 1]); np.array([[x, 0.0], [y, z]]); np.array((x, 0.0));
    np.array(((x, 0.0), (y, z))); np.asarray(t); np.linspace(0.0, x, 4); np.linspace(x, y, 3);
    np.full(3, x); np.zeros_like(t) + c; np.ones_like(t) * t; np.concatenate((t[:2], np.zeros(2)));
    np.stack((t, t * t)); np.vstack((t, t * t)); np.hstack((t, t)); np.column_stack((t, t * t));
    np.repeat(t[:2], 2); np.roll(t, 1); np.sort(t); np.take(t, k); t.reshape(2, 2);
    np.reshape(t, (2, 2)); M.T; np.transpose(M); M.flatten(); M.ravel(); t.copy();
    np.expand_dims(t, 0); t[1:3]; t[::-1]; t[k]; t[t > 1.0]; M[1]; M[:, 2]; k @ t; (k > 1) @ t;
    t[:, None] - c[None, :]; t[:, np.newaxis] * c; len(t) * x; t.size * x; M.shape[0] * x; t @ c;
    np.dot(t, c); np.vdot(t, c); B @ t; M @ c; c @ M @ c; t @ S @ t; M @ B; B @ M; M @ M;
    np.dot(M, M); np.outer(t, c); np.outer(t, t); np.trace(M); np.triu(M); np.tril(M, -1);
    np.diag(t); np.diag(M); np.linalg.cholesky(M); np.linalg.solve(M, c); np.linalg.solve(M, B);
    np.linalg.solve(S, t); np.linalg.inv(M); np.linalg.det(M); np.linalg.slogdet(M)[1];
    np.linalg.norm(t); np.linalg.norm(M); sl.solve_triangular(L, c, lower=True);
    sl.solve_triangular(L, c, trans=1, lower=True); sl.solve_triangular(S, t); sp.gammaln(x);
    sp.gammaln(t); sp.gamma(t); sp.digamma(x); sp.psi(t); sp.beta(x, y); sp.betaln(t, 2.0);
    sp.binom(5, t); sp.erf(t); sp.erfc(t); sp.ndtr(t); sp.log_ndtr(-9 * t); sp.log_ndtr(t);
    sp.ndtri(t / 3); sp.ndtri(np.exp(-30 * t)); sp.expit(t); sp.log_expit(t); sp.logit(t / 3);
    sp.xlogy(c, t); sp.xlog1py(c, t); sp.logsumexp(t); sp.softmax(t); sp.log_softmax(t);
    np.cumsum(M); np.cumprod(M)
    """
)
ROUGH = expressions(
    """
    x // 0.5; x % 0.4; int(x); round(x); math.floor(x); math.ceil(x); np.sinc(t);
    np.nan_to_num(t); np.floor(t); np.median(t); np.cov(M); np.convolve(t, c);
    t.astype(np.float64); np.append(t, x); np.linalg.eigvalsh(M)
    """
)
RNG = np.random.default_rng(1)
B = RNG.normal(size=(4, 4))
DATA = (np.array([0.7, -0.3, 1.9, 0.4]), B, B @ B.T + np.eye(4), np.array([0, 2, 1, 2]),
        np.arange(4.0), RNG.normal(size=(16, 16)))  # fmt: skip
THETA = np.array([0.6, 1.3, 0.9, 2.1])


def density(lines):
    """`f(theta, which, *data)`: one line of many, summed with weights, so that order counts."""
    head = "t, x, y, z = theta, theta[0], theta[1], theta[2]\n"
    head += "M = np.outer(t, t) + np.eye(4)\nL = np.linalg.cholesky(M)\n"
    scope = {"np": np, "math": math, "sp": sp, "sl": sl}
    names = "c, B, S, k, k4, W"
    exec(f"def at(theta, {names}):\n" + indented(head + f"return [{', '.join(lines)}]"), scope)
    body = head
    for i, (line, value) in enumerate(zip(lines, scope["at"](THETA, *DATA), strict=True)):
        shape = np.shape(value)
        weights = {0: "1.0", 1: f"W[0, :{shape[0]}]" if shape else "", 2: ""}[len(shape)]
        if len(shape) == 2:
            weights = f"W[:{shape[0]}, :{shape[1]}]"
        weighted = f"np.sum({weights} * ({line}))" if shape else f"1.0 * ({line})"
        body += f"if which == {i}:\n    return {weighted}\n"
    exec(f"def f(theta, which, {names}):\n" + indented(body + "return 0.0 * x"), scope)
    return scope["f"]


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(("mark", "lines"), [("", SMOOTH), (r"\*value only:\* ", ROUGH)])
def test_the_page_lists_what_is_tried(mark, lines):
    listed = re.findall(rf"^: {mark}(`.*)$", PAGE.read_text("utf-8"), re.M)
    spans = [span for row in listed for span in re.findall(r"`([^`]+)`", row)]
    modules = {"np", "np.linalg", "math", "scipy.linalg"}
    tried = " ; ".join(lines)
    unknown = [
        word
        for span in spans
        if span not in tried
        for word in span.split()
        if word not in modules and word not in re.findall(r"\w+|[^\w\s]+", tried)
    ]
    assert len(spans) >= 9 and not unknown
    called = set(re.findall(r"(\w+)\(", tried)) | set(re.findall(r"[a-z]\.([a-z]\w+)", tried))
    shown = set(re.findall(r"\w+", " ".join(spans)))
    assert called - shown <= {"linalg"}


@over("lines", [SMOOTH[i::16] for i in range(16)])  # compiling them all takes a minute
def test_values_and_gradients(lines):
    function = density(lines)
    fused, value, wrong = differentiate(function, 4), compilable(function), []
    for which, line in enumerate(lines):
        grad = np.full(4, np.nan)
        expected, truth = function(THETA, which, *DATA), slope(function, THETA, which, *DATA)
        found = fused(THETA, grad, which, *DATA), value(THETA, which, *DATA)
        size = max(1.0, abs(expected))
        if not np.allclose(found, expected, rtol=0, atol=1e-12 * size):
            wrong.append(("value", line, found, expected))
        if not np.allclose(grad, truth, rtol=0, atol=1e-11 * max(size, np.abs(truth).max())):
            wrong.append(("gradient", line, grad, truth))
    assert not wrong, "\n".join(map(str, wrong))


@over("lines", [ROUGH[i::4] for i in range(4)])
def test_values_without_gradients(lines):
    function = density(lines)
    value = compilable(function)
    for which, line in enumerate(lines):
        expected = function(THETA, which, *DATA)
        np.testing.assert_allclose(value(THETA, which, *DATA), expected, 1e-12, err_msg=line)


def test_what_has_no_gradient_says_so():
    with pytest.raises(GradientError):
        Target(density(["np.median(t)"]), dim=4, data=(0, *DATA)).gradient(THETA)
