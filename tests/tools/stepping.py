"""Tests of one transition: many short chains from exact draws, and planted bugs."""

import hashlib
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
from recording import measured, note

# 8 moments, two sides, alpha = 1e-6: norm.isf(1e-6 / 16) is 5.3.
Z_LIMIT = 5.6


def hastings_steps(
    target, starts, *, propose, log_ratio, args=(), num_steps, rng, compiled=True, module=None
):
    """Do `num_steps` Metropolis-Hastings steps from each start, see `steps`."""
    from bayeslib.chains.moves import Move

    from bayeslib.chains.blocks import Record

    kernel = (module or sys.modules["bayeslib.markov.metropolis_hastings"]).hastings_kernel
    dim = target.dim
    bound, record = target.bind(gradient=False), Record(dim)
    moves = Move(propose, log_ratio, args, dim)
    moves.compiled = moves.compiled and compiled
    move, correction = moves.bind(rng)
    corrects = (0, np.zeros(1, dtype=np.int64))
    if correction is not None:
        corrects = (correction.address, correction.handle)
    draws, logdensity = np.empty((num_steps, dim)), np.empty(num_steps)
    acceptance, accepted = np.empty(num_steps), np.empty(num_steps, dtype=bool)
    results, rates = np.empty_like(starts), np.empty(len(starts))
    values, current, room = target.many(starts), np.empty(1), np.empty(dim)
    for i, start in enumerate(starts):
        current[0] = values[i]
        kernel(
            bound.address, bound.handle, move.address, move.handle, *corrects, rng, 0, num_steps,
            0, start.copy(), room, current, record.counts, record.points, draws, logdensity,
            acceptance, accepted,
        )  # fmt: skip
        results[i], rates[i] = draws[-1], acceptance.mean()
    return results, rates


def independence_steps(target, starts, *, proposal, num_steps, rng, module=None):
    """Do `num_steps` steps with independent proposals, see `steps`."""
    from bayeslib.chains.blocks import Record
    from bayeslib.target import proposals

    kernel = (module or sys.modules["bayeslib.markov.independence_metropolis"]).independence_kernel
    dim = target.dim
    bound, record = target.bind(gradient=False), Record(dim)
    distribution = proposals.as_proposal(proposal, dim)
    proposed = distribution.sample(num_steps * len(starts), rng).reshape(-1, num_steps, dim)
    log_q = distribution.logdensity(proposed.reshape(-1, dim)).reshape(-1, num_steps)
    uniforms = rng.random((len(starts), num_steps))
    draws, numbers = np.empty((num_steps, dim)), np.empty((3, num_steps))
    accepted = np.empty(num_steps, dtype=bool)
    results, rates = np.empty_like(starts), np.empty(len(starts))
    values = target.many(starts)
    weights = values - distribution.logdensity(starts)
    for i, start in enumerate(starts):
        kernel(
            bound.address, bound.handle, 0, num_steps, 0, proposed[i], log_q[i], uniforms[i],
            start.copy(), np.array([values[i], weights[i]]), record.counts, record.points, draws,
            numbers, accepted,
        )  # fmt: skip
        results[i], rates[i] = draws[-1], numbers[1].mean()
    return results, rates


def slice_steps(
    target, starts, *, width, max_steps_out=50, at_random=False, num_steps, rng, module=None
):
    """Do `num_steps` sweeps from each start; return the last states, evaluations a sweep (n,)."""
    from bayeslib.chains.blocks import Record

    kernel = (module or sys.modules["bayeslib.markov.slice_sample"]).slice_kernel
    dim = target.dim
    bound, record = target.bind(gradient=False), Record(dim)
    ends, window, widths = np.array([0]), np.zeros(2, dtype=np.int64), np.zeros((2, dim))
    draws, logdensity = np.empty((num_steps, dim)), np.empty(num_steps)
    spent, cut = np.empty(num_steps, dtype=np.int64), np.empty(num_steps, dtype=bool)
    results, evaluations = np.empty_like(starts), np.empty(len(starts))
    values, current = target.many(starts), np.empty(1)
    for i, start in enumerate(starts):
        current[0] = values[i]
        kernel(
            bound.address, bound.handle, rng, 0, num_steps, max_steps_out, at_random, False, ends,
            window, start.copy(), current, np.full(dim, width), widths, record.counts,
            record.points, draws, logdensity, spent, cut,
        )  # fmt: skip
        assert record.counts[0] == 0
        results[i], evaluations[i] = draws[-1], spent.mean()
    return results, evaluations


def moments(x):
    """Eight functions of a state, (n, dim) -> (n, 8); bounded where tails may be heavy."""
    a, b = x[:, 0], x[:, -1]
    if x.shape[1] == 1:
        columns = [a, a**2, np.tanh(2 * a), abs(a), a > 1, a < 0, np.cos(2 * a), np.sin(2 * a)]
    else:
        t = np.tanh(b)
        columns = [a, a**2, t, t**2, a * t, a > 1, np.cos(b), a < -1]
    return np.column_stack(columns).astype(float)


def paired_z(before, after, *, right):
    """z of each moment's mean change, and the smallest bias seen with probability 0.999, in sd.

    `right`, here and below, is what the program is, for the record: not planted with a bug.
    """
    change = moments(after) - moments(before)
    error = change.std(axis=0, ddof=1) / np.sqrt(len(change))
    z, seen = change.mean(axis=0) / error, (Z_LIMIT + 3.1) * error / moments(before).std(axis=0)
    measured("conservation", z, Z_LIMIT, right=right)
    if right:
        note("power", bias=seen.max())
    return z, seen


def swap_z(x, y, *more, right):
    """z of four antisymmetric functions of (x, y): zero on average if the kernel is reversible.

    `more` are the values of others, (n,) each.
    """
    a, b = x[:, 0], y[:, 0]
    pairs = [
        np.tanh(a) * np.cos(b) - np.tanh(b) * np.cos(a),
        a * (b > 0.5) - b * (a > 0.5),
        np.sin(2 * (b - a)),
        (b > a + 0.3) * 1.0 - (a > b + 0.3),
        *more,
    ]
    pairs = np.column_stack(pairs)
    z = pairs.mean(axis=0) / (pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs)))
    measured("reversibility", z, Z_LIMIT, right=right)
    return z


def mutant(folder, module_name, *replacements):
    """Import a copy of a module with a bug planted: each (old, new) must occur exactly once."""
    original = sys.modules[module_name]
    source = Path(original.__file__).read_text(encoding="utf-8")
    for old, new in replacements:
        assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
        source = source.replace(old, new)
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = Path(folder) / f"mutant_{digest}.py"
    if not path.exists():
        whole = path.with_suffix(f".{os.getpid()}")  # another process may want the same
        whole.write_text(source, encoding="utf-8")
        os.replace(whole, path)
    name = f"{original.__package__}.mutant_{digest}".lstrip(".")
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def batch_z(values, truth, *, right):
    """z of means of chains (num_chains, n, ...) by 50 batch means a chain: no ESS of our own."""
    num_chains, n, *rest = values.shape
    batches = values[:, : n - n % 50].reshape(num_chains * 50, -1, *rest).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    z = (batches.mean(axis=0) - truth) / error
    measured("means of batches", z, Z_LIMIT, right=right)
    return z
