"""Numbers that the prose of a page quotes."""

import numbers

import numpy as np

from .errors import BayeslibTypeError
from .results import Estimate

# The marks by which MyST-NB finds what `{glue:text}` quotes; written here, because readers who
# only run a notebook have no MyST-NB.
_PREFIX = "application/papermill.record/"


def record(**values):
    """Keep numbers and texts for the page's prose, which quotes them as ``{glue:text}`name```.

    Parameters
    ----------
    **values : float, int, str, numpy scalar, or Estimate
        An `Estimate` is kept as its text, value ± error; arrays of one number as that number.

    Raises
    ------
    BayeslibTypeError
        For anything else, named.
    """
    from IPython.display import display

    for name, value in values.items():
        data = {_PREFIX + "text/plain": _plain(name, value)}
        display(data, raw=True, metadata={"scrapbook": {"name": name, "mime_prefix": _PREFIX}})


def _plain(name, value):
    if isinstance(value, Estimate):
        value = str(value).strip("[]").replace(" ± ", "\u00a0±\u00a0")
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return repr(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return repr(float(value))
    raise BayeslibTypeError(f"{name} must be a number, a text or an Estimate, got {value!r}")
