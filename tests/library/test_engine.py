"""Compiling, caching and running: the contracts every sampler inherits."""

import concurrent.futures as futures
import contextlib
import enum
import errno
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types
import warnings
from functools import partial

import numpy as np
import pytest
from densities import EXACT, gaussian2
from numba import njit

from bayeslib import Target, hmc, metropolis, nuts, waiting
from bayeslib.chains.warmup import warmup_windows
from bayeslib.compile import callback, compiler, disk
from bayeslib.compile.callback import aligned
from bayeslib.compile.compiler import bind
from bayeslib.compile.fingerprint import fingerprint
from bayeslib.errors import BayeslibWarning
from bayeslib.waiting import watching

SAMPLERS = {
    "metropolis": lambda **options: metropolis(gaussian2(), None, **options),
    "hmc": lambda **options: hmc(gaussian2(), num_steps=4, **options),
    "nuts": lambda **options: nuts(gaussian2(), **options),
}
SHORT = {"num_samples": 200, "num_warmup": 150, "rng": 11}

SCRIPT = """
import sys
import numpy as np
from densities import EXACT, gaussian2
from bayeslib import hmc, metropolis, nuts
options = {"num_samples": 150, "num_warmup": 60, "num_chains": 2, "rng": 5}
runs = [
    metropolis(gaussian2(), None, **options),
    hmc(gaussian2(), num_steps=3, step_size=0.3, **options),
    hmc(EXACT["funnel"][0], [[0.1, 0.2], [0.3, 0.4]], num_steps=3, step_size=0.2, **options),
    hmc(EXACT["mixture"][0], None, num_steps=3, step_size=0.3, **options),
    nuts(EXACT["log_gamma_normal"][0], None, step_size=0.4, **options),
    nuts(gaussian2(), None, step_size=0.3, inverse_mass_matrix=[[1.0, 0.8], [0.8, 2.0]], **options),
    hmc(EXACT["log_gamma_normal"][0], None, num_steps=3, **options),
]
np.savez(sys.argv[1], *[run.values for run in runs])
"""


def run_script(folder, **environment):
    path = folder / f"{'_'.join(environment) or 'plain'}.npz"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, str(path)],
        env={**os.environ, **environment},
        check=True, timeout=300,
    )  # fmt: skip
    with np.load(path) as arrays:
        return [arrays[name] for name in arrays.files]


@pytest.fixture(scope="module")
def in_a_new_process(tmp_path_factory):
    return run_script(tmp_path_factory.mktemp("draws"))


def in_this_process():
    scope = {"__name__": "script"}
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)))
    code = SCRIPT.replace("np.savez(sys.argv[1], *[run.values for run in runs])", "")
    exec(compile(code, folder, "exec"), scope)
    return [run.values for run in scope["runs"]]


@pytest.mark.trust("S14")
@pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)
def test_draws_depend_on_nothing_but_the_seed(sampler, monkeypatch):
    """Not on threads, on the number of later chains, on the size of blocks, or on numpy's state."""
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draws = sampler(num_chains=3, **SHORT)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    for workers in (1, 2):
        with futures.ThreadPoolExecutor(workers) as pool:
            again = sampler(num_chains=3, executor=pool, **SHORT)
        np.testing.assert_array_equal(draws.values, again.values)
    np.testing.assert_array_equal(draws.values[:2], sampler(num_chains=2, **SHORT).values)
    for first in (1, 7, 10_000):
        monkeypatch.setattr(waiting, "_FIRST_BLOCK", first)
        monkeypatch.setattr(waiting, "BLOCK_SECONDS", 1e-9 if first == 1 else 0.1)
        np.testing.assert_array_equal(draws.values, sampler(num_chains=3, **SHORT).values)
    other = sampler(num_chains=3, num_samples=200, num_warmup=150, rng=12)
    assert not np.array_equal(draws.values, other.values)


def test_draws_are_the_same_in_a_process_pool():
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for name in ("metropolis", "hmc", "nuts"):
            sampler = SAMPLERS[name]
            here, there = sampler(**SHORT), sampler(executor=pool, **SHORT)
            np.testing.assert_array_equal(here.values, there.values)
            assert here.num_evals == there.num_evals
        rng, twin = np.random.default_rng(3), np.random.default_rng(3)
        options = {"num_samples": 50, "num_warmup": 50, "num_chains": 1}
        metropolis(gaussian2(), None, rng=rng, executor=pool, **options)
        metropolis(gaussian2(), None, rng=twin, **options)
        assert rng.random() == twin.random()


@pytest.mark.trust("S14")
def test_draws_are_the_same_bits_in_another_process(in_a_new_process):
    for here, there in zip(in_this_process(), in_a_new_process, strict=True):
        np.testing.assert_array_equal(here, there)


def test_draws_are_the_same_without_compilation(tmp_path, in_a_new_process):
    plain = run_script(tmp_path, NUMBA_DISABLE_JIT="1")
    *fixed, (fast_adapted, slow_adapted) = zip(in_a_new_process, plain, strict=True)
    for fast, slow in fixed:
        np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-13)
    # The search for a step size is chaotic: it magnifies the last bits, which sums may differ in.
    np.testing.assert_allclose(fast_adapted, slow_adapted, rtol=0.01, atol=1e-3)


def test_no_start_is_asked_for():
    short = {"num_samples": 20, "num_warmup": 20, "rng": 1}
    draws = metropolis(gaussian2(), **short)
    np.testing.assert_array_equal(draws.values, metropolis(gaussian2(), None, **short).values)


@pytest.mark.trust("S14")
def test_one_chain_uses_the_generator_itself_and_several_spawn():
    rng = np.random.default_rng(1)
    state = rng.bit_generator.state["state"]["state"]
    metropolis(gaussian2(), [0, 0], num_chains=1, num_samples=5, num_warmup=5, scale=1, rng=rng)
    assert rng.bit_generator.state["state"]["state"] != state
    twin = np.random.default_rng(1)
    twin.random(0), [twin.standard_normal(2).sum() + twin.random() for _ in range(10)]
    assert rng.random() == twin.random()
    runs = [metropolis(gaussian2(), None, num_samples=5, num_warmup=30, rng=rng) for _ in "ab"]
    assert not np.array_equal(runs[0].values, runs[1].values)


def slow(theta, size):
    total = 0.0
    for i in range(size):
        total += math.sin(theta[0] + i)
    return -0.5 * theta[0] ** 2 + 1e-12 * total


def slow_gradient(theta, size):
    slow(theta, size)
    return -theta


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to oneself")
def test_an_interrupt_keeps_what_was_drawn():
    target = Target(slow, dim=1, data=(20_000,), gradient=None)
    metropolis(target, None, num_samples=5, num_warmup=20, rng=1)
    timer = interrupt_after(0.7)
    draws = metropolis(target, None, num_samples=100_000, num_warmup=20, rng=1, progress=False)
    timer.join()
    assert draws.settings["interrupted"] and 1 < draws.num_samples < 100_000
    assert draws.num_chains == 4 and np.isfinite(draws.values).all()
    assert any("interrupted" in problem for problem in draws.problems)
    whole = metropolis(target, None, num_samples=draws.num_samples, num_warmup=20, rng=1)
    np.testing.assert_array_equal(draws.values, whole.values)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to oneself")
@pytest.mark.parametrize(
    "sampler", [partial(hmc, num_steps=100_000), partial(nuts, max_tree_depth=18)]
)
def test_an_interrupt_ends_a_long_trajectory_and_a_warmup(sampler):
    """A trajectory takes most of a minute, the run hours: only the interrupt can end it."""
    target = Target(slow, dim=1, data=(20_000,), gradient=slow_gradient)
    nuts(target, 0.1, step_size=1.0, num_samples=2, num_warmup=2, num_chains=1, rng=1)
    hmc(target, 0.1, step_size=0.1, num_steps=2, num_samples=2, num_chains=1, rng=1)
    timer = interrupt_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        sampler(target, 0.1, step_size=1e-5, num_chains=1, rng=1, progress=False)
    timer.join()


def test_a_bar_appears_by_itself_on_long_runs_but_never_in_a_page_being_built(monkeypatch):
    monkeypatch.delenv("BAYESLIB_PRERENDER", raising=False)
    assert waiting._seems_long(elapsed=1.0, done=10, total=1000)
    assert not waiting._seems_long(elapsed=1.0, done=900, total=1000)
    monkeypatch.setenv("BAYESLIB_PRERENDER", "1")
    assert not waiting._seems_long(elapsed=1.0, done=10, total=1000)


def test_progress_is_shown_when_asked_and_not_on_short_runs(capsys):
    metropolis(gaussian2(), None, num_samples=20, num_warmup=20, rng=1)
    assert capsys.readouterr().err == ""
    metropolis(gaussian2(), None, num_samples=20, num_warmup=20, rng=1, progress=True)
    assert "metropolis" in capsys.readouterr().err
    assert waiting._seems_long(1.0, 10, 100) and not waiting._seems_long(1.0, 90, 100)
    assert not waiting._seems_long(0.1, 1, 100) and not waiting._seems_long(9.0, 0, 100)
    assert waiting._seems_long(2.5, 10, None) and not waiting._seems_long(1.5, 10, None)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to oneself")
def test_many_evaluations_can_be_interrupted_and_keep_their_values():
    """A kernel hears no signal; in one piece these would take minutes."""
    target = Target(slow, dim=1, data=(20_000,), gradient=None)
    thetas = np.linspace(-1.0, 1.0, 300_000)
    values = target.many(thetas[:2000])
    timer = interrupt_after(0.5)
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt) as caught:
        target.many(thetas)
    timer.join()
    found = caught.value.partial
    assert 0 < found.size < thetas.size and time.perf_counter() - began < 30.0
    np.testing.assert_array_equal(found[:2000], values[: found.size])


class Bar:
    """What tqdm does, noted."""

    def __init__(self, **options):
        self.options, self.n = options, 0
        self.open = True

    def update(self, more):
        self.n += more

    def close(self):
        self.open = False


def test_a_bar_counts_the_evaluations_of_the_outermost_run(monkeypatch):
    target, bars = gaussian2(), []
    monkeypatch.setattr(waiting, "_bar", lambda **options: bars.append(Bar(**options)) or bars[-1])
    with watching("outer", progress=True):
        target.many(np.zeros((7, 2)))
        target.many(np.zeros((5, 2)))
    (bar,) = bars
    assert bar.options["desc"] == "outer" and bar.n == 12 and not bar.open
    target.many(np.zeros((7, 2)))
    with watching("silent", progress=False):
        target.many(np.zeros((7, 2)))
    assert len(bars) == 1
    with pytest.raises(TypeError, match="progress must be None, True or False, got 'yes'"):
        watching("outer", progress="yes").__enter__()


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


def test_nobody_watches_a_page_being_built_or_a_pipe(monkeypatch):
    monkeypatch.delenv("BAYESLIB_PRERENDER", raising=False)
    assert not waiting._somebody_watches()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert waiting._somebody_watches()
    monkeypatch.setenv("BAYESLIB_PRERENDER", "1")
    assert not waiting._somebody_watches()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to oneself")
def test_an_interrupt_that_a_callback_swallows_while_compiling_is_raised():
    with pytest.raises(KeyboardInterrupt), waiting.compiling("kernel", 1):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1.0)
        except KeyboardInterrupt:
            pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def raises_late(theta):
    if theta[0] > 2.0:
        raise ValueError("theta[0] is too large")
    return -0.5 * (theta[0] ** 2 + theta[1] ** 2)


@pytest.mark.parametrize("gradient", [False, True])
def test_an_exception_comes_back_with_its_place_and_the_draws_until_then(gradient):
    target = Target(raises_late, dim=2)
    start = [0.1, -0.1]
    options = {"num_chains": 1, "num_samples": 50_000, "num_warmup": 0, "rng": 3}
    with pytest.raises(ValueError, match=r"theta\[0\] is too large") as caught:
        if gradient:
            hmc(target, start, step_size=0.2, num_steps=3, **options)
        else:
            metropolis(target, start, scale=0.3, **options)
    assert "chain 0, iteration" in caught.value.__notes__[0]
    draws = caught.value.partial
    assert 1 < draws.num_samples < 50_000 and np.all(draws.values[..., 0] < 2.0)
    assert np.any(np.diff(draws.values[0, :, 0]) != 0.0)


def test_warmup_windows():
    expected = [75, 100, 150, 250, 450, 950, 1000]
    np.testing.assert_array_equal(warmup_windows(1000), expected)
    np.testing.assert_array_equal(warmup_windows(0), [0])
    np.testing.assert_array_equal(warmup_windows(100), [15, 75, 100])
    for n in (1, 49, 50, 149, 150, 151, 400, 999, 12_345):
        ends = warmup_windows(n)
        assert ends[-1] == n and np.all(np.diff(ends) > 0)


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
    code = (
        "import numpy as np\nfrom bayeslib.compile.fingerprint import fingerprint\n"
        "from numba import njit\n"
        "h = njit(fastmath={'nsz', 'arcp', 'contract'})(lambda x: x + 1)\n"
        "def f(x, k={'a', 'b', 'c'}):\n    return h(np.exp(x)) in {1.0, 2.0, 3.0}\n"
        "print(fingerprint(f))"
    )
    digests = set()
    for seed in ("1", "2", "3"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True,
        )  # fmt: skip
        digests.add(run.stdout)
    assert len(digests) == 1


def cached(theta, y):
    return -0.5 * (theta[0] - y[0]) ** 2 - math.log1p(theta[1] ** 2)


@pytest.mark.parametrize("kind", ["value", "auto"])
def test_a_density_is_compiled_once_and_found_on_disk(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiler, "_compiled", {})
    data = (aligned(np.array([2.0])),)
    theta, grad = np.array([0.5, 1.0]), np.empty(2)
    value = bind(kind, (cached,), data, 2)(theta, grad)
    assert value == pytest.approx(cached(theta, [2.0]), rel=1e-14)
    assert len(list(tmp_path.glob("bayeslib/density_*/*.py"))) == 1
    compiled = compiler._compiled
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(compiler, "_compiled_entry", lambda *_: pytest.fail("compiled again"))
    again = bind(kind, (cached,), data, 2)
    assert again(theta, grad) == value
    assert compiled.keys() == compiler._compiled.keys()
    other = bind(kind, (cached,), (aligned(np.array([3.0])),), 2)
    assert other.address == again.address and other(theta, grad) != value


def test_kernels_are_found_on_disk_by_the_next_process():
    callback._evaluate_rows.compile()
    code = (
        "from bayeslib.compile.callback import _evaluate_rows\n"
        "print(sum(_evaluate_rows.compile().stats.cache_hits.values()))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout.strip() == b"1"


def test_a_kernel_is_compiled_again_when_what_it_calls_has_changed():
    f = make("def f(x):\n    return g(x)")
    stamps = []
    for body in ("return 2.0 * x", "return 3.0 * x"):
        scope = {"njit": njit}
        exec(f"@njit\ndef g(x):\n    {body}", scope)
        function = types.FunctionType(f.__code__, {"g": scope["g"]})
        stamps.append(fingerprint(function))
        stamped = callback.stamped(function, stamps[-1])
        assert stamped.__closure__[-1].cell_contents == stamps[-1]
    assert stamps[0] != stamps[1]


def test_machine_code_that_was_pruned_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    theta, grad = np.array([0.5, 1.0]), np.empty(2)
    values = []
    for _ in range(2):
        monkeypatch.setattr(compiler, "_compiled", {})
        values.append(bind("value", (cached,), (aligned(np.ones(1)),), 2)(theta, grad))
        for path in [*tmp_path.rglob("*.nbc"), *tmp_path.rglob("*.nbi")]:
            path.unlink()
    assert values[0] == values[1]


def kernel_on_disk(folder, monkeypatch, function=None):
    """Compile a small kernel as the next process would; return its value and whether it had to."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder))
    made = callback.Kernel(function or twice, callback.FLOAT(callback.FLOAT))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = made.compile()
    return compiled(2.0), bool(sum(compiled.stats.cache_misses.values()))


def twice(x):
    return 2.0 * x


def truncated(stored):
    return stored[: len(stored) // 2]


def flipped(stored):
    """Change one bit, in the middle of what is machine code in the larger file."""
    at = len(stored) // 2
    return stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]


@pytest.mark.parametrize("damage", [truncated, flipped, lambda stored: b"", lambda stored: b"x"])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_of_a_kernel_heals(kind, damage, tmp_path, monkeypatch):
    assert kernel_on_disk(tmp_path, monkeypatch) == (4.0, True)
    assert kernel_on_disk(tmp_path, monkeypatch) == (4.0, False)
    (path,) = tmp_path.rglob(f"*.{kind}")
    path.write_bytes(damage(path.read_bytes()))
    assert kernel_on_disk(tmp_path, monkeypatch) == (4.0, True)
    assert kernel_on_disk(tmp_path, monkeypatch) == (4.0, False)


@pytest.mark.parametrize("damage", [truncated, flipped, lambda stored: b""])
@pytest.mark.parametrize("kind", ["nbi", "nbc", "py"])
def test_a_damaged_file_of_a_density_heals(kind, damage, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    data, values = (aligned(np.ones(1)),), []
    for _ in range(2):
        monkeypatch.setattr(compiler, "_compiled", {})
        bound = bind("value", (cached,), data, 2)
        values.append(bound(np.zeros(2), np.empty(2)))
        (path,) = tmp_path.rglob(f"density_*.{kind}")
        path.write_bytes(damage(path.read_bytes()))
    assert values[0] == values[1]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_done_without_and_said_once(number, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def full(*_):
        raise OSError(number, os.strerror(number))
        yield

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._open_for_write", full)
    monkeypatch.setattr(compiler, "_compiled", {})
    monkeypatch.setattr(disk, "_said", [])
    made = callback.Kernel(twice, callback.FLOAT(callback.FLOAT))
    with pytest.warns(BayeslibWarning) as caught:
        assert made(2.0) == 4.0
    (said,) = (str(warning.message) for warning in caught)
    assert str(tmp_path) in said and os.strerror(number) in said and "NUMBA_CACHE_DIR" in said
    assert kernel_on_disk(tmp_path, monkeypatch) == (4.0, True)  # and says no more
    bound = bind("value", (cached,), (aligned(np.ones(1)),), 2)
    assert np.isfinite(bound(np.zeros(2), np.empty(2)))


def test_without_any_folder_for_machine_code_a_kernel_compiles(monkeypatch):
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    monkeypatch.setattr(disk, "_said", [])
    made = callback.Kernel(twice, callback.FLOAT(callback.FLOAT))
    with pytest.warns(BayeslibWarning, match="compiled code cannot be stored in the cache folder"):
        assert made(2.0) == 4.0


def test_the_same_density_in_another_module_does_not_need_the_first(tmp_path):
    code = (
        "import sys, bayeslib as bl\n"
        "scope = {'__name__': 'no_such_module'}\n"
        "exec('def g(theta): return -theta[0] ** 4', scope)\n"
        "import MODULE as mine\n"
        "print(bl.Target(mine.f, dim=1)(2.0), bl.Target(scope['g'], dim=1)(2.0))"
        "\nassert not {'first', 'second'} - {'MODULE'} & set(sys.modules)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text("def f(theta):\n    return -(theta[0] ** 2)\n")
        environment["PYTHONPATH"] = str(folder)
        run = subprocess.run(
            [sys.executable, "-c", code.replace("MODULE", name)],
            env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert run.stdout.split() == ["-4.0", "-16.0"], run.stderr


def test_an_unwritable_cache_is_done_without(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocker))
    monkeypatch.setattr(compiler, "_compiled", {})
    bound = bind("value", (cached,), (aligned(np.ones(1)),), 2)
    assert np.isfinite(bound(np.zeros(2), np.empty(2)))


def test_old_wrappers_are_pruned(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "_KEPT", 8)
    for i in range(10):
        (tmp_path / f"density_{i}").mkdir()
        os.utime(tmp_path / f"density_{i}", (i, i))
    compiler._prune(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"density_{i}" for i in range(2, 10)]


def test_a_first_run_imports_nothing_heavy():
    """What it takes is measured in benchmarks/start_up.py."""
    code = (
        "import json, sys\nfrom bayeslib import Target, hmc, metropolis\n"
        "target = Target(lambda theta: -0.5 * theta[0] ** 2, dim=1)\n"
        "hmc(target, num_steps=3, num_samples=50, num_warmup=50, rng=1)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    modules = json.loads(run.stdout)
    heavy_parts_of_scipy = ("scipy.stats", "scipy.special", "scipy.linalg")
    for heavy in ("matplotlib", "ipywidgets", "tqdm", *heavy_parts_of_scipy):
        assert heavy not in modules, heavy


@pytest.mark.trust("S1")
def test_every_exact_density_has_the_gradient_it_claims():
    for target, sample in EXACT.values():
        for theta in sample(5, np.random.default_rng(1)):
            target.check_gradient(theta)


def test_the_cache_never_lands_in_the_working_folder(monkeypatch):
    from bayeslib.compile import compiler

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert compiler._cache_folder().is_absolute()
