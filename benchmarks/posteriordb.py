"""Posteriors of others, held against the reference draws of others: those of posteriordb.

Every posterior with reference draws is written here again from its program in Stan; its answers
come from long runs of Stan. Nothing in the library was tuned on them. The stored run used the
collection's commit 28f8d3d.

    git clone https://github.com/stan-dev/posteriordb
    POSTERIORDB=posteriordb/posterior_database python -m benchmarks posteriordb
"""

import io
import json
import math
import os
import time
import zipfile
from concurrent import futures
from pathlib import Path

import numpy as np

import bayeslib as bl

log = bl.logpdf
SEEDS = {"nuts": 5}  # of other methods one
METHODS = {
    "nuts": bl.nuts,
    "hmc": lambda target, rng: bl.hmc(target, num_steps=10, rng=rng),
    "metropolis": lambda target, rng: bl.metropolis(target, initial_position=None, rng=rng),
    "slice_sample": bl.slice_sample,
    "parallel_tempering": bl.parallel_tempering,
    "laplace": lambda target, rng: bl.laplace(target, coordinates="unconstrained"),
    "advi": bl.advi,
    "advi, full rank": lambda target, rng: bl.advi(target, family="fullrank", rng=rng),
    "bbvi": bl.bbvi,
    "pathfinder": bl.pathfinder,
    "multipathfinder": bl.multipathfinder,
    "importance from laplace": lambda target, rng: weighted(target, METHODS["laplace"], rng),
    "importance from advi": lambda target, rng: weighted(target, METHODS["advi, full rank"], rng),
}
FITS = list(METHODS)[5:10]


def weighted(target, fit, rng):
    """Weighted draws of a fit; what the fit says of itself is said of them, too."""
    q = fit(target, rng=rng)
    draws = bl.importance_sample(target, q, num_samples=5000, rng=rng)
    return draws, (*draws.problems, *q.problems)


def measure():
    """Print and return a row for each posterior, method and seed.

    Returns
    -------
    list of dict, or None where POSTERIORDB names no folder
        ``name``, ``dim``, ``method``, ``seed``, ``problems`` (of a refusal its words); of the worst
        mean ``sds`` and ``errors`` (its own and the reference's together); ``most_errors`` of any,
        and ``rms`` of all; of a fit the least ``spread``, over the true one; ``num_evals``.
    """
    if "POSTERIORDB" not in os.environ:
        print("posteriordb: POSTERIORDB names no folder; skipped")
        return None
    with futures.ProcessPoolExecutor(os.cpu_count(), max_tasks_per_child=1) as pool:
        return [row for rows in pool.map(rows_of, sorted(POSTERIORS)) for row in rows]


def rows_of(name):
    """Return the rows of a posterior, and print each."""
    target, facts = POSTERIORS[name](arrays(load("data/data", name.split("-")[0])))
    truth = Reference(name)
    rows = []
    for method in METHODS:
        for seed in range(SEEDS.get(method, 1)):
            began = time.monotonic()
            row = {"name": name, "dim": target.dim, "method": method, "seed": seed}
            row |= judged(method, target, facts, truth, np.random.default_rng([923, seed]))
            rows.append(row)
            print(json.dumps(row), f"{time.monotonic() - began:.1f} s", flush=True)
    return rows


def judged(method, target, facts, truth, rng):
    """What a method says, and how far it is off; `facts` takes draws to the reference's columns."""
    try:
        result = METHODS[method](target, rng=rng)
    except (bl.BayeslibError, np.linalg.LinAlgError) as refusal:
        return {"problems": [f"refused: {refusal}"]}
    result, problems = result if isinstance(result, tuple) else (result, result.problems)
    estimate = result.expect(facts)
    apart, error = np.abs(estimate.value - truth.mean), np.zeros(truth.mean.size)
    spread = 1.0
    if method in FITS:
        square = result.expect(lambda p: (facts(p) - estimate.value) ** 2).value
        spread = float(np.min(np.sqrt(square) / truth.sd))
    else:
        error = estimate.mcse
    z = apart / np.hypot(error, truth.mcse)
    worst = int(np.argmax(np.minimum(z / 6.0, apart / truth.sd / 0.5)))  # as `timed.judged` has it
    return {
        "problems": list(problems), "sds": apart[worst] / truth.sd[worst], "errors": z[worst],
        "most_errors": z.max(), "rms": math.sqrt(np.mean(z**2)), "spread": spread,
        "num_evals": result.num_evals,
    }  # fmt: skip


class Reference:
    """Means, standard deviations and errors of the ten thousand reference draws, in their order."""

    def __init__(self, name):
        name = name.replace("schools_centered", "schools_noncentered")  # they share them
        try:
            chains = load("reference_posteriors/draws/draws", name)
            values = np.stack([np.column_stack(list(chain.values())) for chain in chains])
            self.mean, self.sd, self.mcse = values.mean((0, 1)), values.std((0, 1)), bl.mcse(values)
        except FileNotFoundError:  # a copy without its largest files
            self.mean, squares = (
                stored(what, name) for what in ("mean_value", "mean_squared_value")
            )
            self.sd = np.sqrt(squares - self.mean**2)
            self.mcse = 0.01 * self.sd  # they are as good as independent


def load(folder, name):
    """Return what a zipped JSON file of posteriordb holds."""
    path = Path(os.environ["POSTERIORDB"]) / folder / f"{name}.json.zip"
    with zipfile.ZipFile(path) as archive:
        return json.load(io.TextIOWrapper(archive.open(archive.namelist()[0]), "utf-8"))


def stored(what, name):
    """Return a statistic of the reference draws."""
    folder = Path(os.environ["POSTERIORDB"]) / "reference_posteriors" / "summary_statistics"
    return np.array(json.loads((folder / what / what / f"{name}.json").read_text())[what])


def arrays(data):
    """Data with arrays of floats in place of lists."""
    return {k: np.array(v, float) if isinstance(v, list) else v for k, v in data.items()}


POSTERIORS = {}
POSITIVE = bl.positive()


def posterior(*names):
    """Register a function that takes data to a target and its facts."""

    def register(make):
        POSTERIORS.update(dict.fromkeys(names, make))
        return make

    return register


def columns(*parts):
    """Facts: these parameters, and functions of them, one after the other, of many draws."""
    return lambda p: np.column_stack([f(p) if callable(f) else getattr(p, f) for f in parts])


# Linear regressions; the scale has a flat prior, half of a Cauchy's, or half of a normal's


def flat(p, X, y):
    return bl.linear_log_likelihood(p.beta, X, y, p.sigma)


def cauchy(p, X, y):
    return flat(p, X, y) + log.half_cauchy(p.sigma, 2.5)


def normal(p, X, y):
    prior = np.sum(log.normal(p.beta, 0.0, 10.0)) + log.normal(p.sigma, 0.0, 10.0)
    return flat(p, X, y) + prior


def regression(logdensity, y, *predictors):
    X = np.column_stack([np.broadcast_to(x, len(y)) for x in predictors]).astype(float)
    parameters = {"beta": X.shape[1], "sigma": POSITIVE}
    data = X, np.asarray(y, float)
    return bl.Target(logdensity, parameters=parameters, data=data), columns(*parameters)


def family(prefix, logdensity, outcome, **models):
    """A regression for each name, on an intercept and what it makes of a dict of arrays."""
    for name, predictors in models.items():

        def make(d, predictors=predictors):
            return regression(logdensity, outcome(d), 1.0, *predictors(d))

        POSTERIORS[f"{prefix}-{name}"] = make


def scaled(x, by=1.0):
    return (x - x.mean()) / (by * x.std(ddof=1))


def crossed(a, b):
    return a, b, a * b


def logs(d, *names):
    """The logarithms of these, where a bush has a volume, an area and a shape, too."""
    area = d["diam1"] * d["diam2"]
    found = {"volume": area * d["canopy_height"], "area": area, "shape": d["diam1"] / d["diam2"]}
    return [np.log((d | found)[name]) for name in names]


SIZES = "diam1", "diam2", "canopy_height", "total_height", "density"
family(
    "kidiq", cauchy, lambda d: d["kid_score"],
    kidscore_momhs=lambda d: [d["mom_hs"]],
    kidscore_momiq=lambda d: [d["mom_iq"]],
    kidscore_momhsiq=lambda d: [d["mom_hs"], d["mom_iq"]],
    kidscore_interaction=lambda d: crossed(d["mom_hs"], d["mom_iq"]),
)  # fmt: skip
family(
    "kidiq_with_mom_work", flat, lambda d: d["kid_score"],
    kidscore_interaction_c=lambda d: crossed(
        d["mom_hs"] - d["mom_hs"].mean(), d["mom_iq"] - d["mom_iq"].mean()
    ),
    kidscore_interaction_c2=lambda d: crossed(d["mom_hs"] - 0.5, d["mom_iq"] - 100.0),
    kidscore_interaction_z=lambda d: crossed(scaled(d["mom_hs"], 2.0), scaled(d["mom_iq"], 2.0)),
    kidscore_mom_work=lambda d: [d["mom_work"] == k for k in (2, 3, 4)],
)  # fmt: skip
family("earnings", flat, lambda d: d["earn"], earn_height=lambda d: [d["height"]])
family(
    "earnings", flat, lambda d: np.log10(d["earn"]), log10earn_height=lambda d: [d["height"]]
)  # fmt: skip
family(
    "earnings", flat, lambda d: np.log(d["earn"]),
    logearn_height=lambda d: [d["height"]],
    logearn_height_male=lambda d: [d["height"], d["male"]],
    logearn_logheight_male=lambda d: [np.log(d["height"]), d["male"]],
    logearn_interaction=lambda d: crossed(d["height"], d["male"]),
    logearn_interaction_z=lambda d: crossed(scaled(d["height"]), d["male"]),
)  # fmt: skip
family(
    "mesquite", flat, lambda d: d["weight"],
    mesquite=lambda d: [d[name] for name in (*SIZES, "group")],
)  # fmt: skip
family(
    "mesquite", flat, lambda d: np.log(d["weight"]),
    logmesquite=lambda d: [*logs(d, *SIZES), d["group"]],
    logmesquite_logvolume=lambda d: logs(d, "volume"),
    logmesquite_logva=lambda d: [*logs(d, "volume", "area"), d["group"]],
    logmesquite_logvas=lambda d: [
        *logs(d, "volume", "area", "shape", "total_height", "density"), d["group"]
    ],
    logmesquite_logvash=lambda d: [*logs(d, "volume", "area", "shape", "total_height"), d["group"]],
)  # fmt: skip
for year in range(1972, 2004, 4):
    family(
        f"nes{year}", flat, lambda d: d["partyid7"],
        nes=lambda d: [
            d["real_ideo"], d["race_adj"], *(d["age_discrete"] == k for k in (2, 3, 4)),
            d["educ1"], d["gender"], d["income"],
        ],
    )  # fmt: skip


@posterior("sblrc-blr", "sblri-blr")
def blr(d):
    return regression(normal, d["y"], *d["X"].T)


def priced(p, X, y):
    slopes, intercept = p.beta[:-1], p.beta[-1]
    prior = np.sum(log.normal(slopes, 0.0, 1.0)) + log.student_t(intercept, 3.0, 8.0, 10.0)
    return flat(p, X, y) + prior + log.half_student_t(p.sigma, 3.0, 10.0)


@posterior("diamonds-diamonds")
def diamonds(d):
    X = d["X"][:, 1:]
    return regression(priced, d["Y"], *(X - X.mean(axis=0)).T, 1.0)


def line(p, x, y, mean_alpha, sd_alpha, mean_beta, sd_beta):
    prior = log.normal(p.alpha, mean_alpha, sd_alpha) + log.normal(p.beta, mean_beta, sd_beta)
    return prior + np.sum(log.normal(y, p.alpha + p.beta * x, p.sigma))


@posterior("kilpisjarvi_mod-kilpisjarvi")
def kilpisjarvi(d):
    parameters = {"alpha": (), "beta": (), "sigma": POSITIVE}
    priors = (float(d[name]) for name in ("pmualpha", "psalpha", "pmubeta", "psbeta"))
    data = d["x"], d["y"], *priors
    return bl.Target(line, parameters=parameters, data=data), columns(*parameters)


# A hierarchy in two forms and three Gaussian processes


def schools(p, y, se):
    prior = np.sum(log.normal(p.eta, 0.0, 1.0)) + log.normal(p.mu, 0.0, 5.0)
    return prior + log.half_cauchy(p.tau, 5.0) + np.sum(log.normal(y, p.mu + p.tau * p.eta, se))


@posterior("eight_schools-eight_schools_noncentered")
def eight_schools(d):
    parameters = {"eta": 8, "mu": (), "tau": POSITIVE}
    target = bl.Target(schools, parameters=parameters, data=(d["y"], d["sigma"]))
    return target, columns(lambda p: (p.mu + p.tau * p.eta.T).T, "mu", "tau")


def centred(p, y, se):
    prior = np.sum(log.normal(p.theta, p.mu, p.tau)) + log.normal(p.mu, 0.0, 5.0)
    return prior + log.half_cauchy(p.tau, 5.0) + np.sum(log.normal(y, p.theta, se))


@posterior("eight_schools-eight_schools_centered")
def centred_schools(d):
    parameters = {"theta": 8, "mu": (), "tau": POSITIVE}
    target = bl.Target(centred, parameters=parameters, data=(d["y"], d["sigma"]))
    return target, columns(*parameters)


def exp_quad(x, alpha, rho):
    return alpha**2 * np.exp(-0.5 * ((x[:, None] - x) / rho) ** 2)


def priors_of_process(p):
    return log.gamma(p.rho, 25.0, 0.25) + log.half_normal(p.alpha, 2.0)


def process(p, x, y):
    L = np.linalg.cholesky(exp_quad(x, p.alpha, p.rho) + p.sigma * np.eye(x.size))
    prior = priors_of_process(p) + log.half_normal(p.sigma, 1.0)
    return prior + log.multivariate_normal_cholesky(y, np.zeros(x.size), L)


@posterior("gp_pois_regr-gp_regr")
def gp_regr(d):
    parameters = {"rho": POSITIVE, "alpha": POSITIVE, "sigma": POSITIVE}
    return bl.Target(process, parameters=parameters, data=(d["x"], d["y"])), columns(*parameters)


def counts(p, x, k):
    f = np.linalg.cholesky(exp_quad(x, p.alpha, p.rho) + 1e-10 * np.eye(x.size)) @ p.z
    return priors_of_process(p) + np.sum(log.normal(p.z, 0.0, 1.0)) + np.sum(k * f - np.exp(f))


@posterior("gp_pois_regr-gp_pois_regr")
def gp_pois_regr(d):
    x, nugget = d["x"], 1e-10 * np.eye(d["x"].size)

    def f(p):
        L = np.linalg.cholesky(exp_quad(x, p.alpha[:, None, None], p.rho[:, None, None]) + nugget)
        return np.einsum("nij,nj->ni", L, p.z)

    parameters = {"rho": POSITIVE, "alpha": POSITIVE, "z": x.size}
    return bl.Target(counts, parameters=parameters, data=(x, d["k"])), columns("rho", "alpha", f)


def spectral(X, places, sd, scale, z):
    """A process in few of its eigenfunctions, which are the columns of X."""
    root = sd * np.sqrt(math.sqrt(2.0 * math.pi) * scale)
    return X @ (root * np.exp(-0.25 * (scale * places) ** 2) * z)


def crash(p, X, places, X_sigma, places_sigma, y):
    total = log.student_t(p.Intercept, 3.0, -13.0, 36.0)
    total += log.student_t(p.Intercept_sigma, 3.0, 0.0, 10.0)
    total += log.half_student_t(p.sd, 3.0, 36.0) + log.half_student_t(p.sd_sigma, 3.0, 36.0)
    total += log.inverse_gamma(p.scale, 1.124909, 0.0177)
    total += log.inverse_gamma(p.scale_sigma, 1.124909, 0.0177)
    total += np.sum(log.normal(p.z, 0.0, 1.0)) + np.sum(log.normal(p.z_sigma, 0.0, 1.0))
    mean = p.Intercept + spectral(X, places, p.sd, p.scale, p.z)
    noise = spectral(X_sigma, places_sigma, p.sd_sigma, p.scale_sigma, p.z_sigma)
    return total + np.sum(log.normal(y, mean, np.exp(p.Intercept_sigma + noise)))


@posterior("mcycle_gp-accel_gp")
def accel_gp(d):
    X, X_sigma = d["Xgp_1"], d["Xgp_sigma_1"]
    parameters = {
        "Intercept": (), "sd": POSITIVE, "scale": POSITIVE, "z": X.shape[1],
        "Intercept_sigma": (), "sd_sigma": POSITIVE, "scale_sigma": POSITIVE,
        "z_sigma": X_sigma.shape[1],
    }  # fmt: skip
    data = X, np.ravel(d["slambda_1"]), X_sigma, np.ravel(d["slambda_sigma_1"]), d["Y"]
    return bl.Target(crash, parameters=parameters, data=data), columns(*parameters)


# Time series


def autoregression(p, y):
    k = p.beta.size
    total = log.normal(p.alpha, 0.0, 10.0) + np.sum(log.normal(p.beta, 0.0, 10.0))
    mean = p.alpha + 0.0 * y[k:]
    for j in range(k):
        mean = mean + p.beta[j] * y[k - 1 - j : y.size - 1 - j]
    return total + log.half_cauchy(p.sigma, 2.5) + np.sum(log.normal(y[k:], mean, p.sigma))


@posterior("arK-arK")
def ark(d):
    parameters = {"alpha": (), "beta": d["K"], "sigma": POSITIVE}
    return bl.Target(autoregression, parameters=parameters, data=(d["y"],)), columns(*parameters)


def moving_average(p, y):
    total = log.normal(p.mu, 0.0, 10.0) + log.normal(p.phi, 0.0, 2.0)
    total += log.normal(p.theta, 0.0, 2.0) + log.half_cauchy(p.sigma, 2.5)
    error = y[0] - p.mu - p.phi * p.mu
    total += log.normal(error, 0.0, p.sigma)
    for t in range(1, y.size):
        error = y[t] - p.mu - p.phi * y[t - 1] - p.theta * error
        total += log.normal(error, 0.0, p.sigma)
    return total


@posterior("arma-arma11")
def arma(d):
    parameters = {"mu": (), "phi": (), "theta": (), "sigma": POSITIVE}
    return bl.Target(moving_average, parameters=parameters, data=(d["y"],)), columns(*parameters)


def volatility(p, y, first):
    beta1 = p.share * (1.0 - p.alpha1)
    total = np.log(1.0 - p.alpha1)  # beta1 is flat, and not its share
    variance = first**2 + 0.0 * p.mu
    total += log.normal(y[0], p.mu, np.sqrt(variance))
    for t in range(1, y.size):
        variance = p.alpha0 + p.alpha1 * (y[t - 1] - p.mu) ** 2 + beta1 * variance
        total += log.normal(y[t], p.mu, np.sqrt(variance))
    return total


@posterior("garch-garch11")
def garch(d):
    unit = bl.interval(0.0, 1.0)
    parameters = {"mu": (), "alpha0": POSITIVE, "alpha1": unit, "share": unit}
    target = bl.Target(volatility, parameters=parameters, data=(d["y"], float(d["sigma1"])))
    return target, columns("mu", "alpha0", "alpha1", lambda p: p.share * (1.0 - p.alpha1))


# Two hidden states; a pair in order, and positive, is its lower end and the distance


def forward(first, second, theta1, theta2):
    """The log probability, given that of each moment in the first and in the second state."""
    from1, from2 = np.log(theta1), np.log(theta2)
    a, b = first[0], second[0]
    for t in range(1, first.size):
        to_first = np.logaddexp(a + from1[0], b + from2[0]) + first[t]
        b = np.logaddexp(a + from1[1], b + from2[1]) + second[t]
        a = to_first
    return np.logaddexp(a, b)


def pair(low, gap):
    return lambda p: np.stack([getattr(p, low), getattr(p, low) + getattr(p, gap)], axis=-1)


STATES = {"theta1": bl.simplex(2), "theta2": bl.simplex(2)}


def hidden(p, y):
    high = p.low + p.gap
    prior = log.normal(p.low, 3.0, 1.0) + log.normal(high, 10.0, 1.0)
    first, second = log.normal(y, p.low, 1.0), log.normal(y, high, 1.0)
    return prior + forward(first, second, p.theta1, p.theta2)


@posterior("hmm_example-hmm_example")
def hmm_example(d):
    parameters = STATES | {"low": POSITIVE, "gap": POSITIVE}
    target = bl.Target(hidden, parameters=parameters, data=(d["y"],))
    return target, columns("theta1", "theta2", pair("low", "gap"))


def priors_of_drives(p, alpha, phi, rate):
    prior = log.dirichlet(p.theta1, alpha[0]) + log.dirichlet(p.theta2, alpha[1])
    prior += log.normal(phi[0], 0.0, 1.0) + log.normal(phi[1], 3.0, 1.0)
    return prior + log.normal(rate[0], 0.0, 1.0) + log.normal(rate[1], 3.0, 1.0)


def exponential_drives(p, u, v, alpha):
    high, fast = p.low + p.gap, p.slow + p.more
    first = log.exponential(u, 1.0 / p.low) + log.exponential(v, 1.0 / p.slow)
    second = log.exponential(u, 1.0 / high) + log.exponential(v, 1.0 / fast)
    prior = priors_of_drives(p, alpha, (p.low, high), (p.slow, fast))
    return prior + forward(first, second, p.theta1, p.theta2)


@posterior("bball_drive_event_0-hmm_drive_0")
def drive_0(d):
    parameters = STATES | dict.fromkeys(("low", "gap", "slow", "more"), POSITIVE)
    data = d["u"], d["v"], d["alpha"]
    target = bl.Target(exponential_drives, parameters=parameters, data=data)
    return target, columns("theta1", "theta2", pair("low", "gap"), pair("slow", "more"))


def normal_drives(p, u, v, alpha, tau, rho):
    first = log.normal(u, p.phi[0], tau) + log.normal(v, p.rate[0], rho)
    second = log.normal(u, p.phi[1], tau) + log.normal(v, p.rate[1], rho)
    prior = priors_of_drives(p, alpha, p.phi, p.rate)
    return prior + forward(first, second, p.theta1, p.theta2)


@posterior("bball_drive_event_1-hmm_drive_1")
def drive_1(d):
    parameters = STATES | {"phi": bl.ordered(2), "rate": bl.ordered(2)}
    data = d["u"], d["v"], d["alpha"], float(d["tau"]), float(d["rho"])
    target = bl.Target(normal_drives, parameters=parameters, data=data)
    return target, columns(*parameters)


# A mixture


def two_normals(p, y):
    prior = np.sum(log.half_normal(p.sigma, 2.0)) + np.sum(log.normal(p.mu, 0.0, 2.0))
    first = np.log(p.theta) + log.normal(y, p.mu[0], p.sigma[0])
    second = np.log1p(-p.theta) + log.normal(y, p.mu[1], p.sigma[1])
    return prior + log.beta(p.theta, 5.0, 5.0) + np.sum(np.logaddexp(first, second))


@posterior("low_dim_gauss_mix-low_dim_gauss_mix")
def gauss_mix(d):
    parameters = {"mu": bl.ordered(2), "sigma": bl.positive(2), "theta": bl.interval(0.0, 1.0)}
    return bl.Target(two_normals, parameters=parameters, data=(d["y"],)), columns(*parameters)


# Differential equations, by Runge and Kutta's rule in many equal steps


def growth(u, v, theta):
    """How fast the logarithms of prey and hunters grow."""
    return theta[0] - theta[1] * np.exp(v), theta[3] * np.exp(u) - theta[2]


def prey(p, first, y):
    theta = p.theta
    total = log.normal(theta[0], 1.0, 0.5) + log.normal(theta[2], 1.0, 0.5)
    total += log.normal(theta[1], 0.05, 0.05) + log.normal(theta[3], 0.05, 0.05)
    total += np.sum(log.lognormal(p.sigma, 1.0, np.exp(-1.0)))
    total += np.sum(log.lognormal(p.z_init, 1.0, 10.0))
    total += np.sum(log.lognormal(first, p.sigma, p.z_init))
    u, v, h = np.log(p.z_init[0]), np.log(p.z_init[1]), 1.0 / 25.0
    for i in range(y.shape[0]):
        for _ in range(25):
            k1, l1 = growth(u, v, theta)
            k2, l2 = growth(u + 0.5 * h * k1, v + 0.5 * h * l1, theta)
            k3, l3 = growth(u + 0.5 * h * k2, v + 0.5 * h * l2, theta)
            k4, l4 = growth(u + h * k3, v + h * l3, theta)
            u = u + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            v = v + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        total += log.lognormal(y[i, 0], p.sigma[0], np.exp(u))
        total += log.lognormal(y[i, 1], p.sigma[1], np.exp(v))
    return total


@posterior("hudson_lynx_hare-lotka_volterra")
def lotka_volterra(d):
    parameters = {"theta": bl.positive(4), "z_init": bl.positive(2), "sigma": bl.positive(2)}
    target = bl.Target(prey, parameters=parameters, data=(d["y_init"], d["y"]))
    return target, columns(*parameters)


def taken(t, c, k_a, k_m, v_m, dose):
    return np.exp(-k_a * t) * dose * k_a - v_m * c / (k_m + c)


def elimination(p, times, seen, dose, volume):
    total = log.half_cauchy(p.k_a, 1.0) + log.half_cauchy(p.K_m, 1.0)
    total += log.half_cauchy(p.V_m, 1.0) + log.half_cauchy(p.sigma, 1.0)
    c, t, v_m = 0.0 * p.k_a, 0.0, p.V_m / volume
    for i in range(times.size):
        h = (times[i] - t) / 50.0
        for _ in range(50):
            k1 = taken(t, c, p.k_a, p.K_m, v_m, dose)
            k2 = taken(t + 0.5 * h, c + 0.5 * h * k1, p.k_a, p.K_m, v_m, dose)
            k3 = taken(t + 0.5 * h, c + 0.5 * h * k2, p.k_a, p.K_m, v_m, dose)
            k4 = taken(t + h, c + h * k3, p.k_a, p.K_m, v_m, dose)
            c = c + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            t += h
        total += log.lognormal(seen[i], p.sigma, c)
    return total


@posterior("one_comp_mm_elim_abs-one_comp_mm_elim_abs")
def one_compartment(d):
    parameters = dict.fromkeys(("k_a", "K_m", "V_m", "sigma"), POSITIVE)
    data = d["times"], d["C_hat"], d["D"] / d["V"], float(d["V"])
    return bl.Target(elimination, parameters=parameters, data=data), columns(*parameters)


if __name__ == "__main__":
    measure()
