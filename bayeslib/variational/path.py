"""Gaussians along the path of a quasi-Newton optimiser: what Pathfinder chooses among."""

from dataclasses import dataclass

import numpy as np

_CURVATURE = 1e-12  # the least curvature, in units of the gradient's change, that is learned from
_LOG_2_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class PathGaussian:
    """N(mean, cov) with cov = D (I + Q (M - I) Q') D, D diagonal, M = L L' and Q orthonormal.

    Attributes
    ----------
    mean, root : numpy.ndarray, shape (dim,)
        `root` is the diagonal of D.
    basis : numpy.ndarray, shape (dim, k)
        Q.
    factor : numpy.ndarray, shape (k, k)
        L.
    """

    mean: np.ndarray
    root: np.ndarray
    basis: np.ndarray
    factor: np.ndarray

    def place(self, normals):
        """Return draws, (n, dim), and their log densities, (n,), for (n, dim) normals."""
        inside = normals @ self.basis
        moved = normals + (inside @ self.factor.T - inside) @ self.basis.T
        log_det = np.log(self.root).sum() + np.log(np.diag(self.factor)).sum()
        square = np.square(normals).sum(axis=1)
        return (
            self.mean + self.root * moved,
            -log_det - 0.5 * square - 0.5 * normals.shape[1] * _LOG_2_PI,
        )

    @property
    def cov(self):
        """The covariance, (dim, dim)."""
        across = self.basis @ (self.factor - np.eye(len(self.factor))) @ self.basis.T
        factor = self.root[:, None] * (np.eye(self.mean.size) + across)
        return factor @ factor.T


def gaussians(positions, gradients, history):
    """Yield (index, PathGaussian) for each point after the first that allows one.

    Parameters
    ----------
    positions, gradients : numpy.ndarray, shape (n, dim)
        Gradients of the log density, uphill.
    history : int
        Pairs of steps and changes of the gradient that an inverse Hessian is made of.
    """
    diagonal = np.ones(positions.shape[1])
    steps, changes = [], []
    for i in range(1, len(positions)):
        step, change = positions[i] - positions[i - 1], gradients[i - 1] - gradients[i]
        if step @ change > _CURVATURE * (change @ change):
            diagonal = next_diagonal(diagonal, step, change)
            steps, changes = [*steps, step][-history:], [*changes, change][-history:]
        if steps:
            found = _gaussian(
                positions[i], gradients[i], diagonal, np.array(steps), np.array(changes)
            )
            if found is not None:
                yield i, found


def next_diagonal(diagonal, step, change):
    """Update the diagonal inverse Hessian by one pair (Gilbert and Lemaréchal 1989)."""
    a, b = change @ (diagonal * change), change @ step
    c = step @ (step / diagonal)
    precision = a / (b * diagonal) + change**2 / b - a * step**2 / (b * c * diagonal**2)
    return 1.0 / np.maximum(precision, np.finfo(float).tiny)


def inverse_hessian(diagonal, steps, changes):
    """Return B (dim, 2k) and C (2k, 2k): the inverse Hessian is diag(diagonal) + B C B'.

    The compact form of k BFGS updates (Byrd, Nocedal and Schnabel 1994) by `steps` and `changes`,
    (k, dim), the oldest first.
    """
    k = len(steps)
    products = steps @ changes.T
    inverse = np.linalg.inv(np.triu(products))
    scaled = changes * diagonal
    middle = np.zeros((2 * k, 2 * k))
    middle[:k, k:] = -inverse
    middle[k:, :k] = -inverse.T
    middle[k:, k:] = inverse.T @ (np.diag(np.diag(products)) + scaled @ changes.T) @ inverse
    return np.concatenate([scaled, steps]).T, middle


def _gaussian(position, gradient, diagonal, steps, changes):
    try:
        outer, middle = inverse_hessian(diagonal, steps, changes)
        root = np.sqrt(diagonal)
        basis, triangle = np.linalg.qr(outer / root[:, None])
        core = triangle @ middle @ triangle.T
        factor = np.linalg.cholesky(np.eye(len(core)) + 0.5 * (core + core.T))
    except np.linalg.LinAlgError:
        return None
    mean = position + diagonal * gradient + outer @ (middle @ (outer.T @ gradient))
    found = PathGaussian(mean, root, basis, factor)
    finite = all(np.isfinite(part).all() for part in (mean, root, basis, factor))
    return found if finite and np.diag(factor).min() > 0.0 else None
