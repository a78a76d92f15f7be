"""Style sheets without the rules that no page of the book can use.

A rule goes when one of its selectors' classes or ids occurs nowhere: not in a page, not in a
script. What remains is in its original order, so the cascade is unchanged.
"""

import re

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
NAME = re.compile(r"[.#]((?:[A-Za-z_]|-(?!\d))[\w-]*)")
BRACKET = re.compile(r"\[[^\]]*\]|\"[^\"]*\"")
WORD = re.compile(r"[A-Za-z_][\w-]*")
NESTING = ("@media", "@supports", "@layer", "@container")


def _blocks(css):
    """Yield (prelude, body) of each top-level statement; body is None for one without a block."""
    i = start = 0
    while i < len(css):
        character = css[i]
        if character in "\"'":
            i = css.index(character, i + 1)
        elif character == ";":
            yield css[start:i].strip(), None
            start = i + 1
        elif character == "{":
            prelude, depth, begin = css[start:i].strip(), 1, i + 1
            while depth:
                i += 1
                if css[i] in "\"'":
                    i = css.index(css[i], i + 1)
                elif css[i] in "{}":
                    depth += 1 if css[i] == "{" else -1
            yield prelude, css[begin:i]
            start = i + 1
        i += 1


def _split(selectors):
    """Split a selector list at its top-level commas."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(selectors):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(selectors[start:i])
            start = i + 1
    return [*parts, selectors[start:]]


def _usable(selector, words):
    """Tell whether every class and id that `selector` requires is among `words`."""
    required = re.sub(r":(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)", "", selector)
    return all(name in words for name in NAME.findall(BRACKET.sub("", required)))


def purge(css, words, unwanted=None):
    """Return `css` without the rules that need a class or id that is not among `words`.

    Rules for selectors that match the pattern `unwanted` go as well.
    """
    out = []
    for prelude, body in _blocks(COMMENT.sub("", css)):
        if body is None:
            out.append(f"{prelude};")
        elif prelude.startswith(NESTING):
            inner = purge(body, words, unwanted)
            if inner:
                out.append(f"{prelude}{{{inner}}}")
        elif prelude.startswith("@"):
            out.append(f"{prelude}{{{body}}}")
        else:
            kept = [part for part in _split(prelude) if _usable(part, words)]
            kept = [part for part in kept if not (unwanted and unwanted.search(part))]
            if kept:
                out.append(f"{','.join(kept)}{{{body}}}")
    return "".join(out)


def words(texts):
    """Return every word in `texts` that could be the name of a class or an id."""
    return {word for text in texts for word in WORD.findall(text)}
