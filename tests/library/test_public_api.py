"""The public surface: complete, documented, and importing one way only."""

import ast
import graphlib
import importlib
import inspect
import re
from pathlib import Path

import jedi
import pytest

import bayeslib as bl
from bayeslib import posteriors
from needles import plots

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bayeslib"

# Each layer may import those above it; docs/map.md says the same.
LAYERS = (
    {"errors", "memory"},
    {"validate", "waiting"},
    {"compile", "diagnostics"},
    {"results"},
    {"target"},
    {"chains", "posteriors"},
    {"exact", "independent", "markov", "hamiltonian"},
    {"variational"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}


def modules(package):
    """Return the files of a package by the names of their modules."""
    paths = (ROOT / package).rglob("*.py")
    names = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in paths}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


def imports(package):
    """Return {module: modules of the package that it imports, lazily or not}."""
    files = modules(package)
    found = {name: set() for name in files}
    for name, path in files.items():
        here = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            base = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found[name] |= {full if full in files else base} & {*files}
    return found


def test_imports_point_one_way():
    edges = {
        (a.split(".")[1], b.split(".")[1])
        for a, others in imports("bayeslib").items() if "." in a
        for b in others if "." in b
    }  # fmt: skip
    edges = {(a, b) for a, b in edges if a != b}
    assert len(edges) > 20
    assert {part for edge in edges for part in edge} <= set(LEVEL), "give each part a layer"
    wrong = {(a, b) for a, b in edges if LEVEL[b] >= LEVEL[a]}
    assert not wrong, f"imports against the flow: {sorted(wrong)}"
    reverse = {(b, a) for a, b in edges}
    assert {(a, b) for a, b in reverse if LEVEL[b] >= LEVEL[a]} == reverse


def circle(graph):
    """Return modules that import one another in a circle, or None."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as found:
        return found.args[1]


@pytest.mark.parametrize("package", ["bayeslib", "needles"])
def test_no_file_imports_itself_in_the_end(package):
    graph = imports(package)
    assert circle(graph) is None
    assert set(circle(graph | {"a": {"b"}, "b": {"a"}})) == {"a", "b"}


def test_the_library_knows_nothing_of_the_book():
    for path in modules("bayeslib").values():
        heavy = re.findall(
            r"^\s*(?:from|import) (needles|matplotlib|ipywidgets|IPython)",
            path.read_text(encoding="utf-8"), re.M,
        )  # fmt: skip
        assert heavy == [], path


def test_no_package_bears_the_name_of_a_public_function():
    packages = {path.parent.name for path in modules("bayeslib").values()}
    assert not packages & set(bl.__all__)
    for name in ("hamiltonian.hmc", "independent.monte_carlo"):
        module = importlib.import_module(f"bayeslib.{name}")
        assert inspect.ismodule(module) and callable(getattr(module, name.partition(".")[2]))


@pytest.mark.parametrize("name", ["hmc", "Target", "posteriors", "ess", "BayeslibError"])
def test_editors_complete_and_find_without_running_anything(name):
    code = f"import bayeslib as bl\nbl.{name}"
    script = jedi.Script(code, path=str(ROOT / "example.py"), project=jedi.Project(str(ROOT)))
    assert name in {found.name for found in script.complete(2, 3 + len(name))}
    places = script.goto(2, 4, follow_imports=True)
    assert places and PACKAGE in Path(places[0].module_path).parents
    assert (PACKAGE / "py.typed").exists()


def test_the_names_are_sorted_complete_and_there():
    assert bl.__all__ == sorted(bl.__all__)
    for name in bl.__all__:
        assert getattr(bl, name).__name__ == name
    assert set(bl.__all__) <= set(dir(bl))
    with pytest.raises(AttributeError, match="no_such_name"):
        bl.no_such_name  # noqa: B018


def test_version_and_changelog_agree():
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert newest == bl.__version__
    assert f"version: {bl.__version__}" in (ROOT / "CITATION.cff").read_text()


def documented():
    drawing = ("figure", "label", "mark_truth", "plot_draws", "plot_target", "show")
    for home, names in ((bl, bl.__all__), (posteriors, posteriors.__all__), (plots, drawing)):
        for name in names:
            yield pytest.param(getattr(home, name), id=f"{home.__name__}.{name}")


def sections(thing):
    """Split a numpydoc docstring into its sections."""
    text = inspect.getdoc(thing)
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True)) | {"Summary": found[0]}


@pytest.mark.parametrize("thing", list(documented()))
def test_docstrings_describe_the_signature(thing):
    assert inspect.getdoc(thing), "no docstring"
    if inspect.isclass(thing) and issubclass(thing, BaseException | Warning):
        return
    parts = sections(thing)
    assert parts["Summary"].splitlines()[0].endswith((".", ":")), "the summary is one sentence"
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.name != "self"]
    described = parts.get("Parameters", "") + parts.get("Attributes", "")
    names = [
        name.strip().lstrip("*")
        for line in re.findall(r"^(\S[^:\n]*?)(?: ?:.*)?$", described, flags=re.M)
        for name in line.split(",")
    ]
    for parameter in parameters:
        assert parameter.name in names, f"{parameter.name} is not described"
    if "Parameters" in parts and inspect.isfunction(thing):
        extra = set(names) - {p.name for p in parameters}
        assert not extra, f"described, but no parameter: {sorted(extra)}"


STREAMS = [
    name
    for name in bl.__all__
    if inspect.isfunction(getattr(bl, name))
    and "rng" in inspect.signature(getattr(bl, name)).parameters
]


@pytest.mark.parametrize("name", STREAMS)
def test_random_functions_say_in_which_order_they_draw(name):
    assert re.search(r"[Dd]raw order|normals|uniforms|integer", inspect.getdoc(getattr(bl, name)))


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_files_stay_small_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 500
