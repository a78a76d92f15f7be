"""The compiled loops of Hamiltonian Monte Carlo.

`metric` is the inverse mass matrix M^-1: shape (1, dim) for its diagonal, (dim, dim) when dense.
`factor` is its root, of the same shape: the roots of the diagonal, or the lower Cholesky factor.
"""

import numpy as np

from ..chains.blocks import IMPROPER, INFINITE, NUM_EVALS, NUM_NAN, NUM_OUTSIDE, STATUS
from ..compile.callback import (
    ADDRESS,
    FLAGS,
    FLOAT,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    borrowed,
    density,
    helper,
    kernel,
)

DIVERGENT = 1000.0  # an energy error that no stable trajectory makes (Stan's rule)
_LARGEST_STEP = 1e7
_SMALLEST_STEP = 1e-12

# The state of adaptation: the step size, the average of its logarithm, the running acceptance
# deficit, the point to shrink to, steps since the window began, the window, whether it began.
STEP, AVERAGE, DEFICIT, CENTRE, COUNT, WINDOW, BEGUN = range(7)
# What the kernel is told: the target acceptance (0: keep the step), whether to learn the metric,
# the share of the step size by which each iteration's may differ.
ACCEPT, LEARN, JITTER = range(3)


@helper
def draw_momentum(rng, factor, momentum):
    """Draw from N(0, M): dim standard normals in order, divided by the root of M^-1."""
    dim = momentum.size
    for i in range(dim):
        momentum[i] = rng.standard_normal()
    if factor.shape[0] == 1:
        for i in range(dim):
            momentum[i] /= factor[0, i]
        return
    for i in range(dim - 1, -1, -1):
        total = momentum[i]
        for j in range(i + 1, dim):
            total -= factor[j, i] * momentum[j]
        momentum[i] = total / factor[i, i]


@helper
def kinetic_energy(momentum, metric):
    """Return p' M^-1 p / 2; the constant log|M| / 2 is left out."""
    dim, total = momentum.size, 0.0
    if metric.shape[0] == 1:
        for i in range(dim):
            total += metric[0, i] * momentum[i] * momentum[i]
        return 0.5 * total
    for i in range(dim):
        velocity = 0.0
        for j in range(dim):
            velocity += metric[i, j] * momentum[j]
        total += velocity * momentum[i]
    return 0.5 * total


@helper
def integrate(address, handle, position, momentum, gradient, metric, step_size, num_steps):
    """Do leapfrog steps in place; return the log density at the end and the steps taken.

    The half kicks between two steps are done as one. It ends early where the log density is not
    finite: the caller rejects, and so would the way back, which visits the same points.
    """
    dim = position.size
    kick, lp = 0.5 * step_size, 0.0
    for step in range(num_steps):
        if metric.shape[0] == 1:
            for i in range(dim):
                momentum[i] += kick * gradient[i]
                position[i] += step_size * metric[0, i] * momentum[i]
        else:
            for i in range(dim):
                momentum[i] += kick * gradient[i]
            for i in range(dim):
                velocity = 0.0
                for j in range(dim):
                    velocity += metric[i, j] * momentum[j]
                position[i] += step_size * velocity
        kick = step_size
        lp = density(address, position, gradient, handle)
        if not abs(lp) < np.inf or handle[handle.size - 1] != 0:
            return lp, step + 1
    for i in range(dim):
        momentum[i] += 0.5 * step_size * gradient[i]
    return lp, num_steps


@kernel(
    INT, ADDRESS, HANDLE, VECTOR, VECTOR, VECTOR, MATRIX, FLOAT, MATRIX, MATRIX, VECTOR, VECTOR
)  # fmt: skip
def leapfrog_kernel(
    address, handle, position, momentum, gradient, metric, step_size, positions, momenta,
    logdensity, energy,
):  # fmt: skip
    """Fill a trajectory beyond its first row, moving its start; return the evaluations made."""
    handle, metric, gradient = borrowed(handle), borrowed(metric), borrowed(gradient)
    position, momentum = borrowed(position), borrowed(momentum)
    logdensity[0] = density(address, position, gradient, handle)
    energy[0] = kinetic_energy(momentum, metric) - logdensity[0]
    for step in range(1, positions.shape[0]):
        if not abs(logdensity[step - 1]) < np.inf:
            return step
        lp, _ = integrate(address, handle, position, momentum, gradient, metric, step_size, 1)
        positions[step] = position
        momenta[step] = momentum
        logdensity[step] = lp
        energy[step] = kinetic_energy(momentum, metric) - lp
    return positions.shape[0]


@helper
def begin_step_size(
    address, handle, rng, position, gradient, lp, metric, factor, state, counts, q, p, g
):
    """Double or halve the step until one step's acceptance crosses 0.8; restart the averaging."""
    direction, goal = 0.0, np.log(0.8)
    while _SMALLEST_STEP < state[STEP] < _LARGEST_STEP:
        draw_momentum(rng, factor, p)
        q[:] = position
        g[:] = gradient
        before = kinetic_energy(p, metric) - lp
        new, _ = integrate(address, handle, q, p, g, metric, state[STEP], 1)
        counts[NUM_EVALS] += 1
        change = before - (kinetic_energy(p, metric) - new)
        above = goal < change < np.inf  # false for nan, and where the density is +inf
        if handle[handle.size - 1] != 0 or (direction != 0.0 and above != (direction > 0.0)):
            break
        direction = 1.0 if above else -1.0
        state[STEP] *= 2.0**direction
    if state[STEP] >= _LARGEST_STEP:
        counts[STATUS] = IMPROPER
    state[CENTRE] = np.log(10.0 * state[STEP])
    state[AVERAGE] = 0.0
    state[DEFICIT] = 0.0
    state[COUNT] = 0.0


@helper
def adapt_step_size(state, probability, wanted):
    """Nesterov's dual averaging, with the constants of Hoffman and Gelman (2014)."""
    state[COUNT] += 1.0
    n = state[COUNT]
    state[DEFICIT] += (wanted - probability - state[DEFICIT]) / (n + 10.0)
    log_step = state[CENTRE] - np.sqrt(n) / 0.05 * state[DEFICIT]
    weight = n**-0.75
    state[AVERAGE] += weight * (log_step - state[AVERAGE])
    state[STEP] = np.exp(log_step)


@helper
def adapt_metric(t, ends, state, position, moments, metric, factor):
    """Learn the variances in the middle windows; say whether the metric changed."""
    window = int(state[WINDOW])
    inside = 0 < window < ends.size - 1
    if inside:
        n = t - ends[window - 1] + 1.0
        for i in range(position.size):
            change = position[i] - moments[0, i]
            moments[0, i] += change / n
            moments[1, i] += change * (position[i] - moments[0, i])
    if t + 1 != ends[window]:
        return False
    state[WINDOW] += 1.0
    if inside:
        n = float(ends[window] - ends[window - 1])
        for i in range(position.size):
            variance = moments[1, i] / max(n - 1.0, 1.0)
            metric[0, i] = (n * variance + 1e-3 * 5.0) / (n + 5.0)
            factor[0, i] = np.sqrt(metric[0, i])
        moments[:] = 0.0
    return inside


@kernel(
    INT, ADDRESS, HANDLE, GENERATOR, INT, INT, INT, INTS, VECTOR, VECTOR, VECTOR, MATRIX, MATRIX,
    MATRIX, VECTOR, VECTOR, MATRIX, INTS, MATRIX, MATRIX, MATRIX, INTS, FLAGS, FLAGS, seconds=6,
)  # fmt: skip
def hmc_kernel(
    address, handle, rng, first, last, num_steps, ends, position, gradient, current, metric, factor,
    moments, state, constants, work, counts, points, draws, numbers, taken, accepted, diverging,
):  # fmt: skip
    """Do the iterations first, …, last - 1, of which the first ``ends[-1]`` are warm-up.

    `current` holds the log density at `position`, `gradient` its gradient there; `work` is room
    for three vectors (see `workspace`). The rows of `numbers` receive log density, acceptance
    rate, energy, energy error and step size. Returns where it stopped.
    """
    dim = position.size
    handle, metric, factor = borrowed(handle), borrowed(metric), borrowed(factor)
    position, gradient = borrowed(position), borrowed(gradient)
    q, p, g = borrowed(work[0, :dim]), borrowed(work[1, :dim]), borrowed(work[2, :dim])
    num_warmup, wanted = ends[ends.size - 1], constants[ACCEPT]
    lp = current[0]
    for t in range(first, last):
        if wanted > 0.0 and t < num_warmup and state[BEGUN] == 0.0:
            begin_step_size(
                address, handle, rng, position, gradient, lp, metric, factor, state, counts, q, p, g
            )
            state[BEGUN] = 1.0
            if handle[handle.size - 1] != 0 or counts[STATUS] != 0:
                points[1] = position
                current[0] = lp
                return t
        step_size = state[STEP]
        if constants[JITTER] > 0.0:
            step_size *= 1.0 + constants[JITTER] * (2.0 * rng.random() - 1.0)
        draw_momentum(rng, factor, p)
        for i in range(dim):
            q[i] = position[i]
            g[i] = gradient[i]
        before = kinetic_energy(p, metric) - lp
        new, steps = integrate(address, handle, q, p, g, metric, step_size, num_steps)
        uniform = rng.random()
        counts[NUM_EVALS] += steps
        if handle[handle.size - 1] != 0 or new == np.inf:
            if new == np.inf:
                counts[STATUS] = INFINITE
                points[1] = q
            current[0] = lp
            return t
        if new != new:
            if counts[NUM_NAN] == 0:
                points[0] = q
            counts[NUM_NAN] += 1
        # A trajectory that blew up overflows to -inf too, but with the momentum of one.
        if new == -np.inf and t >= num_warmup and kinetic_energy(p, metric) - before < DIVERGENT:
            counts[NUM_OUTSIDE] += 1
        after = kinetic_energy(p, metric) - new
        error = after - before
        if not error < np.inf:
            error = np.inf
        probability = np.exp(min(-error, 0.0))
        accept = uniform < probability
        if accept:
            lp = new
            for i in range(dim):
                position[i] = q[i]
                gradient[i] = g[i]
        if t < num_warmup:
            if wanted > 0.0:
                adapt_step_size(state, probability, wanted)
                if constants[LEARN] > 0.0 and adapt_metric(
                    t, ends, state, position, moments, metric, factor
                ):
                    state[BEGUN] = 0.0
                if t + 1 == num_warmup:
                    state[STEP] = np.exp(state[AVERAGE])
            continue
        n = t - num_warmup
        for i in range(dim):
            draws[n, i] = position[i]
        numbers[0, n] = lp
        numbers[1, n] = probability
        numbers[2, n] = after if accept else before
        numbers[3, n] = error
        numbers[4, n] = step_size
        taken[n] = steps
        accepted[n] = accept
        diverging[n] = error > DIVERGENT
    current[0] = lp
    return last
