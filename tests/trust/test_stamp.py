"""The record of tests is of the samplers as they are: its stamp is that of their draws."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from registry import ALGORITHMS
from stamp import digest

RECORD = Path(__file__).parents[1] / "results" / "trust.json"
METROPOLIS = next(algorithm for algorithm in ALGORITHMS if algorithm.name == "metropolis")


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
def test_the_record_is_not_older_than_the_sampler(algorithm):
    stored = json.loads(RECORD.read_text("utf-8"))["stamp"]
    assert stored.get(algorithm.name) == digest(algorithm), (
        f"{RECORD.name} was recorded with other draws of {algorithm.name}: make record"
    )


def moved(amount):
    """Return Metropolis under another name, its draws off by a factor."""

    def other(target, *arguments, num_chains=4, **options):
        draws = METROPOLIS.function(target, *arguments, num_chains=num_chains, **options)
        return dataclasses.replace(draws, values=draws.values * (1.0 + amount))

    return dataclasses.replace(METROPOLIS, function=other)


def test_a_new_name_and_the_last_bits_leave_the_stamp_and_new_draws_do_not():
    was = digest(METROPOLIS)
    assert digest(moved(0.0)) == was
    assert digest(moved(1e-3)) != was
    bits = np.finfo(float).eps
    assert digest(moved(4 * bits)) == was
