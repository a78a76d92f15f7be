"""Cases of which `make test` runs a few and `make test-slow` the rest."""

import pytest


def over(name, values, *, few=2):
    """Run a test over `values` of its argument `name`, all but the first `few` marked slow."""
    values = list(values)
    slow = [pytest.param(value, marks=pytest.mark.slow) for value in values[few:]]
    return pytest.mark.parametrize(name, [*values[:few], *slow])
