"""How freely compiled code may round: sums may be reordered, functions are called as written.

LLVM's flag for reordering also lets it cancel ``exp(log(x))`` to x, and a density that is nan for
x < 0 would then have a value there. numba gives the same flags to operations and to calls; here
calls go without that one.
"""

from numba.core import fastmathpass

_visit = fastmathpass.FastFloatCallVisitor.visit_Call


class _Flags(set):
    """Marks what is compiled for this library; numba copies it."""

    def copy(self):
        return _Flags(self)


def _visit_call(visitor, instruction):
    if isinstance(visitor.flags, _Flags):
        visitor = fastmathpass.FastFloatCallVisitor(set(visitor.flags) - {"reassoc"})
    return _visit(visitor, instruction)


fastmathpass.FastFloatCallVisitor.visit_Call = _visit_call

# Everything of fastmath but nnan and ninf: a nan must still reject, an infinity still compare.
FAST = _Flags({"reassoc", "contract", "arcp", "nsz"})
