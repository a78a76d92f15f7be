"""Results on disk: everything survives, nothing else is believed, and no file is half written."""

import json
import math
import os
from dataclasses import fields

import numpy as np
import pytest
from registry import ALGORITHMS

import bayeslib as bl
from bayeslib import BayeslibError, Draws, Estimate, Gaussian


def everything():
    rng = np.random.default_rng(1)
    return Draws(
        rng.standard_normal((3, 20, 2)),
        logdensity=rng.standard_normal((3, 20)),
        log_weights=np.where(rng.random((3, 20)) < 0.1, -np.inf, 0.1),
        stats={
            "diverging": rng.random((3, 20)) < 0.5,
            "n_steps": rng.integers(9, size=(3, 20)),
            "odd / näme": np.asfortranarray(rng.random((3, 20))),
            "odd ? näme": rng.random((3, 20)).astype(np.float32),
        },
        num_evals=12345678901234,
        method="test",
        settings={
            "seed": 2**127 + 1,
            "seeds": [1, 2, (3, None)],
            "flag": True,
            "nested": {"array": np.arange(3), "deeper": {"nan": math.nan, "inf": -math.inf}},
            "nested/array": np.zeros(0),
            5: "five",
            "text": "π ± \x00 \ud800",
            "numpy": [np.float64(0.1), np.int8(-3), np.bool_(True), np.str_("θ")],
            "tiny": 5e-324,
            "third": 1 / 3,
            "estimate": Estimate(np.array([1.0, 2.0]), np.array([0.1, math.nan]), 7),
        },
        names=("μ", "log_tau"),
        log_evidence=Estimate(-3.0, 0.25, 60),
        independent=True,
    )


def assert_same(a, b):
    """The same types and the same bits, all the way down."""
    assert type(a) is type(b), (a, b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, tuple | list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif isinstance(a, Estimate | Draws | Gaussian):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name))
    else:
        assert a == b or (a != a and b != b)


def test_everything_survives(tmp_path):
    draws = everything()
    path = draws.save(tmp_path / "run")
    assert path == tmp_path / "run.npz"
    for name in (path, str(path), tmp_path / "run"):
        assert_same(bl.load(name), draws)
    with pytest.raises(AssertionError):
        assert_same(bl.load(path), Draws(draws.values + 1e-300, names=draws.names))


def test_a_gaussian_survives(tmp_path):
    gaussian = Gaussian(
        [1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]], log_evidence=Estimate(1.0, 0.1),
        elbo_trace=np.arange(5.0), names=("a", "b"), num_evals=7, method="test",
    )  # fmt: skip
    loaded = bl.load(gaussian.save(tmp_path / "g.npz"))
    assert_same(loaded, gaussian)
    np.testing.assert_array_equal(loaded.sample(3, 1), gaussian.sample(3, 1))


@pytest.mark.filterwarnings("ignore::bayeslib.BayeslibWarning")  # of so few draws
@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.name)
def test_what_every_algorithm_returns_survives(algorithm, tmp_path):
    draws = algorithm.run(next(iter(algorithm.cases)), 1, num_samples=30)
    assert_same(bl.load(draws.save(tmp_path / "run")), draws)


def test_numpy_alone_reads_the_arrays(tmp_path):
    draws = everything()
    with np.load(draws.save(tmp_path / "run.npz"), allow_pickle=False) as members:
        np.testing.assert_array_equal(members["values"], draws.values)
        np.testing.assert_array_equal(members["stats/n_steps"], draws.stats["n_steps"])
        assert json.loads(str(members["header"]))["kind"] == "Draws"


def test_the_same_draws_make_the_same_file(tmp_path):
    files = [everything().save(tmp_path / name).read_bytes() for name in "ab"]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda x: x, "settings/odd is a function"),
        (np.array([None]), "settings/odd is an array of dtype object"),
        ({"deep": [1, {2}]}, r"settings/odd/deep/1 is a set"),
        (np.ma.masked_array([1.0], [True]), "settings/odd is an array"),
    ],
)
def test_what_cannot_be_saved_is_named_and_leaves_the_old_file(tmp_path, value, words):
    path = everything().save(tmp_path / "run.npz")
    before = path.read_bytes()
    with pytest.raises(BayeslibError, match=words):
        Draws(np.zeros((1, 2, 1)), settings={"odd": value}).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.npz"]


@pytest.mark.parametrize("moment", ["savez", "replace"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch, moment):
    path = everything().save(tmp_path / "run.npz")
    before = path.read_bytes()

    def half_way(file, *args, **kwargs):
        if moment == "savez":
            file.write(b"PK half")
        raise KeyboardInterrupt

    monkeypatch.setattr(*((np, "savez") if moment == "savez" else (os, "replace")), half_way)
    with pytest.raises(KeyboardInterrupt):
        Draws(np.zeros((1, 2, 1))).save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.npz"]


@pytest.mark.parametrize("call", [Draws(np.zeros((1, 2, 1))).save, bl.load])
def test_a_path_is_text_or_path_like(call):
    with pytest.raises(bl.BayeslibTypeError, match="path must be a str or path-like, got None"):
        call(None)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="no_such"):
        bl.load(tmp_path / "no_such")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*no_such.* to save run.npz"):
        everything().save(tmp_path / "no_such" / "run")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(OSError):
        everything().save(tmp_path / "folder.npz")
    assert os.listdir(tmp_path) == ["folder.npz"]


def change(path, header=(), **arrays):
    with np.load(path) as members:
        arrays = {name: members[name] for name in members.files} | arrays
    changed = json.loads(str(arrays.pop("header"))) | dict(header)
    np.savez(path, header=np.array(json.dumps(changed)), **arrays)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "file.npz"
    path.write_text("mean,sd\n1,2\n")
    with pytest.raises(BayeslibError, match="not a file that save"):
        bl.load(path)
    np.savez(path, a=np.zeros(3), b=np.zeros(2))
    with pytest.raises(BayeslibError, match="not a file that save.*it holds a, b"):
        bl.load(path)
    np.savez(path, header=np.array('{"a": 1}'))
    with pytest.raises(BayeslibError, match="not a file that save.*header is of something else"):
        bl.load(path)
    everything().save(path)
    change(path, {"format": 2, "bayeslib": "9.9"})
    with pytest.raises(BayeslibError, match=r"bayeslib 9\.9, in a format .*: install a newer"):
        bl.load(path)
    everything().save(path)
    for changes in ({"kind": "Tree"}, {"fields": {"values": 3}}, {"fields": {"valves": []}}):
        change(path, changes)
        with pytest.raises(BayeslibError, match="file.npz"):
            bl.load(path)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle in a file was executed",)


def test_no_pickle_is_ever_loaded(tmp_path):
    path = everything().save(tmp_path / "run.npz")
    change(path, values=np.array([Bomb()]))
    with pytest.raises(BayeslibError, match="damaged"):
        bl.load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = everything().save(tmp_path / "run.npz")
    whole = path.read_bytes()
    for size in np.linspace(2, len(whole) - 1, 60).astype(int):
        path.write_bytes(whole[:size])
        with pytest.raises(BayeslibError, match="damaged or incomplete"):
            bl.load(path)
