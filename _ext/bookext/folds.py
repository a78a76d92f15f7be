"""Folded boxes as `<details>`: they open with a key, by a link to what is inside, without a script.

The theme folds an admonition of class ``dropdown`` with a script of its own, which does not know
proofs. Here the built HTML is rewritten instead, box by box, and nothing else in it is touched.
A box of class ``open`` too is open at first.
"""

import re

# A `div` opens or closes; what is inside a script or a style is not looked at.
DIV = re.compile(r"<(script|style)\b.*?</\1>|<div\b(?P<attributes>[^>]*)>|</div>", re.DOTALL)
CLASSES = re.compile(r'\bclass="([^"]*)"')
ID = re.compile(r'\sid="[^"]*"')
# Before the title stand what further labels of the box became.
TITLE = re.compile(
    r'((?:\s*<span id="[^"]*"></span>)*)\s*<p class="admonition-title">(.*?)</p>', re.DOTALL
)
PROOF = re.compile(r"(\s*<p>)Proof\.\s*")
LINK = re.compile(r"</?a\b[^>]*>")


def _whole(attributes, body):
    """Return a `div`, as a `details` element if it is a folded box."""
    found = CLASSES.search(attributes)
    classes = found[1].split() if found else []
    if not {"dropdown", "admonition"} <= set(classes):
        return f"<div{attributes}>{body}</div>"
    title = TITLE.match(body)
    if title:
        summary, body = LINK.sub("", title[2]), title[1] + body[title.end() :]
    else:
        summary, body = "Proof", PROOF.sub(r"\1", body, count=1)
    kept = "".join(ID.findall(attributes)) + (" open" if "open" in classes else "")
    return (
        f"<details {found[0]}{kept}>"
        f'<summary class="admonition-title">{summary}</summary>{body}</details>'
    )


def fold(html):
    """Return `html` with its folded boxes as `details` elements, nested ones too."""
    written, around, position = [], [], 0  # `around`: the open divs, and what stands before each
    for tag in DIV.finditer(html):
        written.append(html[position : tag.start()])
        position = tag.end()
        if tag["attributes"] is not None:
            around.append((written, tag))
            written = []
        elif tag[0] == "</div>" and around:
            before, start = around.pop()
            written = [*before, _whole(start["attributes"], "".join(written))]
        else:
            written.append(tag[0])
    for before, start in reversed(around):
        written = [*before, start[0], *written]
    return "".join([*written, html[position:]])
