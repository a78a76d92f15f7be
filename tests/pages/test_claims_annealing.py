"""What the page on annealing and tempering claims of one seed, asserted over several: no luck."""

import numpy as np
from sparing import every_seed
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
TWO = posteriors.mixture([1 / 3, 2 / 3], [-10.0, 10.0], 1.0)


def test_annealing_the_figure_of_the_ladder_has_the_heat_at_the_top():
    """As the words beside it say; every ladder of the menu."""
    ladders, draw_replicas = page("annealing", "LADDERS", "draw_replicas")
    for name, betas in ladders.items():
        assert betas[0] == min(betas)
        left = draw_replicas(name).axes[0]
        low, high = left.get_ylim()  # bottom and top
        assert low > len(betas) > 1 > high
        said = [text.get_text() for text in left.get_yticklabels()]
        assert said[0] == "hot 1" and said[-1] == f"cold {len(betas)}"


def test_annealing_the_shortest_tour_of_burma_is_the_published_one():
    shortest, KM = page("annealing", "shortest", "KM")
    assert shortest == 3323.0  # TSPLIB's optimum of burma14
    assert np.array_equal(KM, KM.T)


@every_seed
def test_annealing_the_tour_races(seed):
    """Shares of 100 runs; the order of the table's ends holds for every seed."""
    reverse, KM, length, shortest = page("annealing", "reverse", "KM", "length", "shortest")
    options = {"propose": reverse, "args": (KM,), "num_chains": 100, "rng": seed}

    def share(**schedule):
        run = bl.anneal(length, np.arange(14.0), **options, **schedule)
        return np.mean(run.best_energies == shortest)

    long = {"num_iterations": 10_000}
    hot = share(schedule="logarithmic", initial_temperature=2000.0, **long)
    warm = share(schedule="logarithmic", initial_temperature=300.0, num_iterations=3000)
    geometric = {"initial_temperature": 1000.0, "final_temperature": 10.0}
    quick, slow = (share(num_iterations=n, **geometric) for n in (3000, 10_000))
    down = [share(schedule=np.zeros(n)) for n in (1000, 10_000)]
    assert hot < 0.4 < quick < warm and slow > 0.9
    assert max(down) < 0.35 and abs(down[0] - down[1]) < 0.1


def test_annealing_the_row_and_its_race():
    spread, schedules, goal, row = page("annealing", "spread", "SCHEDULES", "GOAL", "ROW")
    seen = page("annealing", "seen")
    chance = {
        name: {n: spread(make(n))[goal] for n in (1000, 10_000)} for name, make in schedules.items()
    }
    sure, half = chance["logarithmic, c = d*"], chance["logarithmic, c = d*/2"]
    quick = chance["geometric, 3 to 0.1"]
    assert sure[10_000] < quick[1000] < quick[10_000] < 1.0
    assert half[10_000] < 0.01 and half[10_000] - half[1000] < 0.002
    assert chance["none: T = 0.01"][10_000] < 1e-100
    patient = seen(schedules["logarithmic, c = d*"](10_000))
    assert sure[10_000] < patient < 0.5 < seen(schedules["geometric, 3 to 0.1"](1000))
    assert seen(np.full(5, 0.6)) == 0.0  # eleven steps away
    p = spread(np.full(10_000, 0.6))
    np.testing.assert_allclose(p.sum(), 1.0)
    weights = np.exp(-row / 0.6)  # where a chain at a constant temperature would settle
    assert abs(spread(np.full(400_000, 0.6))[goal] - weights[goal] / weights.sum()) < 1e-3


def test_annealing_the_barrier_shared_by_more_rungs():
    """The rejections add up to nearly the same barrier; evenly spaced they are shared unequally."""
    barriers = [
        bl.parallel_tempering(
            TWO, None, inverse_temperatures=n, num_samples=5_000, rng=1
        ).settings["barrier"].mean()
        for n in (5, 8, 12)
    ]  # fmt: skip
    assert max(barriers) / min(barriers) < 1.25
