"""The arena's script, certified against the library: densities, estimators and every sampler.

All of it runs in a blank page of Chromium, from the files that the page is given.
"""

import json

import numpy as np
import pytest
from browsing import javascript
from scipy import special, stats
from stepping import Z_LIMIT, paired_z
from twins import page, plain_twin

import bayeslib as bl
from bayeslib.posteriors.truths import panels
from needles.arena.catalogue import ALGORITHMS, MASSES, SETTINGS, describe, targets
from needles.arena.figure import SCRIPTS, read

SOURCE = "\n".join(read(name) for name in SCRIPTS)
TARGETS = list(targets())
# Settings at which every target is left behind quickly, where any are.
SETTING = {
    "metropolis": {"scale": 1.5},
    "independence_metropolis": {"scale": 3.0},
    "gibbs": {"width": 2.0},
    "slice_sample": {"width": 2.0},
    "hmc": {"step_size": 0.3, "num_steps": 7},
    "nuts": {"step_size": 0.3},
}

every_target = pytest.mark.parametrize("name", TARGETS)


@pytest.fixture(scope="module")
def script(browser):
    """Return ``script(name, input, bugs=())``: what a function of arena_samplers.js returns."""
    page = browser.new_page()

    def run(name, given=None, bugs=()):
        source = SOURCE
        for old, new in bugs:
            assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
            source = source.replace(old, new)
        asked = f"({javascript('arena_samplers', name)})(JSON.parse(text))"
        call = f"(text) => {{ {source}\nreturn JSON.stringify({asked}); }}"
        return json.loads(page.evaluate(call, json.dumps(given)))

    return run


def grid(name, *, beyond=1.4, count=41):
    """Points of the target's window and some way around it, (n, 2)."""
    window = describe(name)["window"]
    axes = []
    for low, high in (window["x"], window["y"]):
        middle, half = 0.5 * (low + high), 0.5 * beyond * (high - low)
        axes.append(np.linspace(middle - half, middle + half, count))
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)


# Densities


@every_target
def test_densities_and_gradients_are_the_librarys(script, name):
    points = grid(name)
    found = script("densities", {"facts": describe(name), "points": points.tolist()})
    found = np.array(found)
    target = targets()[name]
    np.testing.assert_allclose(found[:, 0], target.many(points), rtol=1e-10, atol=1e-10)
    gradients = np.array([target.gradient(theta) for theta in points])
    np.testing.assert_allclose(found[:, 1:], gradients, rtol=1e-10, atol=1e-10)


@every_target
def test_the_certificate_would_notice_a_parameter_that_differs(script, name):
    assert script("difference", describe(name)) < 1e-12
    bug = ("-v / 9 +", "-v / 9.00001 +")  # the funnel has no parameter
    changed = describe(name) | {"parameters": nudged(describe(name)["parameters"])}
    assert script("difference", changed, [bug]) > 1e-10


def nudged(parameters):
    """Return the parameters, the numbers in them a millionth larger."""
    if isinstance(parameters, dict):
        return {name: nudged(value) for name, value in parameters.items()}
    if isinstance(parameters, list):
        return [nudged(value) for value in parameters]
    return parameters * (1.0 + 1e-6)


@every_target
def test_marginals_hold_the_librarys_quantiles(script, name):
    truth = targets()[name].truth
    probabilities = sorted(truth.quantiles)
    for i in (0, 1):
        edges = np.array([truth.quantiles[p][i] for p in probabilities])
        fine = np.linspace(edges[:-1], edges[1:], 5, axis=1)
        nodes, weights = zip(*(panels(row) for row in fine), strict=True)
        at = np.ravel(nodes).tolist()
        heights = script("marginal", {"facts": describe(name), "i": i, "at": at})
        masses = (np.reshape(heights, np.shape(nodes)) * weights).sum(axis=(1, 2))
        np.testing.assert_allclose(masses, np.diff(probabilities), atol=1e-6)


@every_target
def test_contours_hold_their_mass(name):
    """Each share of 40,000 new exact draws; the levels themselves come from 50,000."""
    target, size = targets()[name], 40_000
    values = target.many(target.truth.sample(size, np.random.default_rng(11)))
    for mass, level in zip(MASSES, describe(name)["levels"], strict=True):
        error = np.sqrt(mass * (1.0 - mass) * (1.0 / size + 1.0 / 50_000))
        assert abs(np.mean(values >= level) - mass) < 5.2 * error  # alpha 2e-7 each


def test_a_contour_lies_where_the_density_has_its_level(script):
    level = describe("donut")["levels"][2]
    found = script("contour", describe("donut"))
    ends = np.array(found).reshape(-1, 2)
    assert len(ends) > 200
    assert np.abs(targets()["donut"].many(ends) - level).max() < 0.05
    radii = np.hypot(*ends.T)
    assert radii.min() < 3.0 < radii.max()


# Random numbers and estimators


def test_the_generator_is_xoshiro128_star_star(script):
    """Blackman and Vigna's own outputs from the state 1, 2, 3, 4, and splitmix32 from 0."""
    words = [11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849]
    found = script("words")
    assert found == [words, [1684164658, 3653269916, 2939563536, 2141751570]]


def test_uniforms_and_normals_are_what_they_are_called(script):
    """Kolmogorov-Smirnov at alpha 1e-7 each, and neighbours are not correlated."""
    for kind, cdf, wrong in (("uniform", stats.uniform.cdf, 1.02), ("normal", special.ndtr, 1.1)):
        x = np.array(script("draws", {"seed": 5, "kind": kind}))
        assert stats.kstest(x, cdf).pvalue > 1e-7
        assert stats.kstest(wrong * x, cdf).pvalue < 1e-7
        assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) * np.sqrt(len(x)) < 5.3
        assert x.tolist() != script("draws", {"seed": 6, "kind": kind})


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("size", [20, 21, 500, 3001])
def test_estimators_are_the_librarys(script, rho, size):
    (x,) = page("diagnostics", "autoregression")(rho, 1, size, np.random.default_rng(size))
    found = script("estimate", x.tolist())
    assert found["mean"] == pytest.approx(x.mean(), rel=1e-12, abs=1e-14)
    assert found["ess"] == pytest.approx(bl.ess(x[None], kind="mean"), rel=1e-9)
    assert found["mcse"] == pytest.approx(bl.mcse(x[None]), rel=1e-9)


# Samplers, draw by draw


class Recorder(np.random.Generator):
    """A generator that keeps what it was asked for."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.tape = []

    def standard_normal(self, size):
        values = super().standard_normal(size)
        self.tape += [[1, v] for v in values.tolist()]
        return values

    def random(self):
        self.tape.append([0, super().random()])
        return self.tape[-1][1]


def recorded(num_samples, seed, normals):
    recorder = Recorder(seed)
    for _ in range(num_samples):
        recorder.standard_normal(normals)
        recorder.random()
    return recorder.tape


def run_library(algorithm, target, start, num_samples, seed):
    """Return the library's draws, (num_samples, 2), and the random numbers they were made of."""
    settings = SETTING[algorithm]
    options = {"num_samples": num_samples, "num_warmup": 0, "num_chains": 1, "rng": seed}
    if algorithm == "metropolis":
        draws = bl.metropolis(target, start, **settings, **options)
        tape = recorded(num_samples, seed, 2)
    elif algorithm == "independence_metropolis":
        proposal = stats.multivariate_normal(np.zeros(2), settings["scale"] ** 2 * np.eye(2))
        draws = bl.independence_metropolis(target, proposal, initial_position=start, **options)
        rng = np.random.default_rng(seed)
        normals = proposal.rvs(num_samples, random_state=rng) / settings["scale"]
        tape = [
            entry
            for z, u in zip(normals.tolist(), rng.random(num_samples).tolist(), strict=True)
            for entry in ([1, z[0]], [1, z[1]], [0, u])
        ]
    elif algorithm == "slice_sample":
        draws = bl.slice_sample(target, start, max_steps_out=50, **settings, **options)
        uniforms = np.random.default_rng(seed).random(100 * num_samples)
        tape = [[0, u] for u in uniforms.tolist()]
    elif algorithm == "hmc":
        draws = bl.hmc(target, start, inverse_mass_matrix=np.ones(2), **settings, **options)
        tape = recorded(num_samples, seed, 2)
    else:
        draws = bl.nuts(target, start, inverse_mass_matrix=np.ones(2), **settings, **options)
        recorder = Recorder(seed)
        plain_twin("nuts", "nuts")(target, start, num_samples=num_samples, rng=recorder, **settings)
        tape = recorder.tape
    return draws.values[0], tape


@pytest.mark.filterwarnings("ignore::bayeslib.errors.BayeslibWarning")
@every_target
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "gibbs"])
def test_samplers_take_the_librarys_steps(script, name, algorithm):
    """Short runs of many seeds: rounding grows along the curved trajectories of long ones."""
    target, num_samples, moved = targets()[name], 12, 0
    starts = target.truth.sample(8, np.random.default_rng(17))
    for seed, start in enumerate(starts):
        values, tape = run_library(algorithm, target, start, num_samples, seed)
        found = script(
            "steps",
            {
                "facts": describe(name),
                "algorithm": algorithm,
                "settings": SETTING[algorithm],
                "start": start.tolist(),
                "tape": tape,
                "count": num_samples,
            },
        )
        np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-7)
        moved += len(np.unique(values[:, 0]))
    assert moved > 10


# Gibbs, which the library does by conditionals of the user's own, in distribution


def after_gibbs(script, name, starts, *, count=4, bugs=()):
    given = {"facts": describe(name), "settings": SETTING["gibbs"], "starts": starts.tolist()}
    # A chain reserves room for all the draws it may keep, which these do not need.
    room = ("const MAX_DRAWS = 20000;", "const MAX_DRAWS = 16;")
    return np.array(script("gibbs", given | {"seed": 23, "count": count}, [room, *bugs]))


@every_target
def test_gibbs_leaves_the_target_as_it_is(script, name):
    """Exact draws stay exact draws: z of eight moments, below 5.6 (alpha 2e-8 each)."""
    starts = targets()[name].truth.sample(8000, np.random.default_rng(29))
    ends = after_gibbs(script, name, starts)
    z, power = paired_z(starts, ends, right=True)
    assert np.abs(z).max() < Z_LIMIT, z
    assert power.max() < 0.15
    assert np.mean(ends != starts, axis=0).min() > 0.15


def test_conditionals_that_are_too_wide_would_be_seen(script):
    starts = targets()["gaussian"].truth.sample(8000, np.random.default_rng(31))
    bug = ("const sd = Math.sqrt(cov[i][i]", "const sd = 1.1 * Math.sqrt(cov[i][i]")
    ends = after_gibbs(script, "gaussian", starts, count=12, bugs=[bug])
    assert np.abs(paired_z(starts, ends, right=False)[0]).max() > Z_LIMIT


def test_settings_are_sliders_settings():
    for algorithm in ALGORITHMS.values():
        for setting, value in algorithm["settings"].items():
            assert value in SETTINGS[setting]["values"]
