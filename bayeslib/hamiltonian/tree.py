"""One transition of the No-U-Turn Sampler, compiled: a trajectory that doubles until it turns.

Momenta are kept whitened: with M^-1 = L L', what is called momentum here is L' p. It is N(0, I),
its half square is the kinetic energy, and r' M^-1 p is an ordinary dot product, whatever the
metric; `root` is L, (1, dim) for a diagonal metric, else (dim, dim), lower triangular.
"""

import numpy as np

from ..chains.blocks import INFINITE, NUM_EVALS, NUM_NAN, NUM_OUTSIDE, STATUS
from ..compile.callback import borrowed, density, helper
from .kernels import DIVERGENT

# How the transition ended; the first two are proper ends.
TURNED, FULL, DIVERGED, BROKEN = range(4)
# What it found out: acceptance rate, energy of the state kept, doublings, leapfrog steps.
ACCEPTANCE, ENERGY, DEPTH, STEPS = range(4)

# Rows of the work space: two ends of the trajectory (position, momentum, force), the proposal and
# its gradient, the gradient at hand, the running sum of momenta, where the last step set out.
_LEFT, _RIGHT, _PROPOSAL, _SLOPE, _SUM, SOURCE, _SLOTS = 0, 3, 6, 8, 9, 10, 11
# Then three for the old trajectory, and for each unfinished subtree of the new one: its first
# momentum, the running sum before it, and the momentum before it.
_FIRST, _BEFORE, _NEAR, _SLOT = range(4)

_SHIFT = 50.0  # a log weight this far above the others' rescales their sum


def work_rows(max_depth):
    """Return how many rows of work space a trajectory of 2**max_depth states needs."""
    return _SLOTS + _SLOT * (max_depth + 1)


@helper
def set_force(root, gradient, force):
    """Write L' gradient: the force on a whitened momentum."""
    dim = gradient.size
    if root.shape[0] == 1:
        for i in range(dim):
            force[i] = root[0, i] * gradient[i]
        return
    for i in range(dim):
        force[i] = 0.0
    for i in range(dim):
        slope = gradient[i]
        for j in range(i + 1):
            force[j] += root[i, j] * slope


@helper
def copy(vector, into):
    """Write a vector into another, without what a slice assignment compiles to."""
    for i in range(vector.size):
        into[i] = vector[i]


@helper
def pair_turns(work, row, last):
    """Whether a trajectory of two states, that of slot `row` and the last, turns back at either."""
    start, both, end = 0.0, 0.0, 0.0
    for i in range(last.size):
        first = work[row + _FIRST, i]
        start += first * first
        both += first * last[i]
        end += last[i] * last[i]
    return start + both <= 0.0 or end + both <= 0.0


@helper
def turns(work, row, last, total):
    """Whether the trajectory from slot `row` to the last state, or part of it, turns back.

    It joins two, of which the later is in the next slot. Asked of the whole, of the earlier with
    the first state of the later, and of the later with the last state of the earlier (as in Stan);
    each turns when the sum of its momenta has no positive product with its first or last one.
    """
    whole_first, whole_last = 0.0, 0.0
    left_first, left_last, right_first, right_last = 0.0, 0.0, 0.0, 0.0
    later = row + _SLOT
    for i in range(last.size):
        between = work[later + _BEFORE, i]
        left, right = between - work[row + _BEFORE, i], total[i] - between
        first, end = work[row + _FIRST, i], last[i]
        next_, near = work[later + _FIRST, i], work[later + _NEAR, i]
        whole_first += (left + right) * first
        whole_last += (left + right) * end
        left_first += (left + next_) * first
        left_last += (left + next_) * next_
        right_first += (right + near) * near
        right_last += (right + near) * end
    return (
        whole_first <= 0.0
        or whole_last <= 0.0
        or left_first <= 0.0
        or left_last <= 0.0
        or right_first <= 0.0
        or right_last <= 0.0
    )


@helper
def leap(address, handle, root, q, p, force, slope, source, total, step):
    """Do a leapfrog step in place; return the log density and kinetic energy at its end.

    Few loops: in a few dimensions it is their number that takes the time.
    """
    dim, kick, kinetic = q.size, 0.5 * step, 0.0
    if root.shape[0] == 1:
        for i in range(dim):
            source[i] = q[i]
            p[i] += kick * force[i]
            q[i] += step * root[0, i] * p[i]
        lp = density(address, q, slope, handle)
        for i in range(dim):
            force[i] = root[0, i] * slope[i]
            p[i] += kick * force[i]
            kinetic += p[i] * p[i]
            total[i] += p[i]
        return lp, 0.5 * kinetic
    for i in range(dim):
        source[i] = q[i]
        p[i] += kick * force[i]
    for i in range(dim):
        velocity = 0.0
        for j in range(i + 1):
            velocity += root[i, j] * p[j]
        q[i] += step * velocity
    lp = density(address, q, slope, handle)
    set_force(root, slope, force)
    for i in range(dim):
        p[i] += kick * force[i]
        kinetic += p[i] * p[i]
        total[i] += p[i]
    return lp, 0.5 * kinetic


@helper
def transition(
    address, handle, rng, position, gradient, lp, root, step_size, max_depth, work, counts, points,
    found,
):  # fmt: skip
    """Draw the next state in place; return its log density and how the trajectory ended.

    `found` receives acceptance rate, energy, depth and steps. After a divergence the row
    ``work[SOURCE]`` holds the state from which the diverging step set out.
    """
    dim, last_word = position.size, handle.size - 1
    left_q, left_p = borrowed(work[_LEFT, :dim]), borrowed(work[_LEFT + 1, :dim])
    right_q, right_p = borrowed(work[_RIGHT, :dim]), borrowed(work[_RIGHT + 1, :dim])
    left_force, right_force = borrowed(work[_LEFT + 2, :dim]), borrowed(work[_RIGHT + 2, :dim])
    proposal, proposal_slope = borrowed(work[_PROPOSAL, :dim]), borrowed(work[_PROPOSAL + 1, :dim])
    slope, total = borrowed(work[_SLOPE, :dim]), borrowed(work[_SUM, :dim])
    source = borrowed(work[SOURCE, :dim])
    set_force(root, gradient, left_force)
    kinetic = 0.0
    for i in range(dim):
        normal = rng.standard_normal()
        kinetic += 0.5 * normal * normal
        left_q[i] = right_q[i] = position[i]
        left_p[i] = right_p[i] = total[i] = normal
        right_force[i] = left_force[i]
        work[_SLOTS + _BEFORE, i] = 0.0
    initial = kinetic - lp
    energy = initial
    # Weights are exp(initial - energy - shift): 1 for the first state.
    weight, shift, acceptance = 1.0, 0.0, 0.0
    depth, steps, end = 0, 0, FULL
    while depth < max_depth:
        forward = rng.random() < 0.5
        if forward:
            q, p, force, far, step = right_q, right_p, right_force, left_p, step_size
        else:
            q, p, force, far, step = left_q, left_p, left_force, right_p, -step_size
        for i in range(dim):
            work[_SLOTS + _FIRST, i] = far[i]
        subtree_weight, subtree_shift, subtree_lp, subtree_energy = 0.0, shift, lp, energy
        row, end = _SLOTS + _SLOT, FULL
        for leaf in range(1 << depth):
            opens = leaf & 1 == 0
            if opens:
                for i in range(dim):
                    work[row + _BEFORE, i] = total[i]
                    work[row + _NEAR, i] = p[i]
            new, kinetic = leap(address, handle, root, q, p, force, slope, source, total, step)
            steps += 1
            if handle[last_word] != 0 or new == np.inf:
                if new == np.inf:
                    counts[STATUS] = INFINITE
                    copy(q, points[1])
                end = BROKEN
                break
            gain = initial - (kinetic - new)
            if not gain >= -DIVERGENT:
                if new != new:
                    if counts[NUM_NAN] == 0:
                        copy(q, points[0])
                    counts[NUM_NAN] += 1
                elif new == -np.inf:
                    counts[NUM_OUTSIDE] += 1
                end = DIVERGED
                break
            if gain > subtree_shift + _SHIFT:
                subtree_weight *= np.exp(subtree_shift - gain)
                subtree_shift = gain
            leaf_weight = np.exp(gain - subtree_shift)
            acceptance += min(1.0, leaf_weight if subtree_shift == 0.0 else np.exp(min(gain, 0.0)))
            subtree_weight += leaf_weight
            if leaf == 0 or rng.random() * subtree_weight < leaf_weight:
                subtree_lp, subtree_energy = new, kinetic - new
                for i in range(dim):
                    proposal[i] = q[i]
                    proposal_slope[i] = slope[i]
            if opens:
                for i in range(dim):
                    work[row + _FIRST, i] = p[i]
                continue
            if pair_turns(work, row, p):
                end = TURNED
                break
            # A leaf completes as many subtrees as its number, in binary, ends in ones.
            rest = leaf >> 1
            while rest & 1:
                row -= _SLOT
                if turns(work, row, p, total):
                    end = TURNED
                    break
                rest >>= 1
            if end != FULL:
                break
            row += _SLOT
        if end != FULL:
            break
        depth += 1
        if subtree_shift > shift:
            weight *= np.exp(shift - subtree_shift)
            shift = subtree_shift
        if rng.random() * weight < subtree_weight:
            lp, energy = subtree_lp, subtree_energy
            for i in range(dim):
                position[i] = proposal[i]
                gradient[i] = proposal_slope[i]
        weight += subtree_weight
        if turns(work, _SLOTS, p, total):
            end = TURNED
            break
    found[ACCEPTANCE] = acceptance / steps
    found[ENERGY] = energy
    found[DEPTH] = depth
    found[STEPS] = steps
    counts[NUM_EVALS] += steps
    return lp, end
