"""What the page on annealing and tempering claims of one seed, asserted over several: no luck."""

import numpy as np
from sparing import over
from twins import Z_LIMIT, page, quiet

import bayeslib as bl
from bayeslib import posteriors

pytestmark = quiet
every_seed = over("seed", range(1, 6))
TWO = posteriors.mixture([1 / 3, 2 / 3], [-10.0, 10.0], 1.0)
CENTRE = np.array([10.0, 0.0, 0.0, 0.0, 0.0])
HILLS = posteriors.mixture([1 / 3, 2 / 3], [-CENTRE, CENTRE], 1.0)


def near(seed):
    return np.random.default_rng(seed).standard_normal((4, 5)) - CENTRE


def on_ladder(betas, starts, seed):
    scale = np.outer(1.0 / np.sqrt(betas), np.full(5, 2.4 / np.sqrt(5.0)))
    return bl.parallel_tempering(
        HILLS, starts, inverse_temperatures=betas, scale=scale, num_samples=20_000, rng=seed
    )


def first(draws):
    return draws.expect(lambda x: x[:, 0]).z(10.0 / 3.0)


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


@every_seed
def test_annealing_more_patience_makes_a_worse_sample(seed):
    energy, step, parts, haystack = page("annealing", "energy", "step", "parts", "haystack")
    starts = np.random.default_rng(seed).uniform(-6.0, 6.0, (400, 1))
    shares = []
    for patience in (100, 1000, 10_000):
        ends = bl.anneal(
            energy, starts, propose=step, args=parts,
            initial_temperature=3.0, num_iterations=patience, num_chains=400, rng=seed,
            progress=False,
        ).final_states[:, 0]  # fmt: skip
        shares.append(np.mean(abs(ends + 1.0) < 0.5))
    assert 0.3 < shares[0] < shares[1] < shares[2] and shares[2] > 0.97
    exact = np.mean(abs(haystack.truth.sample(100_000, np.random.default_rng(seed)) + 1.0)
                    < 0.5)  # fmt: skip
    assert 0.2 < exact < 0.26 < shares[0]


@every_seed
def test_annealing_a_ladder_that_nobody_climbs(seed):
    broken = on_ladder(np.array([0.001, 1.0]), near(seed), seed)
    assert bl.rhat(broken).max() < 1.01 and bl.ess(broken).min() > 1000
    assert abs(first(broken)) > 100.0
    assert any("too coarse" in problem for problem in broken.problems)
    assert any("no replica" in problem for problem in broken.problems)
    cured = bl.parallel_tempering(HILLS, near(seed), num_samples=20_000, rng=seed)
    assert abs(first(cured)) < Z_LIMIT
    assert not any("ladder" in problem or "replica" in problem for problem in cured.problems)


@every_seed
def test_annealing_a_ladder_that_leads_nowhere(seed):
    betas = np.linspace(0.5, 1.0, 5)
    cool = on_ladder(betas, near(seed), seed)
    assert cool.problems == () and bl.rhat(cool).max() < 1.01
    assert cool.settings["swap_acceptance"].min() > 0.8
    assert abs(first(cool)) > 1000.0
    scattered = near(seed)
    scattered[2:, 0] += 20.0
    apart = on_ladder(betas, scattered, seed)
    assert bl.rhat(apart).max() > 1.5


@every_seed
def test_annealing_the_star(seed):
    star, prior, starts = page("annealing", "star", "prior", "starts")
    f, density, (low, high) = page("annealing", "f", "density_f", "NEAR")
    run = {"num_samples": 40_000, "num_warmup": 2_000, "rng": seed}
    draws = bl.parallel_tempering(star, starts, reference=prior, **run)
    assert not any("ladder" in problem or "replica" in problem for problem in draws.problems)
    spacing, inside = f[1] - f[0], (f > low) & (f < high)
    assert abs(draws.expect(lambda x: x[:, 0]).z(density @ f * spacing)) < Z_LIMIT
    peak = draws.expect(lambda x: (x[:, 0] > low) & (x[:, 0] < high))
    assert abs(peak.z(density[inside].sum() * spacing)) < Z_LIMIT
    assert abs(draws.log_evidence.z(page("annealing", "exact_log_evidence"))) < Z_LIMIT
    assert 0.5 < density[inside].sum() * spacing < 0.65
    walk = bl.metropolis(star, starts, **run)
    assert bl.rhat(walk)[0] > 1.2


def test_annealing_the_barrier_shared_by_more_rungs():
    """The rejections add up to nearly the same barrier; evenly spaced they are shared unequally."""
    barriers = [
        bl.parallel_tempering(
            TWO, None, inverse_temperatures=n, num_samples=5_000, rng=1
        ).settings["barrier"].mean()
        for n in (5, 8, 12)
    ]  # fmt: skip
    assert max(barriers) / min(barriers) < 1.25
