"""What the samplers draw, in a few digits: the stamp of a record of tests.

A digest of the samplers' code would change with every renaming. Their draws change when they do
something else, and only then: a record holds as long as they are the same. They are rounded,
because machines may differ in the last bits, and warm-ups that learn are short, because there the
difference grows. What is said of draws (diagnostics, warnings) is not
in it. ``make record`` puts it into the record when all tests have run.
"""

import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
from recording import read, written
from registry import ALGORITHMS

SEED, SHORT, WARMING = 2024, {"num_samples": 60}, {"num_warmup": 60}
DIGITS = 5


def rounded(values):
    """Return numbers as text, with as many significant digits as machines agree on."""
    return " ".join(f"{value:.{DIGITS}g}" for value in np.ravel(values))


def digest(algorithm):
    """Return a short digest of short runs of all cases of an algorithm."""
    said = []
    for case in algorithm.cases:
        result = algorithm.run(case, SEED, **SHORT | (WARMING if algorithm.chains else {}))
        said += [case, rounded(result.values)]
        if result.log_weights is not None:
            said.append(rounded(result.log_weights))
    return sha256("\n".join(said).encode()).hexdigest()[:8]


def stamp():
    """Return {name of a sampler: digest of its draws}."""
    return {algorithm.name: digest(algorithm) for algorithm in ALGORITHMS}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written(read(path), stamp()), "utf-8")
