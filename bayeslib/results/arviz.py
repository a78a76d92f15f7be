"""Draws for ArviZ, in the form that the installed version understands."""

import numpy as np

from .. import __version__
from ..errors import BayeslibError
from .named import variables


def to_arviz(draws, data, dims, coords):
    """Convert draws to what ArviZ takes; see `Draws.to_arviz`."""
    if draws.log_weights is not None:
        raise BayeslibError("these have weights: draw by them first, with bl.resample")
    if any(np.ndim(part) < 3 for part in data.get("log_likelihood", {}).values()):
        raise BayeslibError("log_likelihood must be of each row of the data, so leave out the sum")
    try:
        import arviz
    except ModuleNotFoundError as error:
        if error.name != "arviz":
            raise
        raise ImportError("to_arviz needs ArviZ: pip install arviz") from None
    posterior, labelled = {}, {}
    for name, (columns, labels) in variables(draws.names).items():
        posterior[name] = draws.values[:, :, columns]
        if labels:
            labelled[f"{name}_dim_0"] = labels
    dims = {name: list(axes) for name, axes in (dims or {}).items()}
    coords = labelled | (coords or {})
    stats = dict(draws.stats)
    if draws.logdensity is not None:
        stats["lp"] = draws.logdensity
    groups = {"posterior": posterior} | ({"sample_stats": stats} if stats else {}) | data
    strange = sorted(set(dims).difference(*groups.values()))
    if strange:
        raise BayeslibError(f"dims names {strange[0]!r}, but there are {', '.join(posterior)}")
    attrs = {
        "inference_library": "bayeslib",
        "inference_library_version": __version__,
        "method": draws.method,
        "num_evals": draws.num_evals,
        "seed": str(draws.settings.get("seed")),  # 128 bits are more than a file's integers have
    }
    if int(arviz.__version__.partition(".")[0]) >= 1:
        attrs = dict.fromkeys(["/", *groups], attrs)
        return arviz.from_dict(groups, dims=dims, coords=coords, attrs=attrs)
    return arviz.from_dict(
        **groups, dims=dims, coords=coords, attrs=attrs,
        **{f"{name}_attrs": attrs for name in groups},
    )  # fmt: skip
