"""What runs where the repository is kept: workflows are valid and call the Makefile."""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import yaml
from prose import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = {"vendor.github-workflows": WORKFLOWS}
FORMS["vendor.github-issue-forms"] = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def faults(schema, *files):
    """Return what a linter says of files, or '' where they are valid."""
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        schema,
        *map(str, files),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.slow
@pytest.mark.parametrize("schema", FORMS)
def test_they_are_valid_and_a_slip_would_be_seen(schema, tmp_path):
    assert FORMS[schema] and faults(schema, *FORMS[schema]) == ""
    wrong = tmp_path / "wrong.yml"
    text = FORMS[schema][0].read_text("utf-8")
    wrong.write_text(re.sub(r"steps:|type: input", "stepz: []", text, count=1), "utf-8")
    assert "wrong.yml" in faults(schema, wrong)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_they_say_nothing_that_the_makefile_says(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    commands = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert commands
    for command in commands:
        called = re.findall(r"make (?:-s )?([\w-]+)", command)
        assert set(called) <= targets and (called or command.startswith("bash .ci/"))


def test_the_live_notebooks_are_a_branch_of_their_own(tmp_path):
    def git(*words, cwd=tmp_path / "here"):
        return subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=True)

    who = {
        f"GIT_{role}_{what}": "a@b.c"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    (tmp_path / "there").mkdir()
    git("init", "--bare", "-q", cwd=tmp_path / "there")
    (tmp_path / "here" / "binder").mkdir(parents=True)
    (tmp_path / "here" / "binder" / "start").write_text("start")
    git("init", "-q")
    git("remote", "add", "origin", str(tmp_path / "there"))
    git("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "first")
    downloads = tmp_path / "here" / "_build" / "html" / "downloads"
    downloads.mkdir(parents=True)
    (tmp_path / "here" / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "live", tmp_path / "here" / ".ci")
    for text in ("once", "twice"):
        with zipfile.ZipFile(downloads / "all-the-needles-notebooks.zip", "w") as packed:
            packed.writestr("all-the-needles/chapters/a.ipynb", text)
        subprocess.run(["bash", script], env=os.environ | who, check=True)
    listed = git("ls-tree", "-r", "--name-only", "live", cwd=tmp_path / "there").stdout.split()
    assert listed == ["binder/start", "chapters/a.ipynb"]
    assert git("show", "live:chapters/a.ipynb", cwd=tmp_path / "there").stdout == "twice"
    assert git("rev-list", "--count", "live", cwd=tmp_path / "there").stdout.strip() == "1"
    assert git("status", "--porcelain", "--untracked-files=no").stdout == ""
