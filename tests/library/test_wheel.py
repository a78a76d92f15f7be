"""The wheel of the library: what is in it, what it asks for, and that it needs nothing more."""

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "bayeslib")
NEEDED = {"cloudpickle", "numba", "numpy", "scipy", "tqdm"}
EXTRAS = {"arviz"}
ABSENT = ("matplotlib", "ipywidgets", "IPython", "needles")

USE = f"""
import importlib, importlib.util, pkgutil
import bayeslib as bl

for name in {ABSENT}:
    assert importlib.util.find_spec(name) is None, name
modules = [m.name for m in pkgutil.walk_packages(bl.__path__, "bayeslib.")]
for name in modules:
    importlib.import_module(name)
target = bl.Target(lambda theta: -0.5 * (theta[0] ** 2 + (theta[1] - 1.0) ** 2), dim=2)
draws = bl.nuts(target, num_samples=1_000, rng=1)
print(bl.__file__, len(modules), *draws.expect(lambda theta: theta).value)
"""


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel of a copy, into which no build before it has put anything."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture
def python(wheel, tmp_path):
    """Make an environment with the wheel and what it asks for, which lies elsewhere."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    shared = tmp_path / "shared"
    shared.mkdir()
    for package in (*NEEDED, "llvmlite"):
        for path in Path(sysconfig.get_path("purelib")).glob(f"{package}*"):
            if path.name in (package, f"{package}.libs"):
                (shared / path.name).symlink_to(path)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(f"{shared}\n", "utf-8")
    return python


def test_the_wheel_holds_the_library_and_its_types_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"bayeslib/__init__.pyi", "bayeslib/py.typed"} <= set(names)
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "bayeslib").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"bayeslib"}


def test_the_wheel_asks_for_five_packages(wheel):
    archive = zipfile.ZipFile(wheel)
    (path,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
    metadata = Parser().parsestr(archive.read(path).decode())
    always = [line for line in metadata.get_all("Requires-Dist") if ";" not in line]
    assert {re.match(r"\w+", line)[0] for line in always} == NEEDED
    assert all(">=" in line and "<" in line for line in always)
    assert set(metadata.get_all("Provides-Extra")) == EXTRAS


@pytest.mark.slow  # in a folder of its own, every kernel that it needs is compiled
def test_the_wheel_runs_without_anything_of_the_book(python, tmp_path):
    run = subprocess.run(
        [python, "-I", "-W", "error", "-c", USE], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    place, modules, *means = run.stdout.split()
    assert Path(place).is_relative_to(tmp_path) and int(modules) > 50
    # 4,000 draws whose error is below 0.04: beyond six of them in fewer than 1e-8 of all runs
    assert abs(float(means[0])) < 0.24 and abs(float(means[1]) - 1.0) < 0.24
