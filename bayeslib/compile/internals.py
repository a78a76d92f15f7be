"""What this library uses of numba that numba does not promise to keep: here, and nowhere else.

What is relied upon is said in words, and tried, in ``tests/library/test_internals.py``. At import,
numba learns `ReorderedSums`, and its functions of arrays are imported without SciPy's linear
algebra, which takes as long as compiling a small density: numba asks for it only to see whether it
is there, and again when a density multiplies matrices.
"""

import pickle
import sys
import warnings
from copy import copy
from pathlib import Path

from llvmlite import ir
from numba import NumbaPerformanceWarning, __version__, njit, types
from numba.core import cgutils, fastmathpass, inline_closurecall
from numba.core.ccallback import CFunc, _CFuncCompiler
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import lower_constant
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack
from numba.core.typeconv import Conversion
from numba.core.typing import arraydecl, collections
from numba.core.typing.builtins import NumberClassAttribute
from numba.core.typing.templates import CallableTemplate, infer_global
from numba.cpython import mathimpl
from numba.extending import _Intrinsic, intrinsic
from numba.misc.appdirs import AppDirs
from numba.np import arrayobj, linalg
from numba.np.arrayobj import is_nonelike, make_array, populate_array
from numba.np.math import mathimpl as np_mathimpl
from numba.np.ufunc import array_exprs

_asked, linalg.ensure_blas = linalg.ensure_blas, lambda: None
try:
    from numba.np import arraymath
finally:
    linalg.ensure_blas = _asked


# ---- rounding: numba gives fastmath's flags to operations and to calls ----


class ReorderedSums(set):
    """Flags of fastmath, of which calls do not get "reassoc"; numba copies them."""

    def copy(self):
        return ReorderedSums(self)


class _Calls(fastmathpass.FastFloatCallVisitor):
    def __init__(self, flags):
        reordered = isinstance(flags, ReorderedSums)
        super().__init__(set(flags) - {"reassoc"} if reordered else flags)


fastmathpass.FastFloatCallVisitor = _Calls


def _is_finite(builder, value):
    """Ask by comparisons: numba's x - x, which is nan of an infinity, may be reordered to 0."""
    is_infinite = mathimpl.is_inf(builder, value)
    return builder.and_(builder.fcmp_ordered("ord", value, value), builder.not_(is_infinite))


mathimpl.is_finite = np_mathimpl.is_finite = _is_finite


# ---- arrays ----


@njit
def _refuse_shape(given, wanted):
    raise ValueError("cannot assign slice from input of different size")


# numba's own names both shapes, which takes seconds to compile wherever M[:] = N.
arrayobj.raise_with_shape_context = _refuse_shape


def _keep_uncut(template):
    """Let no array or list of whole numbers take floats, which it would cut, where we compile."""
    store = template.generic

    def generic(self, args, kws):
        whole, given = (getattr(kind, "dtype", kind) for kind in args[::2])
        cuts = isinstance(whole, types.Integer | types.Boolean) and isinstance(given, types.Float)
        if cuts and isinstance(ConfigStack().top().fastmath.flags, ReorderedSums):
            return None
        return store(self, args, kws)

    template.generic = generic


_keep_uncut(arraydecl.SetItemBuffer)
_keep_uncut(collections.SetItemSequence)


def array_over(context, builder, kind, data, shape):
    """Emit an array in C order over memory that is not counted; sizes are LLVM's integers."""
    array = make_array(kind)(context, builder)
    itemsize = cgutils.intp_t(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for extent in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], extent))
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


@intrinsic
def stack_vector(typingctx, size):
    """Room for `size` doubles, until the function that asks returns: not allocated, not counted."""
    kind = types.Array(types.float64, 1, "C")

    def codegen(context, builder, signature, args):
        data = builder.alloca(ir.DoubleType(), size=args[0])
        return array_over(context, builder, kind, data, args)

    return kind(types.intp), codegen


def methods_of(name):
    """Return by what numba types the method of arrays called `name`, such as sum."""
    return getattr(arraymath, f"array_{name}")


def stand_among_arrays(kind):
    """Let numbers of the types of class `kind` stand in array expressions, as any scalar does."""
    from numba.np import npyimpl

    prepare = npyimpl._prepare_argument

    def prepare_argument(context, builder, argument, found, where="input operand"):
        if isinstance(found, kind):
            return npyimpl._ScalarHelper(context, builder, argument, found)
        return prepare(context, builder, argument, found, where)

    npyimpl._prepare_argument = prepare_argument


def array_expressions(choose):
    """Let array expressions be compiled in a context of their own.

    Parameters
    ----------
    choose : callable
        Of the types of an expression's result and arguments: None, or what makes its context of
        numba's. That context compiles the function of an entry (`compile_subroutine`) and calls it
        for each (`call_internal`); before the loop comes `before(builder, kinds, arguments)`, and
        `after(builder)` after it.
    """
    lower = array_exprs._lower_array_expr

    def lower_array_expr(lowerer, expression):
        names = sorted({variable.name for variable in expression.list_vars()})
        kinds = [lowerer.typeof(name) for name in names]
        make = choose(expression.ty(*kinds).return_type, kinds)
        if make is None:
            return lower(lowerer, expression)
        inner = copy(lowerer)
        inner.context = context = make(lowerer.context)
        context.before(lowerer.builder, kinds, [lowerer.loadvar(name) for name in names])
        result = lower(inner, expression)
        context.after(lowerer.builder)
        return result

    array_exprs._lower_array_expr = lower_array_expr
    cpu_target.target_context.special_ops["arrayexpr"] = lower_array_expr


def _inline_numbers(block, func_ir, context, typemap, calltypes):
    """Make arrays of lists in place, as numba does, but only of what NumPy has a dtype for."""
    made = [calltypes[call].return_type for call in block.find_exprs("call") if call in calltypes]
    if any(getattr(getattr(kind, "dtype", None), "is_internal", False) for kind in made):
        return None
    return _inline_all(block, func_ir, context, typemap, calltypes)


_inline_all = inline_closurecall._inline_const_arraycall
inline_closurecall._inline_const_arraycall = _inline_numbers


def keep_in_float64(kind):
    """Let np.float64(x), for numbers of the types of class `kind`, be x."""
    resolve = NumberClassAttribute.resolve___call__

    def resolve_call(self, number_class):
        known = resolve(self, number_class)
        (template,) = known.templates

        def generic(self):
            typer = template.generic(self)
            return lambda val: val if isinstance(val, kind) else typer(val)

        return type(known)(type("float64", (template,), {"generic": generic}))

    NumberClassAttribute.resolve___call__ = resolve_call


# ---- functions ----


def type_of_literals(function, typer):
    """Type a function by ``typer(context)(*kinds)``, where numbers in the code are their values."""
    parts = {"key": function, "generic": typer, "prefer_literal": True}
    infer_global(function)(type("literals", (CallableTemplate,), parts))


def definition_of(item):
    """Return the Python function behind an intrinsic, or None for anything else."""
    return item._defn if isinstance(item, _Intrinsic) else None


class _Compiler(_CFuncCompiler):
    def _customize_flags(self, flags):
        flags = super()._customize_flags(flags)
        flags.no_cfunc_wrapper = True
        return flags


def compile_function(dispatcher, kinds):
    """Compile the function of a dispatcher for arguments of `kinds`, not yet to machine code.

    Returns
    -------
    numba.core.compiler.CompileResult
        To whose library modules may be added before it is finalized.
    """
    options = dict(dispatcher.targetoptions) | {"no_cpython_wrapper": True}
    compiler = _Compiler(dispatcher.py_func, cpu_target, options, {}, Compiler)
    _, arguments = compiler.fold_argument_types(kinds, {})
    with warnings.catch_warnings():  # on arrays that are not contiguous: nobody can help it
        warnings.simplefilter("ignore", NumbaPerformanceWarning)
        return compiler.compile(tuple(arguments), None)


def before_linking(context, errand):
    """Have `errand()` called before what is being compiled is loaded from the disk and linked."""
    context.active_code_library._reload_init.add(errand)


def errands_kept(compiled):
    """Let what is stored of a compiled function name the errands of all that it calls."""
    compiled.reload_init.extend(compiled.library._reload_init.difference(compiled.reload_init))


# ---- the cache on disk ----


def machine():
    """Return what else machine code depends on: releases, and the processor."""
    return __version__, sys.version_info[:2], cpu_target.target_context.codegen().magic_tuple()


def as_bytes(compiled):
    """Return what was compiled for storage, or None where it has addresses of this process."""
    return None if compiled.library.has_dynamic_globals else dumps(compiled._reduce())


def from_bytes(code):
    """Return what was compiled, ready to run, having done the errands that it names."""
    context = cpu_target.target_context
    context.refresh()
    return CompileResult._rebuild(context, *pickle.loads(code))


def keep_in(compiled, cache):
    """Let a dispatcher or a CFunc load from a `Stored`, and store there."""
    compiled._cache = cache


def user_cache(name):
    """Return where programs keep what can be made again, on this system."""
    return Path(AppDirs(appname=name, appauthor=False).user_cache_dir)
