"""The kernel of the Ising model: heat bath in three orders, and Wolff's clusters.

A lattice is held with a border, (rows + 2, cols + 2): copies of the opposite edges when it is
periodic, zeros when it is free, so that every site has four neighbours to look up.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from ..chains.loop import copy, numba_type
from ..compile.callback import (
    FLOAT,
    GENERATOR,
    HANDLE,
    INT,
    INTS,
    MATRIX,
    VECTOR,
    borrowed,
    helper,
    kernel,
)  # fmt: skip

SYSTEMATIC, CHECKERBOARD, RANDOM, WOLFF = range(4)


class Spins(NamedTuple):
    """A lattice, what its updates look up, and what they leave."""

    lattice: types.int8[:, ::1]
    table: VECTOR  # for sums of neighbours -4, …, 4: P(+1), or the odds without a field
    odds: MATRIX  # the factor of every site's field, or empty
    field: MATRIX  # of every site, or empty
    uniform_field: FLOAT
    coupling: FLOAT
    periodic: types.boolean
    order: INT
    join: FLOAT
    stack: INTS  # sites of the cluster whose neighbours wait to be looked at
    sums: types.int64[:, ::1]  # of each site's spin over the draws
    sizes: INTS  # of the draws' clusters


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
        for direction in range(4):
            i, j = r, c
            if direction < 2:
                i += 2 * direction - 1
            else:
                j += 2 * direction - 5
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
def measure(s, n, draws):
    """Write energy and magnetisation a site; add each spin to its sum."""
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
    draws[n, 0] = -(s.coupling * bonds + along) / (rows * cols)
    draws[n, 1] = spins / (rows * cols)


@kernel(INT, HANDLE, GENERATOR, INTS, INT, numba_type(Spins), MATRIX, VECTOR, seconds=4)
def spins_kernel(handle, rng, span, num_warmup, spins, draws, log_p):
    """Sweep or flip; keep energy and magnetisation a site; see `Sweeps`."""
    s = borrowed(spins)
    for t in range(span[0], span[1]):
        if handle[0] != 0:
            return t
        size = 0
        if s.order == WOLFF:
            size = flip_cluster(rng, s)
        else:
            sweep(rng, s)
        if t >= num_warmup:
            s.sizes[t - num_warmup] = size
            measure(s, t - num_warmup, draws)
    return span[1]
