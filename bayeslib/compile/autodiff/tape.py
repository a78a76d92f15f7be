"""Numbers of a tape: reverse mode, whose cost does not grow with the dimension.

`Traced` is an LLVM struct of a value, the number's index on the tape and the tape's address; a
constant has the index and the address 0. What is done to such numbers leaves edges on the tape, see
`sweep`, by the same rules that give dual numbers their partial derivatives. Of an array expression
the entries are computed with dual numbers, and leave one edge for each of their arguments.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, models, overload, register_model

from .. import linked
from ..arithmetic import INLINED
from ..internals import array_expressions, array_over, cgutils, make_array
from ..kinds import DOUBLE, DOUBLES, HALF, WORD, WORDS
from . import arena, sweep
from .duals import ONE, REAL, Active, Dual, f8, value_of


class TracedType(Active):
    """A number of a tape."""

    own = {}

    def __init__(self):
        super().__init__(name="Dual0")  # as the messages of `explain` know it

    def unpack(self, context, builder, number):
        traced = cgutils.create_struct_proxy(self)(context, builder, number)
        return traced.value, (traced.index, traced.tape)

    def pack(self, context, builder, value, terms):
        traced = cgutils.create_struct_proxy(self)(context, builder)
        traced.value, traced.index, traced.tape = value, WORD(0), WORD(0)
        edges = []
        for slope, (index, tape) in terms:
            isnull = builder.icmp_unsigned("==", traced.tape, WORD(0))
            traced.tape = builder.select(isnull, tape, traced.tape)
            edges += [slope, index]
        if len(terms) == 1 and edges[0] == ONE:
            traced.index = edges[1]
        elif terms:
            push = _pusher(context, builder, len(terms))
            traced.index = builder.call(push, [traced.tape, *edges])
        return traced._getvalue()

    def constant(self, value):
        return ir.Constant.literal_struct([value, WORD(0), WORD(0)])


Traced = TracedType()


@register_model(TracedType)
class TracedModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        members = [("value", f8), ("index", types.int64), ("tape", types.int64)]
        super().__init__(dmm, fe_type, members)


def _pusher(context, builder, num):
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

    end = b.add(b.load(word(arena.NUM_EDGES)), WORD(num))
    with b.if_then(b.icmp_unsigned(">", end, b.load(word(arena.MAX_EDGES))), likely=False):
        linked.emit(context, b, arena.grow, [address, WORD(num)])
    count, child = b.load(word(arena.NUM_EDGES)), b.load(word(arena.NUM_NODES))
    place = b.add(b.load(word(arena.EDGES)), b.mul(count, WORD(arena.EDGE)))
    stored = b.inttoptr(place, HALF.as_pointer())
    for i in range(num):
        weight = b.gep(stored, [WORD(4 * i)])
        b.store(edges[2 * i], b.bitcast(weight, DOUBLES), align=8)
        b.store(b.trunc(edges[2 * i + 1], HALF), b.gep(stored, [WORD(4 * i + 2)]))
        b.store(b.trunc(child, HALF), b.gep(stored, [WORD(4 * i + 3)]))
    b.store(b.add(count, WORD(num)), word(arena.NUM_EDGES))
    b.store(b.add(child, WORD(1)), word(arena.NUM_NODES))
    b.ret(child)
    return function


# ------------------------------------------------------------------------------ array expressions
def _is_active(kind):
    return getattr(kind, "dtype", kind) is Traced


class EntryByEntry:
    """A target context in which the entries of an array expression are computed with duals.

    They make one block of the tape: for each active argument, the weights of all entries.
    """

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def before(self, builder, kinds, arguments):
        """Open a block with room for all entries."""
        context = self._context
        active = [pair for pair in zip(kinds, arguments, strict=True) if _is_active(pair[0])]
        self._is_array = [isinstance(kind, types.Array) for kind, _ in active]
        size, tape = _size(context, builder, kinds, arguments), WORD(0)
        for kind, argument in active:
            own = _tape_of(context, builder, kind, argument)
            tape = builder.select(builder.icmp_unsigned("!=", tape, WORD(0)), tape, own)
        num = len(active)
        spare = cgutils.alloca_once(builder, WORD, size=sweep.BLOCK_BYTES // 8 + 2 * num + 1)
        given = [tape, size, WORD(num), builder.ptrtoint(spare, WORD)]
        block = linked.emit(context, builder, sweep.open_block, given)
        self._tape, self._block, self._size = tape, block, size
        words = builder.inttoptr(block, WORDS)
        weights, parents, first, step = (
            builder.load(builder.gep(words, [WORD(word)]))
            for word in (sweep.WEIGHTS, sweep.PARENTS, sweep.FIRST, sweep.ADVANCE)
        )
        self._weights = builder.inttoptr(weights, DOUBLES)
        self._parents = builder.inttoptr(parents, HALF.as_pointer())
        self._first, self._step = first, step
        for lane, (kind, argument) in enumerate(active):
            if kind is Traced:
                index = cgutils.create_struct_proxy(Traced)(context, builder, argument).index
                place = sweep.BLOCK_BYTES // 8 + 2 * lane + 1
                builder.store(index, builder.gep(words, [WORD(place)]))
        self._count = cgutils.alloca_once_value(builder, WORD(0))

    def compile_subroutine(self, builder, function, signature, **options):
        self._dual = Dual(len(self._is_array))
        swap = {Traced: self._dual}
        args = [swap.get(kind, kind) for kind in signature.args]
        self._signature = self._dual(*args)
        return self._context.compile_subroutine(builder, function, self._signature, **options)

    def call_internal(self, builder, fndesc, signature, args):
        context, dual, given, indices = self._context, self._dual, [], []
        for kind, number in zip(signature.args, args, strict=True):
            if kind is Traced:
                traced = cgutils.create_struct_proxy(Traced)(context, builder, number)
                lanes = [float(lane == len(indices)) for lane in range(dual.k)]
                partials = ir.Constant(ir.VectorType(DOUBLE, dual.k), lanes)
                number = dual.pack(context, builder, traced.value, [(ONE, partials)])
                indices.append(traced.index)
            given.append(number)
        result = context.call_internal(builder, fndesc, self._signature, given)
        value, partials = dual.unpack(context, builder, result)
        count = builder.load(self._count)
        at = builder.mul(count, self._step)
        for lane, index in enumerate(indices):
            weight = builder.extract_element(partials, HALF(lane))
            place = builder.add(at, builder.mul(builder.mul(self._step, self._size), WORD(lane)))
            builder.store(weight, builder.gep(self._weights, [place]))
            if self._is_array[lane]:
                builder.store(builder.trunc(index, HALF), builder.gep(self._parents, [place]))
        builder.store(builder.add(count, WORD(1)), self._count)
        made = cgutils.create_struct_proxy(Traced)(context, builder)
        made.value, made.tape = value, self._tape
        made.index = builder.add(self._first, at)
        return made._getvalue()

    def after(self, builder):
        """Close the block."""
        scalars = sum(1 << lane for lane, array in enumerate(self._is_array) if not array)
        given = [self._tape, self._block, builder.load(self._count), WORD(scalars)]
        linked.emit(self._context, builder, sweep.close_block, given)


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
        return cgutils.create_struct_proxy(Traced)(context, builder, argument).tape
    if kind.ndim == 1:
        given = _start_and_step(context, builder, kind, argument)
    else:
        array = make_array(kind)(context, builder, argument)
        given = builder.ptrtoint(array.data, WORD), WORD(arena.NUMBER // 8), array.nitems
    return linked.emit(context, builder, sweep.tape_of, given)


def entry_by_entry(returned, kinds):
    """Return the context for an array expression of these types, or None for numba's own."""
    number = sum(_is_active(kind) for kind in kinds)
    if getattr(returned, "dtype", None) is not Traced or number > sweep.MOST_ARGUMENTS:
        return None
    for kind in kinds:
        if not isinstance(getattr(kind, "dtype", kind), (TracedType, *REAL)):
            return None
        if _is_active(kind) and getattr(kind, "ndim", 0) > 1 and kind.layout == "A":
            return None
    return EntryByEntry


array_expressions(entry_by_entry)


# ------------------------------------------------------------------------- sums, products, passes
def _start_and_step(context, builder, kind, array):
    view = make_array(kind)(context, builder, array)
    step = builder.sdiv(builder.extract_value(view.strides, 0), WORD(8))
    return builder.ptrtoint(view.data, WORD), step, builder.extract_value(view.shape, 0)


def _number_from(context, builder, function, given):
    """Emit a call of a native function that writes a number, and return that."""
    room = cgutils.alloca_once(builder, context.get_data_type(Traced))
    linked.emit(context, builder, function, [*given, builder.ptrtoint(room, WORD)])
    return context.unpack_value(builder, Traced, room)


@intrinsic
def _total(typingctx, a):
    """The sum of a vector in one piece."""

    def codegen(context, builder, signature, args):
        start, _, size = _start_and_step(context, builder, signature.args[0], args[0])
        return _number_from(context, builder, sweep.total, [start, size])

    return Traced(a), codegen


@intrinsic
def _dot(typingctx, a, b):
    """The sum of products of two vectors of one length, in one piece, of Traced or doubles."""

    def codegen(context, builder, signature, args):
        sides = zip(signature.args, args, strict=True)
        numbers, others = sorted(sides, key=lambda side: side[0].dtype is f8)
        left, _, size = _start_and_step(context, builder, *numbers)
        right, _, _ = _start_and_step(context, builder, *others)
        function = sweep.dot_of_doubles if others[0].dtype is f8 else sweep.dot
        return _number_from(context, builder, function, [left, right, size])

    return Traced(a, b), codegen


@intrinsic
def _matrix_vector(typingctx, X, theta, out):
    """Write X @ theta to `out`; X holds doubles."""

    def codegen(context, builder, signature, args):
        matrix = make_array(signature.args[0])(context, builder, args[0])
        owner = builder.ptrtoint(matrix.meminfo, WORD)
        shape = [builder.extract_value(matrix.shape, i) for i in range(2)]
        steps = [builder.extract_value(matrix.strides, i) for i in range(2)]
        start, _, _ = _start_and_step(context, builder, signature.args[1], args[1])
        into, _, _ = _start_and_step(context, builder, signature.args[2], args[2])
        data = builder.ptrtoint(matrix.data, WORD)
        given = [data, owner, *shape, *steps, start, into]
        linked.emit(context, builder, sweep.matrix_vector, given)
        return context.get_dummy_value()

    return types.void(X, theta, out), codegen


def as_doubles(a):
    """The array, of float64 if it is not of the tape."""


def in_one_piece(a):
    """The vector in one piece, of float64 if it is not of the tape."""


@overload(as_doubles, jit_options=INLINED)
def _as_doubles(a):
    if a.dtype in (Traced, f8):
        return lambda a: a
    return lambda a: a.astype(np.float64)


@overload(in_one_piece, jit_options=INLINED)
def _in_one_piece(a):
    if a.layout == "C":
        return lambda a: as_doubles(a)
    return lambda a: as_doubles(a.copy())


def sum_of(a):
    return lambda a, axis=None, dtype=None: _total(in_one_piece(a.ravel()))


def vector_vector(a, b):
    if a.size != b.size:
        raise ValueError("the two sides of a product differ in length")
    return _dot(in_one_piece(a), in_one_piece(b))


def constant_times_vector(a, b):
    if a.shape[1] != b.size:
        raise ValueError("the two sides of a product differ in length")
    out = np.empty(a.shape[0], b.dtype)
    _matrix_vector(as_doubles(a), in_one_piece(b), out)
    return out


def matrix_vector(a, b):
    if a.shape[1] != b.size:
        raise ValueError("the two sides of a product differ in length")
    right = in_one_piece(b)
    out = np.empty(a.shape[0], a.dtype)
    for i in range(a.shape[0]):
        out[i] = _dot(in_one_piece(a[i]), right)
    return out


def product(a, b):
    shapes = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    if shapes == (1, 1):
        return vector_vector
    if shapes == (2, 1):
        return matrix_vector if a.dtype is Traced else constant_times_vector
    return None


@njit(**INLINED)
def combined(slopes, theta):
    return _dot(slopes, in_one_piece(theta))


TracedType.own.update({"sum": sum_of, "product": product, "combine": combined})


# --------------------------------------------------------------- in and out of the fused function
@intrinsic
def begin(typingctx, theta, tape):
    """Start the tape anew; return the address of the parameters on it, or 0."""

    def codegen(context, builder, signature, args):
        kinds = zip(signature.args, args, strict=True)
        (x, _, size), (words, _, _) = (_start_and_step(context, builder, *pair) for pair in kinds)
        return linked.emit(context, builder, arena.start, [words, x, size])

    return types.int64(theta, tape), codegen


@intrinsic
def numbers_at(typingctx, address, dim):
    """The (dim,) parameters on the tape."""
    if not isinstance(dim, types.IntegerLiteral):
        return None
    kind = types.Array(Traced, 1, "C")

    def codegen(context, builder, signature, args):
        data = builder.inttoptr(args[0], context.get_data_type(Traced).as_pointer())
        return array_over(context, builder, kind, data, [WORD(dim.literal_value)])

    return kind(address, dim), codegen


@intrinsic
def end(typingctx, result, tape, grad):
    """Write the gradient of the result; return 1 when memory has run out, else 0."""
    if not isinstance(result, (Active, *REAL)):
        return None

    def codegen(context, builder, signature, args):
        index = WORD(0)
        if signature.args[0] is Traced:
            index = cgutils.create_struct_proxy(Traced)(context, builder, args[0]).index
        words, _, _ = _start_and_step(context, builder, signature.args[1], args[1])
        slopes, _, size = _start_and_step(context, builder, signature.args[2], args[2])
        return linked.emit(context, builder, sweep.finish, [words, index, slopes, size])

    return types.int64(result, tape, grad), codegen


def fused_with_tape(logdensity, dim):
    """Return fused(theta, grad, tape, *data), in numba's subset; `logdensity` is a dispatcher."""

    def fused(theta, grad, tape, *data):
        address = begin(theta, tape)
        if address == 0:
            raise MemoryError("no memory for the gradient")
        result = logdensity(numbers_at(address, dim), *data)
        value = value_of(result)
        if end(result, tape, grad) != 0:
            raise MemoryError("no memory for the gradient")
        return value

    return fused
