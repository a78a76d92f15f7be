"""What runs where the repository is kept: workflows are valid and call the Makefile."""

import re
import subprocess
import sys

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
        assert set(called) <= targets and (called or command == "bash .ci/run")
