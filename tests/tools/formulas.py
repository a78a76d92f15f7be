r"""Reading TeX as a list of symbols: what stands in a formula, without its grammar.

A symbol is a letter with its accent and font, such as ``\hat R`` or ``\mathcal D``. Primes,
stars, arrows and brackets are not part of it: $\theta'$ is another $\theta$. A subscript may be
part of a symbol ($q_\phi$) or an index ($\theta_i$); `symbols` gives both readings and lets
the reader of its answer choose.
"""

import re
from typing import NamedTuple

TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[A-Za-z]|\d+(?:\.\d+)?|\S")
GREEK = set(
    r"\alpha \beta \gamma \delta \epsilon \varepsilon \zeta \eta \theta \kappa \lambda \mu \nu \xi"
    r" \pi \rho \sigma \tau \phi \varphi \chi \psi \omega \Gamma \Delta \Theta \Lambda \Xi \Pi"
    r" \Sigma \Phi \Psi \Omega \ell".split()
)
ACCENTS = {rf"\{name}" for name in ("hat", "widehat", "tilde", "widetilde", "bar", "dot", "vec")}
SAME = {r"\widehat": r"\hat", r"\widetilde": r"\tilde"}
FONTS = {rf"\{name}" for name in ("mathcal", "mathbb", "mathbf", "boldsymbol")}
# Their argument is words, not mathematics.
WORDS = {
    rf"\{name}"
    for name in ("text", "mathrm", "operatorname", "operatorname*", "begin", "end", "textstyle")
}
BINDERS = {rf"\{name}" for name in ("sum", "prod", "max", "min", "sup", "inf", "argmax", "argmin")}
DIFFERENTIAL = {r"\dd", r"\partial"}
INDICES = set("ijklmnrst")


class Symbol(NamedTuple):
    """One occurrence: its letter, the letter with its subscript, and where it stands."""

    name: str
    full: str
    place: str  # "line", "sub" or "super"


def _group(tokens, start):
    """Return (the tokens of one argument, the position after it)."""
    if start >= len(tokens):
        return [], start
    if tokens[start] != "{":
        if tokens[start] in ACCENTS | FONTS | WORDS:  # \tilde\pi as an argument
            inner, end = _group(tokens, start + 1)
            return [tokens[start], "{", *inner, "}"], end
        return [tokens[start]], start + 1
    depth, end = 1, start + 1
    while end < len(tokens) and depth:
        depth += {"{": 1, "}": -1}.get(tokens[end], 0)
        end += 1
    return tokens[start + 1 : end - 1], end


def _atom(tokens, start):
    """Return (the symbol that begins here, the position after it), or (None, start)."""
    token = tokens[start]
    if token in GREEK or re.fullmatch("[A-Za-z]", token):
        return token, start + 1
    if token in ACCENTS | FONTS:
        inner, end = _group(tokens, start + 1)
        core, after = _atom(inner, 0) if inner else (None, 0)
        if core and after == len(inner):
            return f"{SAME.get(token, token)} {core}", end
    return None, start


def _plain(tokens):
    return "".join(token for token in tokens if token not in "{}")


def _scripts(tokens, start):
    """Return (subscript, superscript, the position after both)."""
    scripts = {"_": [], "^": []}
    while start < len(tokens) and tokens[start] in ("_", "^", "'"):
        if tokens[start] == "'":
            start += 1
            continue
        mark = tokens[start]
        scripts[mark], start = _group(tokens, start + 1)
    return scripts["_"], scripts["^"], start


def _walk(tokens, place, found):
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token in WORDS:
            i = _group(tokens, i + 1)[1]
            sub, sup, i = _scripts(tokens, i)
            _walk(sub, "sub", found)
            _walk(sup, "super", found)
            continue
        name, after = _atom(tokens, i)
        if name is None:
            i += 1
            continue
        sub, sup, i = _scripts(tokens, after)
        found.append(Symbol(name, f"{name}_{_plain(sub)}" if sub else name, place))
        _walk(sub, "sub", found)
        _walk(sup, "super", found)


def tokens(formula):
    """Return the tokens of a formula."""
    return TOKEN.findall(formula)


def symbols(formula):
    """Return every occurrence of a symbol in a formula, subscripts and exponents included."""
    found = []
    _walk(tokens(formula), "line", found)
    return found


def leading(formula):
    """Return the symbol that a formula begins with, None if it begins with anything else."""
    parts = tokens(formula)
    return symbols(formula)[0] if parts and _atom(parts, 0)[0] else None


def bound(formula):
    """Return the letters that a formula binds itself: of its sums, its integrals, its extrema."""
    parts, letters = tokens(formula), set()
    for i, token in enumerate(parts):
        if token in BINDERS and i + 1 < len(parts) and parts[i + 1] == "_":
            inner, _ = _group(parts, i + 2)
            letters |= {symbol.name for symbol in symbols(" ".join(inner).split("=")[0])}
        elif token in DIFFERENTIAL or (token == r"\mathrm" and parts[i + 1 : i + 2] == ["d"]):
            name, _ = _atom(parts, i + 1 + (token == r"\mathrm")) if i + 1 < len(parts) else ("", 0)
            if name:
                letters.add(name)
    return letters
