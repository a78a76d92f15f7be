"""From numba's pages of messages to one sentence that names the construct and the remedy."""

import difflib
import linecache
import os
import re
from traceback import format_tb

from ...errors import LIBRARY, BayeslibError, BayeslibTypeError, GradientError
from ..functions import densities

ONE = "return one float on every path, and -np.inf outside the support"
SUM = "add up the terms, as in np.sum(bl.logpdf.normal(y, mu, sigma))"
ELSE = ", or pass gradient= or fused= to Target, or gradient=None for metropolis or slice_sample"
SUBSET = "keep to numba's subset: numbers, loops, what of NumPy and SciPy the page Targets lists"
FORMULA = "write out its formula, as a series in a loop; names that are known: see Targets"
OUTSIDE = "hand numbers and arrays over in data=, and call only what numba compiles"
DTYPE = "make it with dtype=theta.dtype; of named parameters, as np.zeros_like(p.tau * y)"
WHOLE = "a parameter that is a whole number has no gradient: sum it out"
SLIPS = (  # which do not compile without a gradient either
    (r"setitem\(readonly|^'NoneType' .* 'args'", "an array that is read-only is changed in place",
     "theta and data are read-only: write to a copy, y = y - y.mean(), or do it before Target"),
    (r">>> setitem\(.*\((?:u?int|bool).*[ (]float\d+\b(?:, \dd, \w\)|\)<\S*>)?\)\s*\n",
     "an array of whole numbers would cut off the floats stored in it", DTYPE),
    (r"attribute '(\w+)' of type Parameters", "no parameter is named {0!r}",
     "there are {near}: mend the name, or name it in parameters= of the Target"),
    (r"getitem\(Parameters\(.*?\), Literal\[\w+\]\((\w+)", "p[{0!r}] is asked for", "write p.{0}"),
    (r"Cannot bind .* '\(.*\*, ", "it takes keywords", "leave them out, and the * before them"),
    (r"IMPORT_NAME", "it imports something", "import outside the function"),
    (r"use of yield in a closure", "a generator", "make it a list: sum([v * v for v in y])"),
    (r"array\.astype for (?!array\(Dual).*Function\(<class '(\w+)'", "astype({0})",
     "name NumPy's type, as in .astype(np.float64)"),
    (r">>> (?:array_|npy_)?(\w+)\(.*\baxis=", "{0} along an axis",
     "write np.mean(M, axis=0) or np.sum, both without keepdims; loop over rows, as {0}(M[i]); "
     "or do it before Target if all is data"),
    (r">>> (exp|log|log1p|sqrt|pow|sin|cos|lgamma|max|min)\((?:readonly )?array",
     "Python's {0} of an array", "take NumPy's, as np.exp, np.max or np.maximum, or SciPy's"),
    (r">>> (?:getitem\(.*, (?:readonly )?(?:array\()?|categorical_logit\()(?:float|Dual)\d+",
     "an index that is not a whole number", "take .astype(int) of it before it goes into data="),
    (r">>> (\w*stack|concatenate)\(.*[lL]ist", "np.{0} of a list",
     "give it a tuple, as np.{0}((a, b))"),
    (r"Unknown attribute '(\w+)' of type Module\(<module '((?!numpy|scipy|math')\w+)'",
     "{1}.{0}, of a module", "write from {1} import {0}, and call {0}"),
    (r"name '(\w+)' is not defined", "{0!r} is not defined", "define it, or mend the name"),
    (r"(setattr: \(|lowering )Parameters\(.* = ", "the parameters cannot be written to",
     "use a name of your own in place of p.mu and the like"),
    (r"Cannot capture the non-constant value.* variable '(\w+)'", "a function inside it uses {0!r}",
     "pass that to it as an argument"),
    (r"(?:name|attribute) '(factorial|comb)'", "numba does not know {0}",
     "of scipy.special take gammaln(n + 1), which is log n!, or binom(n, k)"),
    (r"array\.astype for array\(Dual", "astype of an array from theta", "leave it out"),
    (r"Unknown attribute '(\w+)' of type Module\(<module '(scipy\.stats[.\w]*)'",
     "numba does not know {1}.{0}", "write bl.logpdf.normal(y, mu, sigma), and the like"),
    (r"Unknown attribute '(\w+)' of type Module\(<module '(scipy[.\w]*)'",
     "numba does not know {1}.{0}", FORMULA),
    (r"unsupported NumPy function '(numpy\.\w+)", "numba does not know {0}", FORMULA),
    (r"Untyped global name '(\w+)'.*\n?.*<(?:class 'numpy.ufunc'|ufunc)",
     "numba does not know scipy.special.{0}", FORMULA),
    (r"(?:Untyped global name '|variable '(?=\w+' in globals))(\w+)'",
     "{0!r} is nothing that numba can compile", OUTSIDE),
    (r"OverloadSelector.*List\(", "a list from outside is nothing that numba can compile", OUTSIDE),
    (r"Can't unify return type .*array\(", "it returns an array, not a number", SUM),
    (r"Cannot unify array\((?:float|int)\d+[^)]*\) and array\(Dual.* for '(\w+)",
     "an array of floats becomes one of functions of theta: {0!r}",
     "begin with such, as by adding 0.0 * theta[0]; of named parameters, 0.0 * p.tau"),
    (r"value_of\((?:none|OptionalType)", "a path through it returns none, not a number", ONE),
)  # fmt: skip
REMEDIES = (
    (r"setitem", "a function of theta is stored in an array that does not hold such numbers",
     DTYPE),
    (r"(bool|truth)", "a function of theta is used as a condition", "compare it, as in x != 0.0"),
    (r"(floordiv|mod|ifloordiv|imod)", "// and % of a function of theta", "use / and branches"),
    (r"append", "np.append", "write np.concatenate((a, np.array([x])))"),
    (r"array", "np.array of this kind of rows",
     "give it numbers, or rows of one length, or fill np.empty(shape, dtype=theta.dtype)"),
    (r"(int|round|floor|ceil)", "rounding of a function of theta", WHOLE),
    (r"(_impl|dot|matmul)", "a product of these shapes",
     "multiply vectors and matrices, of one or two dimensions"),
    (r"(eig\w*|svd|qr|pinv|lstsq|cond|matrix_\w+)", "np.linalg.{name} of a matrix from theta",
     "use np.linalg.cholesky, solve, inv, det or slogdet"),
    (r"(poisson|negative_binomial|binomial_logit|bernoulli_logit)\(Dual\d+",
     "{name} of a number from theta", WHOLE),
    (r"(logsumexp|multivariate_normal_cholesky|(dirichlet|categorical_logit)\(.*[2-9]d.*)",
     "{name} of more than one vector", "loop over the rows, and call it with each"),
    (r"logistic_log_likelihood\(.*2d.*2d", "{name} of a matrix of outcomes", "pass y.ravel()"),
    (r"\w+\(.*[lL]ist", "{name} of a list", "make an array of it, np.array([...])"),
    (r"<unknown function>", "a conversion of a number from theta", "leave out np.float64 and such"),
)  # fmt: skip


def explain(error, function, auto):
    """Return what to raise when numba has raised; if `auto`, while it compiled the duals."""
    if isinstance(error, BayeslibError) and not isinstance(error, GradientError):
        return error
    name = getattr(function, "__name__", function)
    title = f"no automatic gradient for {name!r}" if auto else f"{name!r} does not compile"
    if isinstance(error, GradientError):
        return GradientError(f"{title}: {error}{ELSE}")
    text, more = re.sub(r"\x1b\[[0-9;]*m", "", str(error)), ""
    if not (found := slip(text, error, function)):
        found, more = describe(text, error) if auto else (said(text, error), SUBSET), ELSE
    construct, remedy = found
    if remedy == SUM:
        arrays = [(own, p.size) for own, p in parameters_of(function).items() if p.shape]
        remedy += "".join(f", and those of {own}, {n} numbers" for own, n in arrays)
    kind, more = (GradientError, more) if auto else (BayeslibTypeError, "")
    return kind(f"{title}: {plain_types(construct)}{place(text)}; {remedy}{more}")


def parameters_of(function):
    return getattr(function, "__globals__", {}).get("_parameters", {})


def slip(text, error, function):
    """What compiles neither with a gradient nor without, and the remedy, or None."""
    if isinstance(error, AssertionError) and "idxty.ndim" in format_tb(error.__traceback__)[-1]:
        return "a mask of several dimensions", "mask the array before it goes into data="
    for pattern, construct, remedy in SLIPS:
        if match := re.search(pattern, text):
            word, names = match[match.lastindex or 0], parameters_of(function)
            near = ", ".join(difflib.get_close_matches(word, names, len(names) + 1, 0.0))
            return construct.format(*match.groups()), remedy.format(*match.groups(), near=near)
    if match := re.search(rf"module '{densities.__name__}' has (no attribute '(\w+)')", text):
        close = difflib.get_close_matches(match[2].lower(), densities.__all__, 1)
        remedy = f"did you mean {close[0]}?" if close else "mend the name"
        return f"bl.logpdf has {match[1]}", remedy
    return None


def describe(text, error):
    """The construct that has no gradient, and what to do about it."""
    match = re.search(r"^ ?No implementation of function (.*) found for signature:\s+>>> (.*)",
                      text, re.MULTILINE)  # fmt: skip
    if not match:
        return said(text, error), "return one float on every path, and keep to loops over numbers"
    call = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", match[2].strip())
    name = call.split("(")[0]
    if name in ("value_of", "write_partials"):
        kind = call.partition("(")[2].rpartition(")")[0]
        return f"it returns {kind}, not a number", SUM if "array" in kind else ONE
    for pattern, construct, remedy in REMEDIES:
        if re.match(rf"{pattern}\W", call):
            return construct.format(name=name), remedy
    return f"{call} has no derivative rule", "write it as a loop over numbers"


def said(text, error):
    """The line that says most in a message of numba's, or the error's name."""
    if call := re.search(r">>> (.*)", text):
        return f"numba has no {call[1].strip()}"
    telling = r"(?:NameError: |(?=Cannot unify |Unknown attribute |Use of ))(.*)"
    first = r"^\s*(?!Failed in|During|This error|For more|File|- R|<)(\S.*)"
    match = re.search(telling, text) or re.search(first, text, re.MULTILINE)
    return match[1].partition(" Raised from")[0].rstrip(". ") if match else type(error).__name__


def plain_types(text):
    """Numba's names of types, in words."""
    text = re.sub(r"array\(Dual\d+, (\d)d, \w+\)", r"<\1-d array from theta>", text)
    return re.sub(r"Dual\d+", "<number from theta>", text)


def place(text):
    """The first line of the user's own that the message points to, with its source."""
    places = r'^(?:During: typing of .* at |File ")(.*?)(?: \(|", line )(\d+)'
    for path, line in re.findall(places, text, re.MULTILINE):
        if path != "<string>" and not LIBRARY.match(os.path.abspath(path)):
            source = linecache.getline(path, int(line)).strip()
            return f", line {line}: `{source}`" if source else f", line {line}"
    return ""
