"""The public surface: complete, documented, and importing one way only."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bayeslib as bl
from bayeslib import posteriors
from needles import plots

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bayeslib"

# Each layer may import those above it, and modules of its own line only where said.
LAYERS = (
    {"arithmetic", "errors", "memory"},
    {"disk"},
    {"functions", "rows", "tails", "validate"},
    {"coordinates", "diagnostics"},
    {"calibration", "summary", "trouble"},
    {"results"},
    {"autodiff", "engine"},
    {"target"},
    {"ascent", "posteriors", "proposals", "transforms"},
    {"challenge", "monte_carlo", "rejection", "importance", "mcmc", "hmc", "vi"},
    {"hybrid"},
    {"svg"},
    {"plots", "prose", "specimens"},
    {"ranges"},
    {"prerender"},
    {"arena", "explore", "grading", "toggles"},
    {"study"},
    {"exercises"},
)
LEVEL = {module: level for level, modules in enumerate(LAYERS) for module in modules}
# Said exceptions, each with its reason.
ALLOWED = {
    ("autodiff", "engine"),  # how functions are compiled
    ("engine", "autodiff"),  # gradient="auto"
    ("study", "exercises"),  # found by name when an answer is checked
}


def imports():
    """Yield (module, imported module) for every import inside the package, lazy ones included."""
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        depth = len(parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level == 0:
                continue
            up = depth - node.level
            base = parts[: max(up, 0)]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            for name in names:
                yield parts[0], (*base, *name.split("."))[0]


def test_imports_point_one_way():
    edges = {(a, b) for a, b in imports() if a != b}
    assert len(edges) > 20
    unknown = {m for edge in edges for m in edge} - set(LEVEL)
    assert not unknown, f"give these modules a layer: {sorted(unknown)}"
    wrong = {(a, b) for a, b in edges - ALLOWED if LEVEL[b] >= LEVEL[a]}
    assert not wrong, f"imports against the flow: {sorted(wrong)}"
    chapter = LAYERS[9]
    crossing = {(a, b) for a, b in edges if a in chapter and b in chapter}
    assert not crossing, f"only hybrid may import other chapters: {sorted(crossing)}"


def test_an_import_against_the_flow_would_be_found():
    assert LEVEL["results"] < LEVEL["plots"]
    assert ("results", "plots") not in ALLOWED


def test_the_names_are_sorted_complete_and_there():
    assert bl.__all__ == sorted(bl.__all__)
    for name in bl.__all__:
        assert getattr(bl, name).__name__ == name
    assert set(bl.__all__) <= set(dir(bl))
    with pytest.raises(AttributeError, match="no_such_name"):
        bl.no_such_name  # noqa: B018


def test_modules_need_no_import_of_their_own():
    code = "import bayeslib as bl; print(bl.posteriors.coin(8, 2).dim, bl.plots.DRAWS)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", plots.DRAWS]


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


def test_importing_is_cheap_and_pulls_in_no_widgets():
    code = (
        "import sys, bayeslib; heavy = {'matplotlib', 'ipywidgets', 'IPython', 'scipy.stats'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_files_stay_small_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 500
