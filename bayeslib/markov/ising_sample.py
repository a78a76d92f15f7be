"""The Ising model on a rectangle, by Gibbs sampling or by clusters."""

from typing import NamedTuple

import numpy as np
from numba import types

from ..chains.algorithm import Algorithm, as_plan
from ..chains.loop import Chain, copy, laid_out, record
from ..chains.starts import as_states
from ..compile.callback import borrowed, helper
from ..compile.kinds import FLOAT, INT, INTS, MATRIX, VECTOR
from ..errors import BayeslibError
from ..validate import as_choice, as_floats, check_each
from .ising_model import as_model, bordered, tables

METHODS = ("systematic", "checkerboard", "random", "wolff")
SYSTEMATIC, CHECKERBOARD, RANDOM, WOLFF = range(4)


class Spins(NamedTuple):
    """A lattice, what its updates look up, and what they leave."""

    position: VECTOR  # energy and magnetisation a site
    lattice: types.int8[:, ::1]
    table: VECTOR  # for sums of neighbours -4, …, 4: P(+1), or the odds without a field
    odds: MATRIX  # the factor of every site's field, or empty
    field: MATRIX  # of every site, or empty
    uniform_field: FLOAT
    coupling: FLOAT
    beta: FLOAT
    periodic: types.boolean
    order: INT
    join: FLOAT
    stack: INTS  # sites of the cluster whose neighbours wait to be looked at
    sums: types.int64[:, ::1]  # of each site's spin over the draws


Note = record(_cluster_size="i8")


@helper
def draw_site(rng, lattice, table, odds, r, c):
    """Draw a spin given its neighbours."""
    # Unsigned: an index that may be negative costs a comparison.
    r, c, one = np.uint64(r), np.uint64(c), np.uint64(1)
    total = np.int64(lattice[r - one, c]) + lattice[r + one, c]
    total += np.int64(lattice[r, c - one]) + lattice[r, c + one]
    u, known = rng.random(), table[np.uint64(total + 4)]
    if odds.size > 0:
        ratio = known * odds[r - one, c - one]
        up = u * (1.0 + ratio) < ratio
    else:
        up = u < known
    lattice[r, c] = 2 * up - 1


@helper
def draw_row(rng, s, r, first, step):
    """Draw the spins of row r at columns first, first + step, …"""
    rows, cols = s.sums.shape
    lattice, table, odds = borrowed(s.lattice), borrowed(s.table), borrowed(s.odds)
    for c in range(first, cols + 1, step):
        draw_site(rng, lattice, table, odds, r, c)
        if c == 1 and s.periodic:
            lattice[r, cols + 1] = lattice[r, 1]
    if s.periodic:
        s.lattice[r, 0] = s.lattice[r, cols]
        if r == 1:
            copy(s.lattice[1], s.lattice[rows + 1])
        if r == rows:
            copy(s.lattice[rows], s.lattice[0])


@helper
def wrap_site(s, r, c):
    """Copy a changed site of a periodic lattice to the borders that it appears in."""
    rows, cols = s.sums.shape
    if r == 1 or r == rows:
        s.lattice[rows + 1 if r == 1 else 0, c] = s.lattice[r, c]
    if c == 1 or c == cols:
        s.lattice[r, cols + 1 if c == 1 else 0] = s.lattice[r, c]


@helper
def sweep(rng, s):
    """Draw every site in turn, or as many as there are, each chosen at random."""
    rows, cols = s.sums.shape
    if s.order == RANDOM:
        for _ in range(rows * cols):
            site = int(rng.random() * (rows * cols))
            r, c = site // cols + 1, site % cols + 1
            draw_site(rng, s.lattice, s.table, s.odds, r, c)
            if s.periodic:
                wrap_site(s, r, c)
        return
    step = 2 if s.order == CHECKERBOARD else 1
    for colour in range(step):
        for r in range(1, rows + 1):
            draw_row(rng, s, r, 1 + (r - 1 + colour) % step, step)


@helper
def flip_cluster(rng, s):
    """Flip the cluster of a site chosen at random (Wolff, 1989); return its size."""
    rows, cols = s.sums.shape
    site = int(rng.random() * (rows * cols))
    old = s.lattice[site // cols + 1, site % cols + 1]
    s.stack[0] = flipped(s, site // cols, site % cols)
    waiting, size = 1, 1
    while waiting > 0:
        waiting -= 1
        r, c = s.stack[waiting] // cols + 1, s.stack[waiting] % cols + 1
        for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            i, j = r + down, c + right
            if s.lattice[i, j] != old or rng.random() >= s.join:
                continue
            # Beyond an edge lies the copy of a site at the opposite one.
            s.stack[waiting] = flipped(s, (i - 1 + rows) % rows, (j - 1 + cols) % cols)
            waiting += 1
            size += 1
    return size


@helper
def flipped(s, i, j):
    """Flip the spin in row i and column j, counted from 0; return its number."""
    s.lattice[i + 1, j + 1] = -s.lattice[i + 1, j + 1]
    if s.periodic:
        wrap_site(s, i + 1, j + 1)
    return i * s.sums.shape[1] + j


@helper
def measure(s):
    """Write energy and magnetisation a site; add each spin to its sum; return the log density."""
    rows, cols = s.sums.shape
    lattice, sums, field = borrowed(s.lattice), borrowed(s.sums), s.field
    bonds, spins = np.int64(0), np.int64(0)
    for r in range(rows):
        row, below, total = lattice[r + 1], lattice[r + 2], sums[r]
        for c in range(cols):
            spin = np.int64(row[c + 1])
            bonds += spin * (np.int64(row[c + 2]) + below[c + 1])
            spins += spin
            total[c] += spin
    along = s.uniform_field * spins
    for r in range(field.shape[0]):
        for c in range(cols):
            along += field[r, c] * lattice[r + 1, c + 1]
    s.position[0] = -(s.coupling * bonds + along) / (rows * cols)
    s.position[1] = spins / (rows * cols)
    return -s.beta * (rows * cols) * s.position[0]


def ising_step(target, rng, log_p, s, note):
    """Sweep, or flip a cluster; measure the lattice unless this is the warm-up."""
    if s.order == WOLFF:
        note._cluster_size = flip_cluster(rng, s)
        target.account.num_evals += 1
    else:
        sweep(rng, s)
        target.account.num_evals += s.sums.size
    return log_p if target.account.warming else measure(s)


def as_starts(initial, shape, num_chains):
    """Return one lattice a chain, or None for each where they are drawn."""
    if isinstance(initial, str):
        if as_choice(initial, "initial", ("random", "up", "down")) == "random":
            return [None] * num_chains
        initial = np.full(shape, 1 if initial == "up" else -1)
    spins = as_floats(initial, "initial")
    check_each(spins, "initial", "-1 or 1", np.abs(spins) == 1.0)
    return list(as_states(spins, shape, num_chains))


def initial(run, start, model, method):
    if start is None:
        start = np.where(run.rng.random(model.shape) < 0.5, 1, -1)
    table, odds = tables(model)
    return laid_out(
        Spins, position=(2,), lattice=bordered(start.astype(np.int8), model.periodic), table=table,
        odds=odds, field=model.field, uniform_field=model.uniform_field, coupling=model.coupling,
        beta=model.beta, periodic=model.periodic, order=METHODS.index(method), join=model.join,
        stack=np.empty(model.num_sites, dtype=np.int64), sums=np.zeros(model.shape, dtype=np.int64),
    )  # fmt: skip


def settings(run):
    # A sweep that was interrupted is not kept, though its spins are summed.
    s, updates = run.state, 1 if run.options["method"] == "wolff" else run.state.sums.size
    summed = max(run.account.num_evals // updates - run.num_warmup, 1)
    return {"lattices": s.lattice[1:-1, 1:-1].copy(), "mean_spins": s.sums / summed}


def stats(run):
    sizes = run.notes["_cluster_size"][:-1]
    return {"cluster_size": sizes} if run.options["method"] == "wolff" else {}


ISING = Algorithm(
    "ising", Chain(ising_step, Spins, Note, seconds=4), initial, settings, stats=stats
)


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

    Spins s are -1 or 1. Their energy E is ``-coupling`` times the sum of ``s[i] * s[j]`` over
    bonds, minus the sum of ``field[i] * s[i]``; their probability is proportional to
    ``exp(-inverse_temperature * E)``.

    Parameters
    ----------
    shape : tuple of int
        (rows, cols).
    inverse_temperature : float
        At least 0. Without field, the infinite lattice orders above
        ``log(1 + sqrt(2)) / 2 / coupling``.
    field : float or array_like, shape (rows, cols)
        The same for all, or for each site. For an image, half the log odds of its pixel, divided by
        the inverse temperature.
    coupling : float
        Of neighbours; negative for an antiferromagnet.
    periodic : bool
        Whether the edges meet, so that every site has four neighbours (at a length of 2 both bonds
        of the same pair count); otherwise those at the edges have fewer.
    method : {"checkerboard", "systematic", "random", "wolff"}
        The first three are heat baths (Gibbs sampling), one sweep an iteration. "checkerboard"
        takes the sites with row + column even first, then the odd ones; "systematic" goes row by
        row; "random" takes as many sites as there are, each chosen at random. "wolff" flips one
        cluster an iteration, which forgets quickly where the others slow down critically; it needs
        ``field=0`` and a positive coupling.
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
        Of energy and magnetisation, both per site; the log density is that of the whole lattice,
        ``-inverse_temperature * E``. `num_evals` counts sites drawn, or clusters. Interrupted, it
        returns what was drawn, ``settings["interrupted"]`` set. Wolff's method has the stat
        ``cluster_size``. Settings:

        - ``order``: the method;
        - ``lattices``, int8 (num_chains, rows, cols): where each chain ended;
        - ``mean_spins`` (num_chains, rows, cols): each site's mean over the kept sweeps. The
          sign of its average over chains is each site's more probable spin.

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
    Draw order, of the start: ``initial="random"`` takes one uniform a site, row by row; +1 if it is
    below 0.5.

    Draw order, of a heat-bath update: one uniform u; the spin is +1 if
    ``u < 1 / (1 + exp(-2 beta (coupling * n + field)))``, n being the sum of its neighbours
    and beta the inverse temperature. At random, a uniform v before it chooses site
    ``int(v * rows * cols)``, counted row by row.

    Draw order, of a cluster: the first site is chosen likewise, flipped, and put on a stack. Then
    the last site of the stack is taken off. Of its neighbours, up, down, left and right, each that
    still has the old spin of the first site takes a uniform, and is flipped and put on the stack if
    that is below ``1 - exp(-2 beta * coupling)``.

    References
    ----------
    Glauber (1963), Time-dependent statistics of the Ising model. Geman and Geman (1984),
    Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images. Wolff
    (1989), Collective Monte Carlo updating for spin systems.

    Examples
    --------
    >>> warmth = dict(inverse_temperature=0.3)
    >>> draws = bl.ising_sample((4, 4), **warmth, num_samples=4000, rng=1)
    >>> exact = bl.ising_exact((4, 4), **warmth)
    >>> print(draws.expect(), round(exact.energy, 3))
    [-0.8517 ± 0.0069, -0.012 ± 0.014] -0.844
    >>> draws.settings["lattices"].shape
    (4, 4, 4)
    """
    model = as_model(shape, inverse_temperature, field, coupling, periodic)
    as_choice(method, "method", METHODS)
    if method == "wolff" and (model.has_field or model.coupling <= 0.0):
        got = f"coupling={model.coupling:g}{' and a field' if model.has_field else ''}"
        raise BayeslibError(f'method="wolff" needs field=0 and a positive coupling, got {got}')
    plan = as_plan(num_samples, num_warmup, num_chains, rng, executor, progress)
    starts = as_starts(initial, model.shape, plan.num_chains)
    settings = {
        "order": method, "shape": model.shape, "inverse_temperature": model.beta,
        "coupling": model.coupling, "periodic": model.periodic,
    }  # fmt: skip
    names, options = ("energy", "magnetisation"), {"model": model, "method": method}
    numbers = 8 * plan.num_samples + 4 * model.num_sites
    return ISING.sample_states("ising_sample", names, starts, options, plan, settings, numbers)
