"""The machine code of a tape: sums and matrix products on it, and the sweep back.

Compiled once, called by every density by a symbol.

An edge says that a number of the tape, the child, changes by `weight` times what its parent does.
All edges of a child come before those in which it is a parent: read backwards, a child's adjoint
is complete when its edges come. Numbers are counted: 0 is every constant, 1 to dim are the
parameters. Many edges to one child, or to children that follow each other, are a block, which
stands between the edges; so is a product of a constant matrix and a vector.
"""

import numpy as np
from numba import njit

from ..functions.regression import accumulate_rows, predict_rows
from ..kinds import INLINED
from ..linked import INDEX, doubles, halves, rows_at, words
from .arena import ADJOINTS, BLOCK, EDGES, NUM_EDGES, NUM_NODES, NUMBER, clear, knows, reserve

# The words of a block, kept in the arena: those of any, those of edges, those of a product.
BEFORE, AT, KIND, CHILD, NUM, PARENTS = range(6)
WEIGHTS, PARENT, PATTERN = 6, 7, 8
MATRIX, COLUMNS, ROW_STRIDE, COLUMN_STRIDE, VALUES, SYMMETRIC = range(6, 12)
BLOCK_BYTES = 12 * 8
TOTAL, SUM, ENTRIES, PRODUCT = range(4)  # edges to one child, without weights, to a child each
SAME, FOLLOWING, SCATTERED = range(3)  # what the parents are to each other
STEP = NUMBER // 8  # words from one number to the next


# ------------------------------------------------------------------------------ blocks and numbers
def tape_of(numbers, step, n):
    """Return the tape of n numbers, `step` words apart, or 0 if all are constants."""
    for i in range(n):
        tape = words(numbers + 8 * step * i)[2]
        if tape != 0:
            return tape
    return 0


_tape_of = njit(**INLINED)(tape_of)


@njit(**INLINED)
def _write(out, value, index, tape):
    doubles(out)[0] = value
    fields = words(out)
    fields[1], fields[2] = index, tape


@njit(**INLINED)
def _read(numbers, n, values, parents):
    """Copy n numbers' values and indices; return the pattern of these.

    All three words are read, once, before anything is written: LLVM loads whole numbers together,
    parts of them, or one that may have changed, one by one.
    """
    given, fields, of, apart, tapes = doubles(numbers), words(numbers), halves(parents), 0, 0
    first, into = fields[1], doubles(values)
    for i in range(n):
        value, index, tape = given[STEP * i], fields[STEP * i + 1], fields[STEP * i + 2]
        into[i], of[i] = value, index
        apart |= index ^ (first + i)
        tapes |= tape
    return FOLLOWING if apart == 0 and tapes != 0 else SCATTERED


@njit(**INLINED)
def _append(t, block, kind, child, num, parents):
    b = words(block)
    b[BEFORE], b[AT], b[KIND] = t[BLOCK], t[NUM_EDGES], kind
    b[CHILD], b[NUM], b[PARENTS] = child, num, parents
    t[BLOCK] = block
    return b


@njit(**INLINED)
def _append_edges(t, kind, child, n, parents, pattern, weights):
    """Append a block of n edges; those of a TOTAL have no weights, but 1."""
    block = reserve(t, BLOCK_BYTES)
    if block != 0:
        b = _append(t, block, kind, child, n, parents)
        b[WEIGHTS], b[PARENT], b[PATTERN] = weights, halves(parents)[0], pattern


# ------------------------------------------------------------------------------ sums and products
def total(a, n, out):
    """Write the sum of n numbers to `out`."""
    result, apart, tape, child, values, fields = 0.0, 0, 0, 0, doubles(a), words(a)
    first = fields[1] if n > 0 else 0
    for i in range(n):  # whole numbers, as in `_read`
        result += values[STEP * i]
        apart |= fields[STEP * i + 1] ^ (first + i)
        tape |= fields[STEP * i + 2]
    if tape != 0:
        t, pattern = words(tape), FOLLOWING if apart == 0 else SCATTERED
        child, parents = t[NUM_NODES], reserve(t, 4 * n)
        t[NUM_NODES] += 1
        if parents != 0:
            for i in range(n if pattern == SCATTERED else 1):
                halves(parents)[i] = fields[STEP * i + 1]
            _append_edges(t, TOTAL, child, n, parents, pattern, 0)
    _write(out, result, child, tape)
    return 0


def dot(a, b, step, n, out):
    """Write the sum of products of n numbers and n others, or doubles (`step` is 1), to `out`."""
    tape = _tape_of(a, STEP, n)
    if tape == 0 and step == STEP:
        tape = _tape_of(b, STEP, n)
    t, result = words(tape), 0.0
    room = reserve(t, 24 * n) if tape != 0 else 0
    if room == 0:  # or constants
        for i in range(n):
            result += doubles(a)[STEP * i] * doubles(b)[step * i]
        _write(out, result, 0, 0)
        return 0
    left, right, of_left, of_right = room, room + 8 * n, room + 16 * n, room + 20 * n
    pattern = other = _read(a, n, left, of_left)
    if step == STEP:
        other = _read(b, n, right, of_right)
    else:
        for i in range(n):
            doubles(right)[i] = doubles(b)[i]
    for i in range(n):
        result += doubles(left)[i] * doubles(right)[i]
    child = t[NUM_NODES]
    t[NUM_NODES] += 1
    _write(out, result, child, tape)
    if step == STEP and (
        _add_quadratic(t, child, n, of_left, pattern, of_right, right)
        or _add_quadratic(t, child, n, of_right, other, of_left, left)
    ):
        return 0
    _append_edges(t, SUM, child, n, of_left, pattern, right)
    if step == STEP:
        _append_edges(t, SUM, child, n, of_right, other, left)
    return 0


@njit(**INLINED)
def _add_quadratic(t, child, n, parents, pattern, product, values):
    """Let a number be a @ (X @ a), if X @ a, these values, was made last, of a symmetric X.

    Say if it was. `parents` are the numbers a, `product` those of X @ a.
    """
    if t[BLOCK] == 0:
        return False
    b = words(t[BLOCK])
    if b[KIND] != PRODUCT or b[SYMMETRIC] == 0 or b[NUM] != n:
        return False
    of, given, made, apart = halves(b[PARENTS]), halves(parents), halves(product), 0
    for j in range(n):
        apart |= (of[j] ^ given[j]) | (made[j] ^ (b[CHILD] + j))
    if apart != 0:
        return False
    for j in range(n):
        doubles(values)[j] *= 2.0
    _append_edges(t, SUM, child, n, parents, pattern, values)
    return True


@njit(**INLINED)
def _multiply(X, m, d, row, column, theta, out):
    """out = X @ theta, with the bytes of X from row to row and column to column, one of them 8."""
    if column == 8:
        predict_rows(rows_at(X, row), theta[:d], 0, m, out)
    else:
        for i in range(m):
            out[i] = 0.0
        accumulate_rows(rows_at(X, column), theta, 0, d, out[:m])


def matrix_vector(X, owned, m, d, row, column, theta, out):
    """Write X @ theta to (m,) numbers at `out`.

    X is (m, d) doubles with steps in bytes; copied, unless it outlives the evaluation (`owned`
    is the address of who keeps it, 0 where nobody may free it). theta is (d,) numbers.
    """
    tape = _tape_of(theta, STEP, d)
    t, copied = words(tape), owned != 0 or (column != 8 and row != 8)
    matrix, values, parents, block, sums = X, 0, 0, 0, 0
    if tape != 0:
        values, parents, block = reserve(t, 8 * d), reserve(t, 4 * d), reserve(t, BLOCK_BYTES)
        matrix, sums = reserve(t, 8 * m * d) if copied else X, reserve(t, 8 * m)
    if sums == 0:  # for want of room, or of numbers
        for i in range(m):
            s = 0.0
            for j in range(d):
                s += doubles(X + i * row + j * column)[0] * doubles(theta)[STEP * j]
            _write(out + NUMBER * i, s, 0, 0)
        return 0
    if copied:
        for i in range(m):
            for j in range(d):
                doubles(matrix + 8 * d * i)[j] = doubles(X + i * row + j * column)[0]
        row, column = 8 * d, 8
    _read(theta, d, values, parents)
    _multiply(matrix, m, d, row, column, doubles(values), doubles(sums))
    first, into, indices = t[NUM_NODES], doubles(out), words(out)
    t[NUM_NODES] = first + m
    for i in range(m):
        into[STEP * i] = doubles(sums)[i]
        indices[STEP * i + 1], indices[STEP * i + 2] = first + i, tape
    b = _append(t, block, PRODUCT, first, m, parents)
    b[MATRIX], b[COLUMNS], b[ROW_STRIDE], b[COLUMN_STRIDE] = matrix, d, row, column
    b[VALUES], b[SYMMETRIC] = values, m == d and not copied and knows(t, X, d)
    return 0


# ------------------------------------------------------------------------------ array expressions
WHERE, WHOSE, FIRST, ADVANCE, SPARE, NUM_PLACES = range(6)  # what `open_entries` writes


def open_entries(tape, n, num, out):
    """Make room for the weights and parents of n entries that change by `num` arguments each.

    Writes to `out` where the weights and the parents are to go, those of an argument together; the
    first entry's index; and 1. Where there is no tape, no entry or no room, there are room for
    one, to which all go, and 0 and 0: constants.
    """
    places = words(out)
    places[WHERE] = places[WHOSE] = out + 8 * SPARE
    places[FIRST] = places[ADVANCE] = 0
    if tape != 0 and n != 0:
        t = words(tape)
        weights, parents = reserve(t, 8 * n * num), reserve(t, 4 * n * num)
        if parents != 0:
            places[WHERE], places[WHOSE] = weights, parents
            places[FIRST], places[ADVANCE] = t[NUM_NODES], 1
            t[NUM_NODES] += n
    return 0


def close_entries(tape, n, num, places, count, scalars):
    """Append the blocks of entries, of which `count` were filled: one an argument.

    The arguments that are `scalars`, given as bits, have one parent.
    """
    at = words(places)
    if at[ADVANCE] != 0 and count != 0:
        for j in range(num):
            parents, weights = at[WHOSE] + 4 * n * j, at[WHERE] + 8 * n * j
            pattern = SAME
            if not (scalars >> j) & 1:
                of, apart = halves(parents), 0
                for i in range(count):
                    apart |= of[i] ^ (of[0] + i)
                pattern = FOLLOWING if apart == 0 else SCATTERED
            _append_edges(words(tape), ENTRIES, at[FIRST], count, parents, pattern, weights)
    return 0


# ---------------------------------------------------------------------------------- the way back
# An infinite weight of what a branch left out, whose adjoint is 0, must not make a nan.
@njit(**INLINED)
def _flow(kind, a, u, weights, i):
    """What edge i hands on: of the one child's adjoint, or its own child's."""
    if kind == ENTRIES:
        return u[i] * weights[i] if u[i] != 0.0 else 0.0
    return a * weights[i] if kind == SUM else a


@njit(**INLINED)
def _back_edges(t, b, kind):
    n, first, weights = b[NUM], b[PARENT], doubles(b[WEIGHTS])
    adjoints, u = doubles(t[ADJOINTS]), doubles(t[ADJOINTS] + 8 * b[CHILD])
    a, s = u[0], 0.0
    if a == 0.0 and kind != ENTRIES:
        return
    if b[PATTERN] == FOLLOWING:
        into = doubles(t[ADJOINTS] + 8 * first)
        for i in range(n):
            into[i] += _flow(kind, a, u, weights, i)
    elif b[PATTERN] == SAME:
        for i in range(n):
            s += _flow(kind, a, u, weights, i)
        adjoints[first] += s
    else:
        # Neighbours with one parent together: each would else wait for the last in memory.
        parents = halves(b[PARENTS])
        for i in range(n):
            if parents[i] != first:
                adjoints[INDEX(first)] += s
                first, s = parents[i], 0.0
            s += _flow(kind, a, u, weights, i)
        adjoints[INDEX(first)] += s


@njit(**INLINED)
def _back_product(t, b):
    """The product of the transposed matrix and the adjoints."""
    m, d, X, row, column = b[NUM], b[COLUMNS], b[MATRIX], b[ROW_STRIDE], b[COLUMN_STRIDE]
    u, sums = doubles(t[ADJOINTS] + 8 * b[CHILD]), doubles(b[VALUES])
    size = 0.0
    for i in range(m):
        size += abs(u[i])
    if size == 0.0:
        return
    _multiply(X, d, m, column, row, u, sums)
    size = 0.0
    for j in range(d):
        size += abs(sums[j])
    if not size < np.inf:  # perhaps for a row that is not finite, and was left out by a branch
        for j in range(d):
            sums[j] = 0.0
        for i in range(m):
            if u[i] != 0.0:
                for j in range(d):
                    sums[j] += doubles(X + i * row + j * column)[0] * u[i]
    for j in range(d):
        doubles(t[ADJOINTS])[INDEX(halves(b[PARENTS])[j])] += sums[j]


def finish(tape, number, grad, dim):
    """Write the gradient of a number; return 1 if the evaluation had too little room."""
    t, root = words(tape), words(number)[1]
    if not clear(t):
        return 1
    adjoints, slopes = doubles(t[ADJOINTS]), doubles(grad)
    if root != 0:
        adjoints[root] = 1.0
        weights, ends = doubles(t[EDGES]), halves(t[EDGES])
        e, block = t[NUM_EDGES], t[BLOCK]
        while True:
            stop = words(block)[AT] if block != 0 else 0
            while e > stop:
                e -= 1
                a = adjoints[INDEX(ends[INDEX(4 * e + 3)])]
                if a != 0.0:
                    adjoints[INDEX(ends[INDEX(4 * e + 2)])] += a * weights[INDEX(2 * e)]
            if block == 0:
                break
            b = words(block)
            if b[KIND] == PRODUCT:
                _back_product(t, b)
            elif b[KIND] == ENTRIES:  # each kind by itself: loops that do not ask
                _back_edges(t, b, ENTRIES)
            elif b[KIND] == SUM:
                _back_edges(t, b, SUM)
            else:
                _back_edges(t, b, TOTAL)
            block = b[BEFORE]
    for j in range(dim):
        slopes[j] = adjoints[j + 1]
    return 0
