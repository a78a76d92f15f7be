"""A book that built is not yet a book that ran: what is asserted before the build may succeed."""

from pathlib import Path

from sphinx.util import logging

logger = logging.getLogger(__name__)

# what must not be in a page: a cell that failed quietly, a formula drawn as an error
SYMPTOMS = {
    "Traceback (most recent call last)": "a traceback",
    "#cc0000": "a formula that KaTeX could not draw",
    "katex-error": "a formula that KaTeX could not draw",
    "docutils.nodes": "a node that was printed instead of drawn",
}


def unexecuted(env):
    """Yield the notebooks of the book that this build has not run to the end."""
    for name in sorted(env.found_docs):
        if Path(env.doc2path(name)).suffix == ".ipynb":
            record = env.nb_metadata.get(name, {}).get("exec_data") or {}
            if not record.get("succeeded"):
                yield name


def symptoms(html):
    """Return what is wrong with a built page, as phrases."""
    return sorted({phrase for symptom, phrase in SYMPTOMS.items() if symptom in html})


def inspect(app):
    """Warn, and so fail under ``-W``, about pages that did not run or show an error."""
    for name in unexecuted(app.env):
        logger.warning("the notebook was not executed", location=name, type="audit")
    for name in sorted(app.env.found_docs):
        for phrase in symptoms((Path(app.outdir) / f"{name}.html").read_text("utf-8")):
            logger.warning("the page shows %s", phrase, location=name, type="audit")
