"""Methods that combine: variational inference from black boxes, from paths, and learned."""

from .amortised import Amortised, train_amortised
from .black_box import bbvi, bbvi_gradients
from .pathfinders import multipathfinder, pathfinder

__all__ = [
    "Amortised",
    "bbvi",
    "bbvi_gradients",
    "multipathfinder",
    "pathfinder",
    "train_amortised",
]
