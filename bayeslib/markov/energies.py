"""What simulated annealing walks on: an energy, a way to propose, perhaps a change of energy."""

import numpy as np
from numba import config

from ..chains.moves import Interpreted, Move
from ..compile.arguments import as_function
from ..compile.compiler import as_arguments, bind, constant
from ..errors import BayeslibError, BayeslibTypeError, StartError, warn
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
    compiled : bool
        Whether `propose` and `change` run as machine code.
    """

    def __init__(self, energy, propose, change, args, dim):
        self._move = Move(propose, None, args, dim, "state")
        self._energy = as_function(energy, "energy", ("state",), self._move.args, "args")
        self._target = Target(self._energy, dim=dim, data=self._move.args, gradient=None)
        self._change = change
        if change is not None:
            self._change = as_function(
                change, "change", ("proposed", "state"), self._move.args, "args"
            )
        self._compiled_change = change is not None and not config.DISABLE_JIT

    def __reduce__(self):
        import cloudpickle

        functions = cloudpickle.dumps((self._energy, self._change))
        return _rebuild, (functions, self._move, self._compiled_change)

    @property
    def compiled(self):
        return self._move.compiled and (self._change is None or self._compiled_change)

    @property
    def dim(self):
        return self._move.dim

    def energy(self, state):
        """Return the energy at `state`, raising what the function raises."""
        return self._target(state)

    def bind(self, rng):
        """Return callbacks of energy, `propose` drawing from `rng`, and `change` or None."""
        move, _ = self._move.bind(rng)
        return self._target.bind(gradient=False), move, self._bind_change()

    def _bind_change(self):
        if self._change is None:
            return None
        if self._compiled_change:
            args = self._move.args
            return bind("fused", (_changing(self._change),), args, self.dim)
        return Interpreted(self._plain_change)

    def _plain_change(self, proposed, state):
        views = [proposed.view(), state.view()]
        for view in views:
            view.flags.writeable = False
        value = self._change(*views, *as_arguments(self._move.args))
        if np.shape(value) != ():
            raise BayeslibTypeError(
                f"change={self._change.__name__!r} must return a number, got an array of shape "
                f"{np.shape(value)}"
            )
        return float(value)

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
        self._target.verify(starts[0])
        for start in np.unique(starts, axis=0):
            value = self.energy(start)
            if not np.isfinite(value):
                raise StartError(
                    f"the energy at initial_state={shown(start)} is {value}; begin where it is "
                    "finite"
                )
        self._move.verify(starts[0], rng)
        if self._move.reason:
            warn(f"propose runs as plain Python, which is slow: {self._move.reason}")
        if self._change is not None:
            self._verify_change(starts[0], rng)

    def _verify_change(self, start, rng):
        import copy

        with np.errstate(all="ignore"):
            proposed = self._move.proposal(start, copy.deepcopy(rng))
            claimed = self._plain_change(proposed, start)
        before, after = self.energy(start), self.energy(proposed)
        wrong = abs(claimed - (after - before)) > 1e-6 * (1.0 + abs(before) + abs(after))
        if wrong or np.isfinite(claimed) != np.isfinite(after):
            raise BayeslibError(
                f"change={self._change.__name__!r} is {claimed:.6g} from {shown(start)} to "
                f"{shown(proposed)}, where the energy changes by {after - before:.6g}: it must "
                "return energy(proposed) - energy(state)"
            )
        if self._compiled_change:
            try:
                self._bind_change()
            except BayeslibError as error:
                self._compiled_change = False
                warn(f"change runs as plain Python, which is slow: {error}")

    def explain(self, callbacks, state, proposed, rng):
        """Return the error that `propose` or `change` met, or None."""
        _, move, change = callbacks
        error = self._move.explain((move, None), state, proposed, rng)
        if error is not None or change is None or change.handle[-1] == 0:
            return error
        error = getattr(change, "error", None)
        if error is None:
            error = self._repeated(proposed, state)
        error.add_note(f"bayeslib: raised by change at state={shown(state)}")
        return error

    def _repeated(self, proposed, state):
        try:
            self._plain_change(proposed, state)
        except Exception as error:
            return error
        return BayeslibError("change raised when compiled, but does not in plain Python")

    def explain_energy(self, state):
        """Return the error that the energy raises at `state`."""
        return self._target.explain(state)


def _changing(change):
    def changing(proposed, state, *args):
        return change(proposed, constant(state), *args)

    changing.__name__ = change.__name__
    return changing


def _rebuild(functions, move, compiled_change):
    import cloudpickle

    energy, change = cloudpickle.loads(functions)
    landscape = Landscape.__new__(Landscape)
    landscape._move, landscape._energy, landscape._change = move, energy, change
    landscape._target = Target(energy, dim=move.dim, data=move.args, gradient=None)
    landscape._compiled_change = compiled_change and not config.DISABLE_JIT
    return landscape
