"""Try the newest versions that pip finds of all that is pinned: `make canary`.

A fresh environment gets the packages of requirements.txt without their pins (Jupyter Book stays
below 2), and this library without its bounds. What has changed is printed, then what broke.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HELD = {"jupyter-book": "jupyter-book<2"}  # 2 reads neither _config.yml nor _toc.yml
TESTS = ("tests/library", "tests/book/test_extension.py", "tests/book/test_build.py")


def pins(name):
    """Return {package: version} of a file of pins."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / name).read_text("utf-8"), re.MULTILINE))


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def main(folder):
    """Make the environment in `folder`; return the exit code of the tests."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    python = [folder / "bin" / "python", "-m"]
    pip = [*python, "pip", "--disable-pip-version-check"]
    newest = [HELD.get(name, name) for name in pins("requirements.txt")]
    subprocess.run([*pip, "install", "--quiet", *newest], check=True)
    ours = ["--no-deps", "-e", ROOT, "-e", ROOT / "needles"]
    subprocess.run([*pip, "install", "--quiet", *ours], check=True)
    listed = subprocess.run([*pip, "list", "--format=json"], capture_output=True, check=True).stdout
    pinned = {canonical(name): version for name, version in pins("constraints.txt").items()}
    for package in json.loads(listed):
        before = pinned.get(canonical(package["name"]), package["version"])
        if before != package["version"]:
            print(f"  {package['name']:30} {before} -> {package['version']}", flush=True)
    tests = [*python, "pytest", "-q", "-n", "auto", "--dist", "worksteal", "-m", "not slow", *TESTS]
    return subprocess.run([*tests, "-p", "no:cacheprovider"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(ROOT / sys.argv[1]))
