"""Densities as callbacks, and the kernels that call them.

A density compiles alone, to ``double callback(double *theta, double *grad, int64 dim, int64
*handle)``. A kernel receives its address and a handle that leads to the data, so that neither a
new density nor new data ever compile a kernel again.
"""

import ctypes
import threading
import weakref

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from ..validate import frozen
from ..waiting import blocks, compiling, count, watching
from .autodiff.arena import new_tape
from .disk import Stored
from .fingerprint import fingerprint
from .internals import cgutils, global_compiler_lock, keep_in
from .kinds import ADDRESS, BYTE, DOUBLE, FLOAT, HANDLE, INLINED, INT, JIT, MATRIX, NATIVE, VECTOR

# Added to the last word of a handle to stop the kernel that holds it; below it, errors are counted.
STOP = 1 << 40

_APART = 512  # bytes: twice what a vector loop works on at a time

_PLAIN = weakref.WeakValueDictionary()


@intrinsic
def _density_compiled(typingctx, address, theta, grad, handle):
    """Call the native function at `address`: by numba's own convention, a call less than by C's.

    It returns a status and writes its result to its first argument; the second is for exceptions,
    which the callback has caught.
    """

    def codegen(context, builder, signature, args):
        result = cgutils.alloca_once(builder, DOUBLE)
        exception = cgutils.alloca_once_value(builder, ir.Constant(BYTE.as_pointer(), None))
        x, g, h = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[1:], args[1:], strict=True)
        )
        size = builder.extract_value(x.shape, 0)
        function = builder.inttoptr(args[0], NATIVE.as_pointer())
        builder.call(function, [result, exception, x.data, g.data, size, h.data])
        return builder.load(result)

    return FLOAT(INT, theta, grad, handle), codegen


def _density_plain(address, theta, grad, handle):
    return _PLAIN[address](theta, grad, handle)


# density(address, theta, grad, handle) -> float, for use in kernels.
density = _density_plain if config.DISABLE_JIT else _density_compiled


def uncounted(context, builder, kind, value):
    """Emit the same array, Generator, or tuple of arrays and others, without its owners."""
    if isinstance(kind, types.BaseTuple):
        for i, member in enumerate(kind):
            if isinstance(member, types.Array):
                part = uncounted(context, builder, member, builder.extract_value(value, i))
                value = builder.insert_value(value, part, i)
        return value
    view = cgutils.create_struct_proxy(kind)(context, builder, value)
    view.meminfo = cgutils.get_null_value(view.meminfo.type)
    view.parent = cgutils.get_null_value(view.parent.type)
    return view._getvalue()


@intrinsic
def _borrowed_compiled(typingctx, value):
    def codegen(context, builder, signature, args):
        return uncounted(context, builder, signature.args[0], args[0])

    return value(value), codegen


# borrowed(value) -> the same array, Generator, or tuple, without counting references: counting is
# atomic, and costs more than a leapfrog step when a helper is called in the innermost loop. Only
# for a kernel's arguments and views of them, which the caller keeps alive.
borrowed = (lambda value: value) if config.DISABLE_JIT else _borrowed_compiled


class Kernel:
    """A function compiled for one signature, at its first call, and cached on disk.

    Parameters
    ----------
    function : callable
        A function in numba's subset; it may call `density` and jitted helpers of its own file.
    signature : numba signature
        Of arrays, numbers and the Generator only, so that it compiles once for all targets.
    seconds : int
        What compiling takes, measured on one core of 2.5 GHz; said beforehand from 2 on.
    """

    def __init__(self, function, signature, seconds=1):
        self.py_func, self.signature, self.seconds = function, signature, seconds
        self._compiled = function if config.DISABLE_JIT else None

    def __call__(self, *args):
        return (self._compiled or self.compile())(*args)

    @global_compiler_lock
    def compile(self):
        """Compile, or load from the disk cache, and return the compiled function."""
        if self._compiled is None:
            made, name = njit(**JIT)(self.py_func), self.py_func.__name__
            digest = fingerprint(self.py_func, JIT, str(self.signature))
            with compiling(name.removesuffix("_kernel"), self.seconds) as missed:
                keep_in(made, Stored(name, digest, missed))
                made.compile(self.signature)
            made.disable_compile()
            self._compiled = made
        return self._compiled


def kernel(returns, *arguments, seconds=1):
    """Decorate a kernel: ``@kernel(INT, ADDRESS, HANDLE, GENERATOR, ...)``, see `Kernel`."""
    return lambda function: Kernel(function, returns(*arguments), seconds)


def helper(function):
    """Decorate a function that kernels call; it becomes part of them.

    A function that stays one is compiled twice, alone and with its caller, and which of the two is
    called depends on whether the caller came from the disk cache: the same run could then differ in
    the last bit between a first process and the next. Besides, arrays are slow to pass.
    """
    return njit(**INLINED)(function)


@kernel(types.void, ADDRESS, HANDLE, MATRIX, VECTOR, MATRIX)
def evaluate_rows(address, handle, thetas, values, gradients):
    """Write the log density at each row of `thetas`; `gradients` has a row for each, or for all."""
    theta = np.empty(thetas.shape[1])
    for i in range(thetas.shape[0]):
        theta[:] = thetas[i]
        values[i] = density(address, theta, gradients[i % gradients.shape[0]], handle)


def evaluate_many(bound, thetas):
    """Return the log density at each row of `thetas`, (n, dim) float64 in C order.

    An interrupt keeps the values found until then as the `partial` of the KeyboardInterrupt.
    """
    values, unused, done = np.empty(len(thetas)), np.empty((1, thetas.shape[1])), 0
    evaluate_rows.compile()  # which takes time of its own
    try:
        with watching("evaluations", len(thetas)):
            for begin, end in blocks(len(thetas)):
                rows, out = thetas[begin:end], values[begin:end]
                evaluate_rows(bound.address, bound.handle, rows, out, unused)
                done = end
                count(end - begin)
    except KeyboardInterrupt as interrupt:
        interrupt.partial = values[:done]
        raise
    return values


class Bound:
    """A compiled density together with its data, ready for a kernel. One for each chain.

    Attributes
    ----------
    address : int
        Of the native function, for `density`.
    handle : numpy.ndarray of int64
        Where the data are, the ends of the support, and the tape of a derived gradient, 0 where
        there are none, and `failed_at`. The last word counts the exceptions raised, for which the
        callback returns -inf, plus `STOP` when the chain is asked to end.
    failed_at : numpy.ndarray, shape (dim,)
        The first point at which the density raised.
    """

    def __init__(self, callback, arrays, dim, bounds, reading, has_tape=False):
        self._tape = new_tape(arrays) if has_tape else None
        self._callback, self._arrays, self._bounds = callback, arrays, bounds
        self._reading, self._lock = reading, threading.Lock()
        self.address = callback.address
        self.failed_at = np.full(dim, np.nan)
        self._theta, self._grad = together(np.zeros(dim), np.zeros(dim))
        words = [word for array in arrays for word in (array.ctypes.data, *array.shape)]
        own = (bounds, self._tape, self.failed_at)
        words += [0 if array is None else array.ctypes.data for array in own]
        self.handle = np.array([*words, 0], dtype=np.int64)

    def __call__(self, theta, grad):
        """Return the log density at `theta`, a (dim,) float64 array; a fused one fills `grad`."""
        with self._lock:  # a tape serves one evaluation at a time
            self._theta[:], self._grad[:] = theta, grad
            value = self._callback(self._theta, self._grad, self.handle)
            grad[:] = self._grad
            return value

    def renew(self, *, bounded=True):
        """Return the same density with a handle of its own, or as it is without its bounds."""
        bounds = self._bounds if bounded else np.full_like(self._bounds, np.nan)
        dim, has_tape = self.failed_at.size, self._tape is not None
        return Bound(self._callback, self._arrays, dim, bounds, self._reading, has_tape)

    @property
    def outdated(self):
        """Whether the functions have changed, by a global or a helper of theirs, say."""
        return self._reading.changed()

    @property
    def num_errors(self):
        """How often the density raised."""
        return int(self.handle[-1]) % STOP

    def stop(self):
        """Ask the kernel that runs on this handle to return; it does after one evaluation."""
        self.handle[-1] += STOP


class PlainCallback:
    """An `Entry` in Python, for ``NUMBA_DISABLE_JIT=1``.

    Where numba returns -inf or nan and plain Python raises (``math.log(0)``, ``1 / 0``), it
    returns -inf: either way the point is rejected.
    """

    def __init__(self, function, data):
        self._function, self._data, self.address = function, data, id(self)
        _PLAIN[self.address] = self

    def __call__(self, theta, grad, handle):
        theta = frozen(theta)
        low, high = read(handle[-4], (2, theta.size)) if handle[-4] else (-np.inf, np.inf)
        outside = np.any((theta < low) | (theta > high))
        try:
            with np.errstate(all="ignore"):
                value = float(self._function(theta, grad, *self._data))
            return -np.inf if outside else value
        except Exception as error:
            is_domain = isinstance(error, ValueError) and "math domain error" in str(error)
            if not (outside or is_domain or isinstance(error, (ZeroDivisionError, OverflowError))):
                if handle[-1] % STOP == 0:
                    read(handle[-2], theta.shape)[:] = theta
                handle[-1] += 1
            return -np.inf


def read(address, shape):
    """Return the numbers at an address, as an array."""
    pointer = ctypes.cast(int(address), ctypes.POINTER(ctypes.c_double))
    return np.ctypeslib.as_array(pointer, shape)


def aligned(array, *, writeable=False):
    """Return a C-contiguous copy that starts at a multiple of 64 bytes, to be read only or not."""
    (copy,) = together(array)
    copy.flags.writeable = writeable
    return copy


def together(*arrays):
    """Return copies of arrays that lie in memory as they would in every other run.

    A compiled loop has a vector and a scalar form, and takes the scalar one when the arrays it
    reads and writes lie close to each other. The two add up in different orders, so where the
    allocator happens to put an array would show in the last bit of a sum, and soon in the draws.
    """
    sizes = [-(-array.nbytes // 64) * 64 + _APART for array in arrays]
    buffer, copies = np.zeros(sum(sizes) + 64 + 2 * _APART, dtype=np.uint8), []
    start = _APART + -(buffer.ctypes.data + _APART) % 64
    for array, size in zip(arrays, sizes, strict=True):
        copy = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        copies.append(copy)
        start += size
    return copies
