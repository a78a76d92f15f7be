"""The kernels of the Ising model: heat bath in three orders, and Wolff's clusters.

A lattice is held with a border, (rows + 2, cols + 2): copies of the opposite edges when it is
periodic, zeros when it is free, so that every site has four neighbours to look up.
"""

import numpy as np
from numba import types

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
)

SYSTEMATIC, CHECKERBOARD, RANDOM = range(3)
LATTICE, SUMS = types.int8[:, ::1], types.int64[:, ::1]


@helper
def _wrap_site(lattice, r, c):
    """Copy a changed site of a periodic lattice to the borders it appears in."""
    rows, cols = lattice.shape[0] - 2, lattice.shape[1] - 2
    spin = lattice[r, c]
    if r == 1:
        lattice[rows + 1, c] = spin
    if r == rows:
        lattice[0, c] = spin
    if c == 1:
        lattice[r, cols + 1] = spin
    if c == cols:
        lattice[r, 0] = spin


@helper
def _draw_row(rng, lattice, table, odds, r, first, step, periodic):
    """Draw the spins of row r at columns first, first + step, …, each given its neighbours.

    `table` holds, for each sum of neighbours from -4 to 4, the probability of +1; or, when `odds`
    has the factor of every site's field, the odds without a field.
    """
    rows, cols = lattice.shape[0] - 2, lattice.shape[1] - 2
    with_field = odds.size > 0
    # Rows of their own and unsigned columns: an index that may be negative costs a comparison.
    above, row, below = borrowed(lattice)[r - 1], borrowed(lattice)[r], borrowed(lattice)[r + 1]
    own = borrowed(odds)[r - 1] if with_field else borrowed(table)
    one, end, stride = np.uint64(1), np.uint64(cols + 1), np.uint64(step)
    c = np.uint64(first)
    while c < end:
        total = np.int64(above[c]) + below[c] + np.int64(row[c - one]) + row[c + one]
        u = rng.random()
        if with_field:
            ratio = table[np.uint64(total + 4)] * own[c - one]
            up = u * (1.0 + ratio) < ratio
        else:
            up = u < table[np.uint64(total + 4)]
        row[c] = 2 * up - 1
        if c == one and periodic:
            row[end] = row[one]
        c += stride
    if periodic:
        row[0] = row[cols]
        if r == 1:
            for c in range(1, cols + 1):
                lattice[rows + 1, c] = lattice[1, c]
        if r == rows:
            for c in range(1, cols + 1):
                lattice[0, c] = lattice[rows, c]


@helper
def _draw_anywhere(rng, lattice, table, odds, periodic):
    """Draw the spins of as many sites as there are, each chosen at random."""
    rows, cols = lattice.shape[0] - 2, lattice.shape[1] - 2
    num_sites, with_field = rows * cols, odds.size > 0
    for _ in range(num_sites):
        site = int(rng.random() * num_sites)
        r = site // cols + 1
        c = site - (r - 1) * cols + 1
        total = np.int64(lattice[r - 1, c]) + lattice[r + 1, c]
        total += np.int64(lattice[r, c - 1]) + lattice[r, c + 1]
        u = rng.random()
        if with_field:
            ratio = table[total + 4] * odds[r - 1, c - 1]
            up = u * (1.0 + ratio) < ratio
        else:
            up = u < table[total + 4]
        lattice[r, c] = 2 * up - 1
        if periodic:
            _wrap_site(lattice, r, c)


@helper
def _bonds_and_spins(lattice, sums):
    """Return the sums over bonds and over spins; add the spins to `sums`."""
    rows, cols = lattice.shape[0] - 2, lattice.shape[1] - 2
    bonds, spins = np.int64(0), np.int64(0)
    for r in range(rows):
        row, below, total = borrowed(lattice)[r + 1], borrowed(lattice)[r + 2], borrowed(sums)[r]
        for c in range(cols):
            spin = np.int64(row[c + 1])
            bonds += spin * (np.int64(row[c + 2]) + below[c + 1])
            spins += spin
            total[c] += spin
    return bonds, spins


@helper
def _along_field(lattice, field):
    """Return the sum of field times spin."""
    total = 0.0
    for r in range(field.shape[0]):
        for c in range(field.shape[1]):
            total += field[r, c] * lattice[r + 1, c + 1]
    return total


@kernel(
    INT, HANDLE, GENERATOR, INT, INT, INT, INT, INT, LATTICE, VECTOR, MATRIX, MATRIX, FLOAT, FLOAT,
    SUMS, MATRIX,
)  # fmt: skip
def heat_bath_kernel(
    handle, rng, first, last, num_warmup, order, periodic, lattice, table, odds, field, coupling,
    uniform_field, sums, draws,
):  # fmt: skip
    """Do the sweeps first, …, last - 1; keep energy and magnetisation a site; return how far."""
    rows, cols = lattice.shape[0] - 2, lattice.shape[1] - 2
    num_sites = rows * cols
    for t in range(first, last):
        if handle[0] != 0:
            return t
        if order == RANDOM:
            _draw_anywhere(rng, lattice, table, odds, periodic != 0)
        else:
            step = 2 if order == CHECKERBOARD else 1
            for colour in range(step):
                for r in range(1, rows + 1):
                    start = 1 + (r - 1 + colour) % 2 if order == CHECKERBOARD else 1
                    _draw_row(rng, lattice, table, odds, r, start, step, periodic != 0)
        if t < num_warmup:
            continue
        bonds, spins = _bonds_and_spins(lattice, sums)
        along = uniform_field * spins
        if field.size > 0:
            along = _along_field(lattice, field)
        draws[t - num_warmup, 0] = -(coupling * bonds + along) / num_sites
        draws[t - num_warmup, 1] = spins / num_sites
    return last


@kernel(
    INT, HANDLE, GENERATOR, INT, INT, INT, INT, LATTICE, FLOAT, FLOAT, INTS, SUMS, MATRIX, INTS,
)  # fmt: skip
def wolff_kernel(
    handle, rng, first, last, num_warmup, periodic, lattice, join, coupling, stack, sums, draws,
    sizes,
):  # fmt: skip
    """Flip a cluster in each of the iterations first, …, last - 1 (Wolff, 1989)."""
    rows, cols = lattice.shape[0] - 2, lattice.shape[1] - 2
    num_sites = rows * cols
    for t in range(first, last):
        if handle[0] != 0:
            return t
        site = int(rng.random() * num_sites)
        r, c = site // cols + 1, site % cols + 1
        old = lattice[r, c]
        lattice[r, c] = -old
        if periodic != 0:
            _wrap_site(lattice, r, c)
        stack[0] = site
        waiting, size = 1, 1
        while waiting > 0:
            waiting -= 1
            site = stack[waiting]
            r, c = site // cols + 1, site % cols + 1
            for direction in range(4):
                i, j = r, c
                if direction < 2:
                    i += 2 * direction - 1
                else:
                    j += 2 * direction - 5
                if lattice[i, j] != old or rng.random() >= join:
                    continue
                # Beyond an edge lies the copy of a site at the opposite one.
                i, j = (i - 1 + rows) % rows + 1, (j - 1 + cols) % cols + 1
                lattice[i, j] = -old
                if periodic != 0:
                    _wrap_site(lattice, i, j)
                stack[waiting] = (i - 1) * cols + j - 1
                waiting += 1
                size += 1
        if t < num_warmup:
            continue
        n = t - num_warmup
        bonds, spins = _bonds_and_spins(lattice, sums)
        draws[n, 0] = -coupling * bonds / num_sites
        draws[n, 1] = spins / num_sites
        sizes[n] = size
    return last
