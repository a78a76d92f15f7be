"""Compiling, caching and running: the contracts every sampler inherits."""

import enum
import errno
import math
import os
import signal
import sys
import textwrap
import threading
import time
import types
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from calling import interrupted_after, needs_signals, python
from densities import EXACT, gaussian2, slow
from llvmlite import ir
from numba import njit

from bayeslib import Target, hmc, metropolis, nuts, parallel_tempering, waiting
from bayeslib.chains import algorithm
from bayeslib.chains.loop import Chain
from bayeslib.compile import callback, compiler, disk, linked
from bayeslib.compile.callback import aligned
from bayeslib.compile.compiler import bind
from bayeslib.compile.fingerprint import fingerprint
from bayeslib.errors import BayeslibWarning


def slow_gradient(theta, size):
    slow(theta, size)
    return -theta


@needs_signals
@pytest.mark.row(53)
@pytest.mark.trust("M9")
def test_an_interrupt_keeps_what_was_drawn():
    target = Target(slow, dim=1, data=(20_000,), gradient=None)
    metropolis(target, None, num_samples=5, num_warmup=20, rng=1)
    with interrupted_after(0.7), pytest.warns(BayeslibWarning, match="a chain are kept"):
        draws = metropolis(target, None, num_samples=100_000, num_warmup=20, rng=1, progress=False)
    assert draws.settings["interrupted"] and 1 < draws.num_samples < 100_000
    assert draws.num_chains == 4 and np.isfinite(draws.values).all()
    assert "interrupted" in str(draws.summary())
    whole = metropolis(target, None, num_samples=draws.num_samples, num_warmup=20, rng=1)
    np.testing.assert_array_equal(draws.values, whole.values)


@needs_signals
@pytest.mark.parametrize(
    "sampler", [partial(hmc, num_steps=100_000), partial(nuts, max_tree_depth=18)]
)
def test_an_interrupt_ends_a_long_trajectory_and_a_warmup(sampler):
    """A trajectory takes most of a minute, the run hours: only the interrupt can end it."""
    target = Target(slow, dim=1, data=(20_000,), gradient=slow_gradient)
    nuts(target, 0.1, step_size=1.0, num_samples=2, num_warmup=2, num_chains=1, rng=1)
    hmc(target, 0.1, step_size=0.1, num_steps=2, num_samples=2, num_chains=1, rng=1)
    with interrupted_after(0.5), pytest.raises(KeyboardInterrupt):
        sampler(target, 0.1, step_size=1e-5, num_chains=1, rng=1, progress=False)


def test_compiled_code_is_left_at_windows_only_where_something_is_done(monkeypatch):
    """For `nuts` that took longer than a short run."""
    entered, call = [], Chain.__call__
    monkeypatch.setattr(Chain, "__call__", lambda *given: entered.append(1) or call(*given))
    monkeypatch.setattr(algorithm, "blocks", lambda total: [(0, total)])
    for sampler, left in ((nuts, 1), (parallel_tempering, 6)):
        sampler(gaussian2(), num_chains=1, num_warmup=400, rng=1)
        assert len(entered) == left


def test_progress_is_shown_when_asked_and_not_on_short_runs(capsys):
    metropolis(gaussian2(), None, num_samples=20, num_warmup=20, rng=1)
    assert capsys.readouterr().err == ""
    metropolis(gaussian2(), None, num_samples=20, num_warmup=20, rng=1, progress=True)
    assert "metropolis" in capsys.readouterr().err


def test_a_bar_appears_by_itself_on_long_runs_but_never_in_a_page_being_built(monkeypatch):
    monkeypatch.delenv("BAYESLIB_PRERENDER", raising=False)
    for long in ((1.0, 10, 100), (1.0, 10, 1000), (2.5, 10, None)):
        assert waiting._seems_long(*long)
    for short in ((1.0, 90, 100), (0.1, 1, 100), (9.0, 0, 100), (1.5, 10, None)):
        assert not waiting._seems_long(*short)
    assert not waiting._somebody_watches()  # a pipe
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert waiting._somebody_watches()
    monkeypatch.setenv("BAYESLIB_PRERENDER", "1")
    assert not (waiting._seems_long(1.0, 10, 1000) or waiting._somebody_watches())


@needs_signals
def test_many_evaluations_can_be_interrupted_and_keep_their_values():
    """A kernel hears no signal; in one piece these would take minutes."""
    target = Target(slow, dim=1, data=(20_000,), gradient=None)
    thetas = np.linspace(-1.0, 1.0, 300_000)
    values = target.many(thetas[:2000])
    began = time.perf_counter()
    with interrupted_after(0.5), pytest.raises(KeyboardInterrupt) as caught:
        target.many(thetas)
    found = caught.value.partial
    assert 0 < found.size < thetas.size and time.perf_counter() - began < 30.0
    np.testing.assert_array_equal(found[:2000], values[: found.size])


@pytest.mark.parametrize("watched", [True, False])
def test_a_long_compilation_is_announced_where_somebody_watches(watched, capsys, monkeypatch):
    monkeypatch.setattr(waiting, "_somebody_watches", lambda: watched)
    with waiting.compiling("nuts", 7) as missed:
        missed()
        said = capsys.readouterr().err
    assert ("compiling nuts, once: about 7 s" in said) is watched
    with waiting.compiling("short", 1) as missed:
        missed()
    with waiting.compiling("found on disk", 7):
        pass
    assert "compiling" not in capsys.readouterr().err


@needs_signals
def test_an_interrupt_that_a_callback_swallows_while_compiling_is_raised():
    with pytest.raises(KeyboardInterrupt), waiting.compiling("f", 1), suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1.0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Fingerprints and the disk cache


def make(source, **scope):
    exec(compile(textwrap.dedent(source), "anywhere", "exec"), scope)
    return scope["f"]


def test_fingerprint_follows_meaning():
    base = "def f(theta):\n    return -theta[0] ** 2"
    assert fingerprint(make(base)) == fingerprint(make("\n\n" + base))
    changed = [
        make(base.replace("2", "3")),
        make(base.replace("theta[0]", "abs(theta[0])")),
        make("def f(theta, k=2):\n    return -theta[0] ** k"),
    ]
    a, b = "def f(x):\n    return g(x)", "def f(x):\n    return m.g(x)"
    for one, two in [(np.exp, np.log), (changed[0], changed[1]), (1.0, 2.0)]:
        changed += [make(a, g=one), make(a, g=two)]
    modules = types.ModuleType("mine"), types.ModuleType("mine")
    modules[0].g, modules[1].g = changed[0], changed[1]
    changed += [make(b, m=modules[0]), make(b, m=modules[1])]
    array = np.arange(3.0)
    changed += [make(a, g=array), make(a, g=array + 1.0), make(a, g=array.astype(int))]
    changed += [make(a, g=enum.Enum("Mode", {"x": number})) for number in (1, 2)]
    digests = [fingerprint(f) for f in changed]
    assert len(set(digests)) == len(digests)
    attribute = "def f(x):\n    return x.size"
    assert fingerprint(make(attribute, size=1)) == fingerprint(make(attribute, size=2))
    unreadable = make(a, g=threading.Lock())
    assert fingerprint(unreadable) != fingerprint(unreadable)


def test_fingerprint_is_the_same_in_every_process():
    code = """
        import numpy as np
        from bayeslib.compile.fingerprint import fingerprint
        from numba import njit
        h = njit(fastmath={'nsz', 'arcp', 'contract'})(lambda x: x + 1)
        def f(x, k={'a', 'b', 'c'}):
            return h(np.exp(x)) in {1.0, 2.0, 3.0}
        print(fingerprint(f))
    """
    assert len({python(code, PYTHONHASHSEED=seed) for seed in (1, 2, 3)}) == 1


def test_a_type_of_llvm_keeps_its_fingerprint_once_it_is_printed():
    """Kernels name some; each would be compiled again in a process that has compiled others."""
    kinds = [ir.FunctionType(ir.IntType(bits), [ir.DoubleType().as_pointer()]) for bits in (32, 64)]
    before = [fingerprint(kind) for kind in kinds]
    assert [str(kind)[:3] for kind in kinds] == ["i32", "i64"]
    assert [fingerprint(kind) for kind in kinds] == before
    assert before[0] != before[1]


def cached(theta, y):
    return -0.5 * (theta[0] - y[0]) ** 2 - math.log1p(theta[1] ** 2)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for machine code that is empty, for a process that has compiled nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(disk, "_said", [])
    return tmp_path


def value_of(shift=1.0):
    """The density as the next process would compile or find it."""
    compiler._compiled.clear()
    return bind("value", cached, (aligned(np.array([shift])),), 2)(np.zeros(2), np.empty(2))


@pytest.mark.parametrize("kind", ["value", "auto"])
def test_a_density_is_compiled_once_and_found_on_disk(kind, cache, monkeypatch):
    data = (aligned(np.array([2.0])),)
    theta, grad = np.array([0.5, 1.0]), np.empty(2)
    value = bind(kind, cached, data, 2)(theta, grad)
    assert value == pytest.approx(cached(theta, [2.0]), rel=1e-14)
    assert len(list(cache.glob("bayeslib/density-*.nbc"))) == 1
    compiled = compiler._compiled
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(compiler, "_compiled_entry", lambda *_: pytest.fail("compiled again"))
    again = bind(kind, cached, data, 2)
    assert again(theta, grad) == value
    assert compiled.keys() == compiler._compiled.keys()
    other = bind(kind, cached, (aligned(np.array([3.0])),), 2)
    assert other.address == again.address and other(theta, grad) != value


def test_kernels_are_found_on_disk_by_the_next_process(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = (
        "from bayeslib.compile.callback import evaluate_rows\n"
        "print(sum(evaluate_rows.compile().stats.cache_hits.values()))"
    )
    assert [python(code).strip() for _ in range(2)] == ["0", "1"]


def test_a_kernel_is_compiled_again_when_what_it_calls_has_changed(cache):
    f = make("def f(x):\n    return g(x)")
    values = []
    for factor in (2.0, 3.0, 2.0):
        scope = {"njit": njit}
        exec(f"@njit\ndef g(x):\n    return {factor} * x", scope)
        function = types.FunctionType(f.__code__, {"g": scope["g"], "__name__": __name__})
        values.append(callback.Kernel(function, callback.FLOAT(callback.FLOAT))(1.0))
    assert values == [2.0, 3.0, 2.0]
    assert len(list(cache.glob("bayeslib/f-*.nbc"))) == 2


def kernel_on_disk():
    """Compile a small kernel as the next process would; return its value and whether it had to."""
    compiled = callback.Kernel(twice, callback.FLOAT(callback.FLOAT)).compile()
    return compiled(2.0), bool(sum(compiled.stats.cache_misses.values()))


def twice(x):
    return 2.0 * x


def truncated(stored):
    return stored[: len(stored) // 2]


def flipped(stored):
    """Change one bit, in the middle of what is machine code."""
    at = len(stored) // 2
    return stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]


@pytest.mark.parametrize("damage", [truncated, flipped, lambda stored: b"", lambda stored: b"x"])
def test_a_damaged_file_of_a_kernel_heals(damage, cache):
    assert [kernel_on_disk(), kernel_on_disk()] == [(4.0, True), (4.0, False)]
    (path,) = cache.rglob("*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    assert [kernel_on_disk(), kernel_on_disk()] == [(4.0, True), (4.0, False)]


@pytest.mark.parametrize("damage", [truncated, flipped, lambda stored: b""])
def test_a_damaged_file_of_a_density_heals(damage, cache):
    values = []
    for _ in range(2):
        values.append(value_of())
        (path,) = cache.rglob("density-*.nbc")
        path.write_bytes(damage(path.read_bytes()))
    assert values[0] == values[1]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_done_without_and_said_once(number, cache, monkeypatch):
    def full(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.warns(BayeslibWarning) as caught:
        assert callback.Kernel(twice, callback.FLOAT(callback.FLOAT))(2.0) == 4.0
    (said,) = (str(warning.message) for warning in caught)
    assert str(cache) in said and os.strerror(number) in said and "NUMBA_CACHE_DIR" in said
    assert kernel_on_disk() == (4.0, True)  # and says no more
    assert np.isfinite(value_of())


def test_the_same_density_in_another_module_does_not_need_the_first(tmp_path):
    code = """
        import sys, bayeslib as bl
        scope = {'__name__': 'no_such_module'}
        exec('def g(theta): return -theta[0] ** 4', scope)
        import MODULE as mine
        print(bl.Target(mine.f, dim=1)(2.0), bl.Target(scope['g'], dim=1)(2.0))
        assert not {'first', 'second'} - {'MODULE'} & set(sys.modules)
    """
    for name in ("first", "second"):
        (folder := tmp_path / name).mkdir()
        (folder / f"{name}.py").write_text("def f(theta):\n    return -(theta[0] ** 2)\n")
        run = {"NUMBA_CACHE_DIR": tmp_path / "cache", "PYTHONPATH": folder}
        assert python(code.replace("MODULE", name), **run).split() == ["-4.0", "-16.0"]


@pytest.mark.parametrize("value", [lambda: kernel_on_disk()[0], value_of])
def test_an_unwritable_cache_is_done_without(value, cache, monkeypatch):
    (cache / "file").write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache / "file"))
    with pytest.warns(BayeslibWarning, match="compiled code cannot be stored in .*file"):
        assert np.isfinite(value())


def test_what_was_used_least_recently_makes_room(cache, monkeypatch):
    kernel_on_disk()
    (used,) = cache.rglob("*.nbc")
    paths = [used, *(used.with_name(f"density-{i}.nbc") for i in range(1, 8))]
    for i, path in enumerate(paths):
        path.touch()
        os.utime(path, (i, i))
    monkeypatch.setattr(disk, "_KEPT", 8)
    assert kernel_on_disk() == (4.0, False)
    value_of()
    assert len(list(cache.rglob("*.nbc"))) == 8
    assert kernel_on_disk() == (4.0, False)


def test_a_first_run_imports_nothing_heavy():
    """What it takes is measured in benchmarks/start_up.py."""
    code = """
        import sys
        from bayeslib import Target, hmc, metropolis
        target = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)
        hmc(target, num_steps=3, num_samples=50, num_warmup=50, rng=1)
        print(*sys.modules)
    """
    heavy = "matplotlib ipywidgets IPython tqdm scipy.stats scipy.special scipy.linalg"
    assert not {*heavy.split()} & {*python(code).split()}


@pytest.mark.trust("S1")
def test_every_exact_density_has_the_gradient_it_claims():
    for target, sample in EXACT.values():
        for theta in sample(5, np.random.default_rng(1)):
            target.check_gradient(theta)


def test_code_that_minds_bounds_has_a_name_of_its_own_on_disk(monkeypatch):
    monkeypatch.setattr("numba.config.BOUNDSCHECK", 1)
    assert linked.stamp.__wrapped__() != linked.stamp()


def test_the_cache_never_lands_in_the_working_folder(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert disk.cache_folder().is_absolute()
