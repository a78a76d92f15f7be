"""The arguments of an interactive figure, checked: what may be varied, and how it is written."""

import inspect
import math
import numbers

from bayeslib.errors import BayeslibError, BayeslibTypeError

from .svg import kind

MAX_FRAMES = 400


def check_range(name, values):
    if isinstance(values, (str, bytes, dict, set)) or not hasattr(values, "__iter__"):
        raise BayeslibError(
            f"{name}={values!r} is no range; give its settings in order, such as {name}=[1, 2, 5]"
        )
    values = list(values)
    if len(values) < 2:
        raise BayeslibError(f"{name}={values!r} must have at least two settings")
    all_text = all(isinstance(v, str) for v in values)
    all_numbers = all(isinstance(v, numbers.Real) and v == v for v in values)
    if not (all_text or all_numbers):
        raise BayeslibError(f"{name}={values!r} must hold only numbers (no nan) or only texts")
    values = [v.item() if hasattr(v, "item") else v for v in values]
    if len(set(values)) < len(values):
        raise BayeslibError(f"{name}={values!r} holds a setting twice")
    return values


def check_size(values):
    if not 1 <= len(values) <= 3:
        raise BayeslibError(
            f"explore takes one to three parameters, got {len(values)} ({listed(values)})"
        )
    count = math.prod(map(len, values.values()))
    if count > MAX_FRAMES:
        raise BayeslibError(
            f"{' × '.join(f'{len(v)} {k}' for k, v in values.items())} are {count} frames; "
            f"a page carries at most {MAX_FRAMES}: give fewer settings"
        )


def check_draw(draw, settings):
    if not callable(draw):
        raise BayeslibTypeError(f"draw must be a function that returns a Figure, got {kind(draw)}")
    try:
        inspect.signature(draw).bind(**settings)
    except TypeError as error:
        raise BayeslibTypeError(
            f"draw{inspect.signature(draw)} cannot be called as draw({call(settings)}): {error}"
        ) from None


def check_keys(argument, given, names):
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise BayeslibError(
            f"{argument}={given!r} must be a dict such as {{{names[0]!r}: …}}; if {argument!r} is "
            "a parameter of draw, rename it"
        )
    for name in given:
        if name not in names:
            raise BayeslibError(
                f"{argument} names {name!r}, which is not a parameter; those are {listed(names)}"
            )
    return given


def check_start(start, values):
    start = check_keys("start", start, list(values))
    index = []
    for name, settings in values.items():
        value = start.get(name, settings[0])
        if value not in settings:
            raise BayeslibError(f"start has {name}={value!r}, which is not among {settings}")
        index.append(settings.index(value))
    return tuple(index)


def texts(values):
    """Write the settings as short as they stay distinct, with a true minus sign."""
    if isinstance(values[0], str):
        return values
    for form in (".3g", ".6g", ".17g"):
        texts = [format(v, form) if isinstance(v, float) else str(v) for v in values]
        if len(set(texts)) == len(texts):
            break
    return [text.replace("-", "−") for text in texts]


def call(settings):
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def listed(names):
    return ", ".join(repr(name) for name in names)
