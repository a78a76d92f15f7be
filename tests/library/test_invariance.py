"""Every sampler of chains leaves its target alone: from exact draws, over the rows of `steps`.

Each row is judged by eight moments at |z| < 5.6, a false alarm in 1e6; the twins that must fail are
the planted bugs of tests/tools/bugs. `make test` has the rows of one density, which every sampler
meets, and the study the rest; that draws are those of the plain twins is asked at every change, of
all.
"""

import zlib

import numpy as np
import pytest
from sparing import over
from stepping import Z_LIMIT, paired_z, swap_z
from steps import ROWS

PAIRS = 20_000


def every_row(names):
    first = [name for name in names if name.endswith("log_gamma_normal")]
    rest = [pytest.mark.slow, pytest.mark.study]
    names = [*first, *(name for name in names if name not in first)]
    return over("name", names, few=len(first), rest=rest)


@pytest.mark.trust("S8")
@every_row(ROWS)
def test_conserves_the_target(name):
    row, rng = ROWS[name], np.random.default_rng(zlib.crc32(name.encode()))
    starts = row.exact(row.starts, rng)
    ends, notes = row.step(starts, rng)
    z, power = paired_z(starts, ends, right=True)
    assert np.abs(z).max() < Z_LIMIT, z
    assert power.max() < row.power
    assert np.abs(ends - starts)[:, 0].mean() > row.least_move * starts[:, 0].std()
    for note, (low, high) in row.limits.items():
        assert low < notes[note].mean() < high, note


@pytest.mark.trust("S9")
@every_row([name for name in ROWS if ROWS[name].reversible])
def test_is_reversible(name):
    row, rng = ROWS[name], np.random.default_rng(zlib.crc32(f"{name} once".encode()))
    starts = row.exact(min(PAIRS, row.starts), rng)
    ends, _ = row.step(starts, rng, num_steps=1)
    assert np.abs(swap_z(starts, ends, right=True)).max() < Z_LIMIT
