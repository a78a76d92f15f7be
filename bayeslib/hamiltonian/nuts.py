"""The No-U-Turn Sampler: Hamiltonian Monte Carlo that chooses its own path lengths.

Momenta are kept whitened: with M^-1 = L L', what is called momentum here is L' p. It is N(0, I),
its half square is the kinetic energy, and r' M^-1 p is an ordinary dot product, whatever the
metric; `root` is L, (1, dim) for a diagonal metric, else (dim, dim), lower triangular.
"""

from typing import NamedTuple

import numpy as np

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, copy, laid_out, log_density_and_gradient, outside, record
from ..compile.callback import helper
from ..compile.kinds import INT, MATRIX, VECTOR
from ..target.transforms import walked
from ..validate import as_choice, as_count
from .dynamics import DIVERGENT, as_metric
from .hmc import settings as hmc_settings
from .warmup import DENSE, METRICS, Memory, Step, as_step, begin_nuts, learn_nuts, metric_windows

TURNED, FULL, DIVERGED = range(3)  # how a trajectory ended
_SHIFT = 50.0  # a log weight this far above the others' rescales their sum
_DEEPEST = 20  # a million gradients a draw
_DIVERGENCES = 1000  # positions kept, a chain

Q, P, FORCE = range(3)  # rows of an end of the trajectory: position, momentum, force on it

# The new half of a trajectory: the sum of its weights exp(start - energy - shift), and of its
# states' the log density and energy of the one proposed. Of the whole: steps and acceptance rates.
Half = record(weight="f8", shift="f8", log_p="f8", energy="f8", steps="i8", acceptance="f8")


class Tree(NamedTuple):
    """What a chain remembers, and a trajectory that doubles."""

    position: VECTOR
    gradient: VECTOR
    left: MATRIX  # the trajectory's ends
    right: MATRIX
    proposal: MATRIX  # of the new half, and its gradient
    slope: VECTOR  # the gradient where the last step led
    total: VECTOR  # of all momenta
    source: VECTOR  # where the last step set out
    first: MATRIX  # of the old half, then of each unfinished part of the new: its first momentum,
    before: MATRIX  # the sum of momenta before it,
    near: MATRIX  # and the momentum before it
    metric: MATRIX
    root: MATRIX
    moments: MATRIX
    divergences: MATRIX  # where the steps that diverged set out
    max_depth: INT
    learned: INT
    half: Half
    step: Step
    memory: Memory


Note = record(
    acceptance_rate="f8", energy="f8", step_size="f8", tree_depth="i8", n_steps="i8",
    diverging="?", reached_max_treedepth="?",
)  # fmt: skip


def nuts_step(target, rng, log_p, tree, note):
    """Double a trajectory until it turns back, and draw the next state from it.

    The new is taken for the old with the probability of its share, ``min(1, new / old)``.
    """
    half, depth, end, note.step_size = tree.half, 0, FULL, tree.step.value
    start = energy = set_out(rng, tree) - log_p
    weight, half.shift, half.acceptance, half.steps = 1.0, 0.0, 0.0, 0
    while end == FULL and depth < tree.memory.deepest:
        here, far, step_size, shift = tree.right, tree.left, note.step_size, half.shift
        if not rng.random() < 0.5:
            here, far, step_size = tree.left, tree.right, -note.step_size
        copy(far[P], tree.first[0])
        end = grow(target, rng, tree, here, 1 << depth, step_size, start)
        if end != FULL:
            break
        depth += 1
        if half.shift > shift:
            weight *= np.exp(shift - half.shift)
        if rng.random() * weight < half.weight:
            log_p, energy = half.log_p, half.energy
            copy(tree.proposal[0], tree.position)
            copy(tree.proposal[1], tree.gradient)
        weight += half.weight
        if turns(tree, 0, here[P]):
            end = TURNED
    if end == DIVERGED and tree.memory.num_diverged < tree.divergences.shape[0]:
        copy(tree.source, tree.divergences[tree.memory.num_diverged])
        tree.memory.num_diverged += 1
    note.acceptance_rate, note.energy = half.acceptance / half.steps, energy
    note.tree_depth, note.n_steps = depth, half.steps
    note.diverging, note.reached_max_treedepth = end == DIVERGED, end == FULL
    return log_p


@helper
def set_out(rng, tree):
    """Draw a momentum, and begin a trajectory of one state; return its kinetic energy."""
    left, right, kinetic = tree.left, tree.right, 0.0
    set_force(tree.root, tree.gradient, left[FORCE])
    for i in range(tree.position.size):
        normal = rng.standard_normal()
        kinetic += 0.5 * normal * normal
        left[Q, i] = right[Q, i] = tree.position[i]
        left[P, i] = right[P, i] = tree.total[i] = normal
        right[FORCE, i] = left[FORCE, i]
        tree.before[0, i] = 0.0
    return kinetic


@helper
def grow(target, rng, tree, here, num_steps, step_size, start):
    """Do the steps of a new half from this end; say whether they turned back, or diverged."""
    half, q, p, row = tree.half, here[Q], here[P], 1
    half.weight = 0.0
    for leaf in range(num_steps):
        opens = leaf & 1 == 0
        if opens:
            for i in range(p.size):
                tree.before[row, i] = tree.total[i]
                tree.near[row, i] = p[i]
        log_new, kinetic = leap(target, tree, here, step_size)
        half.steps += 1
        gain = start - (kinetic - log_new)
        if not gain >= -DIVERGENT:
            target.account.num_outside += outside(target, log_new)
            return DIVERGED
        own = weigh(half, gain)
        if leaf == 0 or rng.random() * half.weight < own:
            half.log_p, half.energy = log_new, kinetic - log_new
            for i in range(q.size):
                tree.proposal[0, i] = q[i]
                tree.proposal[1, i] = tree.slope[i]
        if opens:
            copy(p, tree.first[row])
            continue
        if pair_turns(tree, row, p):
            return TURNED
        # A leaf completes as many parts as its number, in binary, ends in ones.
        rest = leaf >> 1
        while rest & 1:
            row -= 1
            if turns(tree, row, p):
                return TURNED
            rest >>= 1
        row += 1
    return FULL


@helper
def weigh(half, gain):
    """Add a state's weight exp(gain) to those of its half, and return it; note what it accepts."""
    if gain > half.shift + _SHIFT:
        half.weight *= np.exp(half.shift - gain)
        half.shift = gain
    own = np.exp(gain - half.shift)
    half.acceptance += min(1.0, own if half.shift == 0.0 else np.exp(min(gain, 0.0)))
    half.weight += own
    return own


@helper
def leap(target, tree, here, step_size):
    """Do a leapfrog step in place; return the log density and kinetic energy at its end.

    Few loops: in a few dimensions it is their number that takes the time.
    """
    q, p, force, root = here[Q], here[P], here[FORCE], tree.root
    dim, kick, kinetic, diagonal = q.size, 0.5 * step_size, 0.0, root.shape[0] == 1
    for i in range(dim):
        tree.source[i] = q[i]
        p[i] += kick * force[i]
        if diagonal:
            q[i] += step_size * root[0, i] * p[i]
    if not diagonal:
        for i in range(dim):
            velocity = 0.0
            for j in range(i + 1):
                velocity += root[i, j] * p[j]
            q[i] += step_size * velocity
    log_p = log_density_and_gradient(target, q, tree.slope)
    if not diagonal:
        set_force(root, tree.slope, force)
    for i in range(dim):
        if diagonal:
            force[i] = root[0, i] * tree.slope[i]
        p[i] += kick * force[i]
        kinetic += p[i] * p[i]
        tree.total[i] += p[i]
    return log_p, 0.5 * kinetic


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
def pair_turns(tree, row, last):
    """Whether a part of two states, the first of `row` and the last, turns back at either."""
    start, both, end = 0.0, 0.0, 0.0
    for i in range(last.size):
        first = tree.first[row, i]
        start += first * first
        both += first * last[i]
        end += last[i] * last[i]
    return start + both <= 0.0 or end + both <= 0.0


@helper
def turns(tree, row, last):
    """Whether the trajectory from the first state of `row` to the last, or part of it, turns back.

    It joins two, of which the later is in the next row. Asked of the whole, of the earlier with
    the first state of the later, and of the later with the last state of the earlier (as in Stan);
    each turns when the sum of its momenta has no positive product with its first or last one.
    """
    whole_first, whole_last = 0.0, 0.0
    left_first, left_last, right_first, right_last = 0.0, 0.0, 0.0, 0.0
    later = row + 1
    for i in range(last.size):
        between = tree.before[later, i]
        left, right = between - tree.before[row, i], tree.total[i] - between
        first, end = tree.first[row, i], last[i]
        next_, near = tree.first[later, i], tree.near[later, i]
        whole_first += (left + right) * first
        whole_last += (left + right) * end
        left_first += (left + next_) * first
        left_last += (left + next_) * next_
        right_first += (right + near) * near
        right_last += (right + near) * end
    return (
        whole_first <= 0.0 or whole_last <= 0.0 or left_first <= 0.0 or left_last <= 0.0
        or right_first <= 0.0 or right_last <= 0.0
    )  # fmt: skip


def initial(run, start, learned, max_tree_depth, **options):
    dim, rows = start.size, max_tree_depth + 1
    divergences = np.full((min(run.num_samples, _DIVERGENCES), dim), np.nan)
    return laid_out(
        Tree, dim, position=start, left=(3, dim), right=(3, dim), proposal=(2, dim),
        first=(rows, dim), before=(rows, dim), near=(rows, dim), divergences=divergences,
        moments=(max(1 + dim, 3) if learned == DENSE else 8, dim), learned=learned,
        max_depth=max_tree_depth, memory={"deepest": max_tree_depth}, **options,
    )  # fmt: skip


def joined(draws):
    """Join the positions noted for the draws that are kept, chain after chain."""
    counts = draws.stats["diverging"].sum(axis=1)
    noted = zip(draws.settings["divergences"], counts, strict=True)
    draws.settings["divergences"] = np.concatenate([rows[:count] for rows, count in noted])
    return draws


NUTS = Algorithm(
    "nuts", Chain(nuts_step, Tree, Note, begin=begin_nuts, learn=learn_nuts, seconds=7), initial,
    lambda run: hmc_settings(run) | {"divergences": run.state.divergences},
    lambda num_warmup, tree: metric_windows(num_warmup, tree.learned), gradient=True,
    joined=joined, diverged='the steps began at settings["divergences"]',
)  # fmt: skip


def nuts(
    target,
    initial_position=None,
    *,
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    target_accept=0.8,
    max_tree_depth=10,
    metric="diag",
    step_size=None,
    inverse_mass_matrix=None,
    rng,
    executor=None,
    progress=None,
):
    """Sample by the No-U-Turn Sampler: Hamiltonian Monte Carlo that chooses its own path lengths.

    Parameters
    ----------
    target : Target
        With a gradient; it is compared with finite differences at the first chain's start.
    initial_position : array_like, shape (dim,) or (num_chains, dim), optional
        None draws a start for each chain, see Notes. Modes that no start leads to stay unseen.
    num_samples : int
        Draws kept in each chain.
    num_warmup : int
        Iterations before them, in each chain, that adapt step size and metric; not kept, but
        counted in `num_evals`.
    num_chains : int
    target_accept : float
        Mean acceptance rate the adapted step aims at, between 0 and 1. Higher means smaller steps.
        The step is made smaller still where it is unstable in the tails, see Notes.
    max_tree_depth : int
        The most doublings of a trajectory, at most 20; it then has ``2**max_tree_depth - 1`` steps.
    metric : {"diag", "dense", "unit"}
        What the warm-up learns of the inverse mass matrix M^-1. "diag": its diagonal, sd(draws) /
        sd(gradients) in each dimension; "dense": all of it, the regularised covariance of the
        draws; "unit": nothing, it stays the identity.
    step_size : float, optional
        The time of a leapfrog step, in the units that `hmc` states. Given, nothing is adapted,
        `metric` is not used, and the warm-up is only burn-in.
    inverse_mass_matrix : array_like, shape (dim,) or (dim, dim), optional
        M^-1, in units of variance. Given, it is kept whatever `metric` says. None is the identity
        when `step_size` is given.
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. See `hmc`.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Interrupted, it warns and returns what was drawn, ``settings["interrupted"]`` set. Stats:

        - ``acceptance_rate``: the mean of ``min(1, exp(-energy error))`` over the trajectory;
        - ``energy`` of the state kept; ``step_size``;
        - ``tree_depth``: completed doublings; ``n_steps``: leapfrog steps;
        - ``diverging``: an energy error passed 1000; the draw comes from the doublings before that;
        - ``reached_max_treedepth``: the trajectory had not turned when it was full.

        Settings:

        - ``step_size`` (num_chains,); ``inverse_mass_matrix`` (num_chains, dim[, dim]);
        - ``divergences`` (n, dim): the parameters from which the diverging steps set out, chain
          after chain, at most 1000 a chain;
        - ``num_outside`` (num_chains,): how many of the divergences were steps to where the log
          density is -inf;
        - ``tail_index``: moments of this order and above seem not to exist, judging by the density
          beyond the farthest draws (up to 16 evaluations); infinite if no draw is eight mean
          absolute deviations out.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; StartError when the density at a start is nan,
        infinite or zero; GradientError for a missing or wrong gradient; TargetError when the
        density is +inf on the way; ImproperError when the step size grows without bound.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When transitions diverged, the density was nan on the way, all chains start at one point,
        draws reach beyond 1e10, a parameter ran to its bound, or chains disagree and the density is
        flat in some direction, or rises, as far as 1e10 (up to 424 evaluations).

    Notes
    -----
    Momenta r are N(0, M), the energy is ``H = -log p(theta) + r.T @ M^-1 @ r / 2``. From the
    current state the trajectory doubles, forwards or backwards, until it turns back: until ``s.T @
    M^-1 @ r <= 0`` for the sum s of its momenta and the first or last momentum r. This is tested on
    the whole, on the subtrees it was doubled from (if one of them turns back, the new half is
    dropped), and across the seam of two. Within each new half a state is drawn with probability
    proportional to exp(-H); it replaces the one of the old half with probability ``min(1, ratio)``,
    the new half's sum of exp(-H) over the old one's.

    Starts: each coordinate of a drawn start is uniform over its `support` where that has both ends;
    where it has one, at distance exp(u) from it, u uniform on (-2, 2); where it has none, uniform
    on (-2, 2). Chains 1, 3, 5, ... start at the mirror image of the chain before them (one minus
    its uniforms), if the density is finite there.

    Metric: the diagonal one is updated after every warm-up iteration up to 85 %, from draws that
    reach back by one or two windows; the variance of the gradients makes its estimate exact for an
    uncorrelated Gaussian after a few draws. The dense one has Stan's doubling windows.

    Warm-up: from 10 to 85 % of it, only every eighth trajectory may double up to `max_tree_depth`;
    the seven after it stop one doubling short of what that one made. That saves a third of the
    warm-up's gradients, and the draws that are kept are as good.

    Step: dual averaging sets it by the mean acceptance rate. At the end it is reduced if more than
    one in 1500 transitions had a rate below 0.01: divided by the eighth root of their share times
    1500, but never below 0.7 of itself. Too few to show in the mean, such transitions went where
    the leapfrog integrator is unstable with this step, and later ones would diverge there.

    Draw order, for each iteration: `dim` standard normals z in order, where the momentum is ``z /
    sqrt(diag(M^-1))``, or ``inv(L.T) @ z`` with the lower Cholesky factor L of a dense M^-1. For
    each doubling one uniform, forwards when it is below 1/2; after each of its steps but the first,
    and unless that diverged, one, by which the newest state replaces the half's proposal when it is
    below the newest weight over the half's sum; and when the half is complete one, by which its
    proposal becomes the next state. All are drawn also when they cannot matter. Before the first
    iteration of a warm-up that adapts, and after the first change of a diagonal metric or each of a
    dense one, the search for a first step draws `dim` normals for each step size that it tries.
    When `initial_position` is None, `dim` uniforms for each attempted start come first; a start at
    a mirror image takes none.

    References
    ----------
    Hoffman and Gelman (2014), The No-U-Turn Sampler. Betancourt (2013), Generalizing the No-U-Turn
    Sampler to Riemannian manifolds, for the criterion. Betancourt (2017), A conceptual introduction
    to Hamiltonian Monte Carlo, for the multinomial draw. The Stan Development Team (2019),
    Stan 2.21, for the checks across subtrees. Seyboldt, Carlson and Carpenter (2026),
    Preconditioning Hamiltonian Monte Carlo by minimizing Fisher divergence, for the metric.

    Examples
    --------
    >>> target = bl.posteriors.eight_schools()
    >>> draws = bl.nuts(target, target_accept=0.95, rng=1)
    >>> print(draws.expect(lambda x: x[:, 0]), target.truth.mean[0].round(3))
    4.426 ± 0.055 4.397
    >>> print(draws.stats["diverging"].sum(), bl.bfmi(draws) > 0.3)
    0 [ True  True  True  True]
    """
    target = walked(target)
    dim = target.dim
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    max_tree_depth = as_count(max_tree_depth, "max_tree_depth", maximum=_DEEPEST)
    learned = METRICS[as_choice(metric, "metric", METRICS)]
    step = as_step(step_size, target_accept, plan.num_warmup)
    if inverse_mass_matrix is not None or step_size is not None:
        learned = METRICS["unit"]
    inverse_mass, root = as_metric(np.eye(dim) if learned == DENSE else inverse_mass_matrix, dim)
    told = {"max_tree_depth": max_tree_depth}
    adapted = {"adapted": step_size is None, "target_accept": float(target_accept)}
    return NUTS.sample(
        target, initial_position,
        told | {"step": step, "metric": inverse_mass, "root": root, "learned": learned},
        plan=plan, settings=adapted | told | {"metric": metric},
    )  # fmt: skip
