"""Planted bugs, each with the name of the test that must reject it.

A bug is planted by importing a copy of its module with one line changed, and putting the copy's
functions in the place of the real ones wherever they were imported. The test named is then run as
it stands, from a fresh copy of its own module.
"""

import contextlib
import importlib
import importlib.util
import inspect
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from recording import unheard
from stepping import mutant

import bayeslib as bl

_copies = count()


@dataclass(frozen=True)
class Bug:
    """A bug and its test.

    Parameters
    ----------
    module : str
        Where it is planted: a module, or the package that has the line in one of its modules; or
        `densities`, whose targets then are those of the copy.
    change : tuple of str
        The line as it is and as it will be; the first must occur exactly once.
    test : str
        module.function of the test that must fail.
    arguments : dict
        Those of the test, each from its own parametrisation.
    through : str, optional
        A module whose kernels have those of `module` inlined, to be compiled over the copy.
    error : type, optional
        What the test may raise besides a failed assertion.
    """

    module: str
    change: tuple
    test: str
    arguments: dict = field(default_factory=dict)
    through: str | None = None
    error: type = AssertionError


_LAPLACE = "test_vi_laplace.test_gamma_student_in_two_coordinates"
_SLOPE = "test_vi.test_steps_follow_the_slope_of_the_bound"
VARIATIONAL = {
    "the bound subtracts the entropy": Bug(
        "bayeslib.variational.elbo",
        ("        terms = terms - log_q\n", "        terms = terms + log_q\n"),
        "test_vi.test_the_bound_has_its_closed_form",
        {"entropy": "sampled"},
    ),
    "the bound forgets the entropy": Bug(
        "bayeslib.variational.elbo",
        ("terms = terms + approximation.entropy", "terms = terms + 0.0"),
        "test_vi.test_the_bound_has_its_closed_form",
        {"entropy": "exact"},
    ),
    "Laplace takes the precision for the covariance": Bug(
        "bayeslib.variational.laplace", ("_inverse(best.hessian),", "best.hessian,"), _LAPLACE
    ),
    "Laplace forgets the power of 2 pi": Bug(
        "bayeslib.variational.newton",
        ("self.value + 0.5 * self.position.size * LOG_2_PI", "self.value"),
        _LAPLACE,
    ),
    "Laplace adds the log determinant": Bug(
        "bayeslib.variational.newton", ("- 0.5 * log_det", "+ 0.5 * log_det"), _LAPLACE
    ),
    "the ascent has no entropy": Bug(
        "bayeslib.variational.advi_ascent",
        ("inward = 2.0 * inward - 1.0", "inward = 2.0 * inward"),
        _SLOPE,
        {"dense": True, "sticking": False},
    ),
    "the slope is not pulled back by the transpose": Bug(
        "bayeslib.variational.gaussian_family",
        ("u[i] += factor[j, i] * slope[j]", "u[i] += factor[j, i] * slope[i]"),
        _SLOPE,
        {"dense": True, "sticking": True},
        through="bayeslib.variational.advi_ascent",
    ),
}
HYBRID = {
    "a draw is compared with a mean that it is part of": Bug(
        "bayeslib.variational.bbvi_ascent",
        ("            divisor = num_draws - 1.0\n", "            pass\n"),
        "test_hybrid.test_the_estimator_of_draws_left_out_is_unbiased",
    ),
    "the score of a scale forgets its normaliser": Bug(
        "bayeslib.variational.gaussian_family",
        ("gradient[dim + i] -= 1.0", "gradient[dim + i] -= 0.0"),
        "test_hybrid.test_finds_the_best_gaussian_of_the_running_example",
        {"estimator": "score"},
        through="bayeslib.variational.bbvi_ascent",
    ),
    "the bound has the entropy's sign wrong": Bug(
        "bayeslib.variational.bbvi_ascent",
        ("values[s] = log_p - log_q if", "values[s] = log_p + log_q if"),
        "test_hybrid.test_finds_the_best_gaussian_of_the_running_example",
        {"estimator": "loo"},
        error=Exception,
    ),
    "the final bound forgets q": Bug(
        "bayeslib.variational.verdict",
        ("mean_of(self.logdensity - self.log_q)", "mean_of(self.logdensity)"),
        "test_hybrid_paths.test_eight_schools",
    ),
    "a step is learned from whatever its curvature": Bug(
        "bayeslib.variational.path",
        ("if step @ change > _CURVATURE", "if abs(step @ change) > _CURVATURE"),
        "test_hybrid_paths.test_a_step_without_curvature_is_not_learned_from",
        error=Exception,
    ),
    "the path's Gaussian steps downhill": Bug(
        "bayeslib.variational.path",
        ("mean = position + diagonal * gradient +", "mean = position - diagonal * gradient +"),
        "test_hybrid_paths.test_draws_and_densities_are_those_of_mean_and_covariance",
        {"dim": 5},
    ),
    "the mixture of paths is not normalised": Bug(
        "bayeslib.variational.multipathfinder",
        ("special.logsumexp(each, axis=0) - np.log(len(each))", "special.logsumexp(each, axis=0)"),
        "test_hybrid_paths.test_several_paths_find_two_modes_and_the_evidence",
    ),
    "paths are weighted by Gaussian tails alone": Bug(
        "bayeslib.variational.multipathfinder",
        ("_WIDE_SHARE = 0.2", "_WIDE_SHARE = 0.0"),
        "test_hybrid_paths.test_stated_errors_are_those_that_are_made",
        {"name": "log_gamma"},
    ),
    "the network forgets the slope of tanh": Bug(
        "bayeslib.variational.network",
        ("(slope @ layers[i].T) * (1.0 - before**2)", "(slope @ layers[i].T)"),
        "test_hybrid_amortised.test_the_gradient_of_pairs_is_the_derivative",
    ),
    "a fit forgets the way back to the parameters": Bug(
        "bayeslib.variational.bbvi",
        ("transform=free.transform,", "transform=None,"),
        "test_hybrid.test_speaks_the_targets_coordinates",
    ),
}
BUGS = {
    f"{group}: {name}": bug
    for group, bugs in [
        ("hybrid", HYBRID),
        ("variational", VARIATIONAL),
    ]
    for name, bug in bugs.items()
}


def home(bug):
    """Return the name of the module that has the line, which may be a part of the one named."""
    importlib.import_module(bug.module)
    parts = [n for n in sys.modules if f"{n}.".startswith(f"{bug.module}.") and not is_copy(n)]
    line = bug.change[0]
    have = [n for n in parts if line in Path(sys.modules[n].__file__).read_text(encoding="utf-8")]
    assert len(have) == 1, f"{line!r} is in {have or 'none'} of {parts}"
    return have[0]


def is_copy(name):
    return name.rpartition(".")[2].startswith("mutant_")


def own_copies(bug, folder):
    """Return the pairs (real module, its copy with the bug)."""
    name = home(bug)
    wrong = mutant(folder, name, bug.change)
    pairs = [(sys.modules[name], wrong)]
    if bug.through:
        here, there = name.rsplit(".", 1)[1], wrong.__name__.rsplit(".", 1)[1]
        over = mutant(folder, bug.through, (f"from .{here} import", f"from .{there} import"))
        pairs.append((sys.modules[bug.through], over))
    return pairs


@contextlib.contextmanager
def planted(bug, folder):
    """Put the functions of a module with a bug in the place of the real ones."""
    for name in bl.__all__:
        getattr(bl, name)  # or the package would keep the first it looked up, which may be wrong
    wrong = {
        id(value): vars(copy)[name]
        for real, copy in own_copies(bug, folder)
        for name, value in vars(real).items()
        if (callable(value) or name == "EXACT") and vars(copy).get(name, value) is not value
    }
    places = [
        module
        for name, module in list(sys.modules.items())
        if name.split(".")[0] in ("bayeslib", "stepping", "registry", "densities")
        and not is_copy(name)
    ]
    real = [
        (vars(place), name, value)
        for place in places
        for name, value in vars(place).items()
        if id(value) in wrong
    ]
    try:
        for place, name, value in real:
            place[name] = wrong[id(value)]
        with unheard():
            yield
    finally:
        for place, name, value in real:
            place[name] = value


def fresh_test(name):
    """Return the function of a test from a copy of its module made now."""
    module, function = name.split(".")
    (path,) = Path(__file__).parents[1].glob(f"*/{module}.py")
    specification = importlib.util.spec_from_file_location(f"{module}_{next(_copies)}", path)
    copy = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(copy)
    return getattr(copy, function)


def arguments_of(function, chosen, folder):
    """Return what the test's own parametrisation gives for the arguments chosen.

    A value may be named by its place in the list. The fixture `mutants` is the folder.
    """
    offered = {"mutants": [folder]}
    for mark in getattr(function, "pytestmark", ()):
        if mark.name != "parametrize":
            continue
        names, values = mark.args[:2]
        names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
        assert len(names) == 1, "only arguments that are parametrised one by one"
        offered[names[0]] = list(values)
    wanted = set(inspect.signature(function).parameters)
    if "mutants" in wanted:
        chosen = chosen | {"mutants": folder}
    assert set(chosen) == wanted, f"{function.__name__} takes {sorted(wanted)}"
    found = {}
    for name, value in chosen.items():
        values = offered[name]
        if value not in values and isinstance(value, int):
            value = values[value]
        assert value in values, f"{name}={value!r} is not among {values}"
        found[name] = value
    return found
