"""How functions are compiled, and how freely they may round.

Sums may be reordered, functions are called as written. LLVM's flag for reordering also lets it
cancel ``exp(log(x))`` to x, and a density that is nan for x < 0 would then have a value there.
"""

from .internals import ReorderedSums

# Everything of fastmath but nnan and ninf: a nan must still reject, an infinity still compare.
FAST = ReorderedSums({"reassoc", "contract", "arcp", "nsz"})
JIT = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
# Part of its callers, which alone could be called from C; making that possible takes time.
INLINED = JIT | {"forceinline": True, "no_cfunc_wrapper": True}
# The same of functions that Python could not call, for their numbers are none of its own.
OURS = INLINED | {"no_cpython_wrapper": True}
# No reassociation: it would undo the rounding by addition in `functions.logistic.exp_negative`.
EXACT = INLINED | {"fastmath": {"contract"}}
