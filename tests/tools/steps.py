"""One transition of every sampler of chains, from exact draws: the table that tests run over.

A sampler is one more group of rows in `ROWS`. That brings it the tests of test_invariance.py and
test_trust_ranks.py, and planted bugs (tests/tools/bugs) a test that must reject them.
"""

import sys
from dataclasses import dataclass, field

import numpy as np
from densities import EXACT

import bayeslib as bl
from bayeslib.chains.algorithm import Run


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
    run = Run(algorithm, target, rng, starts[0].copy(), options, 0, num_steps)
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


ROWS = {
    "metropolis log_gamma_normal": walk("log_gamma_normal", [0.9, 0.9]),
    "metropolis mixture": walk("mixture", [1.5]),
    "metropolis funnel": walk("funnel", [1.5, 1.5]),
    "metropolis truncated": walk("truncated", [1.5]),
    "metropolis dense": walk(
        "log_gamma_normal", np.linalg.cholesky([[0.8, 0.5], [0.5, 0.9]]).copy(order="C")
    ),
}
