"""Cases of which `make test` runs a few and `make test-slow` or `make record` the rest."""

import pytest


def over(name, values, *, few=1, rest=pytest.mark.slow):
    """Run a test over `values` of its argument(s) `name`, all but the first `few` marked `rest`."""
    values = list(values)
    several = not isinstance(name, str)
    marked = [pytest.param(*(v if several else [v]), marks=rest) for v in values[few:]]
    return pytest.mark.parametrize(name, [*values[:few], *marked])


every_seed = over("seed", range(1, 6))
