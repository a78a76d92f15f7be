"""The book on paper: how the pages become one book, set as `typesetting` says.

Nothing runs for it. The cells, their numbers and their figures are those of the web edition, taken
from the notebooks that `make book` has executed; `press` makes the PDF. What only a browser can
show is left out: the pages `LEFT_OUT`, folded code, and the controls of figures (see `outputs`).
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import is_exercise_node, solution_node

from . import outputs, typesetting

LONG = 12  # rows of a table that is kept on one page
EXECUTED = "jupyter_execute"  # where a build keeps the notebooks as they ran
FRONT, END = "chapters/intro", "chapters/bibliography"
# Pages that are tools, or lists of links.
LEFT_OUT = re.compile(r"chapters/(cards|exercises|formulas|coverage|api(_\w+)?|bug_zoo(_\w+)?)$")
# What a reader of the web edition is told to do with the screen; the front matter says it once.
ON_SCREEN = re.compile(
    r"((?:Move (?:the sliders?|it|them|both)|Press play|Slide (?:back|on|the)|Tick the"
    r"|Choose an? (?:target|unknown|schedule))\b[^.;:]*\.\s*)"
)
ANSWERING = "On the book\N{RIGHT SINGLE QUOTATION MARK}s page, "
# How LaTeX calls what the web edition numbers as figures, tables and equations.
COUNTERS = {
    nodes.figure: ("figure", "figure"),
    nodes.table: ("table", "table"),
    nodes.math_block: ("displaymath", "equation"),
}


def is_paper(app):
    return app.builder.format == "latex"


def run_nothing(app):
    """Take the outputs as they are."""
    if is_paper(app):
        app.config.nb_execution_mode = "off"
        app.config.suppress_warnings += ["myst.xref_ambiguous"]  # a page is meant, and is taken


def take_executed(app, docname, source):
    """Read the executed notebook in place of a page, where there is one."""
    if not is_paper(app):
        return
    path = executed(app.srcdir, docname)
    if path.exists():
        source[0] = json.dumps(whole(path))


def whole(path):
    """Return an executed notebook; what its prose quotes, which MyST-NB keeps apart, in a cell."""
    notebook = json.loads(path.read_text("utf-8"))
    quoted = path.with_suffix(".glue.json")
    if quoted.exists():
        outputs = list(json.loads(quoted.read_text("utf-8")).values())
        for output in outputs:
            prefix = output["metadata"]["scrapbook"]["mime_prefix"]
            output["data"] = {prefix + kind: said for kind, said in output["data"].items()}
        cell = {"cell_type": "code", "source": "", "outputs": outputs, "execution_count": None}
        notebook["cells"].append(cell | {"metadata": {"tags": ["remove-cell"]}, "id": "quoted"})
    return notebook


def executed(root, docname):
    """Return where a build in its usual place keeps a page as it ran."""
    return Path(root) / "_build" / EXECUTED / f"{docname}.ipynb"


def keep_captions(app, doctree):
    """Keep the names of the parts where the assembling of the pages does not lose them."""
    for toctree in doctree.findall(addnodes.toctree) if is_paper(app) else ():
        toctree.parent["caption"] = toctree.get("caption") or ""


class Bind(SphinxPostTransform):
    """Make one book of the pages: the front page a chapter, the captions its parts."""

    formats = ("latex",)
    default_priority = 1

    def run(self):
        front = next(self.document.findall(nodes.section))
        front[0].children = [nodes.Text("Introduction")]
        bound = [front]
        self.document.remove(front)
        for wrapper in list(front.findall(is_part)):
            wrapper.parent.remove(wrapper)
            pages = [page for page in flat(wrapper) if not LEFT_OUT.match(page["docname"])]
            if pages:
                part = outputs.tex(rf"\part{{{outputs.escape(wrapper['caption'])}}}")
                bound += [part, *pages]
        title = nodes.title("", self.config.project)
        self.document += nodes.section("", title, *bound, docname=FRONT)


def is_part(node):
    return isinstance(node, nodes.compound) and bool(node.get("caption"))


def flat(wrapper):
    """Return the pages of a part; pages below a page are left out with it."""
    return [node for node in wrapper.children if isinstance(node, addnodes.start_of_file)]


class Fold(SphinxPostTransform):
    """Leave out the code that the web edition folds."""

    formats = ("latex",)
    default_priority = 3

    def run(self):
        for cell in list(self.document.findall(nodes.container)):
            if "cell_input" in cell["classes"] and "tag_hide-input" in cell.parent["classes"]:
                cell.parent.remove(cell)


class Hush(SphinxPostTransform):
    """Leave out what is said to those who sit before a screen; where a browser prints, it does."""

    formats = ("html", "latex")
    default_priority = 3

    def run(self):
        paper = is_paper(self.app)
        for node in list(self.document.findall(nodes.paragraph)) if paper else ():
            if node.astext().startswith(ANSWERING):
                node.parent.remove(node)
        for text in list(self.document.findall(nodes.Text)):
            said = ON_SCREEN.split(text)  # every second part
            for i in range(1, len(said), 2):
                said[i] = "" if paper else nodes.inline("", said[i], classes=["on-screen"])
            if len(said) > 1:
                replace(text, [nodes.Text(s) if isinstance(s, str) else s for s in said])


class Number(SphinxPostTransform):
    """Give chapters, figures, tables and equations the numbers of the web edition."""

    formats = ("latex",)
    default_priority = 4

    def run(self):
        for node in list(self.document.findall(lambda node: type(node) in COUNTERS)):
            kind, counter = COUNTERS[type(node)]
            numbers = self.env.toc_fignumbers.get(page_of(node), {}).get(kind, {})
            for number in [numbers[id_] for id_ in node["ids"] if id_ in numbers]:
                shown = ".".join(map(str, number))
                replace(node, [outputs.tex(rf"\def\the{counter}{{{shown}}}"), node])
        pages = [next(self.document.findall(nodes.section))[1]]  # the front page, then the others
        for page in [*pages, *self.document.findall(addnodes.start_of_file)]:
            numbers = self.env.toc_secnumbers.get(page.get("docname", FRONT), {})
            number = next(iter(numbers.get("") or ()), 1)
            depth = max((len(one) for one in numbers.values() if one), default=0) - 1
            told = rf"\setcounter{{chapter}}{{{number - 1}}}\setcounter{{secnumdepth}}{{{depth}}}"
            replace(page, [outputs.tex(told), page])


def page_of(node):
    """Return the name of the page that a node is on, which its outer sections know."""
    while node is not None and not node.get("docname"):
        node = node.parent
    return FRONT if node is None else node["docname"]


class Unfold(SphinxPostTransform):
    """Set proofs, questions and boxes with tables without a box; drop blank exercises."""

    formats = ("latex",)
    default_priority = 5

    def run(self):
        for node in list(self.document.findall(nodes.Admonition)):
            if type(node).__name__ == "proof_node":
                replace(node, proof(node))
            elif "ask" in node["classes"]:  # LaTeX cannot break a page in boxes within boxes
                title = nodes.paragraph("", "", nodes.strong("", "", *node[0].children))
                replace(node, [title, nodes.block_quote("", *node.children[1:])])
            elif "dropdown" in node["classes"] and any(node.findall(nodes.table)):
                replace(node, [nodes.rubric("", "", *node[0].children), *node.children[1:]])
        for cell in list(self.document.findall(is_blank)):
            cell.parent.remove(cell)
        for head in list(self.document.findall(nodes.thead)):
            if not head.astext().strip():
                head.parent.remove(head)
        for table in list(self.document.findall(nodes.table)):
            if len(list(table.findall(nodes.row))) > LONG:
                share_width(table)


def replace(node, others):
    at = node.parent.index(node)
    node.parent[at : at + 1] = others


def proof(node):
    """Return a proof as paragraphs that begin and end as proofs do."""
    inside = node.children
    while len(inside) == 1 and isinstance(inside[0], (nodes.section, nodes.admonition)):
        inside = inside[0].children
    first, last = inside[0], inside[-1]
    if isinstance(first, nodes.paragraph):
        if isinstance(first[0], nodes.Text):
            first[0] = nodes.Text(re.sub(r"^Proof\.\s*", "", first[0].astext()))
        first.insert(0, [nodes.emphasis("", "Proof."), nodes.Text(" ")])
    if isinstance(last, nodes.paragraph):
        last += outputs.tex(r"\hfill\(\square\)")
    return inside


def is_blank(node):
    """Tell whether a node is the cell of an exercise that waits for an answer."""
    if not isinstance(node, nodes.container) or node.get("nb_element") != "cell_code":
        return False
    code = next(node.findall(nodes.literal_block), nodes.Text(""))
    waits = "..." in code.astext()
    return waits and any(outputs.is_verdict(raw.astext()) for raw in node.findall(nodes.raw))


def share_width(table):
    """Give the columns of a long table widths that suit their texts."""
    rows = [[entry.astext() for entry in row] for row in table.findall(nodes.row)]
    table["classes"] = [c for c in table["classes"] if c != "colwidths-auto"] + ["colwidths-given"]
    table["classes"].append("longtable")
    for column, texts in zip(table.findall(nodes.colspec), zip(*rows, strict=True), strict=True):
        word = max((len(word) for text in texts for word in text.split()), default=1)
        column["colwidth"] = max(min(word, 16), round(sum(map(len, texts)) / len(texts)), 4)


class Outputs(SphinxPostTransform):
    """Set the outputs that are written for a browser."""

    formats = ("latex",)
    default_priority = 6

    def run(self):
        folder = Path(self.app.outdir)
        for raw in list(self.document.findall(nodes.raw)):
            if raw["format"] == "html" and "text_html" in raw["classes"]:
                floats = in_figure(raw)
                replace(raw, outputs.on_paper(raw.astext(), folder, floats=floats))


class Solve(SphinxPostTransform):
    """Set the solutions at the end of the book, each with a link to its exercise and back."""

    formats = ("latex",)
    default_priority = 25  # the titles of exercises have their numbers

    def run(self):
        exercises = {node["label"]: node for node in self.document.findall(is_exercise_node)}
        chapter = nodes.section("", nodes.title("", "Solutions"), ids=["solutions"])
        for page in list(self.document.findall(addnodes.start_of_file)):
            solved = addnodes.start_of_file("", docname=page["docname"])
            for solution in list(page.findall(solution_node)):
                solution.parent.remove(solution)
                name = solution["target_label"]
                words = [child.deepcopy() for child in exercises[name][0].children]
                head = [outputs.tex(rf"\solves{{{name}}}{{"), *words, outputs.tex("}")]
                solved += [nodes.paragraph("", "", *head), *solution[-1].children]
                exercises[name] += outputs.tex(rf"\solvedat{{{name}}}")
            if solved.children:
                title = nodes.title("", self.env.titles[page["docname"]].astext())
                name = f"solutions-{page['docname'].rpartition('/')[2]}"
                chapter += nodes.section("", title, solved, ids=[name])
        if len(chapter) > 1:
            self.document[-1] += [outputs.tex(r"\setcounter{secnumdepth}{-1}"), chapter]


def in_figure(node):
    while node is not None and not isinstance(node, nodes.figure):
        node = node.parent
    return node is not None


def printed(words):
    """Return words with the hyphens and apostrophes of print."""
    return words.replace("-", "\N{HYPHEN}").replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


def mend_links(app, doctree, docname):
    """Enter the uses of terms in the index; leave the words of links that lead out of the book."""
    if not is_paper(app):
        return
    terms = {}
    for node in doctree.findall(addnodes.index):
        # TeX writes a hyphen in two ways, and an index sorts them apart
        node["entries"] = [(kind, printed(words), *rest) for kind, words, *rest in node["entries"]]
        terms |= {id_: (kind, words) for kind, words, id_, *_ in node["entries"]}
    for link in list(doctree.findall(nodes.reference)):
        page, _, anchor = link.get("refuri", "").removeprefix("%").partition("#")
        lost = anchor.startswith("cell-") or (page == END and not anchor)
        if LEFT_OUT.match(page) or lost:
            replace(link, link.children)
        elif "gloss" in link["classes"] and "gloss-text" not in link.parent["classes"]:
            used = addnodes.index(
                entries=[(*terms[anchor], "", "", None)] if anchor in terms else []
            )
            replace(link, [used, link])
    for node in list(doctree.findall(nodes.paragraph)):
        if "gloss-letters" in node["classes"]:
            node.parent.remove(node)
        elif "gloss-where" in node["classes"]:
            cut = [i for i, child in enumerate(node) if child.astext() == " Used in "]
            del node[cut[0] if cut else len(node) :]
    for page in list(doctree.findall(addnodes.start_of_file)):
        if page["docname"] == END:  # Sphinx has put the list itself at the end
            page.parent.remove(page)


def setup(app):
    app.connect("config-inited", typesetting.prepare)
    app.connect("builder-inited", run_nothing, priority=100)
    app.connect("source-read", take_executed)
    app.connect("doctree-read", keep_captions)
    app.connect("doctree-resolved", mend_links, priority=900)
    for transform in (Bind, Fold, Hush, Number, Unfold, Outputs, Solve):
        app.add_post_transform(transform)
