"""The front door: what Start and Which method? say is what there is, and each example runs.

An example of the page on methods is a cell tagged ``leaf``. Each is run alone, with its own seeds:
it must end without a warning and without a flag. Where a rule of the tree forbids a method, the
same lines on another target must end with a flag, so that who goes wrong is told.
"""

import ast
import json
import re

import notebooks
import numpy as np
import pytest
from prose import CHAPTERS, texts
from scipy import stats
from twins import page, quiet

import bayeslib as bl
from bayeslib import posteriors

LEAVES = {
    cell["id"]: "".join(cell["source"])
    for cell in json.loads((CHAPTERS / "choose.ipynb").read_text("utf-8"))["cells"]
    if "leaf" in cell["metadata"].get("tags", [])
}
SECTIONS = re.split(r"^## ", "\n".join(texts(CHAPTERS / "choose.ipynb")), flags=re.M)
MOST_LINES = 12
LIMIT = 5.0  # errors: alpha below 1e-6 for a mean, and 1e-4 for all here, of which a seed has one


def run(code, target=None):
    """Run the lines of a leaf, with another target if one is given, and return its names."""
    names = {"bl": bl, "np": np, "stats": stats, "posteriors": posteriors}
    statements = ast.parse(code).body
    if target is not None:
        kept = [s for s in statements if not ast.unparse(s).startswith("target = ")]
        assert len(kept) == len(statements) - 1, "these lines set no target"
        statements, names["target"] = kept, target
    exec(compile(ast.Module(statements, []), "leaf", "exec"), names)
    return names


def flags(names):
    """Return what the results in a namespace say against themselves."""
    return [p for value in names.values() for p in getattr(value, "problems", ())]


def worst(answer, truth, blur=0.0):
    """How many of its own errors the worst mean is off, or the evidence if it is stated."""
    mean = answer.expect()
    error = np.maximum(np.hypot(mean.mcse, blur), 1e-9 * (1.0 + np.abs(truth.mean)))
    off = np.max(np.abs(mean.value - truth.mean) / error)
    stated = getattr(answer, "log_evidence", None)
    if isinstance(stated, bl.Estimate) and truth.log_evidence is not None:
        off = max(off, abs(float(stated) - truth.log_evidence) / max(stated.mcse, 1e-9))
    return off


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_runs_and_is_not_flagged(leaf):
    names = run(LEAVES[leaf])
    assert flags(names) == []
    answer, truth = names["answer"], getattr(names.get("target"), "truth", None)
    if getattr(answer, "log_weights", None) is not None:
        assert answer.settings.get("khat", 0.0) <= 0.5  # as the page asks
    if truth and leaf != "fit":  # a fit states no error
        assert worst(answer, truth) < LIMIT


def far_modes():
    means = [np.full(5, -5.0), np.full(5, 5.0)]
    return posteriors.mixture([0.3, 0.7], means, [np.eye(5)] * 2)


def informed():
    """A regression of which the data say much more than the prior."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 20))
    y = X @ np.ones(20) + rng.standard_normal(200)
    return posteriors.linear_regression(X, y, noise_scale=1.0, prior_scale=1.0)


def correlated():
    return posteriors.gaussian(np.zeros(20), 0.9 + 0.1 * np.eye(20))


def peaks():
    return posteriors.mixture([0.3, 0.7], [-10, 10], 1.0)


def regression():
    return page("together", "PROBLEMS")["regression"]


# Where else the lines of a leaf are right, without a flag.
ELSEWHERE = [
    ("quadrature", posteriors.gamma_student),
    ("quadrature", posteriors.banana),
    ("quadrature", posteriors.donut),
    ("quadrature", posteriors.coal_mining),
    ("quadrature", peaks),
    ("nuts", posteriors.pumps),
    ("nuts", regression),
    ("evidence", regression),
]


@quiet
@pytest.mark.parametrize(("leaf", "known"), ELSEWHERE)
def test_a_leaf_is_right_elsewhere(leaf, known):
    known = known()
    target, blur = getattr(known, "target", known), getattr(known, "blur", 0.0)
    names = run(re.sub(r"(?m)^print\(.*", "", LEAVES[leaf]), target)
    assert flags(names) == []
    blur = blur * np.sqrt(np.diag(known.truth.cov)) if blur else 0.0
    assert worst(names["answer"], known.truth, blur) < LIMIT


@quiet
def test_a_parameter_with_an_end_is_weighted_on_the_line():
    known = posteriors.gamma_student()
    free = bl.unconstrained(known)
    names = run(LEAVES["evidence"], free)
    assert flags(names) or worst(free.constrain(names["answer"]), known.truth) < LIMIT


@quiet
def test_a_second_method_that_starts_wide_finds_the_other_mode():
    q = bl.advi(peaks(), rng=1)
    chain = bl.nuts(peaks(), q.sample(4, 1), rng=1)
    other = bl.importance_sample(peaks(), stats.norm(scale=10), num_samples=10_000, rng=1)
    a, b = chain.expect(), other.expect()
    assert not chain.problems and abs(a.value - b.value)[0] > 4 * np.hypot(a.mcse, b.mcse)[0]


# The rule that is broken, the leaf that it forbids, and a target that breaks it.
BROKEN = [
    ("far modes", "nuts", far_modes),
    ("far modes", "evidence", far_modes),
    ("far modes", "fit", far_modes),
    ("far modes", "slice", far_modes),
    ("a hierarchy in centred coordinates", "nuts", lambda: posteriors.eight_schools(centered=True)),
    ("a funnel", "nuts", lambda: posteriors.funnel(10)),
    ("strong correlations", "nuts", correlated),
    ("a fit that is too narrow", "evidence", posteriors.eight_schools),
]


@quiet
@pytest.mark.parametrize(("rule", "leaf", "target"), BROKEN)
def test_where_a_rule_is_broken_the_result_says_so(rule, leaf, target):
    assert flags(run(LEAVES[leaf], target()))


@quiet
def test_prior_draws_are_flagged_where_the_data_say_much():
    code = LEAVES["prior"].replace("stats.gamma(3)", "stats.norm(np.zeros(20), 1.0)")
    assert flags(run(code, informed()))


def test_too_many_unknowns_for_quadrature_are_refused():
    with pytest.raises(bl.BayeslibError, match="at most 3"):
        run(LEAVES["quadrature"], far_modes())


def test_each_leaf_is_reached_by_one_way_and_has_its_lines():
    (tree,) = (text for text in SECTIONS if text.startswith("The questions"))
    assert sorted(re.findall(r"<leaf-(\w+)>", tree)) == sorted(LEAVES)
    text = "\n".join(SECTIONS)
    assert sorted(re.findall(r"^\(leaf-(\w+)\)=$", text, re.M)) == sorted(LEAVES)
    assert text.count("**Look at**") == text.count("**More**") == len(LEAVES)
    for code in LEAVES.values():
        assert sum(bool(line.strip()) for line in code.splitlines()) <= MOST_LINES


def test_the_tree_opens_and_closes():
    """A fence holds what has fewer colons, so that each answer is inside its question."""
    (tree,) = (text for text in SECTIONS if text.startswith("The questions"))
    opened = []
    for colons, rest in re.findall(r"^(:{3,})(.*)$", tree, re.M):
        if rest:
            assert not opened or len(colons) < len(opened[-1])
            opened.append(colons)
        else:
            assert opened.pop() == colons
    assert not opened


def commands(text):
    return re.findall(r"^\s*(py(?:thon3)? -m venv \.venv|\.venv\S+ .*)$", text, re.M)


def test_the_commands_of_start_are_those_of_the_zip():
    start = "\n".join(texts(CHAPTERS / "start.ipynb"))
    here, there = commands(start), commands(notebooks.README)
    assert here[:3] == there and len(there) == 3
    windows = [line.replace(".venv/bin/", ".venv\\Scripts\\") for line in there]
    assert here[3:] == [windows[0].replace("python3", "py"), *windows[1:]]


def test_the_paths_of_the_first_page_have_their_minutes():
    paths = page("intro", "PATHS")
    text = "\n".join(texts(CHAPTERS / "intro.ipynb"))
    timed = dict(re.findall(r"\[[^\]]*\]\((\w+)\)[^\n\[]*?\{glue:text\}`minutes_(\w+)`", text))
    assert all(linked == told for linked, told in timed.items())
    assert {name for pages in paths.values() for name in pages.split()} <= set(timed)
