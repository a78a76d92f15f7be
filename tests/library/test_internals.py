"""What is relied upon of numba's inside, in words; `bayeslib.compile.internals` is its only door.

Every test here passed with the releases in `TRIED`. Where one fails with another release, its first
line says what numba no longer does.
"""

import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from calling import python
from llvmlite import ir
from numba import njit, types
from numba.core.datamodel import default_manager
from numba.extending import intrinsic

import bayeslib as bl
from bayeslib import Target
from bayeslib.compile import internals
from bayeslib.compile.autodiff import differentiate
from bayeslib.compile.entry import Entry, add_entry
from bayeslib.compile.internals import cgutils
from bayeslib.compile.kinds import FAST, GENERATOR

TRIED = "0.67.0", "0.68.1"
ROOT = Path(__file__).parents[2]
VECTOR = types.float64[::1]


def called_with(symbol):
    """An errand that a compiled function names."""


def value_and_gradient(function, theta):
    grad = np.empty(len(theta))
    return differentiate(function, len(theta))(np.asarray(theta, dtype=float), grad), grad


# ---- the door ----


def test_what_is_finite_is_asked_without_arithmetic():
    """numba's own `x - x` is reordered to 0 where x is a multiple of a sum."""

    def density(theta):
        total = -0.5 * np.sum(np.sqrt(theta) ** 2)
        return total if np.isfinite(total) else -5.0

    for dim in (2, 40):  # by duals, and by a tape
        target = Target(density, dim=dim)
        outside = np.append(-1.0, np.ones(dim - 1))
        assert target(outside) == -5.0
        assert target.many_with_gradient(outside[None]) == -5.0


def test_the_bounds_of_the_package_are_the_releases_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (bounds,) = (line for line in project["dependencies"] if line.startswith("numba"))
    low, high = TRIED
    major, minor = high.split(".")[:2]
    assert bounds == f"numba>={low.removesuffix('.0')},<{major}.{int(minor) + 1}"


# What its documentation does not name; its guide to extensions names numba.core.cgutils.
PRIVATE = re.compile(
    r"^\s*(?:from|import) (?:numba|llvmlite)(?!\.core import cgutils$)"
    r"(?:\.(?:core|np|misc)\b|\S*\._|.* import .*\b_)",
    re.M,
)


def test_nothing_private_is_imported_anywhere_else():
    texts = {path: path.read_text("utf-8") for path in (ROOT / "bayeslib").rglob("*.py")}
    found = {path.name: PRIVATE.findall(text) for path, text in texts.items()
             if PRIVATE.search(text)}  # fmt: skip
    assert list(found) == ["internals.py"] and len(found["internals.py"]) > 10
    for line in ("import numba.np.linalg", "from numba.core import types", "from numba import _x"):
        assert PRIVATE.search(line)


# ---- rounding ----


def test_calls_and_sums_get_flags_of_their_own():
    """numba hands a copy of fastmath's flags to a visitor of calls, of which it makes one a module.

    Were that visitor not ours, exp(log(x)) would be x.
    """

    @njit(fastmath=FAST)
    def there_and_back(x, y):
        return math.exp(math.log(x)) + y

    assert math.isnan(there_and_back(-1.0, 0.0))
    (code,) = there_and_back.inspect_llvm().values()
    lines = code.splitlines()
    assert any("fadd" in line and "reassoc" in line for line in lines)
    assert not any("call" in line and "reassoc" in line for line in lines)
    assert type(FAST.copy()) is internals.ReorderedSums


# ---- arrays ----


def test_scipys_linear_algebra_is_asked_for_only_when_used():
    """numba.np.arraymath asks ensure_blas at its import, and products of matrices ask again."""
    code = (
        "import sys\nfrom bayeslib.compile import internals\nfrom numba.np import linalg\n"
        "print('scipy.linalg' in sys.modules, linalg.ensure_blas.__name__)"
    )
    assert python(code).split() == ["False", "ensure_blas"]


@intrinsic
def _on_the_stack(typingctx, rows):
    """A matrix (rows, 3) that holds 0, 1, 2, ..."""
    kind = types.Array(types.float64, 2, "C")

    def codegen(context, builder, signature, args):
        word = cgutils.intp_t
        size = builder.mul(args[0], word(3))
        data = builder.alloca(ir.DoubleType(), size=size)
        last = cgutils.alloca_once_value(builder, word(0))
        with cgutils.for_range(builder, size, intp=word) as loop:
            number = builder.sitofp(loop.index, ir.DoubleType())
            builder.store(number, builder.gep(data, [loop.index]))
            builder.store(loop.index, last)
        return internals.array_over(context, builder, kind, data, [args[0], word(3)])

    return kind(types.intp), codegen


def test_an_array_is_a_pointer_sizes_and_strides():
    """An array without a meminfo is neither counted nor freed; its strides are in bytes."""

    @njit
    def read(rows):
        a = _on_the_stack(rows)
        return a[1, 2], a.shape, a.strides, a.size, a.sum()

    assert read(4) == (5.0, (4, 3), (24, 8), 12, 66.0)


def test_an_array_expression_is_a_function_of_an_entry_called_in_a_loop(monkeypatch):
    """numba lowers `x * 2 + y` by special_ops["arrayexpr"], in arguments sorted by name.

    It asks its context for compile_subroutine once, and for call_internal once a loop.
    """
    asked, context = [], internals.cpu_target.target_context

    class Noting:
        def __init__(self, context):
            self.context = context

        def __getattr__(self, name):
            if name in ("compile_subroutine", "call_internal"):
                asked.append(name)
            return getattr(self.context, name)

        def before(self, builder, kinds, arguments):
            asked.append(("before", kinds))

        def after(self, builder):
            asked.append("after")

    monkeypatch.setitem(context.special_ops, "arrayexpr", None)
    lower = internals.array_exprs._lower_array_expr
    monkeypatch.setattr(internals.array_exprs, "_lower_array_expr", lower)
    internals.array_expressions(lambda returned, kinds: Noting)

    @njit
    def made(x, y):
        return x * 2.5 + y

    np.testing.assert_array_equal(made(np.arange(3.0), 1.0), [1.0, 3.5, 6.0])
    (_, kinds), *others = asked
    assert others == ["compile_subroutine", "call_internal", "after"]
    assert VECTOR in kinds and types.float64 in kinds


def test_an_array_gives_its_data_and_shape_and_forgets_its_owner():
    """The struct of an array has the fields data, shape, meminfo and parent, by these names."""
    from bayeslib.compile.callback import borrowed

    assert njit(lambda a: borrowed(a)[1:].sum())(np.arange(4.0)) == 6.0


METHODS = {
    "sum": lambda theta: theta.sum(),
    "mean": lambda theta: theta.mean(),
    "prod": lambda theta: theta.prod(),
    "cumsum": lambda theta: theta.cumsum()[-1],
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_arrays_is_typed_by_a_function_of_its_name(name):
    """numba types a.sum() by array_sum, which can be overloaded as np.sum can."""
    assert internals.methods_of(name).__name__ == f"array_{name}"
    theta = np.array([0.5, 2.0])
    value, grad = value_and_gradient(METHODS[name], theta)
    assert value == METHODS[name](theta) and np.all(grad > 0.0)


def test_a_number_may_stand_among_the_arrays_of_an_expression():
    """Array expressions prepare each operand by npyimpl._prepare_argument, looked up by name."""
    value, grad = value_and_gradient(lambda t: np.sum(t[0] * np.ones(3) + t), [2.0, 5.0, 1.0])
    assert (value, list(grad)) == (14.0, [4.0, 1.0, 1.0])


def test_slices_of_another_size_are_refused_by_a_function_looked_up_by_name():
    """Numbers in numba's message take seconds to compile: arrayobj.raise_with_shape_context."""

    @njit
    def assign(a, b):
        a[:] = b

    with pytest.raises(ValueError, match="input of different size"):
        assign(np.ones(2), np.ones(3))


def test_a_list_of_ours_becomes_an_array_by_our_own_code():
    """Arrays of lists are made in place by inline_closurecall._inline_const_arraycall, which is
    looked up by name and returns None where it leaves a block as it is."""
    value, grad = value_and_gradient(lambda t: np.sum(np.array([t[0], 2.0 * t[1]])), [2.0, 5.0])
    assert (value, list(grad)) == (12.0, [1.0, 2.0])


def test_a_conversion_to_float64_is_typed_by_a_template():
    """NumberClassAttribute.resolve___call__ returns a type of functions with one template, whose
    `generic` returns the typer."""
    assert value_and_gradient(lambda t: np.float64(t[0]), [2.0]) == (2.0, np.ones(1))


def scalar_by_scalar(p, counts):
    rate = np.zeros_like(counts)
    for i in range(counts.size):
        rate[i] = p.mu
    return -np.sum((counts - rate) ** 2)


def in_a_list(p, counts):
    rates = [0 for _ in counts]
    rates[0] = p.mu
    return -(rates[0] ** 2)


@pytest.mark.parametrize(
    "density",
    [scalar_by_scalar, in_a_list, lambda p, counts: -np.sum(counts - np.full_like(counts, p.mu))],
)
@pytest.mark.parametrize("gradient", ["auto", None])
def test_no_array_of_whole_numbers_cuts_off_floats(density, gradient):
    """Storing in arrays is typed by arraydecl.SetItemBuffer.generic, in lists by
    collections.SetItemSequence's, which give None for what they refuse; plain Python cuts, too."""
    how = {"parameters": {"mu": ()}, "data": (np.array([3, 1, 4]),), "gradient": gradient}
    with pytest.raises(bl.BayeslibTypeError, match="whole numbers would cut off.* np.zeros_like"):
        bl.metropolis(bl.Target(density, **how), num_samples=10, rng=1)


def test_whole_numbers_are_stored_where_they_are_meant():
    def density(theta, counts):
        table = np.zeros_like(counts)
        table[0] = int(theta[0])
        table[1:] = np.floor(theta[0] * counts[1:]).astype(np.int64)
        return -np.sum(table) - theta[0]

    assert bl.Target(density, dim=1, data=(np.array([3, 1, 4]),))([2.5]) == -2 - 2 - 10 - 2.5


# ---- types ----


def test_a_type_of_ours_unifies_with_floats():
    """A variable that holds a float on one branch and ours on another is ours: Type.unify,
    can_convert_from with a Conversion, lower_cast and lower_constant."""

    def logdensity(theta):
        total = 0.0
        if theta[0] > 1.0:
            total = theta[0]
        return total

    value, grad = value_and_gradient(logdensity, [3.0])
    assert (value, grad[0]) == (3.0, 1.0)
    assert internals.Conversion.safe < internals.Conversion.unsafe


def power(x, n):
    raise NotImplementedError


def test_a_function_can_be_typed_by_the_numbers_in_the_code():
    """A CallableTemplate with prefer_literal sees the 2 of f(x, 2) as a literal type."""
    seen = []

    def typer(context):
        def typed(x, n):
            seen.append(n)
            return types.float64

        return typed

    internals.type_of_literals(power, typer)
    with pytest.raises(NotImplementedError, match="power"):  # it has a type, and no code
        njit(lambda x: power(x, 2)).compile((types.float64,))
    assert isinstance(seen[0], types.IntegerLiteral) and seen[0].literal_value == 2


# ---- functions ----


def test_an_intrinsic_has_its_python_function():
    """An intrinsic is a _Intrinsic, and keeps what was decorated."""
    assert internals.definition_of(_on_the_stack).__name__ == "_on_the_stack"
    assert internals.definition_of(njit(abs_)) is None
    assert isinstance(njit(abs_), internals.Dispatcher)


def abs_(x):
    return abs(x)


def density(theta, *data):
    total = 0.0
    for i in range(theta.size):
        total -= theta[i] ** 2
    return total + data[0]


def test_a_function_is_compiled_without_wrappers_and_completed():
    """_CFuncCompiler leaves the library open: modules can be added until it is finalized."""
    kinds = (VECTOR, types.float64)
    compiled = internals.compile_function(njit(density), kinds)
    assert compiled.signature.return_type == types.float64
    add_entry(compiled, kinds, 1, bounded=False)
    theta, shift, failed = np.array([1.0, 2.0]), np.array(7.0), np.zeros(2)
    handle = np.array([shift.ctypes.data, 0, 0, failed.ctypes.data, 0])
    made = Entry(compiled)
    assert made.address and made(theta, theta, handle) == pytest.approx(2.0)


def raising(theta):
    if theta[0] > 0.0:
        raise ValueError("positive")
    return theta[0]


def test_an_exception_is_a_status():
    """A compiled function returns a status, which call_conv.call_function reads."""
    compiled = internals.compile_function(njit(raising), (VECTOR,))
    add_entry(compiled, (VECTOR,), 1, bounded=False)
    theta, failed = np.array([1.0]), np.zeros(1)
    handle = np.array([0, 0, failed.ctypes.data, 0])
    assert Entry(compiled)(theta, theta, handle) == -math.inf
    assert (handle[-1], failed[0]) == (1, 1.0)


def test_an_errand_is_named_by_what_is_stored():
    """The library that is being compiled keeps a set _reload_init, which callers inherit."""

    @intrinsic
    def errand(typingctx):
        def codegen(context, builder, signature, args):
            internals.before_linking(context, called_with)
            return context.get_constant(types.float64, 1.0)

        return types.float64(), codegen

    @njit(forceinline=True)
    def inner(theta):
        return errand() + theta[0]

    @njit
    def outer(theta):
        return inner(theta)

    compiled = internals.compile_function(outer, (VECTOR,))
    with internals.global_compiler_lock:
        compiled.library.finalize()
    internals.errands_kept(compiled)
    assert called_with in compiled.reload_init


def test_the_compilers_lock_may_be_taken_twice():
    """global_compiler_lock is a decorator and a context, and the same thread may enter again."""
    with internals.global_compiler_lock, internals.global_compiler_lock:
        assert njit(abs_)(-1) == 1


# ---- the cache ----


def test_the_folder_for_caches_is_the_systems():
    folder = internals.user_cache("bayeslib")
    assert isinstance(folder, Path) and "bayeslib" in folder.parts


def test_what_was_compiled_comes_back_from_bytes():
    """A CompileResult is taken apart by _reduce, and made again by _rebuild."""
    made = njit(abs_)
    made.compile((types.float64,))
    (compiled,) = made.overloads.values()
    assert internals.from_bytes(internals.as_bytes(compiled)).entry_point(-1.5) == 1.5
    *_, (triple, processor, features) = internals.machine()
    assert triple and processor and isinstance(features, str)


def test_a_generator_is_words_in_this_order():
    """`chains.functions.addresses` lays them out as numba does."""
    outer = default_manager.lookup(GENERATOR)
    inner = default_manager.lookup(outer._members[0])
    calls = "fnptr_next_uint64", "fnptr_next_uint32", "fnptr_next_double"
    words = "parent", "state_address", "state", *calls, "bit_generator"
    assert (inner._fields, outer._fields[1:]) == (words, ("meminfo", "parent"))
