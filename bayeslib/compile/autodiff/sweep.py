"""The machine code of a tape: memory, sums and matrix products on it, and the sweep back.

Compiled once, called by every density by a symbol. A tape is memory of the C library's kind that
outlives the evaluations, each of which starts it anew: a growing list of edges, and an arena.

An edge says that a number of the tape, the child, changes by `weight` times what its parent does.
All edges of a child come before those in which it is a parent: read backwards, a child's adjoint
is complete when its edges come. Numbers are counted: 0 is every constant, 1 to dim are the
parameters. A product of a constant matrix and a vector is a block, which stands between the edges.
"""

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

from ..arithmetic import INLINED
from ..kinds import INT, WORD
from .arena import (
    ADJOINTS,
    BLOCK,
    EDGES,
    FAILED,
    INDEX,
    MATRICES,
    MAX_ADJOINTS,
    MOST,
    MOST_MATRICES,
    NUM_EDGES,
    NUM_NODES,
    NUMBER,
    doubles,
    halves,
    native,
    reallocate,
    reserve,
    room,
    words,
)
from .products import back, predict, predict_both

# The words of a block, kept in the arena: first those of any, then those of each kind.
BEFORE, AT, KIND, FIRST, ROWS = range(5)
MATRIX, COLUMNS, ROW_STRIDE, COLUMN_STRIDE, PARENTS, TURNED = range(5, 11)
WEIGHTS, ARGUMENTS, ADVANCE, FILLED = 5, 6, 7, 8  # and PARENTS
CHILD = 6  # and WEIGHTS, or 0, and PARENTS, if FIRST is 0
BLOCK_BYTES = 11 * 8
PRODUCT, ENTRIES, SUM = range(3)
SYMMETRIC = 1  # in place of the address TURNED
MOST_ARGUMENTS = 16  # of a block of entries
STEP = NUMBER // 8  # words from one number to the next

_NOWHERE = np.zeros(BLOCK_BYTES // 8 + 2 * MOST_ARGUMENTS + 2, dtype=np.int64)
_NOWHERE[[WEIGHTS, PARENTS]] = _NOWHERE[-2:].ctypes.data + np.array([0, 8])
llvm.add_symbol("bayeslib.tape.nowhere", _NOWHERE.ctypes.data)


@intrinsic
def nowhere(typingctx):
    """The block that is written to and never read."""

    def codegen(context, builder, signature, args):
        name = "bayeslib.tape.nowhere"
        found = builder.module.globals.get(name)
        found = found or ir.GlobalVariable(builder.module, WORD, name)
        return builder.ptrtoint(found, WORD)

    return INT(), codegen


# ------------------------------------------------------------------------------ sums and products
@native
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
def _follow_each_other(numbers, n):
    """Whether the indices of n numbers do."""
    fields, apart = words(numbers), 0
    first = fields[1]
    for i in range(n):
        apart |= fields[STEP * i + 1] ^ (first + i)
    return apart == 0 and first != 0


@njit(**INLINED)
def _add_terms(t, child, numbers, n, weights, weights_step):
    """Let a number change by those of `numbers`, times `weights`, or 1 if that is 0."""
    own, fields = doubles(weights), words(numbers)
    if n < 8:
        if room(t, n):
            e, edges, ends = t[NUM_EDGES], doubles(t[EDGES]), halves(t[EDGES])
            for i in range(n):
                edges[2 * (e + i)] = own[weights_step * i] if weights != 0 else 1.0
                ends[4 * (e + i) + 2] = fields[STEP * i + 1]
                ends[4 * (e + i) + 3] = child
            t[NUM_EDGES] = e + n
        return
    first = fields[1] if _follow_each_other(numbers, n) else 0
    kept, parents = reserve(t, 8 * n if weights != 0 else 0), reserve(t, 4 * n if first == 0 else 0)
    if kept == 0 or parents == 0:
        return
    if weights != 0:
        factors = doubles(kept)
        for i in range(n):
            factors[i] = own[weights_step * i]
    if first == 0:
        of = halves(parents)
        for i in range(n):
            of[i] = fields[STEP * i + 1]
    _append_sum(t, child, n, first, parents, kept if weights != 0 else 0)


@njit(**INLINED)
def _append_sum(t, child, n, first, parents, weights):
    """Append the block of a sum of n numbers, which follow `first` or are listed at `parents`."""
    block = reserve(t, BLOCK_BYTES)
    if block == 0:
        return
    b = words(block)
    b[BEFORE], b[AT], b[KIND], b[FIRST], b[ROWS] = t[BLOCK], t[NUM_EDGES], SUM, first, n
    b[CHILD], b[WEIGHTS], b[PARENTS] = child, weights, parents
    t[BLOCK] = block


@njit(**INLINED)
def _add_quadratic(t, child, a, b, n):
    """Let a number be a @ (X @ a), for n numbers a, if b is X @ a, made last; say if it is."""
    block = t[BLOCK]
    if block == 0:
        return False
    own = words(block)
    if own[KIND] != PRODUCT or own[TURNED] == 0 or own[ROWS] != n or own[FIRST] != words(b)[1]:
        return False
    parents, fields = halves(own[PARENTS]), words(a)
    apart, scattered, first = 0, 0, parents[0]
    for j in range(n):
        apart |= parents[j] ^ fields[STEP * j + 1]
    if apart != 0 or not _follow_each_other(b, n):
        return False
    kept, straight = own[TURNED], doubles(b)
    if kept == SYMMETRIC:
        kept = reserve(t, 8 * n)
        if kept == 0:
            return True
        for j in range(n):
            doubles(kept)[j] = 2.0 * straight[STEP * j]
    else:
        for j in range(n):
            doubles(kept)[j] += straight[STEP * j]
    for j in range(n):
        scattered |= parents[j] ^ (first + j)
    _append_sum(t, child, n, first if scattered == 0 else 0, own[PARENTS], kept)
    own[TURNED] = 0
    return True


@native
def total(a, n, out):
    """Write the sum of n numbers to `out`."""
    result, values = 0.0, doubles(a)
    for i in range(n):
        result += values[STEP * i]
    tape, child = _tape_of(a, STEP, n), 0
    if tape != 0:
        t = words(tape)
        child = t[NUM_NODES]
        t[NUM_NODES] = child + 1
        _add_terms(t, child, a, n, 0, 0)
    _write(out, result, child, tape)
    return 0


@njit(**INLINED)
def _products(a, b, b_step, n):
    result, left, right = 0.0, doubles(a), doubles(b)
    for i in range(n):
        result += left[STEP * i] * right[b_step * i]
    return result


@native
def dot_of_doubles(a, b, n, out):
    """Write the sum of products of n numbers and n doubles to `out`."""
    tape, child = _tape_of(a, STEP, n), 0
    if tape != 0:
        t = words(tape)
        child = t[NUM_NODES]
        t[NUM_NODES] = child + 1
        _add_terms(t, child, a, n, b, 1)
    _write(out, _products(a, b, 1, n), child, tape)
    return 0


@native
def dot(a, b, n, out):
    """Write the sum of products of n numbers and n others to `out`."""
    tape, child = _tape_of(a, STEP, n), 0
    if tape == 0:
        tape = _tape_of(b, STEP, n)
    if tape != 0:
        t = words(tape)
        child = t[NUM_NODES]
        t[NUM_NODES] = child + 1
        if not (_add_quadratic(t, child, a, b, n) or _add_quadratic(t, child, b, a, n)):
            _add_terms(t, child, a, n, b, STEP)
            _add_terms(t, child, b, n, a, STEP)
    _write(out, _products(a, b, STEP, n), child, tape)
    return 0


# ------------------------------------------------------------------------------ array expressions
SCALAR, RANGE, SCATTERED = range(3)  # what the parents of a block of entries are


@native
def open_block(tape, n, num):
    """Return a block of n entries that change by `num` arguments each: weights and parents.

    Those of an argument stand together, one an entry; a scalar's parent is written to its kind.
    Where there is no tape, or no memory, all entries go to one place (its ADVANCE is 0), and are
    constants (its FIRST is 0).
    """
    block = 0
    if tape != 0:
        t = words(tape)
        block = reserve(t, BLOCK_BYTES + 16 * num)
        weights, parents = reserve(t, 8 * n * num), reserve(t, 4 * n * num)
        if block != 0 and weights != 0 and parents != 0:
            b = words(block)
            b[KIND], b[FIRST], b[ROWS], b[ARGUMENTS] = ENTRIES, t[NUM_NODES], n, num
            b[WEIGHTS], b[PARENTS], b[ADVANCE] = weights, parents, 1
            t[NUM_NODES] += n
            return block
    return nowhere()


@native
def close_block(tape, block, count, scalars):
    """Append a block, of which `count` entries were filled; `scalars`: arguments that are, as bits.

    An entry is a constant where its argument is.
    """
    b = words(block)
    if tape == 0 or b[ADVANCE] == 0 or count == 0:
        return 0
    t, kinds, n = words(tape), words(block + BLOCK_BYTES), b[ROWS]
    for j in range(b[ARGUMENTS]):
        parents = halves(b[PARENTS] + 4 * n * j)
        if (scalars >> j) & 1:
            kinds[2 * j] = SCALAR
            continue
        first, apart = parents[0], 0
        kinds[2 * j + 1] = first
        for i in range(count):
            apart |= parents[i] ^ (first + i)
        kinds[2 * j] = RANGE if apart == 0 and first != 0 else SCATTERED
    b[BEFORE], b[AT], b[FILLED] = t[BLOCK], t[NUM_EDGES], count
    t[BLOCK] = block
    return 0


@njit(**INLINED)
def _is_symmetric(t, X, d):
    """Whether a matrix of d rows is among those of which the tape knows it."""
    for k in range(MATRICES, MATRICES + 2 * MOST_MATRICES, 2):
        if t[k] == X and t[k + 1] == d:
            return True
    return False


@native
def matrix_vector(X, owned, m, d, row, column, theta, out):
    """Write X @ theta to (m,) numbers at `out`.

    X is (m, d) doubles with steps in bytes; copied, unless it outlives the evaluation (`owned`
    is the address of who keeps it, 0 where nobody may free it). theta is (d,) numbers.
    """
    tape = _tape_of(theta, STEP, d)
    own, copied = words(tape), owned != 0 or (column != 8 and row != 8)
    copy = values = parents = block = turned = 0
    if tape != 0:
        values, parents, block = reserve(own, 8 * d), reserve(own, 4 * d), reserve(own, BLOCK_BYTES)
        copy = reserve(own, 8 * m * d if copied else 0)
        if m == d and not copied and _is_symmetric(own, X, d):
            turned, row, column = SYMMETRIC, 8 * d, 8
        elif m == d:
            turned = reserve(own, 16 * d)
    if values == 0 or parents == 0 or block == 0 or copy == 0:  # constants, or no memory
        for i in range(m):
            s = 0.0
            for j in range(d):
                s += doubles(X + i * row + j * column)[0] * doubles(theta)[STEP * j]
            _write(out + NUMBER * i, s, 0, 0)
        return 0
    if copied:  # in the order of its longer steps
        by_columns = row == 8
        lines, length = (d, m) if by_columns else (m, d)
        far, near = (column, row) if by_columns else (row, column)
        for i in range(lines):
            into = doubles(copy + 8 * i * length)
            for j in range(length):
                into[j] = doubles(X + i * far + j * near)[0]
        row, column = (8, 8 * m) if by_columns else (8 * d, 8)
        X = copy
    of, at, given, fields = halves(parents), doubles(values), doubles(theta), words(theta)
    for j in range(d):
        of[j], at[j] = fields[STEP * j + 1], given[STEP * j]
    first = own[NUM_NODES]
    own[NUM_NODES] = first + m
    into, indices = doubles(out), words(out)
    if turned <= SYMMETRIC:
        predict(X, m, d, row, column, at, into)
    else:  # should it become a quadratic form
        straight = turned + 8 * d
        if column == 8:
            predict_both(X, d, row, at, doubles(straight), doubles(turned))
        else:
            predict_both(X, d, column, at, doubles(turned), doubles(straight))
        for i in range(m):
            into[3 * i] = doubles(straight)[i]
    for i in range(m):
        indices[3 * i + 1], indices[3 * i + 2] = first + i, tape
    b = words(block)
    b[BEFORE], b[AT], b[KIND], b[FIRST], b[ROWS] = own[BLOCK], own[NUM_EDGES], PRODUCT, first, m
    b[MATRIX], b[COLUMNS], b[ROW_STRIDE], b[COLUMN_STRIDE] = X, d, row, column
    b[PARENTS], b[TURNED] = parents, turned
    own[BLOCK] = block
    return 0


# ---------------------------------------------------------------------------------- the way back
# An infinite weight of what a branch left out, whose adjoint is 0, must not make a nan.
@njit(**INLINED)
def _back_entries(t, b, kinds):
    n, count, adjoints = b[ROWS], b[FILLED], doubles(t[ADJOINTS])
    u = doubles(t[ADJOINTS] + 8 * b[FIRST])
    for j in range(b[ARGUMENTS]):
        weights, kind, first = doubles(b[WEIGHTS] + 8 * n * j), kinds[2 * j], kinds[2 * j + 1]
        if kind == SCALAR:
            s = 0.0
            for i in range(count):
                s += u[i] * weights[i] if u[i] != 0.0 else 0.0
            adjoints[first] += s
        elif kind == RANGE:
            into = doubles(t[ADJOINTS] + 8 * first)
            for i in range(count):
                into[i] += u[i] * weights[i] if u[i] != 0.0 else 0.0
        else:
            # Neighbours with one parent together: each would else wait for the last in memory.
            parents, s = halves(b[PARENTS] + 4 * n * j), 0.0
            last = parents[0]
            for i in range(count):
                if parents[i] != last:
                    adjoints[INDEX(last)] += s
                    last, s = parents[i], 0.0
                s += u[i] * weights[i] if u[i] != 0.0 else 0.0
            adjoints[INDEX(last)] += s


@njit(**INLINED)
def _back_sum(t, b):
    adjoints, u, weights = doubles(t[ADJOINTS]), doubles(t[ADJOINTS] + 8 * b[FIRST]), b[WEIGHTS]
    a, factors = adjoints[b[CHILD]], doubles(weights)
    if a == 0.0:
        return
    if b[FIRST] == 0:
        parents, s = halves(b[PARENTS]), 0.0
        last = parents[0]
        for i in range(b[ROWS]):
            if parents[i] != last:
                adjoints[INDEX(last)] += s
                last, s = parents[i], 0.0
            s += a * factors[i] if weights != 0 else a
        adjoints[INDEX(last)] += s
    elif weights == 0:
        for i in range(b[ROWS]):
            u[i] += a
    else:
        for i in range(b[ROWS]):
            u[i] += a * factors[i]


@native
def finish(tape, root, grad, dim):
    """Write the gradient of the number `root`; return 1 where memory has run out."""
    t = words(tape)
    num = t[NUM_NODES]
    slopes = doubles(grad)
    if num > t[MAX_ADJOINTS] and t[FAILED] == 0:
        found = reallocate(t[ADJOINTS], 8 * 2 * num)
        if found == 0 or num > MOST:
            t[FAILED] = 1
        else:
            t[ADJOINTS], t[MAX_ADJOINTS] = found, 2 * num
    if t[FAILED] != 0:
        return 1
    adjoints = doubles(t[ADJOINTS])
    for k in range(num):
        adjoints[k] = 0.0
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
                parents, u = halves(b[PARENTS]), doubles(t[ADJOINTS] + 8 * b[FIRST])
                m, d, row, column = b[ROWS], b[COLUMNS], b[ROW_STRIDE], b[COLUMN_STRIDE]
                size = 0.0
                for i in range(m):
                    size += abs(u[i])
                if size != 0.0:
                    back(b[MATRIX], m, d, row, column, u, adjoints, parents)
            elif b[KIND] == ENTRIES:
                _back_entries(t, b, words(block + BLOCK_BYTES))
            else:
                _back_sum(t, b)
            block = b[BEFORE]
    for j in range(dim):
        slopes[j] = adjoints[j + 1]
    return 0
