"""A recognition network, from data to a packed Gaussian, and its training on simulations.

The last layer gives, for each row of inputs, the parameters of `gaussian_family`. The gradient is
by hand.
"""

import numpy as np

from ..compile.callback import evaluate_rows, together
from ..errors import BayeslibError, BayeslibTypeError, TargetError
from ..target import unconstrained
from ..validate import as_floats, check_callable, check_finite, check_fits, check_memory
from ..waiting import count
from .ascent import adam_step
from .gaussian_family import bound, log_q, unpack

_HELD_BACK = 0.1  # the share of simulations that the network is never shown
_MOST_HELD_BACK = 2000
_CHECKS = 100
_HUGE = 1e100
_OFF = 1.2  # factor from 1 of the root mean square of held-back simulations' z-scores
_SHIFT = 0.45  # their mean
_SURE = 5.0  # standard errors by which either must be off
_FEW = 30  # simulations in which neither is looked at
_QUARTERS, _ORDERS = (0.25, 0.5, 0.75), ("lowest", "second", "third", "highest")
_OVERFIT = 0.05  # nats by which unseen simulations may be predicted worse than they were
_BULK = 3.0  # standard deviations up to which the network sees data nearly as they are
_LIMIT = 12.0  # of a log scale: exp of more is no standard deviation of standardised parameters
_QUARTILES = 1.349  # standard deviations between those of a Gaussian


def simulated(simulate, num_simulations, rng):
    """Return simulated parameters (n, dim) and data (n, k), checked."""
    check_callable(simulate=simulate)
    check_memory((num_simulations, 8), "the simulations")
    found = simulate(num_simulations, rng)
    if not isinstance(found, tuple) or len(found) != 2:
        got = f"a tuple of {len(found)}" if isinstance(found, tuple) else type(found).__name__
        raise BayeslibTypeError(f"simulate must return (thetas, data), got {got}")
    pair = []
    for array, name in zip(found, ("thetas", "data"), strict=True):
        array = as_floats(array, f"the {name} of simulate")
        if array.ndim == 1:
            array = array[:, None]
        fits = array.ndim == 2 and len(array) == num_simulations and array.shape[1] > 0
        check_fits(fits, array, "simulate", f"return {num_simulations} rows of {name}")
        check_finite(array, f"the {name} of simulate")
        pair.append(array)
    return pair


def as_joint(joint, transform, dim, size):
    """Return the joint density with theta in unconstrained coordinates, checked."""
    free = unconstrained(joint)
    if free.dim != dim + size:
        raise BayeslibError(f"joint must have dim {dim + size}, theta's and y's, got {free.dim}")
    wanted = (*transform.support, *((-np.inf, np.inf),) * size)
    if free.transform.support != wanted:
        raise BayeslibError(f"the support of joint must be {wanted}, got {free.transform.support}")
    return free


def new_layers(sizes, rng):
    """Return weights and biases in turn, drawn in this order: standard normals, weights scaled.

    The last layer has no biases to begin with and a hundredth of the others' scale, so that every
    q is about N(0, I).
    """
    layers = []
    for i, (before, after) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        last = i == len(sizes) - 2
        scale = (0.01 if last else 1.0) / np.sqrt(before)
        layers.append(scale * rng.standard_normal((before, after)))
        layers.append(np.zeros(after) if last else rng.standard_normal(after))
    return layers


def forward(layers, inputs):
    """Return the activations of every layer, the inputs (n, k) first, the outputs last."""
    activations = [inputs]
    for i in range(0, len(layers), 2):
        inner = activations[-1] @ layers[i] + layers[i + 1]
        activations.append(np.tanh(inner) if i < len(layers) - 2 else inner)
    return activations


def backward(layers, activations, slope):
    """Return the gradient by the layers of a sum whose gradient by the outputs is `slope`."""
    gradients = [None] * len(layers)
    for i in range(len(layers) - 2, -1, -2):
        before = activations[i // 2]
        gradients[i], gradients[i + 1] = before.T @ slope, slope.sum(axis=0)
        if i:
            slope = (slope @ layers[i].T) * (1.0 - before**2)
    return gradients


def limited(outputs, dim):
    """Return outputs (n, k) with log scales no further from 0 than a standard deviation may be."""
    packed = outputs.copy()
    packed[:, dim : 2 * dim] = np.clip(outputs[:, dim : 2 * dim], -_LIMIT, _LIMIT)
    return packed


def gaussians(layers, inputs, dim):
    """Return means (n, dim) and factors L (n, dim, dim) for the inputs (n, k)."""
    return unpack(limited(forward(layers, inputs)[-1], dim), dim)


class Trainer:
    """A network in training.

    Parameters
    ----------
    x : numpy.ndarray, shape (n, dim)
        Simulated parameters, in unconstrained coordinates.
    data : numpy.ndarray, shape (n, k)
    rng : numpy.random.Generator
    names : tuple of str
    hidden : tuple of int
    dense : bool
    free : Target or None
        The joint density in unconstrained coordinates; None trains on pairs.
    batch_size : int

    Attributes
    ----------
    num_evals : int
        Of the joint density.
    """

    def __init__(self, x, data, rng, *, names, hidden, dense, free, batch_size):
        num, dim = x.shape
        for array, what in ((x, "parameters"), (data, "data")):
            if (most := np.abs(array).max()) > _HUGE:
                raise BayeslibError(f"simulated {what} reach {most:.3g}: use other units")
        self.centre, self.spread = x.mean(axis=0), x.std(axis=0)
        if not np.all(self.spread > 0.0):
            raise BayeslibError(f"the simulated {names[self.spread.argmin()]} is constant")
        self.data_centre, self.data_spread = np.median(data, axis=0), _robust_spread(data)
        self._inputs = as_inputs(data, self.data_centre, self.data_spread)
        self._units, self._data = (x - self.centre) / self.spread, data
        self._names = names
        self._log_spread = float(np.log(self.spread).sum())
        held = min(int(_HELD_BACK * num), _MOST_HELD_BACK)
        self._held, self._kept = np.arange(held), np.arange(held, num)
        self.batch_size = min(batch_size, num - held)
        size = 2 * dim + (dim * (dim - 1) // 2 if dense else 0)
        layers = new_layers((data.shape[1], *hidden, size), rng)
        zeros = np.zeros(sum(layer.size for layer in layers))
        self._weights, *self._moments = together(_flat(layers), zeros, zeros)
        parts = np.split(self._weights, np.cumsum([layer.size for layer in layers])[:-1])
        self.layers = [p.reshape(layer.shape) for p, layer in zip(parts, layers, strict=True)]
        self._joint, self.num_evals = free, 0
        self._bound = free and free.bind(gradient=True)
        self._normals = free and rng.standard_normal((held, dim))
        self.loss, self.validation, self._every = [], [], 1

    def gains(self, rows, normals):
        """What is maximised, for each of `rows`, its gradient by the outputs, and activations."""
        activations = forward(self.layers, self._inputs[rows])
        packed = limited(activations[-1], self.centre.size)
        if self._joint is None:
            value, slope = log_q(packed, self._units[rows])
            value -= self._log_spread
        else:
            data = self._data[rows]
            value, slope = bound(packed, normals, lambda units: self._log_joint(units, data))
            value += self._log_spread
        return value, slope * (packed == activations[-1]), activations

    def _log_joint(self, units, data):
        """log p(x, y), (n,), and its gradient by x, (n, dim), x in the network's units."""
        points = np.concatenate([self.centre + self.spread * units, data], axis=1)
        values, gradients = np.empty(len(points)), np.zeros(points.shape)
        evaluate_rows(self._bound.address, self._bound.handle, points, values, gradients)
        self.num_evals += len(points)
        if self._bound.num_errors:
            raise self._joint.explain(self._bound.failed_at)
        fine = np.isfinite(values) & np.isfinite(gradients).all(axis=1)
        if not fine.all():
            where = f"(theta without constraints, y) = {points[fine.argmin()].tolist()}"
            raise TargetError(f"joint is not finite at {where}: say the support of theta")
        return values, gradients[:, : units.shape[1]] * self.spread

    def gradient(self, rows, normals):
        """The mean gain of `rows`, and its gradient by the layers."""
        value, slope, activations = self.gains(rows, normals)
        return value.mean(), backward(self.layers, activations, slope / len(rows))

    def _validate(self):
        self.validation.append(-self.gains(self._held, self._normals)[0].mean())

    def run(self, num_steps, step_size, rng):
        """Take the steps, or those before an interrupt."""
        order, self._every = np.empty(0, dtype=int), max(1, num_steps // _CHECKS)
        try:
            for t in range(num_steps):
                if t % self._every == 0:
                    self._validate()
                if order.size < self.batch_size:
                    order = rng.permutation(self._kept)
                rows, order = order[: self.batch_size], order[self.batch_size :]
                normals = self._joint and rng.standard_normal((rows.size, self.centre.size))
                gain, gradients = self.gradient(rows, normals)
                if not np.isfinite(gain):
                    raise BayeslibError(f"the loss is {-gain} at step {t}: lower step_size")
                rate = step_size * (1.0 - t / num_steps)
                adam_step(self._weights, _flat(gradients), *self._moments, t + 1, rate)
                self.loss.append(-gain)
                count(rows.size)
        except KeyboardInterrupt:
            if not self.loss:
                raise
        self._validate()

    def problems(self, num_steps):
        """Say what speaks against the training."""
        if len(self.loss) < num_steps:
            yield f"the training was interrupted after {len(self.loss)} of {num_steps} steps"
        rise = self.validation[-1] - min(self.validation)
        if not rise <= _OVERFIT and self._still_learning():
            found = f"held-back simulations are predicted {rise:.2g} nats worse than earlier"
            yield f"{found}: the network learns the others by heart; simulate more"
        elif spread := self.spread_problem():
            yield spread

    def spread_problem(self):
        """Say where held-back simulations lie too far from what the network says, or too near.

        In all, and in each quarter of them by a datum or by the network's own mean or spread: what
        is too narrow here and too wide there is right on average. Too wide is what the data, by a
        straight line, tell better. None where nothing was found.
        """
        inputs = self._inputs[self._held]
        means, factors = gaussians(self.layers, inputs, self.centre.size)
        sds = np.sqrt(np.square(factors).sum(axis=2))
        scores, found = (self._units[self._held] - means) / sds, []
        inputs = np.column_stack([np.ones(len(inputs)), inputs])
        data = [(f"y[{j}]", column) for j, column in enumerate(self._data[self._held].T)]
        for name, z, mean, sd in zip(self._names, scores.T, means.T, sds.T, strict=True):
            own = [("", 0.0 * z), (f"its mean of {name}", mean), (f"its spread of {name}", sd)]
            for what, column in own + data:
                part = np.searchsorted(np.quantile(column, _QUARTERS), column)
                for quarter, order in enumerate(_ORDERS):
                    where = f" in the {order} quarter of {what}" if what else ""
                    inside = part == quarter
                    if inside.sum() >= max(_FEW, 3 * inputs.shape[1]):
                        size, words = _miss(z[inside], inputs[inside])
                        found.append((size, f"{words} {name}{where}"))
        size, said = max(found, default=(0.0, ""))
        if size <= 1.0:
            return None
        more = "" if self._joint is None else ', or objective="simulations"'
        found = f"simulations that were held back show the network's posteriors to be {said}"
        return f"{found}: take more steps, units or simulations{more}"

    def _still_learning(self):
        """Whether the loss went on falling after the held-back simulations were predicted best."""
        done, best = len(self.loss), int(np.argmin(self.validation)) * self._every
        window = max(10, done // 20)
        if best + 2 * window > done:
            return False
        return bool(np.mean(self.loss[-window:]) < np.mean(self.loss[best : best + window]))


def _flat(layers):
    return np.concatenate([layer.ravel() for layer in layers])


def as_inputs(data, centre, spread):
    """Return data (n, k) as the network sees them: in robust units, large ones drawn in."""
    return _BULK * np.arcsinh((data - centre) / (_BULK * spread))


def _miss(z, inputs):
    """Return how far z-scores are from those of a right network, in what is accused, and words."""
    size, (n, k) = 1.0 / np.sqrt(len(z)), inputs.shape
    rest = z - inputs @ np.linalg.lstsq(inputs, z)[0]
    found = [(0.0, "")]
    for scores, sign, word in ((z, 1.0, "narrow"), (rest * np.sqrt(n / (n - k)), -1.0, "wide")):
        square = np.square(scores)
        rms = np.sqrt(square.mean())
        off = sign * np.log(rms)
        if off * rms > _SURE * 0.5 * square.std() / rms * size:
            found.append((off / np.log(_OFF), f"too {word} by a factor of {rms**sign:.2f} for"))
    if abs(z.mean()) > _SURE * z.std() * size:
        found.append((abs(z.mean()) / _SHIFT, f"{abs(z.mean()):.2f} standard deviations off for"))
    return max(found)


def _robust_spread(data):
    spread = np.diff(np.quantile(data, (0.25, 0.75), axis=0), axis=0)[0] / _QUARTILES
    spread = np.where(spread > 0.0, spread, data.std(axis=0))
    return np.where(spread > 0.0, spread, 1.0)
