"""What a density may use: every line of the list on the page Targets."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special as sp
from densities import slope

from bayeslib.compile.autodiff import compilable, differentiate
from bayeslib.errors import GradientError

PAGE = Path(__file__).parents[2] / "chapters" / "api_target.md"
SMOOTH, ROUGH = (
    [line for row in re.findall(rf"^: {mark}(`.*)$", PAGE.read_text("utf-8"), re.M)
     for line in re.findall(r"`([^`]+)`", row)] for mark in ("", r"\*value only:\* ")
)  # fmt: skip
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


def parts(lines, size=50):
    return [lines[i : i + size] for i in range(0, len(lines), size)]


def test_the_list_is_long_enough():
    assert len(SMOOTH) >= 170 and len(SMOOTH) + len(ROUGH) >= 180


@pytest.mark.parametrize("lines", parts(SMOOTH), ids=lambda lines: lines[0])
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


def test_values_without_gradients():
    function = density(ROUGH)
    value = compilable(function)
    for which, line in enumerate(ROUGH):
        expected = function(THETA, which, *DATA)
        np.testing.assert_allclose(value(THETA, which, *DATA), expected, 1e-12, err_msg=line)
    with pytest.raises(GradientError):
        differentiate(density(["np.median(t)"]), 4)(THETA, np.empty(4), 0, *DATA)
