"""Functions that a user writes beside the density: they draw, or compare two states.

They are compiled to the same callbacks as densities. The generator reaches them as the addresses
of its state and of the functions that advance it, so that kernel and callback draw from one stream.
What does not compile is called back in Python, slowly, and draws the same.
"""

import copy
import ctypes

import cloudpickle
import numpy as np
from numba import config
from numba.extending import intrinsic

from ..compile.arguments import as_data, as_function
from ..compile.callback import _PLAIN, aligned, read
from ..compile.compiler import as_arguments, bind, constant
from ..compile.entry import PROTOTYPE
from ..compile.kinds import GENERATOR
from ..errors import BayeslibError, BayeslibTypeError, warn
from ..validate import check_fits, frozen, shown
from .loop import Unasked


@intrinsic
def generator(typingctx, words):
    """Make a Generator of the numbers that numba has in its place."""

    def codegen(context, builder, signature, args):
        found = context.make_array(signature.args[0])(context, builder, args[0])
        kind = context.get_value_type(GENERATOR).as_pointer()
        return builder.load(builder.bitcast(found.data, kind))

    return GENERATOR(words), codegen


def addresses(rng):
    """Return what `generator` needs of a Generator, which must outlive its use."""
    found = rng.bit_generator.ctypes
    calls = found.next_uint64, found.next_uint32, found.next_double
    calls = [ctypes.cast(call, ctypes.c_void_p).value for call in calls]
    # It owns nothing: that is what the zeros say.
    words = [0, found.state_address, found.state.value, *calls, found.bit_generator.value, 0, 0]
    return aligned(np.array(words, dtype=np.int64))


class Interpreted:
    """A Python function of two vectors under the calling convention of compiled callbacks.

    Attributes
    ----------
    address, handle
        As of a `Bound`; the last word of the handle counts exceptions.
    error : Exception or None
        The first that the function raised.
    """

    def __init__(self, function):
        self._function = function
        self.error = None
        self.handle = np.zeros(1, dtype=np.int64)
        if config.DISABLE_JIT:
            self.address = id(self)
            _PLAIN[self.address] = self
        else:
            self._native = PROTOTYPE(self._call)
            self.address = ctypes.cast(self._native, ctypes.c_void_p).value

    def __call__(self, first, second, handle=None):
        try:
            return float(self._function(first, second))
        except BaseException as error:  # what leaves a callback of C is lost, sys.exit() too
            self.error = self.error or error
            self.handle[-1] += 1
            return -np.inf

    def _call(self, result, exception, first, second, dim, handle):
        first, second = (read(place, (dim,)) for place in (first, second))
        result[0] = self(first, second, handle)
        return 0


class UserFunction:
    """A function of a state and of something else, and of data, to be bound once a chain.

    Parameters
    ----------
    function : callable
        function(first, second, *data), plain or jitted.
    name : str
        Of the argument that it was, for messages.
    takes : tuple of str
        What `first` and `second` are.
    data : tuple of numpy.ndarray
        From `as_data`.
    given : str
        The argument that the data were.

    Attributes
    ----------
    label : str
        How messages name it.
    compiled : bool
        Whether it runs as machine code.
    """

    attempts = 1  # in plain Python, to find out what the compiled function raised
    state = 0  # which of `takes` is where the chain is

    def __init__(self, function, name, takes, data, given="data"):
        self.function, self.data = as_function(function, name, takes, data, given), data
        self.takes, self.label = takes, f"{name} ({self.function.__name__})"
        self.compiled = not config.DISABLE_JIT

    def __getstate__(self):
        function = Portable(self.function)
        return vars(self) | {"function": function, "data": as_arguments(self.data)}

    def __setstate__(self, state):
        vars(self).update(state)
        self.function, self.data = self.function.value, as_data(self.data)
        self.compiled = self.compiled and not config.DISABLE_JIT

    def _plain(self, first, second):
        with np.errstate(all="ignore"):
            return self.function(first, second, *as_arguments(self.data))

    def _bound(self, wrapped, data, dim):
        wrapped.__name__ = self.function.__name__
        return bind("fused", wrapped, data, dim)

    def error(self, callback, point, *again):
        """Return the error that a callback met, or None; where it is not kept, ask ``again``."""
        if callback.handle[-1] == 0:
            return None
        error = getattr(callback, "error", None)
        try:
            for _ in range(0 if error else self.attempts):
                self(*again)
            words = "raised when compiled, and not in plain Python; set NUMBA_DISABLE_JIT=1"
            error = error or BayeslibError(f"{self.label} {words}")
        except Exception as found:
            error = found
        where = f"{self.takes[self.state]}={shown(point)}"
        error.add_note(f"bayeslib: raised by {self.label} at {where}")
        return error


class Draws(UserFunction):
    """function(theta, rng, *data) -> as many numbers as it draws, `size`, or one."""

    attempts = 1000

    def __init__(self, function, name, point, data, given="data", size=None):
        super().__init__(function, name, (point, "rng"), data, given)
        self.number, self.size = False, size

    def __call__(self, theta, rng):
        """Return what the plain function draws, checked for its shape, (size,)."""
        value = self._plain(frozen(theta), rng)
        drawn = np.asarray(value)
        several = drawn.ndim > 1 or self.size not in (None, drawn.size)
        if several or drawn.dtype.kind not in "biuf":
            got = None if value is None else f"shape {drawn.shape} and dtype {drawn.dtype}"
            rule = f"a number or a one-dimensional array of {self.size or 'some'} numbers"
            raise BayeslibTypeError(f"{self.label} must return what it drew, {rule}, got {got}")
        self.number = drawn.ndim == 0
        return np.atleast_1d(drawn.astype(np.float64))

    def twice(self, theta, rng):
        """Return what it draws with a copy of `rng`, having looked whether it does so again."""
        drawn, again = (self(theta, copy.deepcopy(rng)) for _ in range(2))
        if not np.array_equal(drawn, again, equal_nan=True):
            found = f"{self.label} gave {shown(drawn)} and then {shown(again)} from the same rng"
            raise BayeslibError(f"{found}: it must draw from the rng it is given alone")
        return drawn

    def bind(self, rng, dim):
        """Return the callback that draws from `rng` and writes the first of its second vector."""
        if self.compiled:
            wrapped = _filling(self.function, self.number)
            return self._bound(wrapped, (addresses(rng), np.array(self.size), *self.data), dim)

        def fill(theta, out):
            out[: self.size] = self(theta, rng)
            return 0.0

        return Interpreted(fill)

    def try_compiled(self, theta, rng):
        """Raise if it does not compile, or does not draw the same then."""
        trial, plain, out = copy.deepcopy(rng), copy.deepcopy(rng), np.empty(theta.size)
        self.bind(trial, theta.size)(theta, out)
        drawn = self(theta, plain)
        same = repr(trial.bit_generator.state) == repr(plain.bit_generator.state)
        if not (same and np.allclose(out[: self.size], drawn, rtol=1e-6, equal_nan=True)):
            raise BayeslibError(f"{self.label} draws otherwise when compiled")


class Compares(UserFunction):
    """function(proposed, state, *data) -> a number."""

    state = 1

    def __call__(self, first, second):
        value = np.asarray(self._plain(frozen(first), frozen(second)))
        check_fits(value.ndim == 0, value, self.label, "return a number")
        return float(value)

    def bind(self, dim):
        """Return its callback."""
        if not self.compiled:
            return Interpreted(self)
        return self._bound(_comparing(self.function), self.data, dim)

    def try_compiled(self, theta, rng):
        """Raise if it does not compile."""
        self.bind(theta.size)


def compile_all(functions, theta, rng):
    """Compile all that there are, or let all run as plain Python, with a warning; say which."""
    functions = [function for function in functions if function is not None]
    for function in functions:
        try:
            if function.compiled:
                function.try_compiled(theta, rng)
        except BayeslibError as error:
            warn(f"your functions run as plain Python, which is slow: {error}")
            for one in functions:
                one.compiled = False
    return all(function.compiled for function in functions)


def bind_moves(run, propose, compare):
    """Return what a run's state holds of a proposal, and of what compares two states, if any."""
    dim = run.target.dim
    move, comparison = propose.bind(run.rng, dim), compare.bind(dim) if compare else Unasked(dim)
    run.kept = move, comparison
    return {
        "propose": move.address, "propose_handle": move.handle,
        "compare": comparison.address, "compare_handle": comparison.handle,
    }  # fmt: skip


def error_of_moves(run):
    """Return the error that the run's `propose` or `compare` met, or None."""
    (move, comparison), here, there = run.kept, run.state.position, run.state.proposal
    propose, compare = run.options["propose"], run.options["compare"]
    error = propose.error(move, here, here, copy.deepcopy(run.rng))
    return error or compare and compare.error(comparison, here, there, here)


def _filling(function, one):
    def fill(theta, out, words, size, *data):
        drawn = function(theta, generator(words), *data)
        if one:
            out[0] = drawn
            return 0.0
        if drawn.size != size:
            raise ValueError("number of values")
        for i in range(drawn.size):
            out[i] = drawn[i]
        return 0.0

    return fill


def _comparing(function):
    def compare(first, second, *data):
        return function(first, constant(second), *data)

    return compare


class Portable:
    """Anything that is to go to another process, functions of a notebook included."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        return _unpacked, (cloudpickle.dumps(self.value),)


def _unpacked(pickled):
    return Portable(cloudpickle.loads(pickled))
