"""Who takes part, how each is configured, and where it lives."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from .problems import NUM_OWN_WARMUP, NUM_WARMUP, PROBLEMS
from .process import ROOT

PEERS = ROOT / ".venv-peers"


@dataclass(frozen=True, eq=False)
class Entry:
    """A library in one configuration.

    Attributes
    ----------
    name : str
    library : str
        `with_<library>` runs it.
    gradient : {"hand", "auto", "none"}
        Whether its user writes the gradient.
    variants, cold_variants : dict
        Posterior: variant. Cold ones only where another is faster from a cold process.
    compiles : bool
        Whether it compiles a model when it first meets it.
    first_is_cold : bool
        Its first process counts as a cold one, since more of them would take minutes.
    as_documented : bool
        Whether its documentation runs it so; otherwise an expert's shortcut.
    num_warmup : int
        Iterations of its warm-up. With another number than everybody's it is compared apart.
    """

    name: str
    library: str
    gradient: str
    variants: dict
    cold_variants: dict = field(default_factory=dict)
    compiles: bool = True
    first_is_cold: bool = False
    as_documented: bool = True
    num_warmup: int = NUM_WARMUP

    @property
    def is_ours(self):
        return self.library == "bayeslib"

    @property
    def python(self):
        """The interpreter that has the library."""
        return Path(sys.executable) if self.is_ours else PEERS / "bin" / "python"

    def variant(self, posterior, cold=False):
        """How it runs on a posterior; None where it does not take part."""
        chosen = self.variants.get(posterior)
        return self.cold_variants.get(posterior, chosen) if cold else chosen


def _everywhere(variant, **others):
    return dict.fromkeys(PROBLEMS, variant) | others


# One vectorised thread waits for the longest tree of all chains, but needs no threads to meet;
# measured for each posterior. Compilation is faster for chains on a device each.
_JAX = _everywhere("vmap", funnel_10="pmap", gaussian_100="pmap")
_PMAP = _everywhere("pmap")
_OWN = {name: "own" for name, problem in PROBLEMS.items() if problem.ranked}

ENTRIES = (
    Entry("bayeslib, hand-written gradient", "bayeslib", "hand", _everywhere("hand")),
    Entry("bayeslib, automatic gradient", "bayeslib", "auto", _everywhere("auto")),
    Entry("bayeslib, naive loop, automatic", "bayeslib", "auto", {"logistic": "naive"}),
    Entry("bayeslib, whole arrays, automatic", "bayeslib", "auto", {"logistic": "arrays"}),
    Entry("BlackJAX", "blackjax", "auto", _JAX, _PMAP | {"logistic": "vmap"}),
    Entry("NumPyro", "numpyro", "auto", {"gaussian_2": "run", "schools": "run"}),
    Entry("NumPyro, one jit", "numpyro", "auto", _JAX, _PMAP, as_documented=False),
    Entry("nutpie", "nutpie", "auto", _everywhere("numba")),
    Entry("nutpie, its own warm-up", "nutpie", "auto", _OWN, num_warmup=NUM_OWN_WARMUP),
    Entry("PyMC", "pymc", "auto", _everywhere("default")),
    Entry("Stan", "stan", "auto", _everywhere("stan"), first_is_cold=True),
    Entry("emcee", "emcee", "none", _everywhere("stretch"), compiles=False),
)  # fmt: skip
