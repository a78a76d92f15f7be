"""The book's Sphinx extension: mathematics drawn at build time, nothing loaded from elsewhere."""

import os
import pkgutil
import re
import subprocess
from pathlib import Path

import yaml
from sphinx.errors import ExtensionError

from . import bundle

# In this order: each has its say after those before it.
PARTS = "mathematics paper side_by_side vendor pictures social diet addresses parted search"
# What is done to the built pages, in this order: live notebooks are made of the cells, which fields
# then take the place of, and before lines are added for what has moved.
PASSES = "finish.finish live.write answers.write parted.write addresses.write audit.inspect"
# Objects that docstrings name and that no page of this book documents.
FOREIGN = [("py:class", r"(np|numpy|scipy|matplotlib|numba|concurrent)\..*")]

TAKE = (
    '<p>To take along: <a href="{0}.zip">the book as one zip</a>, <a href="{0}.pdf">as PDF</a>.</p>'
)

REMOTE = re.compile(
    r"(?:https://|ssh://git@|git@)(?P<host>github\.com|gitlab\.com)[/:]"
    r"(?P<path>[^/\s]+/[^/\s]+?)(?:\.git)?/?$"
)


def web_address(remote):
    """Return the https address of a repository on a public forge, or '' for any other remote."""
    match = REMOTE.match(remote.strip())
    return f"https://{match['host']}/{match['path']}" if match else ""


def git(folder, *words):
    """Return what git says in `folder`, or '' where there is no git or it has nothing to say."""
    command = ["git", "-C", str(folder), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def locate_repository(app, config):
    """Give the launch and repository buttons their address, or take the buttons away."""
    options = config.html_theme_options
    url = options.get("repository_url") or web_address(
        git(app.confdir, "remote", "get-url", "origin")
    )
    options["repository_url"] = url
    if url:
        app.tags.add("online")  # for what a page says only where it can be opened live
        options["use_repository_button"] = options["use_issues_button"] = True
        if os.environ.get("BOOK_URL"):  # then .ci/live has made this branch
            options["repository_branch"] = "live"
            options["launch_buttons"]["colab_url"] = "https://colab.research.google.com"
    else:
        options["launch_buttons"] = {}


def imprint(folder):
    """Return who is to be cited, and of what day this is, as HTML, or '' where nothing says so."""
    try:
        known = yaml.safe_load((Path(folder) / "CITATION.cff").read_text("utf-8"))
    except FileNotFoundError:
        return ""
    day = git(folder, "log", "-1", "--format=%cs").strip()
    authors = ", ".join(author["name"] for author in known["authors"])
    when = f", {day}" if day else ""
    return (
        f"<p>Cite as: {authors}, <em>{known['title']}</em>, version {known['version']}{when}.</p>"
    )


def sign(app, config):
    """Note where the book is to be served; the footer says whom to cite and what to take along."""
    options, base = config.html_theme_options, os.environ.get("BOOK_URL", "")
    text = imprint(app.confdir)
    if base:
        config.html_baseurl = f"{base.rstrip('/')}/"
        text += TAKE.format(f"{config.html_baseurl}downloads/all-the-needles")
    options["extra_footer"] = text + options.get("extra_footer", "")


def check_start(app, env, names):
    """Refuse to build some pages beside others of a finished book: none can be finished twice."""
    sheet = Path(app.outdir) / "_static" / f"{bundle.NAME}.css"
    if app.builder.format == "html" and sheet.exists() and set(names) != env.found_docs:
        raise ExtensionError(
            f"{app.outdir} holds a finished book, in which single pages cannot be built again: "
            "say make book, or remove it and build"
        )


def finish_pages(app, exception):
    """Make of the pages that were built what is served."""
    if exception or app.builder.format != "html":
        return
    for name in PASSES.split():
        pkgutil.resolve_name(f"{__name__}.{name}")(app)


def setup(app):
    """Register the parts; kernels started by the build inherit the environment set here."""
    os.environ["BAYESLIB_PRERENDER"] = "1"
    app.config.nitpick_ignore_regex = FOREIGN
    app.connect("config-inited", locate_repository)
    app.connect("config-inited", sign)
    for part in PARTS.split():
        pkgutil.resolve_name(f"{__name__}.{part}").setup(app)
    app.connect("env-before-read-docs", check_start)
    app.connect("build-finished", finish_pages)
