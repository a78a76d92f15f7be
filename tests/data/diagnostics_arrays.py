"""The arrays on which diagnostics are compared with ArviZ.

`python diagnostics_arrays.py`, in an environment with arviz 0.23.4 and numpy < 2.4,
prints the reference values stored in diagnostics.json beside this file.
"""

import numpy as np
from scipy import signal


def arrays():
    rng = np.random.default_rng(1)

    def ar(rho, chains, n):
        noise = rng.standard_normal((chains, n))
        noise[:, 0] = 0.0
        return signal.lfilter([1.0], [1.0, -rho], noise)

    stuck = rng.standard_normal((4, 300))
    stuck[0] = 0.3
    out = {
        "independent": rng.standard_normal((4, 500)),
        "sticky": ar(0.9, 4, 1000),
        "very sticky": ar(0.99, 4, 300),
        "antithetic": ar(-0.7, 4, 1000),
        "odd length": ar(0.5, 3, 501),
        "one chain": ar(0.5, 1, 400),
        "binary": (ar(0.5, 4, 400) > 0).astype(float),
        "cauchy": rng.standard_cauchy((4, 500)),
        "shifted": rng.standard_normal((4, 200)) + np.arange(4)[:, None],
        "one stuck": stuck,
        "alternating": np.tile([1.0, -1.0], (4, 100)) + 0.01 * rng.standard_normal((4, 200)),
        "trend": np.linspace(0, 1, 400) + 0.1 * rng.standard_normal((4, 400)),
    }
    out |= {f"length {n}": ar(0.3, 3, n) for n in (4, 6, 7, 8, 9, 10, 11, 13, 20)}
    for i in range(20):
        out[f"random {i}"] = ar(rng.uniform(-0.95, 0.99), rng.integers(2, 5), rng.integers(8, 200))
    return out | silent()


def silent():
    """Arrays of which nothing, or something bad, must be said, and ArviZ reports good news."""
    rng = np.random.default_rng(2)
    one_infinite = rng.standard_normal((4, 100))
    one_infinite[1, 7] = np.inf
    one_nan = rng.standard_normal((4, 100))
    one_nan[2, 3] = np.nan
    late = rng.standard_normal((1, 400))
    late[0, 20:] = late[0, 20]
    return {
        "constant": np.ones((4, 100)),
        "stuck from the 20th draw on": late,
        "constant but different": np.tile(np.arange(4.0)[:, None], (1, 100)),
        "one infinite": one_infinite,
        "one nan": one_nan,
    }


if __name__ == "__main__":
    import json

    import arviz

    def reference(x):
        ess = [float(arviz.ess(x, method=m)) for m in ("bulk", "tail", "mean", "sd")]
        ess.append(float(arviz.ess(x, method="quantile", prob=0.3)))
        mcse = [float(arviz.mcse(x, method=m)) for m in ("mean", "sd")]
        mcse.append(float(arviz.mcse(x, method="quantile", prob=0.3)))
        hdi = arviz.hdi(x.ravel(), hdi_prob=0.9)
        return [*ess, float(arviz.rhat(x)), *mcse, *map(float, hdi)]

    print(json.dumps({name: reference(x) for name, x in arrays().items()}, indent=1))
