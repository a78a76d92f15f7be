"""The search finds sections, terms and entries of the reference, each by its own words.

What a reader does not see is left out: folded code, outputs, and the source of formulas. So are the
examples of the reference, and the pages that say ``nosearch`` of themselves. In the index a section
is a document with the address of its page, its own title and the page's title in place of a file's
name; `anchors` completes the address, and `often` says which few sections have a word most often.
`score.js` ranks what is found.
"""

import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from docutils import nodes
from sphinx import addnodes
from sphinx.search import IndexBuilder, js_index

SCORE = Path(__file__).with_name("score.js")
UNSEEN_KINDS = (nodes.math, nodes.math_block, nodes.raw, nodes.comment, nodes.doctest_block)
OFTEN, MOST = 3, 4  # a word that is there so many times; in at most so many sections
MARK = "\0"  # between a page and a section's id, where Sphinx expects a page

# Sphinx's script: the address of a section; what is about a word before what has it once; words are
# weighed together; the page of a section; the book's spelling; an excerpt is of the place with this
# id, which may have dots, and of a term or an entry with what is said of it
CHANGES = (
    (
        '        titles[file],\n        "",\n',
        "        titles[file],\n        Search._index.anchors[file],\n",
    ),
    (
        "{ files: titleTerms[word], score: Scorer.title },",
        "{ files: Search._index.often[word], score: Scorer.often },\n"
        "        { files: titleTerms[word], score: Scorer.title },",
    ),
    (
        "Math.max(...wordList.map((w) => scoreMap.get(file)[w]))",
        "wordList.reduce((sum, w) => sum + scoreMap.get(file)[w], 0) / wordList.length",
    ),
    (
        "linkEl.innerHTML = title;",
        "linkEl.innerHTML = descr || title === _filename ? title : `${_filename}: ${title}`;",
    ),
    ("Search._parseQuery(query);", "Search._parseQuery(spelled(query));"),
    (
        'htmlElement.querySelector(`[role="main"] ${anchor}`);',
        "htmlElement.getElementById(anchor.slice(1));",
    ),
    (
        "return anchorContent.textContent;",
        "return [anchorContent, anchorContent.matches('dt') && anchorContent.nextElementSibling]\n"
        "        .map((part) => part?.textContent ?? '').join(' ');",
    ),
)


def is_unseen(node):
    """Tell whether a node is nothing to search for."""
    classes = set(node.get("classes", ())) if isinstance(node, nodes.Element) else set()
    return (
        isinstance(node, UNSEEN_KINDS)
        or "cell_output" in classes
        or ("cell_input" in classes and "tag_hide-input" in node.parent["classes"])
    )


def seen(tree):
    """Return a page, which is changed, without what is nothing to search for."""
    for node in [node for node in tree.findall() if is_unseen(node)]:
        if node.parent is not None:
            node.parent.remove(node)
    for title in tree.findall(nodes.title):
        words = " ".join(title.astext().split())
        title[:] = [nodes.Text(re.sub(r"^\((.*)\)$", r"\1", words))]
    return tree


def sections(tree):
    """Yield (id, title, content) of a page's parts.

    These are terms, entries of the reference, what stands first, as '', and sections.
    """
    top = next(tree.findall(nodes.section))
    for item in list(tree.findall(nodes.definition_list_item)):
        term = item[0]
        if any(isinstance(part, addnodes.index) for part in term):
            item.parent.remove(item)
            words = term.astext().strip()
            content = nodes.section("", nodes.title(words, words), item, ids=term["ids"])
            yield term["ids"][0], words, content
    while (entry := tree.next_node(addnodes.desc)) is not None:  # with the methods of a class
        entry.parent.remove(entry)
        name, (anchor, *_) = entry[0]["fullname"], entry[0]["ids"]
        yield anchor, name, nodes.section("", nodes.title(name, name), entry, ids=[anchor])
    parts = [node for node in top if isinstance(node, nodes.section)]
    for part in parts:
        top.remove(part)
    yield "", top.next_node(nodes.title).astext(), top
    for part in parts:
        yield part["ids"][0], part.next_node(nodes.title).astext(), part


def index(env, language):
    """Return the index of the sections, as the search's script takes it."""
    store = {
        f"_search_index_{kind}": {}
        for kind in "titles filenames mapping title_mapping all_titles index_entries".split()
    }
    store |= {"_search_index_objtypes": {}, "_search_index_objnames": {}}
    book = SimpleNamespace(version=env.version, domains=env.domains, **store)
    builder = IndexBuilder(book, language, {}, "")
    builder.lang.stem = cache(builder.lang.stem)  # sections share most words
    often, forms = defaultdict(list), []
    for name in sorted(env.all_docs):
        if "nosearch" in env.metadata.get(name, {}):
            continue
        page = env.titles[name].astext()
        for anchor, title, content in sections(seen(env.get_doctree(name))):
            key = f"{name}{MARK}{anchor}" if anchor else name
            builder.feed(key, page, title if anchor else page, content)
            words = builder.lang.split(content.astext())
            for word, times in Counter(builder.lang.stem(word).lower() for word in words).items():
                if times >= OFTEN and builder.lang.word_filter(word):
                    often[word].append((times, key))
            forms += [
                (form, key, anchor)
                for term in content.findall(nodes.term)
                for form in term.get("forms", ())
            ]
            forms += [
                (called["fullname"].replace("_", " "), key, called["ids"][0])
                for called in content.findall(addnodes.desc_signature)
                if re.fullmatch(r"\w+_\w+", called["fullname"])
            ]
    frozen = builder.freeze()
    keys = [key.partition(MARK) for key in sorted(builder._titles)]
    number = {key: i for i, key in enumerate(sorted(builder._titles))}
    for prefix, things in frozen["objects"].items():  # an entry is a place of its own
        for thing in [*things]:
            if f"{keys[thing[0]][0]}{MARK}{prefix}.{thing[4]}" in number:
                things.remove(thing)
    frozen["docnames"] = [name for name, _, _ in keys]
    frozen["anchors"] = [f"#{anchor}" if anchor else "" for _, _, anchor in keys]
    frozen["often"] = {
        word: [number[key] for _, key in sorted(places, reverse=True)[:MOST]]
        for word, places in often.items()
    }
    for places in frozen["alltitles"].values():  # a document's own title has no id
        places[:] = [(file, id or keys[file][2] or None) for file, id in places]
    entries = frozen["indexentries"]
    for form, key, anchor in forms:
        entries.setdefault(form.lower(), []).append((number[key], anchor, True))
    for entry in list(entries):  # a hyphen is written, or not
        plain = entry.replace("–", "-")
        for form in {plain, plain.replace("-", " "), plain.replace("-", "")} - entries.keys():
            entries[form] = entries[entry]
    return frozen


def index_sections(app):
    """Let the builder write this index, and not index the pages for its own."""
    if app.builder.format != "html":
        return

    def write():
        found = index(app.env, app.config.language)
        (Path(app.outdir) / "searchindex.js").write_text(js_index.dumps(found), "utf-8")

    app.builder.index_page = lambda *arguments: None
    app.builder.dump_search_index = write


def setup(app):
    app.config.html_search_scorer = str(SCORE)
    app.connect("builder-inited", index_sections)
