"""One transition of every sampler of chains, from exact draws: the table that tests run over.

A sampler is one more group of rows in `ROWS`. That brings it the tests of test_invariance.py and
test_trust_ranks.py, and planted bugs (tests/tools/bugs) a test that must reject them.
"""

import sys
from dataclasses import dataclass, field

import numpy as np
from densities import EXACT, METRICS
from registry import uneven, uneven_ratio
from scipy import stats

import bayeslib as bl
from bayeslib.chains.algorithm import Run
from bayeslib.chains.functions import Compares, Draws, Portable
from bayeslib.compile.arguments import as_data
from bayeslib.hamiltonian.dynamics import as_metric


def algorithm(sampler):
    """Return the `Algorithm` of a public function: in its module, its name in capitals."""
    return vars(sys.modules[getattr(bl, sampler).__module__])[sampler.upper()]


def steps(algorithm, target, starts, options, *, num_steps, rng, afresh=False):
    """Do `num_steps` transitions from each start, all of one run.

    Parameters
    ----------
    options : dict
        Those of the algorithm's `initial`.
    afresh : bool
        Make the state anew for each start, not only its position: where it remembers more of it
        than the log density and the gradient.

    Returns
    -------
    ends : numpy.ndarray, shape (n, dim)
    notes : dict
        Means over the transitions of what the algorithm notes, (n,) each.
    """
    starts = np.asarray(starts, dtype=float)
    run = Run(algorithm, target, rng, starts[0].copy(), None, options, (num_steps, 0, 1))
    ends = np.empty_like(starts)
    notes = np.empty((len(starts), num_steps), dtype=run.notes.dtype)
    for i, start in enumerate(starts):
        if afresh:
            run.state = algorithm.initial(run, start.copy(), **options)
        run.state.position[:] = start
        run.ask()
        assert run.advance(0, num_steps) == num_steps, "the run ended early"
        ends[i], notes[i] = run.draws[-1], run.notes[:-1]
    return ends, {name: notes[name].mean(axis=1) for name in notes.dtype.names}


@dataclass(frozen=True)
class Row:
    """A sampler and a density of which there are exact draws.

    Parameters
    ----------
    sampler : str
        A public function.
    density : str
        In `EXACT`.
    options : dict
        Of the algorithm's `initial`.
    num_steps : int
        After which conservation is judged.
    least_move : float
        Mean distance of first coordinates moved in that many steps, in standard deviations.
    power : float
        A bias, in standard deviations, that the test would see.
    reversible : bool
        Whether one step is.
    limits : dict
        Note: (low, high), between which its mean lies.
    afresh : bool
        See `steps`.
    starts : int
        How many chains.
    """

    sampler: str
    density: str
    options: dict
    num_steps: int = 10
    least_move: float = 0.3
    power: float = 0.06
    reversible: bool = True
    limits: dict = field(default_factory=dict)
    afresh: bool = False
    starts: int = 50_000

    def step(self, starts, rng, num_steps=None):
        """Return `steps` of this sampler from these starts."""
        return steps(
            algorithm(self.sampler), EXACT[self.density][0], starts, self.options,
            num_steps=num_steps or self.num_steps, rng=rng, afresh=self.afresh,
        )  # fmt: skip

    def exact(self, n, rng):
        return EXACT[self.density][1](n, rng)


def walk(density, root):
    return Row(
        "metropolis",
        density,
        {"root": np.atleast_2d(root), "adapted": False},
        limits={"acceptance_rate": (0.2, 0.8)},
    )


def flow(density, step_size, metric=None, num_steps=4):
    matrix, root = as_metric(metric, EXACT[density][0].dim)
    options = {
        "num_steps": num_steps, "metric": matrix, "root": root, "jitter": 0.0, "learns": False,
        "step": {"value": step_size, "begun": True},
    }  # fmt: skip
    return Row("hmc", density, options, limits={"acceptance_rate": (0.4, 0.999)})


def tree(density, step_size, metric=None, depth=6):
    matrix, root = as_metric(metric, EXACT[density][0].dim)
    options = {
        "max_tree_depth": depth, "metric": matrix, "root": root, "learned": 0,
        "step": {"value": step_size, "begun": True},
    }  # fmt: skip
    limits = {"tree_depth": (min(1.2, 0.9 * depth), 3.0)}
    return Row("nuts", density, options, 5, least_move=min(0.2 * depth, 0.7), limits=limits)


def slices(density, width, most, at_random=False):
    dim = EXACT[density][0].dim
    options = {"width": np.full(dim, width), "max_steps_out": most, "at_random": at_random}
    most_evals = {"num_evals": (3.0 * dim, 20.0 * dim)}  # two ends and a proposal at least
    reversible = at_random or dim == 1
    return Row("slice_sample", density, options, 4, reversible=reversible, limits=most_evals)


def moves(dim, propose, log_ratio, *args):
    """Return how `metropolis_hastings` proposes, and its correction."""
    args = as_data(args, "args")
    draws = Draws(propose, "propose", "theta", args, "args", dim)
    ratio = log_ratio and Compares(log_ratio, "log_ratio", ("proposed", "current"), args, "args")
    return {"propose": draws, "compare": ratio}


def wandering(density):
    options = moves(EXACT[density][0].dim, uneven, uneven_ratio, 1.1)
    return Row("metropolis_hastings", density, options, limits={"acceptance_rate": (0.2, 0.9)})


def independent(density, proposal, starts=10_000):
    return Row(
        "independence_metropolis", density, {"portable": Portable(proposal)}, power=0.14,
        limits={"acceptance_rate": (0.2, 0.95)}, afresh=True, starts=starts,
    )  # fmt: skip


ROWS = {
    "metropolis log_gamma_normal": walk("log_gamma_normal", [0.9, 0.9]),
    "metropolis mixture": walk("mixture", [1.5]),
    "metropolis funnel": walk("funnel", [1.5, 1.5]),
    "metropolis truncated": walk("truncated", [1.5]),
    "metropolis dense": walk(
        "log_gamma_normal", np.linalg.cholesky([[0.8, 0.5], [0.5, 0.9]]).copy(order="C")
    ),
    "hmc log_gamma_normal": flow("log_gamma_normal", 0.5),
    "hmc mixture": flow("mixture", 0.6),
    "hmc funnel": flow("funnel", 0.4),
    "hmc truncated": flow("truncated", 0.4),
    "hmc diagonal": flow("log_gamma_normal", 0.5, METRICS["diagonal"], 3),
    "hmc dense": flow("log_gamma_normal", 0.5, METRICS["dense"], 3),
    "nuts log_gamma_normal": tree("log_gamma_normal", 0.9),
    "nuts mixture": tree("mixture", 1.05),
    "nuts funnel": tree("funnel", 0.75),
    "nuts truncated": tree("truncated", 0.6),
    "nuts diagonal": tree("log_gamma_normal", 0.9, METRICS["diagonal"]),
    "nuts dense": tree("log_gamma_normal", 0.6, METRICS["dense"]),
    "nuts cut at 1": tree("funnel", 0.5, depth=1),
    "nuts cut at 2": tree("funnel", 0.5, depth=2),
    "slice_sample no steps mixture": slices("mixture", 2.0, 0),
    "slice_sample few steps log_gamma_normal": slices("log_gamma_normal", 0.6, 3),
    "slice_sample few steps truncated": slices("truncated", 0.6, 3),
    "slice_sample many steps funnel": slices("funnel", 0.8, 50),
    "slice_sample random order log_gamma_normal": slices("log_gamma_normal", 1.5, 10, True),
    "slice_sample random order mixture": slices("mixture", 0.6, 3, True),
    "metropolis_hastings log_gamma_normal": wandering("log_gamma_normal"),
    "metropolis_hastings mixture": wandering("mixture"),
    "metropolis_hastings funnel": wandering("funnel"),
    "metropolis_hastings truncated": wandering("truncated"),
    "independence_metropolis log_gamma_normal": independent(
        "log_gamma_normal", stats.multivariate_t([0.8, 0.4], [[1.0, 0.4], [0.4, 1.0]], df=5)
    ),
    "independence_metropolis mixture": independent("mixture", stats.t(5, scale=1.5), 25_000),
    "independence_metropolis wide mixture": independent("mixture", stats.norm(0.0, 4.0)),
    "independence_metropolis truncated": independent("truncated", stats.t(5)),
}
