"""The reference: entries made of docstrings, joined both ways to the pages that teach them.

The pages ``chapters/api_*.md`` name the entries, autodoc and napoleon draw them. What this adds:

* in a docstring, a name in backquotes becomes a link where the reference has it;
* in its notes, the first word of a paragraph is bold, and the order of draws small, as references;
* below the first paragraph of an entry stands where the book teaches it, and then its example;
* below the summary of a chapter stands what of the library it has taught;
* classes that are only returned are shown without their modules and arguments;
* the directive ``api-index`` draws the table of a page's entries.
"""

import importlib
import inspect
import json
import re
from functools import cache
from pathlib import Path
from textwrap import indent

import yaml
from bookext import directives
from bookext.directives import joined
from docutils import nodes
from sphinx import addnodes

TABLE = "reference.yml"
ENTRY = re.compile(
    r"^\.\. auto(?:function|class|exception):: ((?:bayeslib|needles)\.[\w.]+)$", re.MULTILINE
)
LABEL = re.compile(r"^\((sec-[\w-]+)\)=\n##+ ", re.MULTILINE)
PLAIN = "plain-"
DOORS = ("bayeslib", "bayeslib.posteriors", "needles", "needles.plots")  # where readers import

# The word that a paragraph of Notes begins with.
LEAD = re.compile(r"(?:Draw order|[A-Z][a-z-]+)(?=: |, (?:for|of) )")
HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
TYPED = {"Parameters", "Attributes", "Returns", "Warns"}
# Literals and roles are kept, names in backquotes and of errors looked up, words in quotes and
# f(x) -> (n,) set as code, and bars and stars, as in |x| and *data, made harmless.
MARKED = re.compile(
    r"""``.+?``|:[\w:]+:`[^`]+`
    |`(?P<name>[^`]+)`(?P<glued>(?=\w))?
    |(?P<word>(?<![\w.])(?:\w+=)?"[a-z_][\w/\[\]]*"(?!\w))
    |(?P<call>(?<![\w.])[a-z]\w*\((?:[^()`]|\([^()`]*\))*\)\s->\s(?:\([^()]*\)|float\b|theta\b|data\b))
    |(?P<trouble>(?<![\w.])[A-Z]\w*(?:Error|Warning)(?!\w))
    |(?P<mark>\||(?<![\w*])\*(?=\w))""",
    re.DOTALL | re.VERBOSE,
)


def find_entries(chapters):
    """Return the entries of the reference, full name -> page, in the order of the pages."""
    found = {}
    for path in sorted(Path(chapters).glob("api_*.md")):
        for name in ENTRY.findall(path.read_text("utf-8")):
            if name in found:
                raise ValueError(f"{name} is on two pages, {found[name]} and {path.stem}")
            found[name] = path.stem
    return found


def resolve(name):
    """Return the object of an entry."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def title(name):
    """Return how pages and docstrings write an entry: ``nuts``, ``posteriors.coin``, ``Grid``."""
    parts = name.split(".")[1:]
    whole = parts[0] in ("plots", "posteriors") and parts[-1].islower()
    return ".".join(parts if whole else parts[-1:])


def returned(thing):
    """Return the classes that the docstring of a function, or of a class's methods, returns."""
    things = [thing]
    if inspect.isclass(thing):
        methods = inspect.getmembers(thing, inspect.isfunction)  # inherited ones too
        things = [f for name, f in methods if name[0] != "_"]
    docs = "\n".join(inspect.getdoc(f) or "" for f in things)
    return re.findall(r"^Returns\n-+\n(\w+)$", docs, re.MULTILINE)


def only_returned(name):
    """Tell whether an entry is a class that functions return and readers do not make."""
    thing, deep = resolve(name), name.rpartition(".")[0] not in DOORS
    made = "\nParameters\n---" in (inspect.getdoc(thing) or "")
    return deep and inspect.isclass(thing) and not issubclass(thing, BaseException) and not made


def notebook(path):
    """Yield (label of the section, tags, code) of each cell of a notebook, after its opening."""
    label = None
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        parts = [label, *LABEL.split("".join(cell["source"]))]
        for label, source in zip(parts[::2], parts[1::2], strict=True):
            if cell["cell_type"] == "markdown":
                source = " ".join(re.findall(r"(?<!`)`([^`]+)`(?!`)", source))
            if label:
                yield label, cell["metadata"].get("tags", []), source


def places(chapters):
    """Return where names stand: plain {page: {name: section}}, used {page: {name: [sections]}}.

    Pages are in the order of the table of contents. A plain name stands where it is defined, or
    else where the first cell of its tag is; what is used, in every section that uses it.
    """
    plain, used = {}, {}
    contents = (Path(chapters).parent / "_toc.yml").read_text("utf-8")
    order = {page: i for i, page in enumerate(re.findall(r": chapters/(\w+)", contents))}
    paths = sorted(Path(chapters).glob("*.ipynb"))
    for path in sorted(paths, key=lambda path: order.get(path.stem, len(order))):
        plain[path.stem], used[path.stem], defined = {}, {}, {}
        for label, tags, source in notebook(path):
            for tag in tags:
                if tag.startswith(PLAIN):
                    name = tag.removeprefix(PLAIN)
                    plain[path.stem].setdefault(name, label)
                    if re.search(rf"^def {re.escape(name)}\(", source, re.MULTILINE):
                        defined.setdefault(name, label)
            for word in re.findall(r"\b[A-Za-z]\w+\b", source):
                used[path.stem].setdefault(word, []).append(label)
        plain[path.stem] |= defined
    return plain, used


def find_teaching(chapters):
    """Return where the book teaches each entry, full name -> {page: label of the section}.

    A page teaches the functions of its cells tagged ``plain-<name>``, and what reference.yml says;
    a class that functions return is taught where they are, unless the table names it.

    Raises
    ------
    ValueError
        When the table names what is no entry, or a page that does not mention it, or leaves out an
        entry.
    """
    entries = find_entries(chapters)
    if not entries:  # a book without pages of reference
        return {}
    table = yaml.safe_load((Path(chapters) / TABLE).read_text("utf-8"))
    full = {title(name): name for name in entries}
    plain, used = places(chapters)
    found, said = {name: {} for name in entries}, set()
    for page, cells in plain.items():
        for name, label in cells.items():
            if name in full:
                found[full[name]][page] = label
    for page, names in table["teaches"].items():
        for entry in names:
            name, _, section = entry.partition(" at ")
            last, mentions = name.rpartition(".")[2], used.get(page, {})
            sections = mentions.get(last, []) + mentions.get(last.lower(), [])  # or as a variable
            if name not in full or section not in ("", *sections) or not sections:
                raise ValueError(f"{TABLE}: {page} does not teach {entry!r}, or it is no entry")
            found[full[name]].setdefault(page, section or sections[0])
            said.add(full[name])
    for name in entries:
        for result in {full.get(word) for word in returned(resolve(name))} - said - {None, name}:
            found[result] = found[name] | found[result]
    nowhere = {full.get(name, name) for name in table["nowhere"]}
    if wrong := nowhere ^ {name for name, where in found.items() if not where}:
        raise ValueError(
            f"{TABLE}: taught nowhere, and not said so, or the reverse: {sorted(wrong)}"
        )
    order = list(used)
    return {
        name: {page: where[page] for page in sorted(where, key=order.index)}
        for name, where in found.items()
    }


@cache
def library(chapters):
    """Return (entries, teaching) of a folder of chapters."""
    return find_entries(chapters), find_teaching(chapters)


def of(app):
    """Return the entries and the teaching of the book."""
    return library(str(Path(app.srcdir) / "chapters"))


# ---- docstrings ----


def linked(name, known):
    """Return the role that links to the entry `name` or to a method of it, or None."""
    first, _, member = name.partition(".")
    if name in known:
        return f":py:obj:`{name} <{known[name]}>`"
    if first in known and member:
        return f":py:obj:`{name} <{known[first]}.{member}>`"
    return None


def quote_types(line, classes):
    """Put the classes and choices that a line ``name : type``, or ``type``, names in backquotes."""
    if not line or line[0].isspace():
        return line
    name, colon, kind = line.rpartition(" : ")
    kind = re.sub(r"\{[^}]*\}", r"``\g<0>``", kind)
    return name + colon + re.sub(rf"(?<![`\w.])({classes})\b", r"`\1`", kind)


def mark_up(text, known, own=()):
    """Return a docstring in reStructuredText, its names linked; `own` are names of parameters.

    Parameters
    ----------
    text : str
        The docstring without its examples.
    known : dict
        Name as docstrings write it: full name of the entry.
    """

    def replace(match):
        if match["mark"]:
            return f"\\{match['mark']}"
        if match["word"] or match["call"]:
            return f"``{match['word'] or match['call']}``"
        if match["trouble"]:
            line = match.string[match.string.rfind("\n", 0, match.start()) + 1 :]
            heads = section == "Raises" and not line[0].isspace()  # napoleon links these
            return not heads and linked(match[0], known) or match[0]
        if match["name"] is None:
            return match[0]
        name = match["name"]
        role = None if name in own else linked(name, known)
        return (role or f"``{name}``") + ("\\ " if match["glued"] is not None else "")

    classes = "|".join(sorted(name for name in known if name[0].isupper()))
    parts, section = HEADER.split(text), None
    out = []
    for i, part in enumerate(parts):
        if i % 2:
            section = part
            out.append(f"{part}\n{'-' * len(part)}")
            continue
        if section in TYPED and classes:
            part = "\n".join(quote_types(line, classes) for line in part.split("\n"))
        part = MARKED.sub(replace, part)
        if section == "Notes":
            part = "\n\n".join(map(lead, part.strip("\n").split("\n\n")))
            part = f"\n{part}\n\n"
        elif section == "References":
            part = "\n" + small(part.strip("\n")) + "\n\n"
        out.append(part)
    return "".join(out)


def lead(paragraph):
    """Return a paragraph, its first word bold if it is a heading; the order of draws in a box."""
    if match := LEAD.match(paragraph):
        paragraph = f"**{match[0]}**{paragraph[match.end() :]}"
        return small(paragraph) if match[0] == "Draw order" else paragraph
    return paragraph


def small(text):
    """Return the lines that set a text in small type."""
    return ".. container:: fine-print\n\n" + indent(text, "   ")


def taught_line(where):
    """Return the lines that say where an entry is taught, none if it is nowhere."""
    if not where:
        return []
    links = [f":doc:`{page}` (:ref:`{label}`)" for page, label in where.items()]
    return ["", ".. container:: taught", "", f"   Taught in {'; '.join(links)}.", ""]


def process_docstring(app, what, name, thing, options, lines):
    """Mark up a docstring, and say below its first paragraph where the book teaches it."""
    entries, teaching = of(app)
    known = {title(entry): entry for entry in entries}
    try:
        own = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        own = set()
    text, header, examples = "\n".join(lines).partition("\nExamples\n--------\n")
    text = mark_up(text, known, own)
    first = HEADER.search(text)
    at = first.start() if first else len(text)
    lines[:] = (text[:at] + header + examples + "\n\n" + text[at:]).splitlines()
    if name in entries:
        end = lines.index("") if "" in lines else len(lines)
        lines[end:end] = taught_line(teaching[name])


def process_signature(app, what, name, thing, options, signature, returned):
    """Leave out how to make what is only returned, and show the empty dict of a dataclass."""
    if what == "class" and (only_returned(name) or "Made by `" in (inspect.getdoc(thing) or "")):
        return "", returned
    return signature and signature.replace("<factory>", "{}"), returned


# ---- pages ----


def link(name, docname):
    """Return the node that links to an entry."""
    code = nodes.literal("", title(name), classes=["xref", "py", "py-obj"])
    return directives.link("obj", name, code, docname, domain="py")


def hide_modules(app, doctree):
    """Leave out the module of what is only returned: nobody imports it from there."""
    for shown in doctree.findall(addnodes.desc_signature):
        kind, name = shown.parent["objtype"], f"{shown.get('module')}.{shown.get('fullname')}"
        if kind == "class" and only_returned(name):
            for module in [*shown.findall(addnodes.desc_addname)]:
                shown.remove(module)


def add_library(app, doctree):
    """Say at the end of a chapter's summary which entries of the reference it teaches."""
    docname = app.env.docname
    _, teaching = of(app)
    names = [name for name, where in teaching.items() if Path(docname).name in where]
    sections = list(doctree.findall(nodes.section))
    if not names or not sections:
        return
    links = [link(name, docname) for name in sorted(names, key=lambda name: title(name).lower())]
    said = [nodes.inline("", "In the library: "), *joined(links), nodes.Text(".")]
    line = nodes.paragraph("", "", *said, classes=["library"])
    summary = [section for section in sections if section[0].astext() == "Summary"]
    (summary or sections)[-1] += line


class ApiIndex(directives.Directive):
    """The table of the entries of one page: name, first line, where it is taught."""

    required_arguments = 1

    def run(self):
        entries, teaching = of(self.env.app)
        names = [name for name, page in entries.items() if page == self.arguments[0]]
        rows = [self.row(name, teaching[name]) for name in names]
        head = ("Name", "What it is", "Taught in")
        return [directives.table(head, rows, "api-index", (24, 46, 30))]

    def row(self, name, where):
        docname = self.env.docname
        doc = (inspect.getdoc(resolve(name)) or "").split("\n\n")[0].replace("\n", " ")
        parts = enumerate(doc.split("`"))
        said = [nodes.literal("", part) if i % 2 else nodes.Text(part) for i, part in parts]
        taught = (
            directives.link("doc", page, nodes.inline("", page), docname, explicit=False)
            for page in where
        )
        return [link(name, docname), said, joined(taught)]


def setup(app):
    """Register the parts; docstrings are marked up before napoleon reads them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.config.autodoc_member_order = "bysource"
    app.config.autodoc_typehints = "none"
    app.config.napoleon_google_docstring = False
    app.config.napoleon_use_param = False
    app.config.napoleon_use_rtype = False
    app.config.napoleon_custom_sections = [
        ("Attributes", "params_style"),
        ("Warns", "returns_style"),  # a type, not a name
    ]
    app.config.python_maximum_signature_line_length = 66
    app.config.toc_object_entries_show_parents = "hide"
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    app.connect("autodoc-process-signature", process_signature)
    app.connect("doctree-read", hide_modules)
    app.connect("doctree-read", add_library)
    app.add_directive("api-index", ApiIndex)
