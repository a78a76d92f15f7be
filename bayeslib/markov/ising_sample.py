"""The Ising model on a rectangle, by Gibbs sampling or by clusters."""

from dataclasses import dataclass

import numpy as np

from ..chains.blocks import NUM_EVALS, Record, advance, outcome, run_chains, spawn
from ..chains.collect import collect
from ..chains.run import as_counts
from ..compile.callback import STOP
from ..compile.functions import sigmoid
from ..errors import BayeslibError, BayeslibTypeError, warn
from ..validate import as_count, as_floats, as_real, as_rng, check_finite, check_memory
from .lattice import CHECKERBOARD, RANDOM, SYSTEMATIC, heat_bath_kernel, wolff_kernel

_ORDERS = {"systematic": SYSTEMATIC, "checkerboard": CHECKERBOARD, "random": RANDOM}
METHODS = (*_ORDERS, "wolff")
NAMES = ("energy", "magnetisation")
_LARGEST = 35.0  # of inverse temperature times coupling, so that odds stay finite
_CERTAIN = 80.0  # log odds that no uniform of 53 bits tells from certainty


@dataclass(frozen=True)
class Model:
    """An Ising model: p(s) proportional to exp(-beta E(s)); see `ising_sample`.

    `field` is (rows, cols), or empty where it is the number `uniform_field` at every site.
    """

    shape: tuple
    beta: float
    coupling: float
    field: np.ndarray
    uniform_field: float
    periodic: bool

    @property
    def num_sites(self):
        return self.shape[0] * self.shape[1]

    @property
    def has_field(self):
        return self.uniform_field != 0.0 or bool(np.any(self.field))


class Stop:
    """What `advance` needs to end a kernel that runs on no density."""

    def __init__(self):
        self.handle, self.num_errors = np.zeros(1, dtype=np.int64), 0

    def stop(self):
        self.handle[0] += STOP


class Named:
    """What `collect` needs of a target."""

    def __init__(self, names):
        self.names = names


def as_model(shape, inverse_temperature, field, coupling, periodic):
    """Check what an Ising model is made of; return a `Model`."""
    if not np.iterable(shape) or isinstance(shape, str) or len(shape) != 2:
        raise BayeslibTypeError(f"shape must be (rows, cols), got {shape!r}")
    shape = tuple(as_count(n, f"shape[{i}]") for i, n in enumerate(shape))
    beta = as_real(inverse_temperature, "inverse_temperature", minimum=0.0)
    coupling = as_real(coupling, "coupling")
    if periodic not in (True, False):
        raise BayeslibTypeError(f"periodic must be True or False, got {periodic!r}")
    if periodic and min(shape) < 2:
        raise BayeslibError(
            f"a periodic lattice needs at least 2 rows and 2 columns, got shape={shape}; pass "
            "periodic=False for a chain"
        )
    field = as_floats(field, "field")
    check_finite(np.atleast_1d(field), "field")
    if field.ndim == 0:
        return Model(shape, beta, coupling, np.empty((0, 0)), float(field), bool(periodic))
    if field.shape != shape:
        raise BayeslibError(f"field must be a number or have shape {shape}, got {field.shape}")
    if beta * abs(coupling) > _LARGEST:
        raise BayeslibError(
            f"inverse_temperature * coupling is {beta * coupling:.3g}; with a field for every site "
            f"it must be at most {_LARGEST:g} in size: beyond, no spin ever turns"
        )
    return Model(shape, beta, coupling, field, 0.0, bool(periodic))


def tables(model):
    """Return the table for sums of neighbours -4, …, 4 and the factors of the fields."""
    log_odds = 2.0 * model.beta * model.coupling * np.arange(-4.0, 5.0)
    if model.field.size == 0:
        return sigmoid(log_odds + 2.0 * model.beta * model.uniform_field), np.empty((0, 0))
    certain = log_odds.max() + _CERTAIN
    own = np.clip(2.0 * model.beta * model.field, -certain, certain)
    return np.exp(log_odds), np.exp(own)


def bordered(lattice, periodic):
    """Return a copy with the border that the kernels look up."""
    return np.pad(lattice, 1, mode="wrap" if periodic else "constant")


def _start(initial, shape, rng):
    """Return the lattice of one chain, (rows, cols) of int8, drawn where `initial` says so."""
    if isinstance(initial, str):
        if initial == "random":
            return np.where(rng.random(shape) < 0.5, 1, -1).astype(np.int8)
        return np.full(shape, 1 if initial == "up" else -1, dtype=np.int8)
    return initial


def _as_initial(initial, shape, num_chains):
    """Return "random", "up" or "down", or one lattice a chain."""
    if isinstance(initial, str):
        if initial not in ("random", "up", "down"):
            raise BayeslibError(f'initial must be "random", "up", "down" or spins, got {initial!r}')
        starts = [initial] * num_chains
        common = initial != "random"
    else:
        spins = as_floats(initial, "initial")
        if spins.shape not in (shape, (num_chains, *shape)):
            raise BayeslibError(
                f"initial must have shape {shape}, or {(num_chains, *shape)} for one lattice a "
                f"chain, got {spins.shape}"
            )
        wrong = np.argwhere(np.abs(spins) != 1.0)
        if wrong.size:
            raise BayeslibError(
                f"initial must hold spins -1 and 1, got {spins[tuple(wrong[0])]:g} at "
                f"{wrong[0].tolist()}"
            )
        spins = np.broadcast_to(spins, (num_chains, *shape)).astype(np.int8)
        starts = list(spins)
        common = bool(np.all(spins == spins[0]))
    if common and num_chains > 1:
        warn(
            f"all {num_chains} chains start from the same lattice, so R-hat cannot show a chain "
            'that is stuck; pass one lattice a chain, or initial="random"'
        )
    return starts


def _ising_chain(control, chain, model, rng, start, method, num_warmup, num_samples):
    lattice = bordered(_start(start, model.shape, rng), model.periodic)
    sums = np.zeros(model.shape, dtype=np.int64)
    values, stop, record = np.empty((num_samples, 2)), Stop(), Record(2)
    stats, periodic = {}, int(model.periodic)
    if method == "wolff":
        join = -np.expm1(-2.0 * model.beta * model.coupling)
        stack = np.empty(model.num_sites, dtype=np.int64)
        stats["cluster_size"] = np.empty(num_samples, dtype=np.int64)

        def step(first, last):
            return wolff_kernel(
                stop.handle, rng, first, last, num_warmup, periodic, lattice, join, model.coupling,
                stack, sums, values, stats["cluster_size"],
            )  # fmt: skip

    else:
        table, odds = tables(model)

        def step(first, last):
            return heat_bath_kernel(
                stop.handle, rng, first, last, num_warmup, _ORDERS[method], periodic, lattice,
                table, odds, model.field, model.coupling, model.uniform_field, sums, values,
            )  # fmt: skip

    num_iterations = num_warmup + num_samples
    done = advance(step, bound=stop, control=control, chain=chain, num_iterations=num_iterations)
    record.counts[NUM_EVALS] = done * model.num_sites
    if method == "wolff":
        record.counts[NUM_EVALS] = done
    settings = {
        "lattices": lattice[1:-1, 1:-1].copy(),
        "mean_spins": sums / max(done - num_warmup, 1),
    }
    return outcome(
        done, bound=stop, record=record, rng=rng, values=values,
        logdensity=-model.beta * model.num_sites * values[:, 0], stats=stats, settings=settings,
    )  # fmt: skip


def ising_sample(
    shape,
    *,
    inverse_temperature,
    field=0.0,
    coupling=1.0,
    periodic=True,
    method="checkerboard",
    initial="random",
    num_samples=1000,
    num_warmup=1000,
    num_chains=4,
    rng,
    executor=None,
    progress=None,
):
    """Sample the Ising model on a rectangular lattice.

    Spins s are -1 or 1, of energy E(s) = -coupling * (sum over bonds of s_i s_j) - sum of
    field_i s_i, and have probability proportional to exp(-inverse_temperature * E(s)).

    Parameters
    ----------
    shape : tuple of int
        (rows, cols).
    inverse_temperature : float
        At least 0. Without field, the infinite lattice orders above log(1 + sqrt 2) / 2 / coupling.
    field : float or array_like, shape (rows, cols)
        The same for all, or for each site. For an image, half the log odds of its pixel, over the
        inverse temperature.
    coupling : float
        Of neighbours; negative for an antiferromagnet.
    periodic : bool
        Whether the edges meet, so that every site has four neighbours (at a length of 2 both bonds
        of the same pair count); otherwise those at the edges have fewer.
    method : {"checkerboard", "systematic", "random", "wolff"}
        Heat bath (Gibbs sampling) of each site in turn: those with row + column even first, then
        the odd ones; row by row; or as many sites as there are, chosen at random (the last two are
        scans of `gibbs`). "wolff" flips
        one cluster an iteration, which forgets quickly where the others slow down critically; it
        needs field=0 and a positive coupling.
    initial : {"random", "up", "down"} or array_like of -1 and 1
        (rows, cols), or (num_chains, rows, cols).
    num_samples : int
        Sweeps (or clusters) kept in each chain.
    num_warmup : int
        Sweeps (or clusters) before them.
    num_chains : int
    rng : int, Generator, SeedSequence or None
        One chain draws from it; several draw from ``rng.spawn(num_chains)``. None takes fresh
        entropy and records it in ``settings["seed"]``.
    executor : concurrent.futures.Executor, optional
        Where the chains run; threads by default. A process pool, or ``client.get_executor()`` of
        a Dask cluster, makes the same draws.
    progress : bool, optional
        None shows a bar on runs of more than about two seconds.

    Returns
    -------
    Draws
        Of ``energy`` and ``magnetisation``, both a site; the log density is that of the whole,
        -inverse_temperature * E. Settings: ``order``, the method; ``lattices``, int8 (num_chains,
        rows, cols), where each chain ended; ``mean_spins``, (num_chains, rows, cols), each site's
        mean over the kept sweeps, whose sign, averaged over chains, is the image of maximal
        marginals. Wolff's method has the stat ``cluster_size``. `num_evals` counts sites drawn, or
        clusters. Interrupted, it returns what was drawn, ``settings["interrupted"]`` set.

    Raises
    ------
    BayeslibError
        For arguments out of range, each named; for clusters in a field, or with a coupling that is
        not positive.
    MemoryError
        Before the run, when the draws would not fit.

    Warns
    -----
    BayeslibWarning
        When several chains start from the same lattice.

    Notes
    -----
    Draw order: initial="random" takes one uniform a site, row by row, +1 if it is below 0.5. A
    heat-bath update takes one uniform u; the spin is +1 if u < 1 / (1 + exp(-2 beta (coupling * n +
    field))), n being the sum of its neighbours; at random, a uniform v before it chooses site
    int(v * rows * cols), counted row by row. Wolff's method chooses its first site likewise, flips
    it and puts it on a stack; it takes the last from the stack and looks up, down, left and right,
    and for each neighbour that still has the first one's old spin takes a uniform; below
    1 - exp(-2 beta * coupling) that neighbour is flipped and put on the stack.

    References
    ----------
    Glauber (1963), Time-dependent statistics of the Ising model. Geman and Geman (1984),
    Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images. Wolff
    (1989), Collective Monte Carlo updating for spin systems.

    Examples
    --------
    >>> draws = bl.ising_sample((4, 4), inverse_temperature=0.3, num_samples=4000, rng=1)
    >>> exact = bl.ising_exact((4, 4), inverse_temperature=0.3)
    >>> print(draws.expect(), round(exact.energy, 3))
    [-0.8517 ± 0.0069, -0.012 ± 0.014] -0.844
    >>> draws.settings["lattices"].shape
    (4, 4, 4)
    """
    model = as_model(shape, inverse_temperature, field, coupling, periodic)
    if not (isinstance(method, str) and method in METHODS):
        raise BayeslibError(
            f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}"
        )
    if method == "wolff" and (model.has_field or model.coupling <= 0.0):
        raise BayeslibError(
            'method="wolff" joins equal neighbours regardless of any field: it needs field=0 and a '
            f"positive coupling, got coupling={model.coupling:g}"
            + (" and a field" if model.has_field else "")
            + '; pass method="checkerboard"'
        )
    num_samples, num_warmup, num_chains = as_counts(num_samples, num_warmup, num_chains)
    check_memory((1, num_chains, 8 * num_samples + 4 * model.num_sites), "draws")
    starts = _as_initial(initial, model.shape, num_chains)
    rng, seed = as_rng(rng)
    jobs = [
        (model, generator, start, method, num_warmup, num_samples)
        for generator, start in zip(spawn(rng, num_chains), starts, strict=True)
    ]
    (wolff_kernel if method == "wolff" else heat_bath_kernel).compile()
    outcomes, interrupted = run_chains(
        _ising_chain, jobs, num_iterations=num_warmup + num_samples, executor=executor,
        progress=progress, title="ising_sample",
    )  # fmt: skip
    if num_chains == 1:
        rng.bit_generator.state = outcomes[0].rng_state
    return collect(
        outcomes, target=Named(NAMES), interrupted=interrupted, num_warmup=num_warmup,
        method="ising_sample",
        settings={
            "num_warmup": num_warmup, "seed": seed, "order": method, "shape": model.shape,
            "inverse_temperature": model.beta, "coupling": model.coupling,
            "periodic": model.periodic,
        },
    )  # fmt: skip
