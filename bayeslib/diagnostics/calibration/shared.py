"""What both tests do: call the reader's functions, check what they return, put it in words."""

import numpy as np

from ...errors import BayeslibError
from ...validate import as_floats, check_callable, check_fits

ALARM = 1e-3  # below this p-value a result is called a problem


def as_vector(value, name):
    """Return a number or a vector of numbers as a finite (k,) array."""
    array = np.atleast_1d(as_floats(value, name))
    fits = array.ndim == 1 and array.size > 0
    check_fits(fits, array, name, "return a number or a vector of numbers")
    if not np.isfinite(array).all():
        raise BayeslibError(f"{name} returned {array}, but must return finite numbers")
    return array


def until_interrupt(runs, least, title, judged):
    """Return what `judged` makes of what an iterator gave, and of whether an interrupt ended it.

    What it raises is told to be of the run that `title` names by its number, and has what `judged`
    makes of the runs before as its `partial`. They must be `least`.
    """
    done, interrupted = [], False
    try:
        done.extend(runs)  # which keeps what came before an exception
    except KeyboardInterrupt:
        if len(done) < least:
            raise
        interrupted = True
    except Exception as error:
        error.add_note(f"bayeslib: in {title.format(len(done))}")
        error.partial = judged(done, True) if len(done) >= least else None
        raise
    return judged(done, interrupted)


class Judged:
    """A result with p-values of several quantities."""

    @property
    def pvalue(self):
        return float(min(1.0, self.pvalues.min() * self.pvalues.size))

    @property
    def _alarming(self):
        """Where p-values are too small, after Bonferroni."""
        return np.argwhere(self.pvalues * self.pvalues.size < ALARM)

    def _table(self, title, letter, scores):
        """Lay out the two scores and the p-value of each quantity, and the problems below."""
        rows = [("", f"{letter} centre", f"{letter} spread", "p")]
        for name, pair, p in zip(self.names, scores, self.pvalues, strict=True):
            rows.append((name, *(f"{number:.3g}" for number in (*pair, np.min(p)))))
        width = max(map(len, self.names))
        lines = [f"{name:{width}}  {a:>9}  {b:>9}  {p:>9}" for name, a, b, p in rows]
        return "\n".join([title, *lines, *(f"! {problem}" for problem in self.problems)])


class Simulator:
    """Draws parameters with their data, and evaluates what is compared.

    `names` has one a quantity, once the first were evaluated.
    """

    def __init__(self, sample_prior, simulate, quantities, names, **sampler):
        check_callable(sample_prior=sample_prior, simulate=simulate, **sampler)
        if quantities is not None:
            check_callable(quantities=quantities)
        self.sample_prior, self.simulate, self.quantities = sample_prior, simulate, quantities
        self.names = None if names is None else tuple(names)

    def draw(self, rng):
        """Return theta (dim,) from the prior and data from the likelihood, in this order."""
        theta = as_vector(self.sample_prior(rng), "sample_prior")
        return theta, self.simulate(theta, rng)

    def values(self, theta, data):
        """Return the parameters, then the other quantities, shape (k,)."""
        others = as_vector(self.quantities(theta, data), "quantities") if self.quantities else ()
        row = np.concatenate([theta, others])
        if self.names is None:
            self.names = _numbered("theta", theta) + _numbered("quantity", others)
        if len(self.names) != row.size:
            found = f"{row.size} quantities ({theta.size} parameters and {len(others)} others)"
            raise BayeslibError(f"{len(self.names)} names for {found}, as at first: {self.names}")
        return row


def _numbered(name, values):
    return (name,) if len(values) == 1 else tuple(f"{name}[{i}]" for i in range(len(values)))
