"""One target, one posterior: what a target says holds at the door of every method."""

import types
from functools import partial

import numpy as np
import pytest
from bad_inputs import jump
from densities import standard
from numba import njit

import bayeslib as bl
from bayeslib import Target, TargetError
from bayeslib.hamiltonian.leapfrog import leapfrog

WIDE = bl.Gaussian([1.0], [[9.0]])
SHORT = {"num_samples": 30, "num_warmup": 20, "num_chains": 1, "rng": 1}


CHAINS = {
    "metropolis": lambda t: bl.metropolis(t, 1.0, **SHORT),
    "metropolis_hastings": lambda t: bl.metropolis_hastings(
        t, 1.0, propose=jump, log_ratio=None, **SHORT
    ),
    "independence_metropolis": lambda t: bl.independence_metropolis(t, WIDE, **SHORT),
    "slice_sample": lambda t: bl.slice_sample(t, 1.0, **SHORT),
    "hmc": lambda t: bl.hmc(t, 1.0, num_steps=3, **SHORT),
    "nuts": lambda t: bl.nuts(t, 1.0, **SHORT),
    "parallel_tempering": lambda t: bl.parallel_tempering(
        t, 1.0, **SHORT | {"num_warmup": 60}, inverse_temperatures=[0.5, 1.0], scale=1.0
    ),
}


def weigh(name, target, **how):
    return getattr(bl, name)(target, WIDE, **{"num_samples": 200, "rng": 1} | how)


WEIGHING = ("importance_sample", "annealed_importance_sample", "adaptive_importance_sample", "smc")
WEIGHTED = {name: partial(weigh, name) for name in WEIGHING}
WEIGHTED["rejection_sample"] = partial(weigh, "rejection_sample", log_bound=2.5, num_samples=50)
FITS = {
    "laplace": lambda t, **how: bl.laplace(t, 1.5, coordinates="unconstrained", **how),
    "advi": lambda t, **how: bl.advi(t, 1.5, num_steps=50, rng=1, **how),
    "bbvi": lambda t, **how: bl.bbvi(t, 1.5, num_steps=50, rng=1, **how),
    "pathfinder": lambda t, **how: bl.pathfinder(t, 1.5, rng=1, **how),
    "multipathfinder": lambda t, **how: bl.multipathfinder(t, num_samples=50, rng=1, **how),
}
NUMBERS = {
    "call": lambda t: t(2.0),
    "many": lambda t: t.many([-2.0, 2.0]),
    "gradient": lambda t: t.gradient(2.0),
    "unconstrained": lambda t: bl.unconstrained(t)(0.5),
    "grid_posterior": lambda t: bl.grid_posterior(t, (-12, 15), num_points=300).weights,
    "quadrature": lambda t: bl.quadrature(t, (-12.0, 15.0)).mean,
    "elbo": lambda t: bl.elbo(t, bl.Gaussian([5.0], [[0.04]]), num_samples=50, rng=1).value,
    "bbvi_gradients": lambda t: bl.bbvi_gradients(t, 1.5, 0.1, estimator="reparam", rng=1),
    "leapfrog": lambda t: leapfrog(t, 1.5, 0.5, step_size=0.1, num_steps=3).positions,
}
HULL = {
    "adaptive_rejection_sample": lambda t: bl.adaptive_rejection_sample(
        t, points=[0.1, 9.0], num_samples=50, rng=1
    )
}
DOORS = CHAINS | WEIGHTED | HULL | FITS | NUMBERS


def found(door, target):
    """Return all the numbers that a method gives for a target."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("warnings.warn", lambda *args, **options: None)
        result = DOORS[door](target)
    if isinstance(result, bl.Draws):
        weights = result.log_weights
        return np.append(result.values, [] if weights is None else weights)
    return result.mean if isinstance(result, bl.Gaussian) else np.asarray(result)


def guarded_half(theta):
    return -0.5 * theta[0] ** 2 if theta[0] >= 0.0 else -np.inf


@pytest.mark.parametrize("door", sorted(DOORS))
def test_a_support_holds_at_every_door(door):
    """A density that forgets its support is refused, or bounded as if it had not."""
    target = Target(standard, dim=1, support=(0.0, None))
    if door in CHAINS:
        with pytest.raises(TargetError, match="outside the support"):
            found(door, target)
        return
    expected = found(door, Target(guarded_half, dim=1, support=(0.0, None)))
    np.testing.assert_array_equal(found(door, target), expected)


def raising(theta, y):
    if theta[0] < y[0] or theta[1] > y[1]:
        raise ValueError("never asked here")
    return -np.sum(theta)


def raising_pass(theta, grad, y):
    grad[:] = -1.0
    return raising(theta, y)


@pytest.mark.parametrize("form", [{"gradient": None}, {"fused": raising_pass}])
def test_beyond_the_support_nothing_counts_whatever_happens_there(form):
    ends = np.array([0.5, 3.0])
    target = Target(raising, dim=2, data=(ends,), support=[(0.5, None), (None, 3.0)], **form)
    points = [[0.5, 3.0], [0.4, 1.0], [1.0, 3.1], [0.4, 3.1], [7.0, -7.0]]
    np.testing.assert_array_equal(target.many(points), [-3.5, -np.inf, -np.inf, -np.inf, 0.0])
    shifted = Target(raising, dim=2, data=(ends,), support=[(0.6, None), None], **form)
    np.testing.assert_array_equal(shifted.many(points[:1] + points[4:]), [-np.inf, 0.0])
    with pytest.raises(ValueError, match="never asked"):
        shifted([1.0, 3.1])


UNTOLD = {  # doors that were not told where to begin, and one that was told when to end
    "nuts": lambda t: bl.nuts(t, **SHORT),
    "laplace": bl.laplace,
    "advi": lambda t: bl.advi(t, rng=1),
    "pathfinder": lambda t: bl.pathfinder(t, rng=1),
    "rejection_sample": lambda t: bl.rejection_sample(
        t, WIDE, log_bound=2.5, num_samples=20, max_proposals=40, rng=1
    ),
}
TOLD = set(DOORS) - {*NUMBERS, "rejection_sample"} | {"quadrature", "bbvi_gradients"}


@pytest.mark.row(51)
@pytest.mark.parametrize(
    "door", [*(DOORS[name] for name in sorted(TOLD)), *UNTOLD.values()],
    ids=[*sorted(TOLD), *(f"{name} untold" for name in UNTOLD)],
)  # fmt: skip
@pytest.mark.parametrize("bad", ["nan", "inf"])
def test_what_is_not_finite_in_the_data_is_named_first(door, bad, monkeypatch):
    y = np.ones((3, 2))
    y[1:, 1] = float(bad)

    def logdensity(theta, shift, y):
        return -np.sum((y - shift - theta[0]) ** 2) if theta[0] > 0.0 else -np.inf

    target = Target(logdensity, dim=1, data=(0.0, y), support=(0.0, None))
    words = rf"^data\[1\] holds 2 {bad}, the first at data\[1\]\[1, 1\]: remove or impute them"
    monkeypatch.setattr("warnings.warn", lambda *args, **options: None)
    with pytest.raises(bl.BayeslibError, match=words):
        door(target)


@pytest.mark.trust("S15")
@pytest.mark.parametrize("door", sorted({*FITS, *NUMBERS} - {"call", "many", "gradient"}))
def test_a_function_in_place_of_a_target_is_told_the_way(door):
    with pytest.raises(bl.BayeslibTypeError, match=r"write Target\(logdensity, dim=...\)"):
        DOORS[door](lambda theta: -0.5 * theta[0] ** 2)  # of samplers: test_registry.py


CENTRE = 0.0


def centred(theta):
    return -0.5 * (theta[0] - CENTRE) ** 2


@pytest.mark.row(54)
@pytest.mark.parametrize("door", sorted(set(DOORS) - set(HULL)))
def test_a_changed_global_is_seen_at_every_door(door, monkeypatch):
    target = Target(centred, dim=1)
    found(door, target)
    monkeypatch.setattr(f"{__name__}.CENTRE", 0.5)
    expected = found(door, Target(lambda theta: -0.5 * (theta[0] - 0.5) ** 2, dim=1))
    np.testing.assert_allclose(found(door, target), expected, rtol=1e-6, atol=1e-12)


def model():
    """Return what a density may name, all of which multiply one number."""
    module, inner = types.ModuleType("mine"), types.ModuleType("mine.inner")
    module.inner, module.factor, inner.factor = inner, 1.0, 1.0
    array, unlike = np.ones((1, 2)), {"size": 1}

    source = """
def helper(x):
    return deepest(x) * x.size

def density(theta):
    return helper(theta) * array[0, 0] * mine.factor * mine.inner.factor * jitted(1.0) * cell()

def otherwise(x):
    return 7.0 * x.sum()
"""
    names = {"deepest": njit(lambda x: x[0] * 1.0), "mine": module, "array": array}
    names |= {"jitted": njit(lambda x: x), "unlike": unlike, "size": 1}
    factor = 1.0

    def cell():
        return factor

    def set_cell():
        nonlocal factor
        factor = 7.0

    names["cell"] = cell
    exec(source, names)
    changes = {
        "helper": lambda: names.update(helper=names["otherwise"]),
        "helper of a helper": lambda: names.update(deepest=njit(lambda x: x[0] * 7.0)),
        "jitted helper": lambda: names.update(jitted=njit(lambda x: 7.0 * x)),
        "array in place": lambda: array.fill(7.0),
        "array rebound": lambda: names.update(array=7.0 * np.ones((1, 2))),
        "module attribute": lambda: setattr(module, "factor", 7.0),
        "attribute of a module in a module": lambda: setattr(inner, "factor", 7.0),
        "closure": set_cell,
        "code, as autoreload changes it": lambda: setattr(
            names["helper"], "__code__", names["otherwise"].__code__
        ),
    }
    return names, changes


@pytest.mark.parametrize("change", sorted(model()[1]))
@pytest.mark.parametrize("moved", [False, True])
def test_whatever_a_density_names_is_watched(change, moved):
    names, changes = model()
    target = Target(names["density"], dim=1)
    target = bl.unconstrained(target) if moved else target
    assert (target(2.0), target.gradient(2.0)[0], target.many([2.0])[0]) == (2.0, 1.0, 2.0)
    changes[change]()
    assert (target(2.0), target.gradient(2.0)[0], target.many([2.0])[0]) == (14.0, 7.0, 14.0)


def test_what_a_density_does_not_name_compiles_nothing(monkeypatch):
    """The global called size is not the attribute size; a value bound again is the same value."""
    names, _ = model()
    target = Target(names["density"], dim=1, gradient=None)
    assert target(2.0) == 2.0
    monkeypatch.setattr("bayeslib.compile.compiler.Stored", None)
    names.update(size=2, array=np.ones((1, 2)))
    assert target(2.0) == 2.0
