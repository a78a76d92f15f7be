"""What is said of divergences: where they end, how few they are, what helps."""

from functools import partial

import numpy as np
import pytest
from densities import exponential

import bayeslib as bl
from bayeslib import Draws, Target, hmc, nuts, posteriors
from bayeslib.diagnostics.trouble import divergence_problem

SAMPLERS = [(nuts, {}), (hmc, {"num_steps": 10})]


@pytest.mark.filterwarnings("ignore:the log density was nan")  # as it may in an overflow
@pytest.mark.parametrize(("sampler", "options"), SAMPLERS)
def test_an_edge_of_the_support_is_told_from_a_step_too_long(sampler, options):
    with pytest.warns(bl.BayeslibWarning, match="-inf: smaller steps do not help") as caught:
        edge = sampler(Target(exponential, dim=1), rng=1, **options)
    assert len(caught) == 1
    count = edge.stats["diverging"].sum(axis=1)
    np.testing.assert_array_equal(edge.settings["num_outside"], count)
    assert count.sum() > 100
    assert f"{count.sum()} of them into a log density of -inf" in edge.problems[0]
    with pytest.warns(bl.BayeslibWarning, match="diverged .*smaller steps"):
        neck = sampler(posteriors.funnel(10), rng=1, **options)
    assert neck.settings["num_outside"].sum() == 0 < neck.stats["diverging"].sum()
    assert "-inf" not in neck.problems[0]


@pytest.mark.filterwarnings("ignore:the log density was nan")
def test_an_overflow_is_no_edge():
    """A trajectory with far too long steps ends at -inf, and smaller steps are what helps."""
    steep = Target(lambda theta: -(theta[0] ** 4), dim=1)
    with pytest.warns(bl.BayeslibWarning, match="diverged .*smaller steps"):
        draws = hmc(steep, step_size=3.0, num_steps=10, num_warmup=0, rng=1)
    infinite = np.isinf(draws.stats["energy_error"])
    assert infinite.sum() > 1000
    assert draws.settings["num_outside"].sum() < 0.1 * infinite.sum()
    assert "-inf" not in draws.problems[0]


@pytest.mark.filterwarnings("ignore:.*diverged")
@pytest.mark.parametrize(("sampler", "options"), SAMPLERS)
def test_what_the_warm_up_met_is_not_counted(sampler, options):
    draws = sampler(Target(exponential, dim=1), rng=2, num_samples=5, num_warmup=500, **options)
    assert np.all(draws.settings["num_outside"] <= draws.stats["diverging"].sum(axis=1))


def diverged(count, **settings):
    diverging = np.zeros((4, 1000), dtype=bool)
    diverging.flat[:count] = True
    return divergence_problem(
        Draws(np.zeros((4, 1000, 1)), stats={"diverging": diverging}, settings=settings)
    )


def test_few_divergences_are_weighed_in_words():
    adapted = {"adapted": True, "target_accept": 0.8}
    assert diverged(0, **adapted) is None
    few, more = diverged(4, **adapted), diverged(5, **adapted)
    assert "4 of 4000 transitions diverged (0.1 %): too few" in few
    assert "too few" not in more and "5 of 4000 transitions diverged (0.1 %): repara" in more
    assert "1 of 4000 transitions diverged (0.025 %)" in diverged(1, **adapted)
    for said in (few, more):
        assert "reparameterise" in said and "target_accept=0.95" in said
    assert "target_accept=0.9875" in diverged(9, adapted=True, target_accept=0.95)
    assert "target_accept" not in diverged(9, adapted=False, target_accept=0.8)
    assert "edge of a support" in diverged(9, num_outside=np.array([5, 0, 0, 0]))
    assert "bl.unconstrained(target)" in diverged(9, num_outside=np.array([5, 0, 0, 0]))
    assert "edge of a support" not in diverged(9, num_outside=np.array([4, 0, 0, 0]))
    for outside in (0, 9):  # of named parameters, whose chains walk without constraints already
        said = diverged(9, num_outside=outside, unconstrained=True)
        assert "bl.unconstrained" not in said and ("parameters=" in said) == (outside == 9)


def test_a_density_in_place_of_its_logarithm_is_suspected():
    density = Target(lambda theta: np.exp(-0.5 * theta[0] ** 2), dim=1)
    with pytest.raises(bl.ImproperError, match="returns a logarithm"):
        nuts(density, rng=1)


@pytest.mark.row(10)
@pytest.mark.parametrize(("index", "size"), [(2, 1), (2, 200_001), (10**9, 1), (10**9, 200_001)])
def test_an_index_out_of_bounds_is_named_before_compiled_code_uses_it(index, size):
    data = (np.arange(size) // size + index,)
    beyond = Target(lambda theta, k: -0.5 * theta[0] ** 2 - theta[k[0]] ** 2, dim=2, data=data)
    for ask in (beyond, lambda x: beyond.many([x]), partial(nuts, beyond, num_chains=1, rng=1)):
        with pytest.raises(IndexError, match="out of bounds") as caught:
            ask([0.1, 0.2])
    assert "theta=[0.1, 0.2]" in caught.value.__notes__[0]


def test_what_is_above_its_limit_looks_like_it():
    """In one of many sets of chains it is above 1.01 by less than three decimals show."""
    rng, said = np.random.default_rng(3), []
    for offset in np.linspace(0.14, 0.18, 60):
        values = rng.standard_normal((4, 1000, 1)) + offset * np.array([-1, 0, 0, 1])[:, None, None]
        said += [p for p in Draws(values).problems if p.startswith("R-hat")]
    found = [problem.split()[2] for problem in said]
    assert "1.010" not in found and any(len(number) > 5 for number in found)
    assert all(float(number) > 1.01 for number in found)
    weighted = {"log_weights": np.arange(1000.0)[None], "settings": {"khat": 0.66669}}
    assert "0.66669, above 0.66667" in Draws(np.zeros((1, 1000, 1)), **weighted).problems[0]


def row_of(age):
    return int(age)


def life_table(p, table):
    return bl.logpdf.normal(p.age, 9.0, 3.0) + table[0, row_of(p.age)]


def test_an_index_that_leaves_its_array_during_the_run_is_told():
    how = {"parameters": {"age": bl.interval(0.0, 12.0)}}  # so that it reads the second row at most
    safe, short = (Target(life_table, data=(np.zeros((2, n)),), **how) for n in (12, 11))
    assert "beyond" not in " ".join(bl.metropolis(safe, rng=1).problems)
    with pytest.warns(bl.BayeslibWarning, match="out of bounds.* read beyond the array"):
        draws = bl.metropolis(short, [5.0], num_chains=1, rng=1)
    assert "'life_table' raises in plain Python at the draw" in " ".join(draws.problems)


def test_a_quantile_of_all_draws_is_no_expectation():
    draws = Draws(np.random.default_rng(1).normal(size=(4, 1000, 2)), names=("a", "b"))
    with pytest.raises(bl.BayeslibError, match=r"one number of all 4000 draws .*np.quantile\(dr"):
        draws.expect(lambda p: np.quantile(p.a, 0.95))
