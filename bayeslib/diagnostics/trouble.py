"""What speaks against a set of draws, in words that say what to do."""

from dataclasses import replace

import numpy as np

from .. import diagnostics
from .tails import tail_shape

ESS_PER_CHAIN = 100
RHAT_LIMIT = 1.01
NEARLY_EQUAL = 0.9  # of the draws that weights are worth: k-hat is of their noise, or of rounding
WEIGHTED_RHAT_LIMIT = 1.1  # it does not see weights, which say what late draws are worth
BFMI_LIMIT = 0.3
DEPTH_LIMIT = 0.01
FEW_DIVERGENCES = 0.001  # a share that hardly moves an average
STAY_LIMIT = 0.05
SWAP_LIMIT = 0.05
HEAT_LIMIT = 0.1
GROWTH_LIMIT = 0.75  # 1 is that of a walk that has met no wall yet
FEWEST_FAMILIES = 20
LEAST_LEARNED = 0.1  # of the draws of a learned proposal that they are worth
LEAST_EVEN = 0.3  # of families' worth over their number, a half by chance alone
NAN_LIMIT = 0.01  # of evaluations: a few may overflow far out
VIRIAL_LIMIT = 0.2  # a tenth of the spread of a Gaussian
_BORDER = 0.05  # of a tail index that is not measured at infinity
_ENOUGH_FOR_A_TRIP = 1000  # draws, in which every chain's replicas should have travelled
_SHORTEST_HALF = 20  # draws that a working chain may well reject in a row


def khat_limit(num_samples):
    """The largest k-hat at which an average of `num_samples` weighted draws is reliable."""
    return min(1.0 - 1.0 / np.log10(max(num_samples, 11)), 0.7)


def find_problems(draws):
    """List why `draws` are not to be trusted as they stand.

    Parameters
    ----------
    draws : Draws

    Returns
    -------
    tuple of str
        Empty when nothing was found, which is no proof that nothing is wrong.
    """
    found, fixed = [], draws.settings.get("fixed", ())
    if fixed:  # by its constraint, which is no trouble
        moving = [name for name in draws.names if name not in fixed]
        if not moving:
            return ()
        draws = draws[moving]
    if draws.settings.get("interrupted"):
        found.append("the run was interrupted; these are the draws made until then")
    if not np.isfinite(draws.values).all():
        return (*found, "some draws are nan or infinite: np.isfinite(draws.values) says which")
    found += [failed_paths(draws.settings.get("elbos", 0.0)), draws.settings.get("elsewhere")]
    found += noise_problems(draws)
    top = 0.0 if draws.logdensity is None else np.max(draws.logdensity, initial=-np.inf)
    num_nan = draws.settings.get("num_nan", 0)
    if num_nan > NAN_LIMIT * draws.num_evals:
        said = f"the log density was nan at {num_nan} of {draws.num_evals} evaluations"
        found.append(f"{said}: declare bounds in parameters=, or mend the function")
    if np.spacing(abs(top)) > 0.1:  # and its differences decide what is accepted
        found.append(f"log densities near {top:.3g} round differences away: leave out constants")
    if draws.log_weights is not None or "family" in draws.stats:
        found += _weight_problems(draws)
    elif not draws.independent:
        found += _chain_problems(draws)
    return tuple(filter(None, found))


def _weight_problems(draws):
    yield divergence_problem(draws)
    size = draws.num_chains * draws.num_samples
    ess = draws.worth
    khat, limit = draws.settings.get("khat", -np.inf), khat_limit(size)
    if khat > limit and ess < NEARLY_EQUAL * size:
        found = f"k-hat is {', above '.join(apart(khat, limit))}: a few weights dominate"
        yield f"{found}; use a proposal nearer to the target, with heavier tails"
    elif (khat := draws.settings.get("khat_beyond", -np.inf)) > limit:
        found = f"further out than the draws k-hat is {', above '.join(apart(khat, limit))}"
        yield f"{found}, and errors are too small: use a proposal with heavier tails"
    if ess < min(10.0, NEARLY_EQUAL * size):
        kind = "weighted" if draws.log_weights is not None else "resampled"
        yield f"{size} {kind} draws are worth {ess:.1f}: find a better proposal"
    elif "round_ess" in draws.settings and ess < LEAST_LEARNED * size:
        share, least = apart(100.0 * ess / size, 100.0 * LEAST_LEARNED, 1)
        found = f"draws of the learned proposal are worth {share} % of their number, not {least} %"
        yield f"{found}: errors miss what it hardly reaches; raise num_adapt, or reparameterise"
    yield from particle_problems(draws)
    yield tail_problem(draws)
    if draws.num_chains > 1 and not draws.independent:
        yield _rhat_problem(draws, WEIGHTED_RHAT_LIMIT)


def _chain_problems(draws):
    yield divergence_problem(draws) or draws.settings.get("runaway")
    if "endless" in draws.settings:
        return  # no other advice helps
    saturated = np.mean(draws.stats.get("reached_max_treedepth", 0.0))
    if saturated > DEPTH_LIMIT:
        found = f"{100.0 * saturated:.1f} % of the trajectories reached max_tree_depth"
        yield f'{found}: reparameterise, or try metric="dense"'
    if draws.num_samples < 4:
        yield "fewer than 4 draws a chain cannot be judged: run longer"
        return
    if "energy" in draws.stats:
        worst = float(np.fmin.reduce(diagnostics.bfmi(draws)))
        if worst < BFMI_LIMIT:
            pair = ", below ".join(apart(worst, BFMI_LIMIT))
            yield f"E-BFMI is {pair}: tails, or a neck, are explored too slowly; reparameterise"
    yield longest_stay_problem(draws)
    yield from ladder_problems(draws)
    constant = [n for n in draws.names if np.any(np.ptp(draws[n], axis=1) == 0.0)]
    if constant:
        rate = np.min(np.mean(draws.stats.get("acceptance_rate", [[1.0]]), axis=1))
        steps = "smaller steps" if rate < 0.5 else "larger steps, if any"
        yield f"a chain never moved in {_listed(constant)}: take {steps}, or start elsewhere"
    elif stood := [n for n in draws.names if _stood_still(draws[n])]:
        found = f"a chain stood still in {_listed(stood)} for half of its draws or more"
        yield f"{found}: take smaller steps, or reparameterise"
    if draws.num_chains == 1:
        yield "one chain cannot show that it disagrees with others: run at least 4"
    yield (parted := _rhat_problem(draws, RHAT_LIMIT))
    yield tail_problem(draws)
    known = np.isfinite(draws.settings.get("tail_index", np.inf))
    whole = draws.values if parted else [draws.flat]  # chains that lie apart have no common tail
    shapes = np.median([[tail_shape(x) for x in part.T] for part in whole], axis=0)
    if not known and np.any(shapes > khat_limit(draws.num_chains * draws.num_samples)):
        worst = int(np.nanargmax(shapes))
        found = f"the tails of {draws.names[worst]} are so heavy (k-hat {shapes[worst]:.2f})"
        yield f"{found} that its mean rests on a few draws, or does not exist: use quantiles"
    wanted = ESS_PER_CHAIN * draws.num_chains
    for kind in ("bulk", "tail"):
        ess = np.atleast_1d(diagnostics.ess(draws, kind=kind))
        if np.any(ess < wanted) and not constant:
            worst = int(np.nanargmin(ess))
            found = f"{kind} ESS is {apart(ess[worst], wanted, 0)[0]} for {draws.names[worst]}"
            yield f"{found}, below {wanted} ({ESS_PER_CHAIN} a chain): run longer"


def _rhat_problem(draws, limit):
    rhat = np.atleast_1d(diagnostics.rhat(replace(draws, log_weights=None)))
    if np.any(rhat > limit):
        k = int(np.nanargmax(rhat))
        found = f"R-hat is {apart(rhat[k], limit, 3)[0]} for {draws.names[k]}, above {limit}"
        return f"{found}: the chains disagree; run longer, or find what separates them"


def particle_problems(draws):
    """Say where tempered particles had not moved, or too few families remember their modes."""
    growth = np.nan_to_num(np.atleast_1d(draws.settings.get("growth", 0.0)), posinf=np.inf)
    limit = GROWTH_LIMIT + 1.0 / np.sqrt(draws.num_samples)
    if np.any(growth > limit):
        k, given = int(np.argmax(growth)), draws.settings
        why = "half of them left most particles where they were"
        if np.isfinite(growth[k]):
            rate, most = apart(100.0 * growth[k], 100.0 * limit, 0)
            why = f"particles still moved away {rate} % as fast in the second half (limit {most} %)"
        remedy = "reparameterise, or take a proposal nearer to the target"
        if given["num_steps"] is not None:
            remedy = "raise num_steps, or leave it out"
        elif given["scale"] is not None:
            remedy = "leave scale out"
        found = f"at stage {k + 1} of {growth.size} {given['num_moves'][k]} moves were too few"
        yield f"{found}: {why}, and means, errors and evidence may all be wrong; {remedy}"
    families = draws.settings.get("num_families", np.inf)
    if families < min(FEWEST_FAMILIES, draws.num_samples):
        few, least = apart(families, FEWEST_FAMILIES, 1)
        yield f"evidence and modes rest on {few} families of particles (limit {least}): take more"
    even = draws.settings.get("evenness", 1.0)
    if even < LEAST_EVEN:
        share, least = apart(100.0 * even, 100.0 * LEAST_EVEN, 0)
        found = f"families of particles are worth {share} % of their number (limit {least} %)"
        yield f"{found}: a few took over, and the evidence may be far off; take more particles"


def divergence_problem(draws):
    """Say how many transitions diverged, why if that is known, and what to do; None for none."""
    diverging = draws.stats.get("diverging")
    if diverging is None or not np.any(diverging):
        return None
    count, share = int(np.sum(diverging)), float(np.mean(diverging))
    percent = f"{100.0 * share:.1f}" if share >= 0.001 else f"{100.0 * share:.2g}"
    said = f"{count} of {diverging.size} transitions diverged ({percent} %)"
    if "runaway" in draws.settings:
        return f"{draws.settings['runaway']} {said}"
    outside = int(np.sum(draws.settings.get("num_outside", 0)))
    if 2 * outside >= count:
        remedy = "give the Target its support=, and sample bl.unconstrained(target)"
        if draws.settings.get("unconstrained"):  # parameters=, whose constraints are hardly edges
            remedy = "declare it in parameters=, or draw a ratio to it if it moves"
            remedy += "; where it is declared, they may"
        remedy = f"smaller steps do not help at the edge of a support; {remedy}"
        return f"{said}, {outside} of them into a log density of -inf: {remedy}"
    remedy = "reparameterise, or take smaller steps"
    if draws.settings.get("adapted"):
        higher = 1.0 - (1.0 - draws.settings["target_accept"]) / 4.0
        remedy += f" (target_accept={higher:.4g})"
    if share <= FEW_DIVERGENCES:
        remedy = f"too few to move an average, but draws may be too thin there; {remedy}"
    return f"{said}: {remedy}"


def settings_with_noise(draws):
    """The settings, and what noisy gradients did, which only draws of all coordinates tell."""
    if not {"virial", "temperature"} & set(draws.settings):
        return draws.settings
    return draws.settings | {"noise": noise_problems(draws)}


def noise_problems(draws):
    """List what noisy gradients did that the run itself could see."""
    if "noise" in draws.settings:  # said when the draws still had all coordinates
        return list(draws.settings["noise"])
    found = [*filter(None, [_temperature_problem(draws), *batch_problems(draws)])]
    return found or [*filter(None, [virial_problem(draws)])]


def _temperature_problem(draws):
    if "kinetic_energy" not in draws.stats or draws.settings.get("heated"):
        return None
    energies = draws.stats["kinetic_energy"]
    temperature = 2.0 * float(energies.mean()) / draws.dim
    error = 2.0 * float(diagnostics.mcse(energies)) / draws.dim
    remedy = "narrow: pass a smaller noise_estimate"
    if temperature > 1.0:
        remedy = "wide: take smaller steps, larger batches or more friction"
    if abs(temperature - 1.0) > HEAT_LIMIT + 4.0 * error:
        return f"the temperature of the momenta is {temperature:.3g}, not 1: draws are too {remedy}"


def virial_problem(draws):
    """Say that steps or noise made the draws too wide or too narrow, or return None.

    The virial is 1 under the target, and s^2 where the draws of a Gaussian are s times too wide. It
    is accused beyond 0.2 and three of its standard errors, sqrt(2 / ESS) for a Gaussian.
    """
    if "virial" not in draws.settings or draws.num_samples < 4:
        return None
    virial = np.atleast_2d(draws.settings["virial"]).mean(axis=0)
    bulk = diagnostics.ess(replace(draws, log_weights=None), kind="bulk")
    error = np.sqrt(2.0 / np.atleast_1d(bulk))
    excess = np.abs(virial - 1.0) - VIRIAL_LIMIT - 3.0 * error
    if np.any(excess > 0.0):
        worst = int(np.nanargmax(excess))
        width = "wide" if virial[worst] > 1.0 else "narrow"
        found = f"the virial of {draws.names[worst]} is {virial[worst]:.3g}, not 1"
        return f"{found}: draws are too {width}; take smaller steps, or larger batches"


def batch_problems(draws):
    """Say that noise heats the momenta without end, or that it was more than the friction."""
    if draws.settings.get("heated"):
        yield "friction is 0, so that noise makes the momenta heat up: pass friction, or refresh"
    count = int(np.sum(draws.settings.get("num_negative", 0)))
    if count:
        found = f"at {count} steps the gradient's noise was estimated"
        yield f"{found} larger than the friction allows: take more friction, or larger batches"


def tail_problem(draws):
    """Say which averages do not exist because the density falls as a power, or return None."""
    index = draws.settings.get("tail_index", np.inf)
    slowly = "far out the density falls so slowly"
    if index <= _BORDER:
        remedy = "check that priors are proper, and that the function returns a logarithm"
        return f"{slowly} that it has no integral, if it goes on like that: {remedy}"
    if index <= 2.0 + _BORDER:
        missing = "means do not exist" if index <= 1.0 + _BORDER else "variances do not exist"
        return f"{slowly} (tail index {index:.2g}) that {missing}: use quantiles"


def apart(value, limit, decimals=2):
    """Print two numbers to so many decimals, or to as many as tell one from the other."""
    texts = ([f"{x:.{n}f}" for x in (value, limit)] for n in range(decimals, 18))
    return next(pair for pair in texts if pair[0] != pair[1])


def _stood_still(x):
    half = x.shape[1] // 2
    ends = (x[:, :half], x[:, -half:])
    return half >= _SHORTEST_HALF and any(np.any(np.ptp(end, axis=1) == 0.0) for end in ends)


def failed_paths(elbos):
    """Say which paths had no Gaussian whose evidence lower bound was finite, or return None."""
    failed = np.flatnonzero(elbos == -np.inf)
    if failed.size:
        which = f"{failed.size} of {elbos.size} paths failed ({', '.join(map(str, failed))})"
        return f"{which}, without a finite ELBO: begin elsewhere, or give the target its bounds"


def longest_stay_problem(draws):
    """Say which chain of independent proposals was held by one state, or return None."""
    stays = np.atleast_1d(draws.settings.get("longest_stay", 0))
    worst = int(np.argmax(stays))
    if stays[worst] > max(STAY_LIMIT * draws.num_samples, 20):
        found = f"{stays[worst]} of {draws.num_samples} draws"
        return f"chain {worst} stayed in one state for {found}: use a proposal with heavier tails"


def ladder_problems(draws):
    """Say what kept the replicas of parallel tempering from travelling."""
    if "round_trips" not in draws.settings:
        return
    rates = np.atleast_2d(draws.settings["swap_acceptance"])
    # Where hardly anything swaps the barrier is higher than its estimate.
    more = max(int(np.ceil(2.0 * np.max(draws.settings["barrier"]))) + 1, 2 * rates.shape[1] + 2)
    chain, pair = np.unravel_index(np.argmin(rates), rates.shape)
    if rates[chain, pair] < SWAP_LIMIT:
        percent = f"{100.0 * rates[chain, pair]:.1f} % of the time"
        found = f"chain {chain} swapped {percent} between rungs {pair} and {pair + 1}"
        yield f"{found}: the ladder is too coarse; pass inverse_temperatures={more} or more"
    idle = int(np.sum(np.asarray(draws.settings["round_trips"]) == 0))
    if idle and (idle == draws.num_chains or draws.num_samples >= _ENOUGH_FOR_A_TRIP):
        found = f"in {idle} of {draws.num_chains} chains no replica made the way from hot to cold"
        yield f"{found} and back: run longer, or pass inverse_temperatures={more}"


def _listed(names):
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
