"""From numba's pages of messages to one sentence that names the construct and the remedy."""

import dis
import linecache
import os
import re

from numba import NumbaError

from ...errors import GradientError

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = re.compile(r"[/\\](numba|numpy|llvmlite)[/\\]")
ELSE = "or pass gradient= or fused= to Target"
REMEDIES = (
    (r"setitem", "a function of theta is stored in an array that does not hold such numbers",
     "make the array with dtype=theta.dtype"),
    (r"(bool|truth)", "a function of theta is used as a condition", "compare it, as in x != 0.0"),
    (r"(floordiv|mod|ifloordiv|imod)", "// and % of a function of theta", "use / and branches"),
    (r"array\(list", "np.array of a list",
     "give it a tuple, np.array((a, b)), or use a slice of theta"),
    (r"array", "np.array of more than functions of theta in one row",
     "join arrays, np.concatenate((theta[:2], np.zeros(1))), or fill "
     "np.empty(shape, dtype=theta.dtype)"),
    (r"(int|round|floor|ceil)", "rounding of a function of theta", "branch on a comparison"),
    (r"(_impl|dot|matmul)", "matrix @ matrix",
     "take one column at a time, X @ B[:, j], or write it as loops"),
    (r"(cholesky|solve|inv|det|slogdet)", "np.linalg.{name} of a matrix from theta",
     "make its Cholesky factor in loops, row by row: L[i, j] = (A[i, j] - L[i, :j] @ L[j, :j]) / "
     "L[j, j] for j < i, and L[i, i] = np.sqrt(A[i, i] - L[i, :i] @ L[i, :i])"),
    (r"norm", "np.linalg.norm of an array from theta", "write np.sqrt(np.sum(x**2))"),
    (r"<unknown function>", "a conversion of a number from theta", "leave out np.float64 and such"),
)  # fmt: skip
SCIPY = {
    "gammaln": "math.lgamma(x)", "loggamma": "math.lgamma(x)", "gamma": "math.gamma(x)",
    "betaln": "math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)",
    "erf": "math.erf(x)", "erfc": "math.erfc(x)", "ndtr": "0.5 * math.erfc(-x / math.sqrt(2.0))",
    "log_ndtr": "math.log(0.5 * math.erfc(-x / math.sqrt(2.0))), which serves above -37",
    "expit": "bl.sigmoid(x)", "log_expit": "bl.log_sigmoid(x)", "xlogy": "x * math.log(y)",
    "logsumexp": "m + np.log(np.sum(np.exp(x - m))) with m = np.max(x)",
}  # fmt: skip


def explain(error, function):
    """Make the GradientError for an error that numba raised while it compiled the duals."""
    if isinstance(error, GradientError):
        return GradientError(f"{title(function)}: {error}, {ELSE}")
    text = str(error)
    construct, remedy = of_scipy(text) or describe(text, error, function)
    return GradientError(f"{title(function)}: {construct}{place(text)}; {remedy}, {ELSE}")


def title(function):
    return f"no automatic gradient for {getattr(function, '__name__', function)!r}"


def of_scipy(text):
    """A function of SciPy that is missing in compiled code, and what to write for it, or None."""
    match = re.search(r"Unknown attribute '(\w+)' of type Module\(<module '(scipy[.\w]*)'", text)
    if match is None:
        match = re.search(r"Untyped global name '(\w+)'()", text)
        if match is None or match[1] not in SCIPY:
            return None
    known = f"numba does not know {match[2] or 'scipy.special'}.{match[1]}"
    if match[1] in SCIPY:
        numbers = ", number by number" if "math." in SCIPY[match[1]] else ""
        return known, f"write {SCIPY[match[1]]}{numbers}"
    return known, "write out its formula, with functions of math and np"


def only_raises(function):
    """Whether a function has no way to return."""
    steps = dis.get_instructions(getattr(function, "py_func", function))
    return not any(step.opname.startswith("RETURN_") for step in steps)


def describe(text, error, function):
    """The construct that numba stumbled over, and what to do about it."""
    match = re.search(r"^ ?No implementation of function (.*) found for signature:\s+>>> (.*)",
                      text, re.MULTILINE)  # fmt: skip
    if match:
        call = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", match[2].strip())
        name = call.split("(")[0]
        if name in ("value_of", "partial"):
            kind = plain_types(call.partition("(")[2].rpartition(")")[0])
            if only_raises(function):
                return "it always raises", "return -np.inf outside the support"
            return f"it returns {kind}, not a number", "return one float on every path"
        for pattern, construct, remedy in REMEDIES:
            if re.match(rf"{pattern}\W", call):
                return construct.format(name=name), remedy
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
    lines = [line for line in lines if not line.startswith(("Failed in", "During", "- R"))]
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
