"""Draws for ArviZ, in the form that the installed version understands."""

import re

from ..errors import BayeslibError
from .files import version

_INDEXED = re.compile(r"(.+)\[([^\[\]]+)\]")


def to_arviz(draws):
    """Convert draws to what ArviZ takes; see `Draws.to_arviz`."""
    if draws.log_weights is not None:
        raise BayeslibError(
            "ArviZ counts every draw the same, these have weights: draw by them first, as in "
            "resample(draws, num_samples=1000, rng=1).to_arviz()"
        )
    try:
        import arviz
    except ModuleNotFoundError as error:
        if error.name != "arviz":
            raise
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install arviz"
        ) from None
    posterior, dims, coords = _variables(draws)
    stats = dict(draws.stats)
    if draws.logdensity is not None:
        stats["lp"] = draws.logdensity
    groups = {"posterior": posterior} | ({"sample_stats": stats} if stats else {})
    attrs = {
        "inference_library": "bayeslib",
        "inference_library_version": version(),
        "method": draws.method,
        "num_evals": draws.num_evals,
        "seed": str(draws.settings.get("seed")),  # 128 bits are more than a file's integers have
    }
    if int(arviz.__version__.partition(".")[0]) >= 1:
        every = dict.fromkeys(["/", *groups], attrs)
        return arviz.from_dict(groups, dims=dims, coords=coords, attrs=every)
    return arviz.from_dict(
        **groups, dims=dims, coords=coords, attrs=attrs,
        **{f"{name}_attrs": attrs for name in groups},
    )  # fmt: skip


def _variables(draws):
    """Join dimensions named a[0], a[1], … to one variable a."""
    members = {}
    for name in draws.names:
        match = _INDEXED.fullmatch(name)
        base, label = match.groups() if match else (name, None)
        members.setdefault(base, []).append((name, label))
    posterior, dims, coords = {}, {}, {}
    for base, found in members.items():
        labels = [label for _, label in found]
        if None in labels:  # a and a[0] are not parts of one thing
            posterior |= {name: draws[name] for name, _ in found}
            continue
        columns = [draws.names.index(name) for name, _ in found]
        posterior[base] = draws.values[:, :, columns]
        dims[base] = [f"{base}_dim_0"]
        whole = all(label.isdecimal() for label in labels)
        coords[f"{base}_dim_0"] = [int(label) for label in labels] if whole else labels
    return posterior, dims, coords
