"""What the page `hardness` claims of one seed, asserted over many, with the page's own code."""

from itertools import product

import numpy as np
import pytest
from scipy import special
from sparing import every_seed
from twins import Z_LIMIT, page

from needles import check


@every_seed
def test_a_list_doubles_and_quickscore_does_not_need_it(seed):
    quickscore, list_joint = page("hardness", "quickscore", "list_joint")
    rng = np.random.default_rng(seed)
    rate, leak = rng.uniform(0.05, 0.5, 9), rng.uniform(0.01, 0.2, 4)
    strength = rng.uniform(0.0, 0.9, (9, 4))
    listed = list_joint(rate, strength, leak)
    assert listed.size == 2**9
    theta = np.array(list(product([0, 1], repeat=9)))
    absent = (1 - leak) * np.prod((1 - strength) ** theta[:, :, None], axis=1)
    one_by_one = np.where(theta, rate, 1 - rate).prod(axis=1) * np.prod(1 - absent, axis=1)
    assert listed.sum() == pytest.approx(one_by_one.sum(), rel=1e-12)
    assert quickscore(rate, strength, leak) == pytest.approx(listed.sum(), rel=1e-9)
    # findings depend on each other: multiplying their probabilities is not the answer
    single = np.prod([list_joint(rate, strength[:, [j]], leak[[j]]).sum() for j in range(4)])
    assert abs(single / listed.sum() - 1.0) > 0.01


@every_seed
@pytest.mark.parametrize("K", [2, 3, 4])
def test_forgetting_is_exact_on_a_row(seed, K):
    evidence = page("hardness", "row_log_evidence")
    rng = np.random.default_rng(seed)
    likelihood, step = rng.uniform(0.1, 1.0, (6, K)), rng.dirichlet(np.ones(K), K)
    labels = np.array(list(product(range(K), repeat=6)))
    joint = likelihood[np.arange(6), labels].prod(axis=1) / K
    exact = np.log((joint * step[labels[:, :-1], labels[:, 1:]].prod(axis=1)).sum())
    for forget in (False, True):
        assert evidence(likelihood, step, forget=forget) == pytest.approx(exact, rel=1e-12)
    assert abs(evidence(likelihood, step.T, forget=True) - exact) > 1e-6, "direction matters"


# Random and fitted


PHOTO = "photograph", "list_photo", "belief_propagation", "mean_field"


@every_seed
def test_messages_converge_and_are_wrong_and_draws_are_not(seed):
    photograph, list_photo, belief_propagation, mean_field = page("hardness", *PHOTO)
    unary = photograph(seed)
    posterior = list_photo(unary, 1.25)
    exact = posterior.expect(lambda z: z.astype(float)).value
    messages, change = belief_propagation(unary, 1.25)
    fields, again = mean_field(unary, 1.25), mean_field(unary, 1.25, sweeps=600)
    drawn = posterior.sample(100_000, rng=seed).mean(axis=0)
    error = np.sqrt(exact * (1 - exact) / 100_000)
    assert change < 1e-12 and np.abs(fields - again).max() < 1e-12, "both have converged"
    assert np.abs((drawn - exact) / error).max() < Z_LIMIT
    assert np.abs((messages - exact) / error).max() > Z_LIMIT
    assert np.abs((fields - exact) / error).max() > Z_LIMIT


@every_seed
def test_messages_are_exact_without_loops(seed):
    photograph, list_photo, belief_propagation, _ = page("hardness", *PHOTO)
    unary = photograph(seed)
    row = np.array([np.arange(15), np.arange(1, 16)])
    exact = list_photo(unary, 1.25, row).expect(lambda z: z.astype(float)).value
    messages, _ = belief_propagation(unary, 1.25, row)
    np.testing.assert_allclose(messages, exact, rtol=1e-9)
    independent = special.softmax(unary, axis=1)[:, 1]
    np.testing.assert_allclose(belief_propagation(unary, 0.0)[0], independent, rtol=1e-9)
    ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    exact = list_photo(unary, 1.25, ring).expect(lambda z: z.astype(float)).value
    loopy, _ = belief_propagation(unary, 1.25, ring)
    assert np.abs(loopy - exact).max() > 1e-7, "a loop of four pixels is a loop"


# The exercises


def test_a_list_of_all_conditions_is_right_and_not_praised_for_what_it_did_not_do():
    said = check("challenge-quickscore", lambda *a: page("hardness", "list_joint")(*a).sum())
    assert said.passed and "random_clinic(600)?" in said.message


@every_seed
def test_plugged_in_intervals_do_not_hold_what_they_claim(seed):
    likelihood, peak, whole = page("hardness", "coverage")(seed)
    assert abs(whole - 0.95) < Z_LIMIT * np.sqrt(0.95 * 0.05 / 4_000)
    assert likelihood < 0.1 and peak < 0.3
