"""What the front page of the repository promises."""

import re

from prose import ROOT

TEXT = (ROOT / "README.md").read_text()


def test_the_example_runs():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)
    namespace = {}
    exec(code, namespace)
    draws = namespace["draws"]
    assert draws.names == ("alpha", "beta", "sigma")
    assert not draws.problems, draws.problems


def test_the_files_it_shows_and_links_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_commands_it_names_exist():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", TEXT, flags=re.M):
        assert re.search(rf"^{command[0] or command[1]}:", makefile, flags=re.M), command
