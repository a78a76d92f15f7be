"""From a file to the result that was saved in it."""

from ..errors import BayeslibError
from .draws import Draws
from .files import read
from .gaussian import Gaussian

_KINDS = {"Draws": Draws, "Gaussian": Gaussian}


def load(path):
    """Load the draws or the approximation that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file; ``.npz`` may be left out.

    Returns
    -------
    Draws or Gaussian
        As it was saved: every array bit for bit, the settings with their seed.

    Raises
    ------
    BayeslibError
        When the file is damaged or incomplete, is not one of bayeslib's, or was written by a later
        version. Nothing in a file is ever executed.
    OSError
        When there is no such file, or it cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> draws = bl.Draws(np.arange(6.0).reshape(2, 3, 1), names=["count"])
    >>> with TemporaryDirectory() as folder:
    ...     path = draws.save(Path(folder) / "run")
    ...     again = bl.load(path)
    >>> print(again["count"])
    [[0. 1. 2.]
     [3. 4. 5.]]
    """
    kind, fields = read(path)
    try:
        return _KINDS[kind](**fields)
    except (KeyError, TypeError, ValueError) as error:
        raise BayeslibError(f"{str(path)!r} holds no result known here: {error}") from error
