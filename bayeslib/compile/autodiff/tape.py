"""Numbers of a tape: reverse mode, whose cost does not grow with the dimension.

`Traced` is an LLVM struct of a value, the number's index on the tape and the tape's address; a
constant has the index and the address 0. What is done to such numbers leaves edges on the tape, see
`sweep`, by the same rules that give dual numbers their partial derivatives. Of an array expression
the entries are computed with dual numbers, and leave one edge for each of their arguments.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import overload, register_model

from .. import linked
from ..internals import array_expressions, cgutils, make_array, stack_vector
from ..kinds import DOUBLE, DOUBLES, HALF, INLINED, OURS, WORD, WORDS
from ..linked import address_of, owner_of
from . import arena, sweep
from .duals import ONE, Active, ActiveModel, Dual, common_dual, value_of


class TracedType(Active):
    """A number of a tape."""

    struct = ir.LiteralStructType([DOUBLE, WORD, WORD], packed=True)

    def __init__(self):
        super().__init__(name="Dual0")  # as the messages of `explain` know it

    def unpack(self, context, builder, number):
        value, index, tape = (builder.extract_value(number, i) for i in range(3))
        return value, (index, tape)

    def pack(self, context, builder, value, terms):
        index, tape, edges = WORD(0), WORD(0), []
        for slope, (parent, own) in terms:
            tape = builder.select(builder.icmp_unsigned("==", tape, WORD(0)), own, tape)
            edges += [slope, parent]
        if edges[:1] == [ONE] and len(terms) == 1:
            index = edges[1]
        elif terms:
            index = builder.call(_pusher(builder, len(terms)), [tape, *edges])
        return self.made_of(builder, value, index, tape)


Traced = TracedType()
register_model(TracedType)(ActiveModel)
MOST_ARGUMENTS = 16  # of an array expression that is made of entries


def _pusher(builder, num):
    """The function (tape, weight, parent, ...) -> index, of `num` edges; of constants it is 0."""
    name = f"bayeslib.tape.push{num}"
    found = builder.module.globals.get(name)
    if found is not None:
        return found
    kind = ir.FunctionType(WORD, [WORD, *[DOUBLE, WORD] * num])
    function = ir.Function(builder.module, kind, name)
    function.linkage = "linkonce_odr"
    address, *edges = function.args
    b = ir.IRBuilder(function.append_basic_block())
    with b.if_then(b.icmp_unsigned("==", address, WORD(0)), likely=False):
        b.ret(WORD(0))
    tape = b.inttoptr(address, WORDS)

    def word(number):
        return b.gep(tape, [WORD(number)])

    count, child = b.load(word(arena.NUM_EDGES)), b.load(word(arena.NUM_NODES))
    end = b.add(count, WORD(num))
    b.store(end, word(arena.NUM_EDGES))
    b.store(b.add(child, WORD(1)), word(arena.NUM_NODES))
    with b.if_then(b.icmp_unsigned(">", end, b.load(word(arena.MAX_EDGES))), likely=False):
        b.ret(child)
    place = b.add(b.load(word(arena.EDGES)), b.mul(count, WORD(arena.EDGE)))
    stored = b.inttoptr(place, HALF.as_pointer())
    for i in range(num):
        weight = b.gep(stored, [WORD(4 * i)])
        b.store(edges[2 * i], b.bitcast(weight, DOUBLES), align=8)
        b.store(b.trunc(edges[2 * i + 1], HALF), b.gep(stored, [WORD(4 * i + 2)]))
        b.store(b.trunc(child, HALF), b.gep(stored, [WORD(4 * i + 3)]))
    b.ret(child)
    return function


# ------------------------------------------------------------------------------ array expressions
def _is_active(kind):
    return getattr(kind, "dtype", kind) is Traced


class EntryByEntry:
    """A target context in which the entries of an array expression are computed with duals.

    They make a block of the tape for each active argument: the weights of all entries.
    """

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def before(self, builder, kinds, arguments):
        """Make room for all entries."""
        context = self._context
        active = [pair for pair in zip(kinds, arguments, strict=True) if _is_active(pair[0])]
        size, tape = _size(context, builder, kinds, arguments), WORD(0)
        for kind, argument in active:
            own = _tape_of(context, builder, kind, argument)
            tape = builder.select(builder.icmp_unsigned("!=", tape, WORD(0)), tape, own)
        self._is_array = [isinstance(kind, types.Array) for kind, _ in active]
        self._tape, self._size, self._num = tape, size, WORD(len(active))
        self._places = cgutils.alloca_once(builder, WORD, size=sweep.NUM_PLACES)
        given = [tape, size, self._num, builder.ptrtoint(self._places, WORD)]
        linked.emit(context, builder, sweep.open_entries, given)
        weights, parents, self._first, self._step = (
            builder.load(builder.gep(self._places, [WORD(place)]))
            for place in (sweep.WHERE, sweep.WHOSE, sweep.FIRST, sweep.ADVANCE)
        )
        self._weights = builder.inttoptr(weights, DOUBLES)
        self._parents = builder.inttoptr(parents, HALF.as_pointer())
        self._count = cgutils.alloca_once_value(builder, WORD(0))

    def compile_subroutine(self, builder, function, signature, **options):
        self._dual = Dual(self._num.constant)
        swap = {Traced: self._dual}
        args = [swap.get(kind, kind) for kind in signature.args]
        self._signature = self._dual(*args)
        return self._context.compile_subroutine(builder, function, self._signature, **options)

    def call_internal(self, builder, fndesc, signature, args):
        context, dual, given, parents = self._context, self._dual, [], []
        line = builder.mul(self._step, self._size)  # of weights and parents, one an argument
        for kind, number in zip(signature.args, args, strict=True):
            if kind is Traced:
                lanes = [float(lane == len(parents)) for lane in range(dual.k)]
                partials = ir.Constant(ir.VectorType(DOUBLE, dual.k), lanes)
                value, (index, _) = Traced.unpack(context, builder, number)
                parents.append(index)
                number = dual.pack(context, builder, value, [(ONE, partials)])
            given.append(number)
        result = context.call_internal(builder, fndesc, self._signature, given)
        value, partials = dual.unpack(context, builder, result)
        count = builder.load(self._count)
        at = place = builder.mul(count, self._step)
        for lane, index in enumerate(parents):
            weight = builder.extract_element(partials, HALF(lane))
            builder.store(weight, builder.gep(self._weights, [place]))
            builder.store(builder.trunc(index, HALF), builder.gep(self._parents, [place]))
            place = builder.add(place, line)
        builder.store(builder.add(count, WORD(1)), self._count)
        return Traced.made_of(builder, value, builder.add(self._first, at), self._tape)

    def after(self, builder):
        """Append the blocks."""
        scalars = WORD(sum(1 << lane for lane, array in enumerate(self._is_array) if not array))
        places, count = builder.ptrtoint(self._places, WORD), builder.load(self._count)
        given = [self._tape, self._size, self._num, places, count, scalars]
        linked.emit(self._context, builder, sweep.close_entries, given)


def _size(context, builder, kinds, arguments):
    """The number of entries that an array expression can have."""
    shape = []
    for kind, argument in zip(kinds, arguments, strict=True):
        if isinstance(kind, types.Array):
            array = make_array(kind)(context, builder, argument)
            shape += [WORD(1)] * (kind.ndim - len(shape))
            for i in range(kind.ndim):  # from the last dimension on
                extent = builder.extract_value(array.shape, kind.ndim - 1 - i)
                larger = builder.icmp_signed(">", extent, shape[i])
                shape[i] = builder.select(larger, extent, shape[i])
    size = WORD(1)
    for extent in shape:
        size = builder.mul(size, extent)
    return size


def _tape_of(context, builder, kind, argument):
    """The tape of a number, or of an array in one piece or one row; 0 where all are constants."""
    if not isinstance(kind, types.Array):
        _, (_, tape) = Traced.unpack(context, builder, argument)
        return tape
    array = make_array(kind)(context, builder, argument)
    step, size = WORD(sweep.STEP), array.nitems
    if kind.ndim == 1:
        step = builder.sdiv(builder.extract_value(array.strides, 0), WORD(8))
    given = builder.ptrtoint(array.data, WORD), step, size
    return linked.emit(context, builder, sweep.tape_of, given)


def entry_by_entry(returned, kinds):
    """Return the context for an array expression of these types, or None for numba's own."""
    active = [kind for kind in kinds if _is_active(kind)]
    if any(getattr(kind, "ndim", 0) > 1 and kind.layout == "A" for kind in active):
        return None
    if len(active) > MOST_ARGUMENTS or common_dual(kinds) is not Traced or not _is_active(returned):
        return None
    return EntryByEntry


array_expressions(entry_by_entry)


# ------------------------------------------------------------------------- sums, products, passes
numbers_at = linked.view_of(Traced)
_sum, _dot, _matrix_vector = map(linked.native, (sweep.total, sweep.dot, sweep.matrix_vector))


@njit(**OURS)
def total(a):
    a, out = np.ascontiguousarray(a), address_of(stack_vector(sweep.STEP))
    _sum(address_of(a), a.size, out)
    return numbers_at(out)[0]


def in_one_piece(a):
    """The vector in one piece, of numbers of the tape or else of float64."""


@overload(in_one_piece, jit_options=INLINED)
def _in_one_piece(a):
    if a.dtype is Traced:
        return lambda a: np.ascontiguousarray(a)
    return lambda a: np.ascontiguousarray(np.asarray(a, np.float64))


@njit(**OURS)
def numbers_times_vector(a, b):
    left, right, out = in_one_piece(a), in_one_piece(b), address_of(stack_vector(sweep.STEP))
    _dot(address_of(left), address_of(right), right.itemsize // 8, left.size, out)
    return numbers_at(out)[0]


@njit(**OURS)
def constants_times_numbers(a, b):
    return numbers_times_vector(b, a)


@njit(**OURS)
def constants_times_vector(a, b):
    X, theta = np.asarray(a, np.float64), in_one_piece(b)
    out = np.empty(a.shape[0], b.dtype)
    (m, d), (row, column) = X.shape, X.strides
    start, into = address_of(theta), address_of(out)
    _matrix_vector(address_of(X), owner_of(X), m, d, row, column, start, into)
    return out


@njit(**OURS)
def rows_times_vector(a, b):
    out = np.empty(a.shape[0], a.dtype)
    for i in range(a.shape[0]):
        out[i] = np.dot(a[i], b)
    return out


TracedType.own = {
    "sum": lambda a, axis=None, dtype=None: total(a.ravel()),
    (1, 1, False): constants_times_numbers,
    (1, 1, True): numbers_times_vector,
    (2, 1, False): constants_times_vector,
    (2, 1, True): rows_times_vector,
}


# --------------------------------------------------------------- in and out of the fused function
begin, finish = linked.native(arena.start), linked.native(sweep.finish)


def fused_with_tape(logdensity, dim):
    """Return fused(theta, grad, tape, *data), in numba's subset; `logdensity` is a dispatcher."""

    def fused(theta, grad, tape, *data):
        result, short = numbers_at(address_of(stack_vector(sweep.STEP))), 1
        while short != 0:
            address = begin(address_of(tape), address_of(theta), theta.size)
            if address == 0:
                raise MemoryError("no memory for the gradient")
            result[0] = logdensity(numbers_at(address)[:dim], *data)
            short = finish(address_of(tape), address_of(result), address_of(grad), grad.size)
        return value_of(result[0])

    return fused
