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


_LAST_KICK = "        momentum[i] += {} * step_size * gradient[i]\n    return lp, num_steps"
_WEIGHT = "leaf_weight = np.exp(gain - subtree_shift)"
_GAMMA = {"name": "log_gamma_normal"}

HMC = {
    "no accept step": Bug(
        "bayeslib.hamiltonian.kernels",
        ("accept = uniform < probability", "accept = True"),
        "test_hmc.test_conserves_the_target",
        _GAMMA,
    ),
    "the last half kick is missing": Bug(
        "bayeslib.hamiltonian.kernels",
        (_LAST_KICK.format("0.5"), _LAST_KICK.format("0.0")),
        "test_hmc.test_leapfrog_is_reversible",
        {"metric": "identity", "num_steps": 7},
    ),
    "accepts too often": Bug(
        "bayeslib.hamiltonian.kernels",
        (
            "probability = np.exp(min(-error, 0.0))",
            "probability = min(1.1 * np.exp(min(-error, 0.0)), 1.0)",
        ),
        "test_hmc.test_conserves_the_target",
        {"name": "mixture"},
    ),
    "momentum from N(0, M^-1)": Bug(
        "bayeslib.hamiltonian.kernels",
        ("momentum[i] /= factor[0, i]", "momentum[i] *= factor[0, i]"),
        "test_hmc.test_conserves_the_target_under_any_mass_matrix",
        {"metric": "diagonal"},
    ),
    "the kinetic energy is ignored": Bug(
        "bayeslib.hamiltonian.kernels",
        (
            "        after = kinetic_energy(p, metric) - new\n        error = after - before\n",
            "        after = kinetic_energy(p, metric) - new\n        error = lp - new\n",
        ),
        "test_hmc.test_conserves_the_target",
        _GAMMA,
    ),
    "the step depends on the state": Bug(
        "bayeslib.hamiltonian.kernels",
        (
            "position[i] += step_size * metric[0, i] * momentum[i]",
            "position[i] += step_size * (1.0 + 0.1 * position[i]) * metric[0, i] * momentum[i]",
        ),
        "test_hmc.test_leapfrog_preserves_volume",
        {"metric": "identity"},
    ),
    "the position drifts": Bug(
        "bayeslib.hamiltonian.kernels",
        (
            "position[i] += step_size * metric[0, i] * momentum[i]",
            "position[i] += step_size * metric[0, i] * momentum[i] + 0.02",
        ),
        "test_hmc.test_leapfrog_is_reversible",
        {"metric": "diagonal", "num_steps": 1},
    ),
    "the step size is never frozen": Bug(
        "bayeslib.hamiltonian.kernels",
        (
            "        if t < num_warmup:\n            if wanted > 0.0:\n"
            "                adapt_step_size(state, probability, wanted)\n",
            "        if wanted > 0.0:\n            adapt_step_size(state, probability, wanted)\n"
            "        if t < num_warmup:\n            if wanted > 0.0:\n",
        ),
        "test_trust_invariance.test_adaptation_ends_with_the_warm_up",
        {"sampler": "hmc"},
    ),
}
_TREE = {"module": "bayeslib.hamiltonian.tree", "through": "bayeslib.hamiltonian.nuts_kernels"}
NUTS = {
    "uniform weights": Bug(
        change=(_WEIGHT, "leaf_weight = 1.0"),
        test="test_nuts.test_conserves_the_target",
        arguments=_GAMMA,
        **_TREE,
    ),
    "a half that turned counts": Bug(
        change=("        if end != FULL:\n            break\n        depth", "        depth"),
        test="test_nuts.test_conserves_the_target",
        arguments={"name": "truncated"},
        **_TREE,
    ),
    "the new half is preferred too much": Bug(
        change=(
            "rng.random() * weight < subtree_weight:",
            "rng.random() * weight < 2.0 * subtree_weight:",
        ),
        test="test_nuts.test_conserves_the_target",
        arguments=_GAMMA,
        **_TREE,
    ),
    "the momentum is too small": Bug(
        change=("normal = rng.standard_normal()", "normal = 0.9 * rng.standard_normal()"),
        test="test_nuts.test_conserves_the_target",
        arguments={"name": "funnel"},
        **_TREE,
    ),
    "proposes the end of the new half": Bug(
        change=(
            "if leaf == 0 or rng.random() * subtree_weight < leaf_weight:",
            "if rng.random() < 2.0:",
        ),
        test="test_nuts.test_conserves_the_target",
        arguments={"name": "truncated"},
        **_TREE,
    ),
    "its step size is never frozen": Bug(
        "bayeslib.hamiltonian.nuts_kernels",
        (
            "            counts[NUM_OUTSIDE] = 0\n            if wanted > 0.0:\n"
            "                adapt_step_size(state, found[ACCEPTANCE], wanted)\n",
            "            counts[NUM_OUTSIDE] = 0\n"
            "        if wanted > 0.0:\n"
            "            adapt_step_size(state, found[ACCEPTANCE], wanted)\n"
            "        if t < num_warmup:\n            if wanted > 0.0:\n",
        ),
        "test_trust_invariance.test_adaptation_ends_with_the_warm_up",
        {"sampler": "nuts"},
    ),
}
_LATTICE = {"module": "bayeslib.markov.lattice", "through": "bayeslib.markov.ising_sample"}
_RECOVERS = "test_ising.test_recovers_what_enumeration_says"
GIBBS = {
    "a scan there and back that only goes there": Bug(
        "bayeslib.markov.gibbs",
        ("2 * num - 1 if scan == _SYMMETRIC else num", "num"),
        "test_gibbs.test_is_reversible",
        {"scan": "symmetric"},
    ),
    "a conditional's spread is not looked at": Bug(
        "bayeslib.markov.slice_ranks",
        ("folded = np.abs(2.0 * ranks - 1.0)", "folded = ranks"),
        "test_gibbs_check.test_a_scale_wrong_by_a_factor_of_two_is_found",
        {"factor": 0.5},
    ),
    "a table of acceptances forgets that a flip counts twice": Bug(
        "bayeslib.markov.ising_sample",
        (
            "log_odds = 2.0 * model.beta * model.coupling",
            "log_odds = 1.0 * model.beta * model.coupling",
        ),
        _RECOVERS,
        {"method": "systematic"},
    ),
    "an edge is not carried to the other side": Bug(
        change=("        if c == one and periodic:\n            row[end] = row[one]\n", ""),
        test=_RECOVERS,
        arguments={"method": "systematic"},
        **_LATTICE,
    ),
    "clusters join too often": Bug(
        "bayeslib.markov.ising_sample",
        ("join = -np.expm1(-2.0 * ", "join = -np.expm1(-2.2 * "),
        _RECOVERS,
        {"method": "wolff"},
    ),
    "a Boltzmann machine counts its pairs twice": Bug(
        "bayeslib.markov.boltzmann",
        ("(0.5 * (s @ self.weights) + self.biases)", "(s @ self.weights + self.biases)"),
        "test_boltzmann.test_conditionals_are_ratios_of_the_joint",
    ),
    "a Boltzmann machine draws all its units from the old state": Bug(
        "bayeslib.markov.units",
        (
            "                total += weights[i, j] * state[j]\n            u =",
            "                total += weights[i, j] * draws[max(t - num_warmup - 1, 0), j]\n"
            "            u =",
        ),
        "test_boltzmann.test_recovers_the_exact_moments",
        through="bayeslib.markov.boltzmann",
    ),
}
_NOISY = "bayeslib.hamiltonian.stochastic_kernels"
_SGLD = "test_stochastic.test_sgld_settles_in_the_law_of_its_steps"
_SGHMC = "test_stochastic.test_sghmc_settles_in_the_law_of_its_steps"
_UNBIASED = "test_stochastic.test_the_gradient_is_unbiased_and_its_covariance_is_the_formula"
STOCHASTIC = {
    "a batch counts as if it were all rows": Bug(
        _NOISY,
        ("prior[i] + told[SCALE] * likelihood[i]", "prior[i] + likelihood[i]"),
        _UNBIASED,
        {"replace": False},
    ),
    "a batch is drawn with replacement": Bug(
        _NOISY,
        ("    if replace:\n        for j", "    if True:\n        for j"),
        "test_stochastic.test_batches_settle_in_the_law_of_all_batches",
        {"sampler": 0, "replace": False},
    ),
    "Langevin noise of size eps": Bug(
        _NOISY,
        ("spread = np.sqrt(step_size)", "spread = step_size"),
        _SGLD,
        {"name": "exact"},
    ),
    "friction noise without its 2": Bug(
        _NOISY,
        ("np.sqrt(2.0 * rest * step_size)", "np.sqrt(rest * step_size)"),
        _SGHMC,
        {"name": "noise"},
    ),
    "friction drives": Bug(
        _NOISY,
        ("(slope[i] - friction[i] * velocity[i])", "(slope[i] + friction[i] * velocity[i])"),
        _SGHMC,
        {"name": "noise"},
    ),
    "the noise's estimate forgets that few rows are left": Bug(
        "bayeslib.hamiltonian.stochastic_rows",
        ("1.0 if self.replace else 1.0 - self.batch_size / self.number", "1.0"),
        "test_stochastic.test_sghmc_equals_its_twin",
        {"name": "batch", "known": "batch"},
    ),
}
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
        ("hmc", HMC),
        ("nuts", NUTS),
        ("gibbs", GIBBS),
        ("hybrid", HYBRID),
        ("variational", VARIATIONAL),
        ("stochastic", STOCHASTIC),
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
