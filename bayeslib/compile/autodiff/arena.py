"""The memory of a tape: its edges, and an arena for all else.

It outlives the evaluations, each of which starts anew. One that lacks room takes numbers for
constants, counts what it would need, and is repeated with twice that.
"""

import ctypes
import weakref

import numpy as np
from numba import njit, types

from ..kinds import INLINED, INT
from ..linked import doubles, words

# The words of a tape.
EDGES, NUM_EDGES, MAX_EDGES, NUM_NODES, ADJOINTS = range(5)
BLOCK, ARENA, USED, SIZE = range(5, 9)
MATRICES, MOST_MATRICES = 16, 4  # symmetric ones: address and rows of each
NUM_WORDS = MATRICES + 2 * MOST_MATRICES
ROUNDING = 1e-13  # of an entry, in the roots of the diagonal's
EDGE = 16  # bytes: the weight, and 4 each for parent and child
NUMBER = 24  # bytes: value, index, tape
MOST = 2**31 - 1  # numbers of a tape
_FIRST_EDGES, _FIRST_BYTES, _ENDLESS = 512, 1 << 13, 1 << 60


# ------------------------------------------------------------------------------------------ memory
def new_tape(data=()):
    """Return a tape, (NUM_WORDS,) int64, empty; its memory is freed with it.

    Of the arrays `data`, which evaluations read, it knows which are symmetric.
    """
    words = np.zeros(NUM_WORDS, dtype=np.int64)
    known = [word for a in data if _is_symmetric(a) for word in (a.ctypes.data, len(a))]
    known = known[: 2 * MOST_MATRICES]
    words[MATRICES : MATRICES + len(known)] = known
    words[NUM_EDGES], words[USED] = _FIRST_EDGES, _FIRST_BYTES
    tape = words[:]
    weakref.finalize(tape, _free, words).atexit = False
    return tape


def _is_symmetric(array):
    """Whether an array that nobody changes is, but for the rounding of an inverse."""
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    if array.flags.writeable or not square or array.dtype != np.float64:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        root = np.sqrt(np.abs(np.diagonal(array)))
        return bool(np.all(np.abs(array - array.T) <= ROUNDING * np.outer(root, root)))


def _free(words):
    for place in (EDGES, ARENA):
        _raw_free(int(words[place]))


# As realloc and free of C: reallocate returns 0 where there is no more memory.
reallocate = types.ExternalFunction("PyMem_RawRealloc", INT(INT, INT))
_raw_free = ctypes.pythonapi.PyMem_RawFree
_raw_free.argtypes, _raw_free.restype = (ctypes.c_void_p,), None


# --------------------------------------------------------------------- room for edges and the like
@njit(**INLINED)
def _has_room(t, place, room, used, size):
    """Make room for twice what the last evaluation used, if that was more than there is.

    Say whether there is memory for it.
    """
    if t[used] > t[room]:
        found = reallocate(t[place], 2 * t[used] * size)
        if found == 0:
            t[used] = 0  # the next evaluation may need less
            return False
        t[place], t[room] = found, 2 * t[used]
    return True


@njit(**INLINED)
def clear(t):
    """Set the adjoints of all numbers to 0; say whether there was room for them, and all else."""
    num = t[NUM_NODES]
    t[ADJOINTS] = reserve(t, 8 * num if num <= MOST else _ENDLESS)
    if t[USED] > t[SIZE] or t[NUM_EDGES] > t[MAX_EDGES]:
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
    """Memory that lasts until the evaluation ends; 0 where there is too little, from then on."""
    begin = t[USED]
    t[USED] += -(-size // 8) * 8
    return t[ARENA] + begin if t[USED] <= t[SIZE] else 0


def start(tape, theta, dim):
    """Begin anew; return the address of the parameters as (dim,) numbers of the tape.

    Without memory, return 0.
    """
    t = words(tape)
    t[USED] = max(t[USED], NUMBER * dim)
    if not (_has_room(t, EDGES, MAX_EDGES, NUM_EDGES, EDGE) and _has_room(t, ARENA, SIZE, USED, 1)):
        return 0
    t[NUM_EDGES], t[NUM_NODES], t[BLOCK], t[USED] = 0, dim + 1, 0, 0
    numbers = reserve(t, NUMBER * dim)
    values, out, fields = doubles(theta), doubles(numbers), words(numbers)
    for j in range(dim):
        out[3 * j], fields[3 * j + 1], fields[3 * j + 2] = values[j], j + 1, tape
    return numbers
