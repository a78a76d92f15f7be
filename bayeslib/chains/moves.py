"""Proposals that a user writes: Python functions that draw, as callbacks of a kernel.

They are compiled to the same callbacks as densities. The generator reaches them as the addresses
of its state and of the functions that advance it, so that kernel and callback draw from one stream.
What does not compile is called back in Python, slowly, and draws the same.
"""

import copy
import ctypes

import numpy as np
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from ..compile.arguments import as_data, as_function
from ..compile.callback import _NUMBERS, _PLAIN, GENERATOR, aligned
from ..compile.compiler import as_arguments, bind, constant
from ..errors import BayeslibError, BayeslibTypeError
from ..validate import shown

_BITS = types.NumPyRandomBitGeneratorType("bit_generator")
_FUNCTIONS = ("next_uint64", "next_uint32", "next_double")


@intrinsic
def generator(typingctx, words):
    """Make a Generator of the addresses of its state and functions."""

    def codegen(context, builder, signature, args):
        found = context.make_array(signature.args[0])(context, builder, args[0])
        bits = cgutils.create_struct_proxy(_BITS)(context, builder)
        fields = ["state_address", "state", *(f"fnptr_{name}" for name in _FUNCTIONS)]
        for i, field in enumerate([*fields, "bit_generator"]):
            place = cgutils.gep_inbounds(builder, found.data, i)
            setattr(bits, field, builder.load(place))
        # It owns nothing: its memory is the caller's.
        made = cgutils.create_struct_proxy(GENERATOR)(context, builder)
        made.bit_generator = bits._getvalue()
        return made._getvalue()

    return GENERATOR(words), codegen


def addresses(rng):
    """Return what `generator` needs of a Generator, which must outlive its use."""
    found = rng.bit_generator.ctypes
    words = [found.state_address, found.state.value]
    words += [ctypes.cast(getattr(found, name), ctypes.c_void_p).value for name in _FUNCTIONS]
    return aligned(np.array([*words, found.bit_generator.value], dtype=np.int64))


class Interpreted:
    """A Python function of two vectors under the calling convention of compiled callbacks.

    Attributes
    ----------
    address, handle
        As of a `Bound`; the last word of the handle counts exceptions.
    error : Exception or None
        The first that the function raised.
    """

    _PROTOTYPE = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double), ctypes.c_int64,
        ctypes.c_void_p,
    )  # fmt: skip

    def __init__(self, function):
        self._function = function
        self.error = None
        self.handle = np.zeros(1, dtype=np.int64)
        if config.DISABLE_JIT:
            self.address = next(_NUMBERS)
            _PLAIN[self.address] = self
        else:
            self._native = self._PROTOTYPE(self._call)
            self.address = ctypes.cast(self._native, ctypes.c_void_p).value

    def __call__(self, first, second, handle):
        first = first.view()
        first.flags.writeable = False
        try:
            with np.errstate(all="ignore"):
                return float(self._function(first, second))
        except Exception as error:
            self.error = self.error or error
            self.handle[-1] += 1
            return -np.inf

    def _call(self, result, exception, first, second, dim, handle):
        shape = (dim,)
        first, second = np.ctypeslib.as_array(first, shape), np.ctypeslib.as_array(second, shape)
        result[0] = self(first, second, handle)
        return 0


class Move:
    """A proposal with its Hastings correction, to be bound once a chain.

    Parameters
    ----------
    propose : callable
        propose(theta, rng, *args) -> (dim,), or a number when dim is 1; it draws from `rng` only.
    log_ratio : callable or None
        log_ratio(proposed, current, *args) -> float, log q(current | proposed) -
        log q(proposed | current); None when that is zero.
    args : tuple of arrays and numbers
    dim : int
    point : str
        What messages call the place to move from.

    Attributes
    ----------
    compiled : bool
        Whether both run as machine code.
    reason : str
        Why not.

    Raises
    ------
    BayeslibTypeError
        For functions of other arguments, or `args` that are not numbers.
    """

    def __init__(self, propose, log_ratio, args, dim, point="theta"):
        self.args, self.dim, self.point = as_data(args, "args"), dim, point
        self.propose = as_function(propose, "propose", (point, "rng"), self.args, "args")
        self.log_ratio = log_ratio
        if log_ratio is not None:
            self.log_ratio = as_function(
                log_ratio, "log_ratio", ("proposed", "current"), self.args, "args"
            )
        self.compiled, self.reason, self._number = not config.DISABLE_JIT, "", False

    def __reduce__(self):
        import cloudpickle

        functions = cloudpickle.dumps((self.propose, self.log_ratio))
        args = as_arguments(self.args)
        return _rebuild, (functions, args, self.dim, self.point, self.compiled, self._number)

    def bind(self, rng):
        """Return the callbacks of `propose`, drawing from `rng`, and of `log_ratio` or None.

        The first writes the proposal to its second vector.
        """
        if self.compiled:
            filling = (_filling_number if self._number else _filling)(self.propose)
            move = bind("fused", (filling,), (addresses(rng), *self.args), self.dim)
            if self.log_ratio is None:
                return move, None
            return move, bind("fused", (_correction(self.log_ratio),), self.args, self.dim)
        correction = None if self.log_ratio is None else Interpreted(self.ratio)

        def fill(theta, out):
            out[:] = self.proposal(theta, rng)
            return 0.0

        return Interpreted(fill), correction

    def proposal(self, theta, rng):
        """Return what the plain function proposes, checked for its shape."""
        theta = theta.view()
        theta.flags.writeable = False
        proposed = self.propose(theta, rng, *as_arguments(self.args))
        self._number = self.dim == 1 and np.shape(proposed) == ()
        if not self._number and np.shape(proposed) != (self.dim,):
            raise BayeslibTypeError(
                f"propose={self.propose.__name__!r} must return an array of shape ({self.dim},), "
                f"got {np.shape(proposed)} from {self.point}={shown(theta)}"
            )
        return np.atleast_1d(np.asarray(proposed, dtype=np.float64))

    def ratio(self, proposed, current):
        """Return what the plain `log_ratio` returns."""
        views = [proposed.view(), current.view()]
        for view in views:
            view.flags.writeable = False
        value = self.log_ratio(*views, *as_arguments(self.args))
        if np.shape(value) != ():
            raise BayeslibTypeError(
                f"log_ratio={self.log_ratio.__name__!r} must return a number, got an array of "
                f"shape {np.shape(value)}; sum over the dimensions"
            )
        return float(value)

    def verify(self, theta, rng):
        """Try both functions at `theta` with copies of `rng`, which is left as it is.

        What does not compile, or compiles to something else, is left to run as plain Python.

        Raises
        ------
        BayeslibError
            If the same generator gives two proposals, or if exchanging the arguments of
            `log_ratio` does not change its sign.
        """
        with np.errstate(all="ignore"):
            proposed, again = (self.proposal(theta, copy.deepcopy(rng)) for _ in range(2))
            if not np.array_equal(proposed, again, equal_nan=True):
                raise BayeslibError(
                    f"propose={self.propose.__name__!r} gave {shown(proposed)} and then "
                    f"{shown(again)} from the same {self.point} and the same generator: it must "
                    "draw from the rng it is given, and from nothing else"
                )
            if self.log_ratio is not None:
                self._verify_sign(proposed, theta)
        if not self.compiled:
            return
        try:
            move, _ = self.bind(trial := copy.deepcopy(rng))
        except BayeslibError as error:
            self.compiled, self.reason = False, str(error)
            return
        out = np.empty(self.dim)
        move(theta, out)
        plain = copy.deepcopy(rng)
        self.proposal(theta, plain)
        same_state = repr(trial.bit_generator.state) == repr(plain.bit_generator.state)
        if not (same_state and np.allclose(out, proposed, rtol=1e-6, equal_nan=True)):
            self.compiled = False
            self.reason = f"{self.propose.__name__!r} draws otherwise when compiled"

    def _verify_sign(self, proposed, theta):
        there, back = self.ratio(proposed, theta), self.ratio(theta, proposed)
        if np.isfinite(there + back) and abs(there + back) > 1e-8 * (1.0 + abs(there)):
            raise BayeslibError(
                f"log_ratio={self.log_ratio.__name__!r} is {there:.6g} from {shown(theta)} to "
                f"{shown(proposed)} and {back:.6g} the other way; it must change its sign only, "
                "being log q(current | proposed) - log q(proposed | current)"
            )

    def explain(self, moves, theta, proposed, rng):
        """Return the error that one of the callbacks of `bind` met, or None."""
        for callback, name in zip(moves, ("propose", "log_ratio"), strict=True):
            if callback is None or callback.handle[-1] == 0:
                continue
            error = getattr(callback, "error", None) or self._repeated(name, theta, proposed, rng)
            error.add_note(f"bayeslib: raised by {name} at {self.point}={shown(theta)}")
            return error
        return None

    def _repeated(self, name, theta, proposed, rng):
        try:
            if name == "propose":
                self.proposal(theta, copy.deepcopy(rng))
            else:
                self.ratio(proposed, theta)
        except Exception as error:
            return error
        return BayeslibError(
            f"{name} raised when compiled; it does not in plain Python with other random numbers "
            "(set NUMBA_DISABLE_JIT=1 to see where)"
        )


def _filling(propose):
    def fill(theta, out, words, *args):
        proposed = propose(theta, generator(words), *args)
        if proposed.size != theta.size:
            raise ValueError("size of the proposal")
        for i in range(theta.size):
            out[i] = proposed[i]
        return 0.0

    fill.__name__ = propose.__name__
    return fill


def _filling_number(propose):
    def fill(theta, out, words, *args):
        out[0] = propose(theta, generator(words), *args)
        return 0.0

    fill.__name__ = propose.__name__
    return fill


def _correction(log_ratio):
    def correct(proposed, current, *args):
        return log_ratio(proposed, constant(current), *args)

    correct.__name__ = log_ratio.__name__
    return correct


def _rebuild(functions, args, dim, point, compiled, number):
    import cloudpickle

    move = Move(*cloudpickle.loads(functions), args, dim, point)
    move.compiled, move._number = compiled and not config.DISABLE_JIT, number
    return move
