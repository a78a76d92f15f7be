"""Bad densities, data and constants: what the result must say, or the error keep."""

import math
import re

import numpy as np
import pytest
from bad_inputs import FIXED, run, value_only
from densities import raising
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from scipy import sparse, stats

import bayeslib as bl
from bayeslib import Draws, Target
from bayeslib.compile.kinds import FAST
from bayeslib.exact.enumerate_posterior import Enumeration

pytestmark = pytest.mark.trust("S15")

LINE = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)

# What the density does


@pytest.mark.row(8)
@pytest.mark.parametrize("sampler", FIXED)
def test_what_a_density_raises_comes_back_with_its_place_and_the_draws(sampler):
    target = Target(raising, dim=1, data=(2.0,), gradient=lambda theta, end: -theta)
    with pytest.raises(ValueError, match="too far") as caught:
        run(target, 0.1, sampler, num_samples=50_000, num_warmup=0, **FIXED[sampler])
    (note,) = caught.value.__notes__
    assert "theta=[" in note and "chain 0, iteration" in note
    assert np.all(caught.value.partial.values < 2.0) and caught.value.partial.num_samples > 1
    with pytest.raises(ValueError, match="too far") as caught:
        run(target, 3.0, sampler)
    assert "theta=[3.0]" in caught.value.__notes__[0]


CELL = """import bayeslib as bl, numpy as np
def density(p, x, y): return np.sum(bl.logpdf.normal(y, p.a * x, 1.0))
call = lambda x: bl.Target(density, parameters={"a": ()}, data=(x, np.ones(3)))([0.0])
try: call(np.ones((3, 1)))
except ValueError: call(np.ones(2))"""
SAID = (
    r"^Only.*; all: .*line 4.*    try: call.*logpdf, data\[0\] \(3, 1\), data\[1\] \(3,\): of \(n"
    r".*In\[1\].*density.*  def density.*ValueError: .*are data\[0\] \(2,\), data\[1\] \(3,\)\n"
)


@pytest.mark.row(8)
def test_a_notebook_shows_its_own_lines_and_the_shapes():
    page = NotebookClient(new_notebook(cells=[new_code_cell(CELL)]), allow_errors=True).execute()
    said = page.cells[0].outputs[-1].traceback
    assert re.match(SAID, "\n".join(said), re.DOTALL) and len(said) < 30
    assert not [line for line in said if "bayeslib/" in line]


@pytest.mark.row(58)
def test_no_fast_mathematics_that_breaks_the_guards():
    """With ninf or nnan the compiler may assume that these branches are never taken."""
    assert not {"fast", "nnan", "ninf", "afn"} & set(FAST)

    def guarded(theta):
        x = math.log(theta[0]) if theta[0] > 0.0 else math.nan
        if math.isnan(x):
            return -math.inf
        y = -math.inf if theta[0] > 2.0 else 0.0
        return 1.0 if y > -math.inf else 2.0

    target = value_only(guarded, dim=1)
    assert [target(x) for x in (-1.0, 1.0, 3.0)] == [-math.inf, 1.0, 2.0]
    half = value_only(lambda t: -t[0] if t[0] > 0.0 else math.nan, dim=1)
    with pytest.warns(bl.BayeslibWarning, match="nan at"):
        draws = run(half, 1.0, num_samples=500)
    assert np.all(draws.values > 0.0) and np.isfinite(draws.values).all()


@pytest.mark.row(50)
@pytest.mark.parametrize(
    ("probabilities", "words"),
    [([0.5, 0.6], "sum to 1"), ([1.5, -0.5], "non-negative"), ([0.5, math.nan], "NaN")],
)
def test_probabilities_that_are_none_are_refused_when_drawn_from(probabilities, words):
    posterior = Enumeration(np.arange(2), np.array(probabilities), bl.Estimate(0.0, 0.0), 2)
    with pytest.raises(ValueError, match=words):
        posterior.sample(3, 1)


# Data, constants, names


class Table:
    """What a data frame shows to numpy."""

    def __init__(self, *columns):
        self.columns = columns

    def __array__(self, dtype=None, copy=None):
        return np.array(self.columns, dtype=dtype).T


@pytest.mark.row(51)
def test_a_table_of_numbers_is_data_and_one_with_text_is_not():
    def logdensity(theta, y):
        return -np.sum((y[:, 1] - theta[0]) ** 2)

    table = Table([1.0, 2.0], [3.0, 5.0])
    assert value_only(logdensity, dim=1, data=(table,))(4.0) == -2.0
    for other in (Table([1.0, None], [3.0, 5.0]), Table(["a", "b"], ["c", "d"])):
        with pytest.raises(bl.BayeslibTypeError, match=r"data\[0\] must hold numbers.*got dtype"):
            value_only(logdensity, dim=1, data=(other,))
    with pytest.raises(bl.BayeslibTypeError, match="sparse matrix; pass .toarray()"):
        value_only(logdensity, dim=1, data=(sparse.eye(2),))
    with pytest.raises(bl.BayeslibTypeError, match=r"got dict; write data=\(x, y,\)"):
        value_only(logdensity, dim=1, data={"x": np.ones(2), "y": np.ones(2)})
    with pytest.raises(bl.StartError, match=r"data\[0\] holds 1 nan"):
        run(value_only(logdensity, dim=1, data=(Table([1.0, 2.0], [3.0, math.nan]),)), 0.0)


@pytest.mark.row(59)
def test_the_evidence_is_the_integral_of_what_was_given():
    """A constant left out is left out of the evidence too, exactly, and the manual says so."""
    constant = 7.25
    more = Target(lambda theta, c: c - 0.5 * theta[0] ** 2, dim=1, data=(constant,))
    calls = [
        lambda t, c: bl.importance_sample(t, stats.t(5), num_samples=500, rng=1),
        lambda t, c: bl.rejection_sample(
            t, stats.norm(), log_bound=0.92 + c, num_samples=99, rng=1
        ),
        lambda t, c: bl.grid_posterior(t, (-9, 9), num_points=500),
        lambda t, c: bl.quadrature(t, (-9, 9)),
    ]
    for call in calls:
        plain, shifted = call(LINE, 0.0), call(more, constant)
        difference = shifted.log_evidence.value - plain.log_evidence.value
        assert difference == pytest.approx(constant, abs=1e-9)
    assert "integral" in Draws.__doc__
    assert bl.nuts(LINE, num_samples=5, num_warmup=50, num_chains=1, rng=1).log_evidence is None
