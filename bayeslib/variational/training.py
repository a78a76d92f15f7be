"""Training a recognition network, on simulations of parameters and data."""

import numpy as np

from ..errors import BayeslibError, BayeslibTypeError, TargetError
from ..validate import as_floats, check_finite
from ..waiting import count
from .bbvi_kernels import evaluate_with_gradients
from .checking import freed
from .network import adam_step, backward, bound, forward, log_q, new_layers, num_outputs, split

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
_QUARTILES = 1.349  # standard deviations between those of a Gaussian


class Trainer:
    """A network in training.

    Parameters
    ----------
    x : numpy.ndarray, shape (n, dim)
        Simulated parameters, in unconstrained coordinates.
    data : numpy.ndarray, shape (n, k)
    names : tuple of str
    hidden : tuple of int
    dense : bool
    free : Target or None
        The joint density in unconstrained coordinates; None trains on pairs.
    batch_size : int
    rng : numpy.random.Generator
    """

    def __init__(self, x, data, names, hidden, dense, free, batch_size, rng):
        num, dim = x.shape
        for array, what in ((x, "parameters"), (data, "data")):
            if np.abs(array).max() > _HUGE:
                raise BayeslibError(
                    f"simulated {what} reach {np.abs(array).max():.3g}, their squares overflow: "
                    "measure in other units"
                )
        self.centre, self.spread = x.mean(axis=0), x.std(axis=0)
        if not np.all(self.spread > 0.0):
            raise BayeslibError(
                f"the simulated {names[int(self.spread.argmin())]} is constant: there is nothing "
                "to infer"
            )
        self.data_centre, self.data_spread = np.median(data, axis=0), _robust_spread(data)
        self._inputs = as_inputs(data, self.data_centre, self.data_spread)
        self._units, self._data = (x - self.centre) / self.spread, data
        self._names = names
        self._dense, self._log_spread = dense, float(np.log(self.spread).sum())
        held = min(int(_HELD_BACK * num), _MOST_HELD_BACK)
        self._held, self._kept = np.arange(held), np.arange(held, num)
        self.batch_size = min(batch_size, num - held)
        self.layers = new_layers((data.shape[1], *hidden, num_outputs(dim, dense)), rng)
        self._joint = None if free is None else _Joint(free, self.centre, self.spread)
        self._normals = None if free is None else rng.standard_normal((held, dim))
        self.loss, self.validation, self._done, self._every = np.empty(0), [], 0, 1

    @property
    def num_evals(self):
        """Evaluations of the joint density."""
        return 0 if self._joint is None else self._joint.num_evals

    def gains(self, rows, normals):
        """What is maximised, for each of `rows`, its gradient by the outputs, and activations."""
        activations = forward(self.layers, self._inputs[rows])
        if self._joint is None:
            value, slope = log_q(activations[-1], self._units[rows], self._dense)
            return value - self._log_spread, slope, activations
        joint = self._joint.given(self._data[rows])
        value, slope = bound(activations[-1], normals, joint, self._dense)
        return value + self._log_spread, slope, activations

    def gradient(self, rows, normals):
        """The mean gain of `rows`, and its gradient by the layers."""
        value, slope, activations = self.gains(rows, normals)
        return value.mean(), backward(self.layers, activations, slope / len(rows))

    def run(self, num_steps, step_size, rng):
        """Take the steps, or those before an interrupt; return how many."""
        self.loss = np.empty(num_steps)
        memory = [(np.zeros_like(layer), np.zeros_like(layer)) for layer in self.layers]
        order, self._every = np.empty(0, dtype=int), max(1, num_steps // _CHECKS)
        try:
            for t in range(num_steps):
                if t % self._every == 0:
                    self.validation.append(-self.gains(self._held, self._normals)[0].mean())
                if order.size < self.batch_size:
                    order = rng.permutation(self._kept)
                rows, order = order[: self.batch_size], order[self.batch_size :]
                normals = None
                if self._joint is not None:
                    normals = rng.standard_normal((rows.size, self.centre.size))
                gain, gradients = self.gradient(rows, normals)
                if not np.isfinite(gain):
                    raise BayeslibError(
                        f"the loss is {-gain} at step {t}: take a smaller step_size than "
                        f"{step_size:g}"
                    )
                self.loss[t] = -gain
                rate = step_size * (1.0 - t / num_steps)
                adam_step(self.layers, gradients, memory, t + 1, rate)
                self._done = t + 1
                count(rows.size)
        except KeyboardInterrupt:
            if self._done == 0:
                raise
        self.validation.append(-self.gains(self._held, self._normals)[0].mean())
        return self._done

    def problems(self, num_steps):
        """Say what speaks against the training."""
        if self._done < num_steps:
            yield f"the training was interrupted after {self._done} of {num_steps} steps"
        rise = self.validation[-1] - min(self.validation)
        if not rise <= _OVERFIT and self._still_learning():
            yield (
                f"simulations that were held back are predicted {rise:.2g} nats worse than earlier "
                "in the training: the network learns the others by heart; simulate more, or take "
                "fewer units or steps"
            )
        elif spread := self.spread_problem():
            yield spread

    def spread_problem(self):
        """Say where held-back simulations lie too far from what the network says, or too near.

        In all, and in each quarter of them by a datum or by the network's own mean or spread: what
        is too narrow here and too wide there is right on average. Too wide is what the data, by a
        straight line, tell better. None where nothing was found.
        """
        inputs = self._inputs[self._held]
        means, factors = split(forward(self.layers, inputs)[-1], self.centre.size, self._dense)
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
        return (
            f"simulations that were held back show the network's posteriors to be {said}: take "
            f"more steps, units or simulations{more}"
        )

    def _still_learning(self):
        """Whether the loss went on falling after the held-back simulations were predicted best."""
        window = max(10, self._done // 20)
        best = int(np.argmin(self.validation)) * self._every
        if best + 2 * window > self._done:
            return False
        then, now = self.loss[best : best + window], self.loss[self._done - window : self._done]
        return bool(now.mean() < then.mean())


class _Joint:
    """log p(x, y) in the units in which the network works."""

    def __init__(self, free, centre, spread):
        self._bound, self._free = free.bind(gradient=True), free
        self._centre, self._spread, self.num_evals = centre, spread, 0

    def given(self, data):
        """Return units (n, dim) -> log densities (n,) and gradients (n, dim), for these data."""

        def evaluate(units):
            points = np.concatenate([self._centre + self._spread * units, data], axis=1)
            values, gradients = np.empty(len(points)), np.zeros(points.shape)
            evaluate_with_gradients(
                self._bound.address, self._bound.handle, points, values, gradients
            )
            self.num_evals += len(points)
            if self._bound.num_errors:
                raise self._free.explain(self._bound.failed_at)
            fine = np.isfinite(values) & np.isfinite(gradients).all(axis=1)
            if not fine.all():
                first = points[int(fine.argmin())].tolist()
                raise TargetError(
                    f"the joint density or its gradient is not finite at {first}, theta in "
                    "unconstrained coordinates, then y: say the support of theta"
                )
            return values, gradients[:, : units.shape[1]] * self._spread

        return evaluate


def simulated(simulate, num_simulations, rng):
    """Return simulated parameters (n, dim) and data (n, k), checked."""
    found = simulate(num_simulations, rng)
    if not isinstance(found, tuple) or len(found) != 2:
        raise BayeslibTypeError(f"simulate must return (thetas, data), got {type(found).__name__}")
    pair = []
    for array, name in zip(found, ("thetas", "data"), strict=True):
        array = as_floats(array, f"the {name} of simulate")
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or len(array) != num_simulations or not array.shape[1]:
            raise BayeslibError(
                f"simulate must return {num_simulations} rows of {name}, got shape {array.shape}"
            )
        check_finite(array, f"the {name} of simulate")
        pair.append(array)
    return pair


def as_joint(joint, transform, dim, size):
    """Return the joint density with theta in unconstrained coordinates, checked."""
    free, found = freed(joint)
    if free.dim != dim + size:
        raise BayeslibError(
            f"joint must have dim {dim + size}, theta's {dim} and y's {size}, got {free.dim}"
        )
    wanted = ((-np.inf, np.inf),) * dim if transform is None else transform.support
    support = ((-np.inf, np.inf),) * free.dim if found is None else found.support
    if support != (*wanted, *((-np.inf, np.inf),) * size):
        raise BayeslibError(
            f"the support of joint must be that of theta, {wanted}, and open for y, got {support}"
        )
    return free


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
    low, high = np.quantile(data, (0.25, 0.75), axis=0)
    spread = (high - low) / _QUARTILES
    spread = np.where(spread > 0.0, spread, data.std(axis=0))
    return np.where(spread > 0.0, spread, 1.0)
