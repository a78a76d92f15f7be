"""Checks at the door: each names the argument, its value and the rule."""

import numbers
import sys

import numpy as np

from .errors import BayeslibError, BayeslibTypeError, TooLargeError
from .memory import available_memory

_SHOWN = 6
_SMALL = 2**24  # bytes that are there; to ask would take as long as a hundred draws


def as_rng(rng):
    """Normalise a seed to a generator and say how to repeat the run.

    Parameters
    ----------
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        None draws fresh entropy.

    Returns
    -------
    generator : numpy.random.Generator
        The generator itself when one was passed: it is advanced by its use.
    seed : int, sequence of int or None
        What reproduces the generator: the entropy of its seed. None for a generator that no seed
        alone reproduces: it was spawned, or has been used, or is not a PCG64.

    Raises
    ------
    BayeslibTypeError
        For a bool, a legacy RandomState, a float or a string.
    BayeslibError
        For a negative integer.
    """
    if isinstance(rng, (bool, np.bool_, np.random.RandomState)):
        raise BayeslibTypeError(f"rng must be an int, a Generator or a SeedSequence, got {rng!r}")
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        kind = BayeslibTypeError if isinstance(error, TypeError) else BayeslibError
        raise kind(f"rng={rng!r} cannot seed a generator: {error}") from None
    found = generator.bit_generator
    seed = getattr(getattr(found, "seed_seq", None), "entropy", None)
    # only of such would default_rng(seed) draw and spawn what this generator is about to
    if seed is None or type(found) is not np.random.PCG64 or found.seed_seq.n_children_spawned:
        return generator, None
    return generator, seed if np.random.PCG64(seed).state == found.state else None


def as_bool(value, name):
    """Return `value` as a bool; numbers and text are refused."""
    if not isinstance(value, (bool, np.bool_)):
        raise BayeslibTypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_callable(**functions):
    """Raise BayeslibTypeError for the first argument that cannot be called."""
    for name, function in functions.items():
        if not callable(function):
            raise BayeslibTypeError(f"{name} must be callable, got {function!r}")


def as_choice(value, name, choices):
    """Return `value`, which must be one of the words `choices`."""
    if not (isinstance(value, str) and value in choices):
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise BayeslibError(f"{name} must be one of {listed}, got {value!r}")
    return value


def as_count(value, name, *, minimum=1, maximum=None):
    """Return `value` as an int of at least `minimum`; 1e4 counts as an integer, True does not."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise BayeslibTypeError(f"{name} must be an integer, got {value!r}")
    if not float(value).is_integer():
        raise BayeslibError(f"{name} must be a whole number, got {value!r}")
    _check_range(value, name, minimum, maximum)
    return int(value)


def as_real(value, name, *, minimum=None, maximum=None):
    """Return `value` as a float, finite and within bounds (inclusive)."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise BayeslibTypeError(f"{name} must be a number, got {value!r}")
    value = float(value)
    if not np.isfinite(value):
        raise BayeslibError(f"{name} must be finite, got {value!r}")
    _check_range(value, name, minimum, maximum)
    return value


def _check_range(value, name, minimum, maximum):
    if minimum is not None and value < minimum:
        raise BayeslibError(f"{name} must be at least {minimum}, got {value!r}")
    if maximum is not None and value > maximum:
        raise BayeslibError(f"{name} must be at most {maximum}, got {value!r}")


def as_fraction(value, name, *, zero=False):
    """Return `value` as a float strictly between 0 and 1, or where `zero` may be one as 0."""
    value = as_real(value, name)
    if not (0.0 < value < 1.0 or (zero and value == 0.0)):
        rule = "be at least 0 and below 1" if zero else "lie between 0 and 1"
        raise BayeslibError(f"{name} must {rule}, got {value!r}")
    return value


def as_positive(value, name):
    """Return `value` as a finite float above zero."""
    value = as_real(value, name)
    if value <= 0.0:
        raise BayeslibError(f"{name} must be positive, got {value!r}")
    return value


def as_array(value, name):
    """Return `value` as an array; rows of unlike lengths and masked entries are refused."""
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())  # imported by their maker
    parts = value if isinstance(value, (list, tuple)) else (value,)
    if any(isinstance(part, masked) and part.mask.any() for part in parts):
        raise BayeslibError(f"{name} has masked entries: x.compressed() leaves them out")
    try:
        return np.asarray(value)
    except ValueError as error:
        rule = "is no array; give its rows one length, or pass them one by one"
        raise BayeslibTypeError(f"{name} {rule}: {error}") from None


def frozen(array):
    """Return a read-only view."""
    array = array.view()
    array.flags.writeable = False
    return array


def as_floats(value, name):
    """Return `value` as a new C-contiguous float64 array; object, text and complex are refused."""
    array = as_array(value, name)
    if array.dtype.kind not in "iuf":
        raise BayeslibTypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    return np.array(array, dtype=np.float64, order="C")


def check_shape(array, name, shape, rule=None):
    """Raise for an array of another shape; `rule` says what else it may be."""
    check_fits(array.shape == shape, array, name, rule or f"have shape {shape}")


def check_fits(fits, array, name, rule, remedy=""):
    """Raise unless the shape of `array` fits; `rule` says what it must be, have or return."""
    if not fits:
        raise BayeslibError(f"{name} must {rule}, got {array.shape}{remedy}")


def check_each(array, name, rule, fine, remedy=""):
    """Raise for the first entry of `array` that is not `fine`, naming its index."""
    bad = np.argwhere(~fine)
    if len(bad):
        place = f"[{', '.join(map(str, bad[0]))}]" if array.ndim else ""
        found = f"{name}{place} is {array[tuple(bad[0])]:g}"
        if len(bad) > 1:
            found += f" ({len(bad)} entries are not, {np.isnan(array).sum()} of them nan)"
        raise BayeslibError(f"{name} must be {rule}, {found}{remedy}")


def check_finite(array, name, remedy=""):
    """Raise for the first nan or infinity of `array`, naming its index."""
    check_each(array, name, "finite", np.isfinite(array), remedy)


def blame(target, words):
    """Return what to say of a density that is finite nowhere: of odd data before `words`."""
    arrays = getattr(target, "original", target).data
    for kind, test in (("nan", np.isnan), ("inf", np.isinf)):
        for i, array in enumerate(arrays):
            found = np.argwhere(test(array)) if array.dtype.kind in "fc" else ()
            if len(found):
                index = f"[{', '.join(map(str, found[0]))}]" if array.ndim else ""
                odd = f"data[{i}] holds {len(found)} {kind}, the first at data[{i}]{index}"
                return f"{odd}: remove or impute them, unless the model expects them ({words})"
    return words


def as_position(value, name, dim):
    """Return one point of the target's space as a new (dim,) float64 array."""
    array = as_floats(value, name)
    if array.ndim == 0 and dim == 1:
        array = array.reshape(1)
    check_shape(array, name, (dim,))
    check_finite(array, name)
    return array


def as_rows(value, name, dim):
    """Return numbers, (n, dim), as a new array; (n,) are taken too when dim is 1."""
    array = as_floats(value, name)
    if array.ndim == 1 and dim == 1:
        array = array[:, None]
    check_fits(array.shape[1:] == (dim,), array, name, f"have shape (n, {dim})")
    return array


def as_positions(value, name, dim, num_chains):
    """Return one start a chain, (num_chains, dim): a single point is given to every chain.

    When dim is 1, (num_chains,) numbers are one start a chain too.
    """
    array = as_floats(value, name)
    if dim == 1 and array.shape == (num_chains,):
        array = array[:, None]
    if array.shape == (dim,) or (array.ndim == 0 and dim == 1):
        return np.tile(as_position(value, name, dim), (num_chains, 1))
    rule = f"have shape ({dim},), or ({num_chains}, {dim}) for one start a chain"
    check_shape(array, name, (num_chains, dim), rule)
    check_finite(array, name)
    return array


def filled(pair):
    """Return a pair (low, high) with infinities where None says that there is no end."""
    if not (pair is None or (isinstance(pair, (list, tuple)) and len(pair) == 2)):
        return pair  # an array, or a mistake that the caller names
    low, high = pair or (None, None)
    return -np.inf if low is None else low, np.inf if high is None else high


def as_pairs(value, name, dim):
    """Return `dim` pairs low < high, shape (dim, 2), infinite where an end is open or None."""
    pairs = value
    if isinstance(value, (list, tuple)):
        alone = dim == 1 and len(value) == 2 and all(np.ndim(end) == 0 for end in value)
        pairs = [filled(pair) for pair in ((value,) if alone else value)]
    pairs = as_floats(pairs, name)
    if dim == 1 and pairs.shape == (2,):
        pairs = pairs[None, :]
    if pairs.shape != (dim, 2) or not np.all(pairs[:, 0] < pairs[:, 1]):
        raise BayeslibError(f"{name} must be {dim} pairs (low, high), low < high, got {value!r}")
    return pairs


def as_support(support, dim):
    """Return `dim` pairs (low, high), infinite where an end is open, or None."""
    if support is None:
        return None
    return tuple((float(low), float(high)) for low, high in as_pairs(support, "support", dim))


def as_one_each(value, name, *shape):
    """Return a number, or an array of this shape or of its last axes, as an array of this shape."""
    array = as_floats(value, name)
    shapes = [shape[i:] for i in reversed(range(len(shape)))]
    rule = f"be a number or have shape {' or '.join(map(str, shapes))}"
    check_fits(array.shape in ((), *shapes), array, name, rule)
    return np.broadcast_to(array, shape).copy()


def as_scale(value, name, *shape, zero=False):
    """Return a positive scale, or where `zero` may be one, as `as_one_each`."""
    array = as_one_each(value, name, *shape)
    if not np.all((array >= 0.0 if zero else array > 0.0) & np.isfinite(array)):
        rule = "at least 0" if zero else "positive"
        raise BayeslibError(f"{name} must be {rule} and finite, got {value!r}")
    return array


def as_covariance(value, name, dim):
    """Return a symmetric positive definite (dim, dim) matrix.

    A (dim,) array is its diagonal, a number the variance in every dimension.
    """
    array = as_floats(value, name)
    if array.shape == (dim,):
        array = np.diag(array)
    if array.ndim == 0:
        array = array * np.eye(dim)
    check_shape(array, name, (dim, dim), f"have shape ({dim}, {dim}), or ({dim},) for its diagonal")
    check_finite(array, name)
    if not np.allclose(array, array.T, rtol=1e-10, atol=1e-12 * np.abs(array).max()):
        raise BayeslibError(f"{name} must be symmetric; it differs from its transpose")
    spread = np.sqrt(np.maximum(np.diag(array), 0.0))
    unit = spread if spread.min() > 0.0 else np.ones(dim)
    # of the correlations: units that are far apart would hide it in rounding
    if np.linalg.eigvalsh(array / np.outer(unit, unit))[0] <= 0.0:
        smallest = min(np.linalg.eigvalsh(array)[0], 0.0)
        found = f"its smallest eigenvalue is {smallest:.3g}"
        raise BayeslibError(f"{name} must be positive definite; {found}")
    return array


def shown(values):
    """Return numbers as a message prints them: the first six, and how many there are."""
    values = np.asarray(values)
    exact = values.dtype.kind != "f"
    first = [str(v if exact else float(f"{v:.6g}")) for v in values.flat[:_SHOWN]]
    more = f", ... {values.size} in all" if values.size > _SHOWN else ""
    return f"[{', '.join(first)}{more}]" if values.ndim else first[0]


def along(direction, names):
    """Return a direction, its largest part 1, as a message prints it: up to six parts."""
    terms = zip(direction, names, strict=True)
    terms = [f"{part:+.2g} {name}" for part, name in terms if abs(part) > 0.05]
    return " ".join(terms[:6])


def check_memory(shape, name):
    """Raise before allocating more than is free; `shape` is of float64 numbers."""
    needed = 8.0 * float(np.prod([float(n) for n in shape]))
    free = available_memory() if needed > _SMALL else None
    if free is not None and needed > free:
        what = f"{name} of shape ({', '.join(f'{n:.0f}' for n in shape)})"
        needed, free = (f"{size / 2**30:,.1f} GiB" for size in (needed, free))
        raise TooLargeError(f"{what} needs {needed}, {free} are free; ask for fewer")
