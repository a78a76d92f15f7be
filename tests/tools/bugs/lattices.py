"""Lattices and Boltzmann machines whose neighbours count wrongly."""

import dataclasses

import numpy as np
from planting import Bug

from bayeslib.markov.ising_model import tables
from bayeslib.markov.ising_sample import draw_site, wrap_site


def a_flip_counts_once(model):
    return tables(dataclasses.replace(model, coupling=0.5 * model.coupling))


def first_column_not_carried(rng, s, r, first, step):
    for c in range(first, s.sums.shape[1] + 1, step):
        draw_site(rng, s.lattice, s.table, s.odds, r, c)
        if s.periodic and c > 1:
            wrap_site(s, r, c)


def pairs_twice(machine, states):
    s = np.asarray(states)
    value = -np.sum(s * (s @ machine.weights + machine.biases), axis=-1)
    return float(value) if s.ndim == 1 else value


def from_the_old_state(rng, units):
    old = units.position.copy()
    for i in units.moving:
        total = units.biases[i] + np.sum(units.weights[i] * old)
        units.position[i] = 1.0 if rng.random() < 1.0 / (1.0 + np.exp(-total)) else 0.0


_MARKOV, _RECOVERS = "bayeslib.markov", "test_ising.test_recovers_what_enumeration_says"
BUGS = {
    "a table of acceptances forgets that a flip counts twice": Bug(
        f"{_MARKOV}.ising_model.tables", a_flip_counts_once, _RECOVERS, {"method": "systematic"}
    ),
    "an edge is not carried to the other side": Bug(
        f"{_MARKOV}.ising_sample.draw_row",
        first_column_not_carried,
        _RECOVERS,
        {"method": "systematic"},
    ),
    "clusters join too often": Bug(
        f"{_MARKOV}.ising_model.Model.join",
        lambda model: -np.expm1(-2.2 * model.beta * model.coupling),
        _RECOVERS,
        {"method": "wolff"},
    ),
    "a Boltzmann machine counts its pairs twice": Bug(
        f"{_MARKOV}.boltzmann.BoltzmannMachine.energy",
        pairs_twice,
        "test_boltzmann.test_conditionals_are_ratios_of_the_joint",
    ),
    "a Boltzmann machine draws all its units from the old state": Bug(
        f"{_MARKOV}.boltzmann.sweep",
        from_the_old_state,
        "test_boltzmann.test_recovers_the_exact_moments",
    ),
}
