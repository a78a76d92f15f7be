"""The memory of a tape, and machine code that is compiled once and called by a symbol.

A tape is memory of the C library's kind that outlives the evaluations, each of which starts it
anew: a growing list of edges, and an arena.
"""

import ctypes
import weakref

import numpy as np
from numba import njit, types

from ..arithmetic import INLINED
from ..kinds import INT
from ..linked import doubles, words

# The words of a tape.
EDGES, NUM_EDGES, MAX_EDGES, NUM_NODES, ADJOINTS = range(5)
BLOCK, CHUNK, USED, SIZE, WANTED, FAILED = range(5, 11)
MATRICES, MOST_MATRICES = 16, 4  # symmetric ones: address and rows of each
NUM_WORDS = MATRICES + 2 * MOST_MATRICES
ROUNDING = 1e-13  # of an entry, in the roots of the diagonal's
EDGE = 16  # bytes: the weight, and 4 each for parent and child
NUMBER = 24  # bytes: value, index, tape
MOST = 2**31 - 1  # numbers of a tape
_FIRST_EDGES, _FIRST_BYTES = 1024, 1 << 14


# ------------------------------------------------------------------------------------------ memory
def new_tape(data=()):
    """Return a tape, (NUM_WORDS,) int64, empty; its memory is freed with it.

    Of the arrays `data`, which evaluations read, it knows which are symmetric.
    """
    words = np.zeros(NUM_WORDS, dtype=np.int64)
    known = [word for a in data if _is_symmetric(a) for word in (a.ctypes.data, len(a))]
    known = known[: 2 * MOST_MATRICES]
    words[MATRICES : MATRICES + len(known)] = known
    tape = words[:]
    weakref.finalize(tape, _free, words).atexit = False
    return tape


def _is_symmetric(array):
    """Whether an array that nobody changes is, but for the rounding of an inverse."""
    if array.flags.writeable or array.ndim != 2 or array.dtype != np.float64:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        root = np.sqrt(np.abs(np.diagonal(array)))
        return array.shape[0] == array.shape[1] and bool(
            np.all(np.abs(array - array.T) <= ROUNDING * np.outer(root, root))
        )


def _free(words):
    chunk = int(words[CHUNK])
    _raw_free(int(words[EDGES]))
    while chunk:
        before = ctypes.c_int64.from_address(chunk).value
        _raw_free(chunk)
        chunk = before


# As realloc and free of C: reallocate returns 0 where there is no more memory.
reallocate = types.ExternalFunction("PyMem_RawRealloc", INT(INT, INT))
_release = types.ExternalFunction("PyMem_RawFree", types.void(INT))
_raw_free = ctypes.pythonapi.PyMem_RawFree
_raw_free.argtypes, _raw_free.restype = (ctypes.c_void_p,), None


# --------------------------------------------------------------------- room for edges and the like
def grow(tape, more):
    """Make room for `more` edges; without memory, forget all edges and note the failure.

    Return where the edges are.
    """
    t = words(tape)
    need = t[NUM_EDGES] + more
    if need > t[MAX_EDGES]:
        size = max(2 * t[MAX_EDGES], need, _FIRST_EDGES)
        found = reallocate(t[EDGES], size * EDGE)
        if found != 0:
            t[EDGES], t[MAX_EDGES] = found, size
        else:
            t[FAILED], t[NUM_EDGES] = 1, 0
    return t[EDGES]


_grow = njit(**INLINED)(grow)


@njit(**INLINED)
def clear(t):
    """Set the adjoints of all numbers to 0; say whether there was room for them, and all else."""
    num = t[NUM_NODES]
    t[ADJOINTS] = reserve(t, 8 * num)
    if t[FAILED] != 0 or num > MOST:
        return False
    adjoints = doubles(t[ADJOINTS])
    for k in range(num):
        adjoints[k] = 0.0
    return True


@njit(**INLINED)
def knows(t, X, d):
    """Whether a matrix of d rows is among those of which the tape knows that it is symmetric."""
    for k in range(MATRICES, MATRICES + 2 * MOST_MATRICES, 2):
        if t[k] == X and t[k + 1] == d:
            return True
    return False


@njit(**INLINED)
def reserve(t, size):
    """Memory that lasts until the evaluation ends, or 0 where there is none."""
    size = -(-size // 8) * 8
    t[WANTED] += size
    if t[CHUNK] == 0 or t[USED] + size > t[SIZE]:
        new_size = max(2 * t[SIZE], size + 8, _FIRST_BYTES)
        chunk = reallocate(0, new_size)
        if chunk == 0:
            t[FAILED] = 1
            return 0
        words(chunk)[0] = t[CHUNK]
        t[CHUNK], t[SIZE], t[USED] = chunk, new_size, 8
    found = t[CHUNK] + t[USED]
    t[USED] += size
    return found


@njit(**INLINED)
def _empty_arena(t):
    chunk = t[CHUNK]
    if chunk != 0 and words(chunk)[0] != 0:
        # More than one: the next evaluation shall find it all in one piece.
        while chunk != 0:
            before = words(chunk)[0]
            _release(chunk)
            chunk = before
        t[CHUNK], t[SIZE] = 0, t[WANTED]
    t[USED], t[WANTED] = 8, 0


def start(tape, theta, dim):
    """Begin anew; return the address of the parameters as (dim,) numbers of the tape, or 0."""
    t = words(tape)
    _empty_arena(t)
    t[NUM_EDGES], t[NUM_NODES], t[BLOCK], t[FAILED] = 0, dim + 1, 0, 0
    numbers = reserve(t, NUMBER * dim)
    if numbers == 0 or _grow(tape, _FIRST_EDGES) == 0:
        return 0
    values, out, fields = doubles(theta), doubles(numbers), words(numbers)
    for j in range(dim):
        out[3 * j], fields[3 * j + 1], fields[3 * j + 2] = values[j], j + 1, tape
    return numbers
