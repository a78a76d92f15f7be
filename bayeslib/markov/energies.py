"""What simulated annealing walks on: an energy, a way to propose, perhaps a change of energy."""

import copy

import numpy as np

from ..chains.functions import Compares, Draws
from ..compile.arguments import as_data, as_function
from ..errors import BayeslibError, StartError, warn
from ..target.target import Target
from ..validate import shown


class Landscape:
    """An energy with its moves, to be bound once a chain.

    Parameters
    ----------
    energy : callable
        energy(state, *args) -> float.
    propose : callable
        propose(state, rng, *args) -> (dim,).
    change : callable or None
        change(proposed, state, *args) -> float.
    args : tuple of arrays and numbers
    dim : int

    Attributes
    ----------
    target : Target
        Whose log density is the energy.
    """

    def __init__(self, energy, propose, change, args, dim):
        args = as_data(args, "args")
        self.propose = Draws(propose, "propose", "state", args, "args")
        self.propose.size = dim
        energy = as_function(energy, "energy", ("state",), args, "args")
        self.target = Target(energy, dim=dim, data=args, gradient=None)
        if change is not None:
            change = Compares(change, "change", ("proposed", "state"), args, "args")
        self.change = change

    @property
    def compiled(self):
        """Whether `propose` and `change` run as machine code."""
        return self.propose.compiled and (self.change is None or self.change.compiled)

    def bind(self, rng):
        """Return callbacks of `propose`, drawing from `rng`, and of `change` or None."""
        dim = self.target.dim
        return self.propose.bind(rng, dim), self.change and self.change.bind(dim)

    def verify(self, starts, rng):
        """Try all functions at the starts; `rng` is left as it is.

        Raises
        ------
        StartError
            If the energy is not finite at a start.
        BayeslibError
            If `propose` draws from something else than `rng`, or `change` is not the difference
            of the energies.
        """
        self.target.verify(starts[0])
        for start in np.unique(starts, axis=0):
            value = self.target(start)
            if not np.isfinite(value):
                raise StartError(
                    f"the energy at initial_state={shown(start)} is {value}; begin where it is "
                    "finite"
                )
        proposed = self.propose.twice(starts[0], rng)
        self.propose.compile(starts[0], rng)
        if self.change is not None:
            self._verify_change(starts[0], proposed)
            self.change.compile(self.target.dim)
        for function in filter(None, (self.propose, self.change)):
            if function.reason:
                warn(f"{function.name} runs as plain Python, which is slow: {function.reason}")

    def _verify_change(self, start, proposed):
        with np.errstate(all="ignore"):
            claimed = self.change(proposed, start)
        before, after = self.target(start), self.target(proposed)
        wrong = abs(claimed - (after - before)) > 1e-6 * (1.0 + abs(before) + abs(after))
        if wrong or np.isfinite(claimed) != np.isfinite(after):
            raise BayeslibError(
                f"{self.change.label} is {claimed:.6g} from {shown(start)} to "
                f"{shown(proposed)}, where the energy changes by {after - before:.6g}: it must "
                "return energy(proposed) - energy(state)"
            )

    def explain(self, propose, change, run):
        """Return the error that a callback met in a run, or None."""
        state, proposed = run.state.position, run.state.proposal
        error = self.propose.error(propose, state, state, copy.deepcopy(run.rng))
        if error is None and change is not None:
            error = self.change.error(change, state, proposed, state)
        return error
