"""Full conditionals that a user writes, as callbacks of a kernel, each with its coordinates."""

import copy
import reprlib

import numpy as np
from numba import config

from ..chains.moves import Interpreted, addresses, generator
from ..compile.arguments import as_data, as_function
from ..compile.compiler import as_arguments, bind
from ..errors import BayeslibError, BayeslibTypeError
from ..validate import shown

_ATTEMPTS = 1000  # in plain Python, to find out what a compiled function raised


class Conditionals:
    """What a Gibbs sampler draws from, to be arranged once and bound once a chain.

    Parameters
    ----------
    functions : sequence of callable
        conditional(theta, rng, *data) -> a number, or an array (k,) for k coordinates.
    data : tuple of arrays and numbers

    Attributes
    ----------
    blocks : list of numpy.ndarray of int64
        The coordinates that each draws; set by `arrange`.
    compiled : bool
        Whether all run as machine code.
    reason : str
        Why not.
    """

    def __init__(self, functions, data):
        if callable(functions) or not np.iterable(functions):
            raise BayeslibTypeError(
                f"conditionals must be a sequence of functions, got {functions!r}; for a single "
                "one write conditionals=[function]"
            )
        self.data, functions = as_data(data), list(functions)
        if not functions:
            raise BayeslibError("conditionals is empty; pass one function for each coordinate")
        self.functions = [
            as_function(function, f"conditionals[{k}]", ("theta", "rng"), self.data)
            for k, function in enumerate(functions)
        ]
        self.blocks, self._numbers = None, None
        self.compiled, self.reason = not config.DISABLE_JIT, ""

    def __reduce__(self):
        import cloudpickle

        state = (self.blocks, self._numbers, self.compiled, self.reason)
        return _rebuild, (cloudpickle.dumps(self.functions), as_arguments(self.data), state)

    def title(self, k):
        """Return how a message names conditional k."""
        return f"conditionals[{k}] ({self.functions[k].__name__})"

    def arrange(self, blocks, theta, rng):
        """Try every function at `theta` and note which coordinates it draws.

        Parameters
        ----------
        blocks : list of numpy.ndarray of int64, or None
            None deals the coordinates out in order.
        theta : numpy.ndarray, shape (dim,)
        rng : Generator
            Left as it is.

        Raises
        ------
        BayeslibError
            If a function draws from something else than the generator it is given, returns
            another number of values than it has coordinates, or if a coordinate is left out.
        """
        sizes, self._numbers = [], []
        for k in range(len(self.functions)):
            with np.errstate(all="ignore"):
                drawn, again = (self._called(k, theta, copy.deepcopy(rng)) for _ in range(2))
            if not np.array_equal(drawn, again, equal_nan=True):
                raise BayeslibError(
                    f"{self.title(k)} gave {shown(np.asarray(drawn))} and then "
                    f"{shown(np.asarray(again))} from the same theta and the same generator: it "
                    "must draw from the rng it is given, and from nothing else"
                )
            self._numbers.append(np.ndim(drawn) == 0)
            sizes.append(np.size(drawn))
        self.blocks = self._dealt(sizes, theta.size) if blocks is None else blocks
        for k, (block, size) in enumerate(zip(self.blocks, sizes, strict=True)):
            if block.size != size:
                raise BayeslibError(
                    f"{self.title(k)} must return one value for each of its coordinates "
                    f"{block.tolist()}, got {size}"
                )
        if self.compiled:
            self._compile(theta, rng)

    def _dealt(self, sizes, dim):
        if sum(sizes) != dim:
            returned = ", ".join(map(str, sizes))
            raise BayeslibError(
                f"the conditionals return {returned} values, {sum(sizes)} in all, but there are "
                f"{dim} coordinates; each must be drawn by one of them, in order, or say which by "
                "blocks="
            )
        ends = np.cumsum([0, *sizes])
        return [np.arange(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def _called(self, k, theta, rng):
        theta = theta.view()
        theta.flags.writeable = False
        value = self.functions[k](theta, rng, *as_arguments(self.data))
        if value is None:
            raise BayeslibTypeError(
                f"{self.title(k)} returned None; it must return the value that it drew, theta is "
                "written by the sampler"
            )
        value = np.asarray(value)
        if value.ndim > 1 or value.dtype.kind not in "biuf":
            raise BayeslibTypeError(
                f"{self.title(k)} must return a number or a one-dimensional array of numbers, got "
                f"shape {value.shape} and dtype {value.dtype}"
            )
        return value.astype(np.float64)

    def _compile(self, theta, rng):
        """Compile all, or leave all to run as plain Python, and say why in `reason`."""
        try:
            callbacks = self.bind(trial := copy.deepcopy(rng), theta.size)
        except BayeslibError as error:
            self.compiled, self.reason = False, str(error)
            return
        plain = copy.deepcopy(rng)
        for k, callback in enumerate(callbacks):
            out = np.empty(theta.size)
            callback(theta, out)
            with np.errstate(all="ignore"):
                expected = self._called(k, theta, plain)
            same = repr(trial.bit_generator.state) == repr(plain.bit_generator.state)
            drawn = out[: expected.size]
            if not (same and np.allclose(drawn, np.ravel(expected), rtol=1e-6, equal_nan=True)):
                self.compiled, self.reason = False, f"{self.title(k)} draws otherwise when compiled"
                return

    def bind(self, rng, dim):
        """Return a callback for each, which draws from `rng` and writes the first of its vector."""
        if not self.compiled:
            return [Interpreted(self._filler(k, rng)) for k in range(len(self.functions))]
        callbacks = []
        for k, function in enumerate(self.functions):
            filling = (_filling_number if self._numbers[k] else _filling)(function)
            size = np.array(self.blocks[k].size)
            callbacks.append(bind("fused", (filling,), (addresses(rng), size, *self.data), dim))
        return callbacks

    def _filler(self, k, rng):
        def fill(theta, out):
            drawn = np.ravel(self._called(k, theta, rng))
            if drawn.size != self.blocks[k].size:
                raise ValueError(f"{drawn.size} values for {self.blocks[k].size} coordinates")
            out[: drawn.size] = drawn
            return 0.0

        return fill

    def explain(self, k, callback, theta, rng):
        """Return the error that conditional k met at `theta`."""
        error = getattr(callback, "error", None)
        if error is None:
            error = self._repeated(k, theta, rng)
        error.add_note(f"bayeslib: raised by {self.title(k)} at theta={shown(theta)}")
        return error

    def _repeated(self, k, theta, rng):
        # The generator has gone on since, and what raises may depend on it.
        fill, out = self._filler(k, copy.deepcopy(rng)), np.empty(theta.size)
        try:
            with np.errstate(all="ignore"):
                for _ in range(_ATTEMPTS):
                    fill(theta, out)
        except Exception as error:
            return error
        return BayeslibError(
            f"{self.title(k)} raised when compiled; it does not in {_ATTEMPTS} calls in plain "
            "Python (set NUMBA_DISABLE_JIT=1 to see where)"
        )


def as_blocks(blocks, names, num_conditionals):
    """Return the coordinates of each conditional, from numbers or names, each at least once."""
    if not np.iterable(blocks) or isinstance(blocks, str) or len(blocks) != num_conditionals:
        raise BayeslibError(
            f"blocks must have one entry for each of the {num_conditionals} conditionals, got "
            f"{blocks!r}"
        )
    found = []
    for k, block in enumerate(blocks):
        several = np.iterable(block) and not isinstance(block, str)
        found.append(np.array([_place(i, k, names) for i in (block if several else [block])]))
        if found[-1].size == 0 or np.unique(found[-1]).size != found[-1].size:
            raise BayeslibError(f"blocks[{k}]={block!r} is empty or names a coordinate twice")
    missing = sorted(set(range(len(names))) - {int(i) for block in found for i in block})
    if missing:
        raise BayeslibError(
            f"no conditional draws {', '.join(names[i] for i in missing[:5])}: it would never "
            "move; every coordinate must be in a block"
        )
    return found


def _place(entry, k, names):
    if isinstance(entry, str):
        if entry not in names:
            some = reprlib.repr(tuple(names))
            raise BayeslibError(f"blocks[{k}] names {entry!r}; there are {some}")
        return names.index(entry)
    if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, (int, np.integer)):
        raise BayeslibTypeError(f"blocks[{k}] must hold names or numbers, got {entry!r}")
    if not 0 <= entry < len(names):
        raise BayeslibError(f"blocks[{k}] must be of 0, …, {len(names) - 1}, got {entry}")
    return int(entry)


def _filling(conditional):
    def fill(theta, out, words, size, *data):
        drawn = conditional(theta, generator(words), *data)
        if drawn.size != size:
            raise ValueError("number of values")
        for i in range(drawn.size):
            out[i] = drawn[i]
        return 0.0

    fill.__name__ = conditional.__name__
    return fill


def _filling_number(conditional):
    def fill(theta, out, words, size, *data):
        out[0] = conditional(theta, generator(words), *data)
        return 0.0

    fill.__name__ = conditional.__name__
    return fill


def _rebuild(functions, data, state):
    import cloudpickle

    conditionals = Conditionals(cloudpickle.loads(functions), data)
    conditionals.blocks, conditionals._numbers, compiled, conditionals.reason = state
    conditionals.compiled = compiled and not config.DISABLE_JIT
    return conditionals
