"""Full conditionals that a user writes, each with the coordinates that it draws."""

import reprlib

import numpy as np

from ..chains.functions import Draws
from ..compile.arguments import as_data
from ..errors import BayeslibError, BayeslibTypeError
from ..validate import shown


class Conditionals:
    """What a Gibbs sampler draws from, to be arranged once and bound once a chain.

    Parameters
    ----------
    functions : sequence of callable
        conditional(theta, rng, *data) -> a number, or an array (k,) for k coordinates.
    data : tuple of arrays and numbers

    Attributes
    ----------
    functions : list of Draws
    blocks : list of numpy.ndarray of int64
        The coordinates that each draws; set by `arrange`.
    """

    def __init__(self, functions, data):
        if callable(functions) or not np.iterable(functions):
            raise BayeslibTypeError(
                f"conditionals must be a sequence of functions, got {functions!r}; for a single "
                "one write conditionals=[function]"
            )
        data, functions = as_data(data), list(functions)
        if not functions:
            raise BayeslibError("conditionals is empty; pass one function for each coordinate")
        self.functions, self.blocks = [], None
        for k, function in enumerate(functions):
            draws = Draws(function, f"conditionals[{k}]", "theta", data)
            draws.name = draws.label = f"conditionals[{k}] ({draws.function.__name__})"
            self.functions.append(draws)

    @property
    def compiled(self):
        """Whether all run as machine code."""
        return all(function.compiled for function in self.functions)

    @property
    def reason(self):
        """Why not."""
        return next((function.reason for function in self.functions if function.reason), "")

    def arrange(self, blocks, theta, rng):
        """Try every function at `theta` and note which coordinates it draws.

        Parameters
        ----------
        blocks : list of numpy.ndarray of int64, or None
            None deals the coordinates out in order.
        theta : numpy.ndarray, shape (dim,)
        rng : Generator
            Left as it is.

        Raises
        ------
        BayeslibError
            If a function draws from something else than the generator it is given, returns
            another number of values than it has coordinates, or if a coordinate is left out.
        """
        sizes = [function.twice(theta, rng).size for function in self.functions]
        self.blocks = self._dealt(sizes, theta.size) if blocks is None else blocks
        for function, block, size in zip(self.functions, self.blocks, sizes, strict=True):
            if block.size != size:
                raise BayeslibError(
                    f"{function.label} must return one value for each of its coordinates "
                    f"{block.tolist()}, got {size}"
                )
            function.size = size
        for function in self.functions:
            function.compile(theta, rng)
        compiled = self.compiled
        for function in self.functions:  # all, or all as plain Python
            function.compiled = compiled

    def _dealt(self, sizes, dim):
        if sum(sizes) != dim:
            returned = ", ".join(map(str, sizes))
            raise BayeslibError(
                f"the conditionals return {returned} values, {sum(sizes)} in all, but there are "
                f"{dim} coordinates; each must be drawn by one of them, in order, or say which by "
                "blocks="
            )
        ends = np.cumsum([0, *sizes])
        return [np.arange(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)]

    def bind(self, rng, dim):
        """Return a callback for each, which draws from `rng` and writes the first of its vector."""
        return [function.bind(rng, dim) for function in self.functions]

    def not_finite(self, k, drawn, theta):
        """Return the error that conditional k drew what is not finite."""
        block = self.blocks[k]
        return BayeslibError(
            f"{self.functions[k].label} drew {shown(drawn[: block.size])} for the coordinates "
            f"{block.tolist()} at theta={shown(theta)}: a draw must be finite; look for a scale or "
            "a shape that is zero, negative or nan there"
        )


def as_blocks(blocks, names, num_conditionals):
    """Return the coordinates of each conditional, from numbers or names, each at least once."""
    if not np.iterable(blocks) or isinstance(blocks, str) or len(blocks) != num_conditionals:
        raise BayeslibError(
            f"blocks must have one entry for each of the {num_conditionals} conditionals, got "
            f"{blocks!r}"
        )
    found = []
    for k, block in enumerate(blocks):
        several = np.iterable(block) and not isinstance(block, str)
        found.append(np.array([_place(i, k, names) for i in (block if several else [block])]))
        if found[-1].size == 0 or np.unique(found[-1]).size != found[-1].size:
            raise BayeslibError(f"blocks[{k}]={block!r} is empty or names a coordinate twice")
    missing = sorted(set(range(len(names))) - {int(i) for block in found for i in block})
    if missing:
        raise BayeslibError(
            f"no conditional draws {', '.join(names[i] for i in missing[:5])}: it would never "
            "move; every coordinate must be in a block"
        )
    return found


def _place(entry, k, names):
    if isinstance(entry, str):
        if entry not in names:
            some = reprlib.repr(tuple(names))
            raise BayeslibError(f"blocks[{k}] names {entry!r}; there are {some}")
        return names.index(entry)
    if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, (int, np.integer)):
        raise BayeslibTypeError(f"blocks[{k}] must hold names or numbers, got {entry!r}")
    if not 0 <= entry < len(names):
        raise BayeslibError(f"blocks[{k}] must be of 0, …, {len(names) - 1}, got {entry}")
    return int(entry)
