"""From numba's pages of messages to one sentence that names the construct and the remedy."""

import linecache
import os
import re

from numba.core.errors import NumbaError

from ..errors import GradientError

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = re.compile(r"[/\\](numba|numpy|llvmlite)[/\\]")
ELSE = "or pass gradient= or fused= to Target"
REMEDIES = (
    (r"setitem", "a function of theta is stored in an array that does not hold such numbers",
     "make the array with dtype=theta.dtype"),
    (r"(bool|truth)", "a function of theta is used as a condition", "compare it, as in x != 0.0"),
    (r"(floordiv|mod|ifloordiv|imod)", "// and % of a function of theta", "use / and branches"),
    (r"array", "np.array of a list", "give it a tuple, np.array((a, b)), or use a slice of theta"),
    (r"(int|round|floor|ceil)", "rounding of a function of theta", "branch on a comparison"),
)  # fmt: skip


def explain(error, function):
    """Make the GradientError for an error that numba raised while it compiled the duals."""
    if isinstance(error, GradientError):
        return GradientError(f"{title(function)}: {error}, {ELSE}")
    text = str(error)
    construct, remedy = describe(text, error)
    return GradientError(f"{title(function)}: {construct}{place(text)}; {remedy}, {ELSE}")


def title(function):
    return f"no automatic gradient for {getattr(function, '__name__', function)!r}"


def describe(text, error):
    """The construct that numba stumbled over, and what to do about it."""
    match = re.search(r"^ ?No implementation of function (.*) found for signature:\s+>>> (.*)",
                      text, re.MULTILINE)  # fmt: skip
    if match:
        call = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", match[2].strip())
        name = call.split("(")[0]
        if name in ("value_of", "partial"):
            kind = plain_types(call.partition("(")[2].rpartition(")")[0])
            return f"it returns {kind}, not a number", "return one float on every path"
        for pattern, construct, remedy in REMEDIES:
            if re.fullmatch(pattern, name):
                return construct, remedy
        return f"{plain_types(call)} has no derivative rule", "write it as a loop over numbers"
    match = re.search(r"Untyped global name '(\w+)'", text)
    if match:
        return f"{match[1]!r} is nothing that numba can compile", "write a function that is"
    match = re.search(r"NameError: (.*)|(Cannot unify .*)|(Unknown attribute .*)|(Use of .*)", text)
    if match:
        reason = next(group for group in match.groups() if group)
        return plain_types(reason.strip()), "keep to loops over numbers"
    remedy = "return one float on every path and keep to loops over numbers"
    if not isinstance(error, NumbaError):
        return "numba cannot compile it for numbers that carry derivatives", remedy
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Failed in", "During"))]
    reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return plain_types(reason), remedy


def plain_types(text):
    """Numba's names of types, in words."""
    text = re.sub(r"array\(Dual\d+, (\d)d, \w+\)", r"<\1-d array from theta>", text)
    return re.sub(r"Dual\d+", "<number from theta>", text)


def place(text):
    """The first line of the user's own that the message points to, with its source."""
    for path, line in re.findall(r"^During: typing of .* at (.*) \((\d+)\)$", text, re.MULTILINE):
        if not LIBRARY.search(path) and not os.path.abspath(path).startswith(HERE):
            source = linecache.getline(path, int(line)).strip()
            return f", line {line}: `{source}`" if source else f", line {line}"
    return ""
