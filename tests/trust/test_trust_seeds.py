"""The seed contract of every sampler of chains: threads and other chains leave no trace."""

import concurrent.futures as futures
import multiprocessing
from functools import partial

import numpy as np
import pytest
from registry import ALGORITHMS

import bayeslib as bl

pytestmark = pytest.mark.trust("S14")

CHAINS = {a.name: a for a in ALGORITHMS if a.chains}
MACHINE = bl.BoltzmannMachine(np.full((6, 6), 0.3) - 0.3 * np.eye(6), np.linspace(-0.5, 0.5, 6))
OF_SPINS = {
    "checkerboard": partial(bl.ising_sample, (9, 8), inverse_temperature=0.4),
    "wolff": partial(bl.ising_sample, (9, 8), inverse_temperature=0.4, method="wolff"),
    "boltzmann": MACHINE.sample,
}
SHORT = {"num_samples": 60, "num_warmup": 60, "num_chains": 4}


class LastFirst(futures.Executor):
    """Runs its jobs when it has them all, the last one first."""

    def __init__(self, number):
        self.number, self.jobs = number, []

    def submit(self, function, /, *arguments, **options):
        future = futures.Future()
        self.jobs.append((future, function, arguments, options))
        if len(self.jobs) == self.number:
            for waiting, job, given, named in reversed(self.jobs):
                waiting.set_result(job(*given, **named))
        return future


def short_run(name, **changes):
    if name in OF_SPINS:
        return OF_SPINS[name](**SHORT | {"rng": 7} | changes)
    algorithm = CHAINS[name]
    case = next(iter(algorithm.cases))
    options = SHORT | changes
    target, (start, *rest), extra = algorithm.cases[case]
    if np.shape(start)[:1] == (SHORT["num_chains"],):
        start = start[: options["num_chains"]]
    return algorithm.function(target, start, *rest, **extra | {"rng": 7} | options)


@pytest.mark.row(55)
@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # so few draws
@pytest.mark.parametrize("name", [*CHAINS, *OF_SPINS])
def test_draws_are_the_same_for_any_number_of_threads_and_chains(name):
    draws = short_run(name)
    for workers in (1, 2):
        with futures.ThreadPoolExecutor(workers) as pool:
            np.testing.assert_array_equal(short_run(name, executor=pool).values, draws.values)
    backwards = short_run(name, executor=LastFirst(SHORT["num_chains"]))
    np.testing.assert_array_equal(backwards.values, draws.values)
    for num_chains in (2, 3):
        fewer = short_run(name, num_chains=num_chains)
        np.testing.assert_array_equal(fewer.values, draws.values[:num_chains])
    assert len({chain.tobytes() for chain in draws.values}) == 4
    assert not np.array_equal(short_run(name, rng=8).values, draws.values)


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")
def test_other_processes_with_two_threads_draw_the_same_bits(monkeypatch):
    for variable in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(variable, "2")
    scale, context = 0.8, multiprocessing.get_context("spawn")
    local = {
        "propose": lambda theta, rng: theta * np.exp(scale * rng.standard_normal(1)),
        "log_ratio": lambda proposed, current: np.log(proposed[0] / current[0]),
        "args": (),
    }
    with futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for name, functions in [("metropolis_hastings", local), *((name, {}) for name in CHAINS)]:
            here, there = (short_run(name, executor=e, **functions) for e in (None, pool))
            np.testing.assert_array_equal(here.values, there.values)
            assert here.num_evals == there.num_evals
        # one chain draws from the generator itself, which goes on as if it had been drawn from here
        generators = [np.random.default_rng(3) for _ in range(2)]
        for rng, executor in zip(generators, (pool, None), strict=True):
            short_run("metropolis", num_chains=1, rng=rng, executor=executor)
        assert generators[0].random() == generators[1].random()
