"""The machine code of a tape: memory, sums and matrix products on it, and the sweep back.

Compiled once, called by every density by a symbol. A tape is memory of the C library's kind that
outlives the evaluations, each of which starts it anew: a growing list of edges, and an arena.

An edge says that a number of the tape, the child, changes by `weight` times what its parent does.
All edges of a child come before those in which it is a parent: read backwards, a child's adjoint
is complete when its edges come. Numbers are counted: 0 is every constant, 1 to dim are the
parameters. A product of a constant matrix and a vector is a block, which stands between the edges.
"""

from numba import njit

from ..arithmetic import INLINED
from ..linked import INDEX, doubles, halves, words
from .arena import ADJOINTS, BLOCK, EDGES, NUM_EDGES, NUM_NODES, NUMBER, clear, knows, reserve, room
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


# ------------------------------------------------------------------------------ sums and products
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
    """Copy n numbers' values and indices; return the first index if the others follow it, else 0.

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
    return first if apart == 0 and tapes != 0 else 0


@njit(**INLINED)
def _new_number(t):
    """Return the index of a number that is made."""
    t[NUM_NODES] += 1
    return t[NUM_NODES] - 1


@njit(**INLINED)
def _add_terms(t, child, n, first, parents, weights):
    """Let a number change by n, as `_append_sum`; by edges if they are few."""
    if n >= 8:
        _append_sum(t, child, n, first, parents, weights)
    elif room(t, n):
        own, of = doubles(weights), halves(parents)
        e, edges, ends = t[NUM_EDGES], doubles(t[EDGES]), halves(t[EDGES])
        for i in range(n):
            edges[2 * (e + i)] = own[i] if weights != 0 else 1.0
            ends[4 * (e + i) + 2] = of[i]
            ends[4 * (e + i) + 3] = child
        t[NUM_EDGES] = e + n


@njit(**INLINED)
def _append_sum(t, child, n, first, parents, weights):
    """Append the block of a sum of n numbers, which follow `first` or, if that is 0, are `parents`.

    They count by `weights`, or by 1 if that is 0.
    """
    block = reserve(t, BLOCK_BYTES)
    if block == 0:
        return
    b = words(block)
    b[BEFORE], b[AT], b[KIND], b[FIRST], b[ROWS] = t[BLOCK], t[NUM_EDGES], SUM, first, n
    b[CHILD], b[WEIGHTS], b[PARENTS] = child, weights, parents
    t[BLOCK] = block


@njit(**INLINED)
def _add_quadratic(t, child, n, first, parents, product, values):
    """Let a number be a @ (X @ a), for n numbers a, if X @ a was made last; say if it was.

    a is what `_append_sum` is told; `product` is the first index of the other side if they follow.
    """
    block = t[BLOCK]
    if block == 0:
        return False
    own = words(block)
    if own[KIND] != PRODUCT or own[TURNED] == 0 or own[ROWS] != n or own[FIRST] != product:
        return False
    of, given, apart, straight = halves(own[PARENTS]), halves(parents), 0, doubles(values)
    for j in range(n):
        apart |= of[j] ^ given[j]
    if apart != 0:
        return False
    across = doubles(values if own[TURNED] == SYMMETRIC else own[TURNED])
    for j in range(n):
        straight[j] += across[j]
    _append_sum(t, child, n, first, parents, values)
    own[TURNED] = 0
    return True


def total(a, n, out):
    """Write the sum of n numbers to `out`."""
    result, apart, tape, child, values, fields = 0.0, 0, 0, 0, doubles(a), words(a)
    first = fields[1] if n > 0 else 0
    for i in range(n):  # whole numbers, as in `_read`
        result += values[STEP * i]
        apart |= fields[STEP * i + 1] ^ (first + i)
        tape |= fields[STEP * i + 2]
    if tape != 0:
        t, listed = words(tape), first == 0 or apart != 0 or n < 8
        child, parents = _new_number(t), reserve(t, 4 * n if listed else 0)
        if listed and parents != 0:
            for i in range(n):
                halves(parents)[i] = fields[STEP * i + 1]
        if parents != 0:
            _add_terms(t, child, n, 0 if listed else first, parents, 0)
    _write(out, result, child, tape)
    return 0


@njit(**INLINED)
def _products(a, a_step, b, b_step, n):
    result, left, right = 0.0, doubles(a), doubles(b)
    for i in range(n):
        result += left[a_step * i] * right[b_step * i]
    return result


def dot_of_doubles(a, b, n, out):
    """Write the sum of products of n numbers and n doubles to `out`."""
    tape = _tape_of(a, STEP, n)
    if tape == 0:
        _write(out, _products(a, STEP, b, 1, n), 0, 0)
        return 0
    t = words(tape)
    _write(out, 0.0, 0, 0)
    values, weights, parents = reserve(t, 8 * n), reserve(t, 8 * n), reserve(t, 4 * n)
    if values != 0 and weights != 0 and parents != 0:
        first, child = _read(a, n, values, parents), _new_number(t)
        for i in range(n):
            doubles(weights)[i] = doubles(b)[i]
        _add_terms(t, child, n, first, parents, weights)
        _write(out, _products(values, 1, weights, 1, n), child, tape)
    return 0


def dot(a, b, n, out):
    """Write the sum of products of n numbers and n others to `out`."""
    tape = _tape_of(a, STEP, n)
    if tape == 0:
        tape = _tape_of(b, STEP, n)
    if tape == 0:
        _write(out, _products(a, STEP, b, STEP, n), 0, 0)
        return 0
    t = words(tape)
    _write(out, 0.0, 0, 0)
    left, of_left = reserve(t, 8 * n), reserve(t, 4 * n)
    right, of_right = reserve(t, 8 * n), reserve(t, 4 * n)
    if left != 0 and of_left != 0 and right != 0 and of_right != 0:
        i, j = _read(a, n, left, of_left), _read(b, n, right, of_right)
        child = _new_number(t)
        _write(out, _products(left, 1, right, 1, n), child, tape)
        if not (
            _add_quadratic(t, child, n, i, of_left, j, right)
            or _add_quadratic(t, child, n, j, of_right, i, left)
        ):
            _add_terms(t, child, n, i, of_left, right)
            _add_terms(t, child, n, j, of_right, left)
    return 0


# ------------------------------------------------------------------------------ array expressions
SCALAR, RANGE, SCATTERED = range(3)  # what the parents of a block of entries are


def open_block(tape, n, num, spare):
    """Return a block of n entries that change by `num` arguments each: weights and parents.

    Those of an argument stand together, one an entry; a scalar's parent is written to its kind.
    Where there is no tape, or no memory, it is `spare`, with room for one entry: all go to that
    place (its ADVANCE is 0), and are constants (its FIRST is 0).
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
    b = words(spare)
    b[WEIGHTS] = b[PARENTS] = spare + BLOCK_BYTES + 16 * num
    b[FIRST] = b[ADVANCE] = 0
    return spare


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


def matrix_vector(X, owned, m, d, row, column, theta, out):
    """Write X @ theta to (m,) numbers at `out`.

    X is (m, d) doubles with steps in bytes; copied, unless it outlives the evaluation (`owned`
    is the address of who keeps it, 0 where nobody may free it). theta is (d,) numbers.
    """
    tape = _tape_of(theta, STEP, d)
    own, copied = words(tape), owned != 0 or (column != 8 and row != 8)
    copy = values = parents = block = sums = turned = 0
    if tape != 0:
        values, parents, block = reserve(own, 8 * d), reserve(own, 4 * d), reserve(own, BLOCK_BYTES)
        copy, sums = reserve(own, 8 * m * d if copied else 0), reserve(own, 8 * m)
        if m == d and not copied and knows(own, X, d):
            turned, row, column = SYMMETRIC, 8 * d, 8
        elif m == d:
            turned = reserve(own, 8 * d)
    if values == 0 or parents == 0 or block == 0 or copy == 0 or sums == 0:  # or constants
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
    _read(theta, d, values, parents)
    at, straight, first = doubles(values), doubles(sums), own[NUM_NODES]
    own[NUM_NODES] = first + m
    if turned <= SYMMETRIC:
        predict(X, m, d, row, column, at, straight)
    elif column == 8:  # should it become a quadratic form
        predict_both(X, d, row, at, straight, doubles(turned))
    else:
        predict_both(X, d, column, at, doubles(turned), straight)
    into, indices = doubles(out), words(out)
    for i in range(m):
        into[STEP * i], indices[STEP * i + 1], indices[STEP * i + 2] = straight[i], first + i, tape
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


def finish(tape, root, grad, dim):
    """Write the gradient of the number `root`; return 1 where memory has run out."""
    t = words(tape)
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
