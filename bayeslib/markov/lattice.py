"""The kernel of the Ising model: heat bath in three orders, and Wolff's clusters.

A lattice is held with a border, (rows + 2, cols + 2): copies of the opposite edges when it is
periodic, zeros when it is free, so that every site has four neighbours to look up.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from ..chains.loop import copy, loaned, numba_type
from ..compile.callback import FLOAT, GENERATOR, HANDLE, INT, INTS, MATRIX, VECTOR, helper, kernel

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
def draw_site(rng, s, r, c):
    """Draw a spin given its neighbours."""
    total = np.int64(s.lattice[r - 1, c]) + s.lattice[r + 1, c]
    total += np.int64(s.lattice[r, c - 1]) + s.lattice[r, c + 1]
    u, known = rng.random(), s.table[np.uint64(total + 4)]
    if s.odds.size > 0:
        ratio = known * s.odds[r - 1, c - 1]
        up = u * (1.0 + ratio) < ratio
    else:
        up = u < known
    s.lattice[r, c] = 2 * up - 1


@helper
def draw_row(rng, s, r, first, step):
    """Draw the spins of row r at columns first, first + step, …"""
    rows, cols = s.sums.shape
    # Unsigned: an index that may be negative costs a comparison.
    one, row, c, end = np.uint64(1), np.uint64(r), np.uint64(first), np.uint64(cols + 1)
    while c < end:
        draw_site(rng, s, row, c)
        if c == one and s.periodic:
            s.lattice[row, end] = s.lattice[row, one]
        c += np.uint64(step)
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
            draw_site(rng, s, r, c)
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
def measure(s, draw):
    """Write energy and magnetisation a site; add each spin to its sum."""
    rows, cols = s.sums.shape
    bonds, spins = np.int64(0), np.int64(0)
    for r in range(rows):
        row, below, total = s.lattice[r + 1], s.lattice[r + 2], s.sums[r]
        for c in range(cols):
            spin = np.int64(row[c + 1])
            bonds += spin * (np.int64(row[c + 2]) + below[c + 1])
            spins += spin
            total[c] += spin
    along = s.uniform_field * spins
    for r in range(s.field.shape[0]):
        for c in range(cols):
            along += s.field[r, c] * s.lattice[r + 1, c + 1]
    draw[0] = -(s.coupling * bonds + along) / s.sums.size
    draw[1] = spins / s.sums.size


@kernel(INT, HANDLE, GENERATOR, INTS, INT, numba_type(Spins), MATRIX, VECTOR)
def spins_kernel(handle, rng, span, num_warmup, spins, draws, log_p):
    """Sweep or flip; keep energy and magnetisation a site; see `Sweeps`."""
    s = loaned(spins)
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
            measure(s, draws[t - num_warmup])
    return span[1]
