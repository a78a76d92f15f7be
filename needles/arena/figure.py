"""The call that puts the arena on a page, and what stands there where no script runs."""

import html
import json
import re
from importlib import resources

import numpy as np

from bayeslib.errors import BayeslibError, BayeslibTypeError
from bayeslib.validate import as_count, as_position

from .. import plots
from ..figures.ranges import check_keys, listed
from ..figures.svg import check_alt, to_png, to_svg
from .catalogue import ALGORITHMS, SETTINGS, describe, targets

# In this order: each uses what those before it define.
SCRIPTS = (
    *("random.js", "targets.js", "samplers.js", "hamiltonian.js", "estimates.js", "chain.js"),
    *("contours.js", "drawing.js", "words.js", "markup.js", "run.js", "controls.js"),
)
NOTE = (
    "The contours hold 50, 80, 95 and 99 % of the mass. Blue: draws and accepted moves; red: what "
    "is rejected, or diverged; orange: proposals and slices; dashed green: the exact marginals."
)
STILL = "The contours hold 50, 80, 95 and 99 % of the mass; blue: exact draws."
_GRID = 61  # points along each side of the still picture


def arena(*, alt, start=None):
    """Show targets, samplers and settings to play with, the chain's path animated.

    One HTML output with its script inside, the same in the built book and in a live notebook: it
    needs no kernel and no network. Where scripts do not run, and in print, a still picture: the
    contours of the first target with exact draws.

    Parameters
    ----------
    alt : str
        What the figure is, for readers who do not see it; what the chain has done is added to it.
    start : dict, optional
        What to begin with, where it is not the default. ``"target"``: "gaussian", "banana",
        "donut", "mixture" or "funnel", of `bayeslib.posteriors`. ``"algorithm"``: "metropolis",
        "independence_metropolis", "gibbs", "slice_sample", "hmc" or "nuts". The algorithm's
        settings, each one of those of its slider: ``"scale"``, ``"width"``, ``"step_size"``,
        ``"num_steps"``. ``"position"``: where the chain starts, (2,). ``"seed"``: int.

    Returns
    -------
    Picture
        To be the last line of a cell.

    Raises
    ------
    BayeslibTypeError, BayeslibError
        If `alt` says nothing, or `start` names something unknown; the message says which.

    Notes
    -----
    The samplers are written in JavaScript and take their steps as the library's do, from another
    generator: xoshiro128**, normals by the polar method. The independence sampler proposes from
    N(0, scale² I). Gibbs sampling draws a coordinate from its conditional where that is a Gaussian
    or a mixture of them, and by a slice update elsewhere; an exact draw is charged as one
    evaluation. Hamiltonian trajectories have the unit mass matrix. Nothing is discarded and nothing
    adapted. When the page opens, the script compares its log densities and gradients with the
    library's, computed by this call, and says how far they are apart. Its effective sample size is
    that of `ess`, of kind "mean".

    References
    ----------
    Blackman and Vigna (2021), "Scrambled linear pseudorandom number generators", ACM Transactions
    on Mathematical Software 47(4). Marsaglia and Bray (1964), "A convenient method for generating
    normal variables", SIAM Review 6(3).

    Examples
    --------
    >>> start = {"algorithm": "hmc"}
    >>> picture = arena(alt="A chain walks on a density", start=start)
    >>> picture.html.startswith("<")
    True
    """
    check_alt(alt)
    begin = _as_start(start)
    facts = {
        "alt": " ".join(alt.split()),
        "note": NOTE,
        "targets": {name: describe(name) for name in targets()},
        "algorithms": ALGORITHMS,
        "settings": SETTINGS,
        "start": begin,
        "colors": {
            "draws": plots.DRAWS,
            "rejected": plots.REJECTED,
            "proposal": plots.PROPOSAL,
            "truth": plots.TRUTH,
        },
    }
    fig = _still(begin["target"])
    with plots.style():
        svg, png = to_svg(fig, f"{alt} ({STILL})"), to_png(fig)
    told = html.escape(json.dumps(facts, ensure_ascii=False))
    return plots.Picture(
        f'<div class="arena" data-facts="{told}">{svg}<p class="arena-note">{STILL}</p></div>'
        f"<style>{read('arena.css')}</style><script>{script()}</script>",
        png,
    )


def read(name):
    """Return the text of one of the files beside this one."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def script():
    """Return the whole script, which leaves no name behind on the page."""
    source = "\n".join(read(name) for name in SCRIPTS)
    # Indentation and comments are for those who read the files, not for those who load the page.
    source = re.sub(r"(?m)^\s*(//.*|/\*\*.*\*/)$", "", source)
    return "(() => {" + re.sub(r"\n\s*", "\n", "\n" + source) + "\n})();"


def _as_start(start):
    """Return a checked and complete copy of `start`."""
    names = ["target", "algorithm", *SETTINGS, "position", "seed"]
    start = check_keys("start", start, names)
    target = _one_of(start.get("target", "gaussian"), "target", list(targets()))
    algorithm = _one_of(start.get("algorithm", "metropolis"), "algorithm", list(ALGORITHMS))
    own = ALGORITHMS[algorithm]["settings"]
    given = {name: start[name] for name in SETTINGS if name in start}
    for name, value in given.items():
        if name not in own:
            raise BayeslibError(f"start has {name}, but {algorithm} has only {listed(own)}")
        _one_of(value, name, list(SETTINGS[name]["values"]))
    position = as_position(start.get("position", describe(target)["start"]), 'start["position"]', 2)
    _check_inside(position, target)
    return {
        "target": target,
        "algorithm": algorithm,
        "settings": given,
        "position": position.tolist(),
        "seed": as_count(start.get("seed", 1), 'start["seed"]', minimum=0, maximum=2**32 - 1),
    }


def _one_of(value, name, known):
    if isinstance(value, (list, dict, set, np.ndarray)):
        raise BayeslibTypeError(f"start has {name}={value!r}, which is not one of {known}")
    if value not in known:
        raise BayeslibError(f"start has {name}={value!r}, which is not one of {known}")
    return value


def _check_inside(position, target):
    window = describe(target)["window"]
    for i, (low, high) in enumerate((window["x"], window["y"])):
        if not low <= position[i] <= high:
            raise BayeslibError(
                f'start["position"] is {position.tolist()}; coordinate {i} of the {target} is '
                f"shown from {low:g} to {high:g}"
            )


def _still(name):
    """Draw a target's contours with exact draws on them."""
    told, target = describe(name), targets()[name]
    (left, right), (bottom, top) = told["window"]["x"], told["window"]["y"]
    x, y = np.linspace(left, right, _GRID), np.linspace(bottom, top, _GRID)
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    heights = target.many_with_gradient(points).reshape(_GRID, _GRID)
    draws = target.truth.sample(150, np.random.default_rng(2))
    fig, ax = plots.figure(4.2, 4.0)
    with plots.style():
        ax.contour(
            x, y, heights, levels=told["levels"], colors=plots.INK, linewidths=1, linestyles="solid"
        )
        ax.plot(*draws.T, "o", color=plots.DRAWS, ms=3, alpha=0.5, mew=0)
        ax.set(xlabel="θ₁", ylabel="θ₂", xlim=(left, right), ylim=(bottom, top), aspect="equal")
    return fig
