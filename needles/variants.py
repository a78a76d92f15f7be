"""Exercises again with other numbers, by seed: for a class, whose answers stand in no book."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayeslib.errors import BayeslibError
from bayeslib.validate import as_count

from .grading import Value


@dataclass(frozen=True)
class Variant:
    """A question whose numbers can be changed.

    Parameters
    ----------
    asks : str
        The question in Markdown, each number given in angle brackets by its name.
    answer : callable
        The truth, a function of the numbers by name.
    ranges : dict of str to tuple
        The number that the page asks with, then what it may be instead; any combination must make
        sense.
    digits : int
        To how many significant digits the answer is to be right.
    """

    asks: str
    answer: Callable
    ranges: dict
    digits: int = 3

    @property
    def page(self):
        """The numbers that the page asks with."""
        return {name: first for name, (first, *_) in self.ranges.items()}

    def numbers(self, seed):
        """Return the numbers of a seed, which are not all those of the page."""
        rng = np.random.default_rng(as_count(seed, "seed", minimum=0))
        while True:
            drawn = {
                name: others[rng.integers(len(others))]
                for name, (_, *others) in self.ranges.items()
            }
            if drawn != self.page:
                return drawn

    def question(self, seed):
        """Return the question with the numbers of a seed."""
        text = self.asks
        for name, value in self.numbers(seed).items():
            text = text.replace(f"<{name}>", f"{value:,}".replace(",", "\u202f"))
        return text

    def expects(self, seed):
        """Return what a right answer is, for `check`."""
        return Value(self.answer(**self.numbers(seed)), digits=self.digits)


def variant(name):
    """Return the variant of an exercise.

    Raises
    ------
    BayeslibError
        If the exercise has none; lists those of its chapter that have.
    """
    if name in VARIANTS:
        return VARIANTS[name]
    there = [key for key in VARIANTS if key.startswith(str(name).partition("-")[0])] or VARIANTS
    raise BayeslibError(f"no seed changes {name!r}; those that take one: {', '.join(there)}")


# What pages ask with their own numbers, too


def grid(d, tol):
    """Points an axis and in all for a relative error of the evidence, of a cube's midpoints."""
    n = 1
    while 1.0 - (0.5 / n / math.sinh(0.5 / n)) ** d >= tol:
        n += 1
    return np.array([n, float(n) ** d])


def forward(stay, first, second, third, prior=0.5):
    """The evidence of three pixels in a row, of the likelihoods of their label 0."""
    alpha = prior * np.array([first, 1.0 - first])
    for likely in (second, third):
        alpha = np.array([likely, 1.0 - likely]) * (stay * alpha + (1.0 - stay) * alpha[::-1])
    return alpha.sum()


def centred(n):
    """Autocorrelation of a slope after a sweep of Gibbs, with times as they are and centred."""
    t = np.arange(1, n + 1)
    return np.array([t.mean() ** 2 / np.mean(t**2), 0.0])


def ess(weights):
    """The effective sample size of weighted draws."""
    return weights.sum() ** 2 / np.sum(weights**2)


def worth(base, gap, drop):
    """The effective sample size of five draws by their log weights below `base`."""
    return ess(np.exp(-np.array([0.0, gap, 1.0, drop, 1.0])))


def _moves(a, b, there, back):
    return [there * min(1.0, b * back / (a * there)), back * min(1.0, a * there / (b * back))]


def race(p, lead):
    """How often the better of two is first to lead by `lead`, and after how many draws."""
    r = ((1.0 - p) / p) ** lead
    return np.array([1.0 / (1.0 + r), lead * (1.0 - r) / (1.0 + r) / (2.0 * p - 1.0)])


def stratified(weights, uniforms):
    """Indices chosen by stratified resampling."""
    size = len(uniforms)
    ends = np.cumsum(weights) / np.sum(weights)
    return np.searchsorted(ends, (np.arange(size) + uniforms) / size, side="right")


def _moments(m1, m2, sd, w):
    mean = w * m1 + (1.0 - w) * m2
    second = w * m1**2 + (1.0 - w) * m2**2 + sd**2
    return [mean, math.sqrt(second - mean**2)]


def secant(here, slope, there, lower):
    """Variance and mean of the normal with these slopes, downwards, at two points."""
    variance = (here - there) / (slope - lower)
    return [variance, there - variance * lower]


def none_wrong(runs, level):
    """Upper bound, at a level in per cent, of the share of wrong runs when none was seen."""
    return 1.0 - (1.0 - level / 100.0) ** (1.0 / runs)


VARIANTS = {
    "advi-coin": Variant(
        "A coin with a uniform prior shows <heads> heads and <tails> tails. You sample on the "
        "log odds and forget the Jacobian. Which Beta distribution do your draws of the share "
        "of heads have? Answer with its two parameters.",
        lambda heads, tails: [heads, tails],
        {"heads": (8, 5, 6, 7, 9, 11, 12), "tails": (2, 1, 3, 4)},
    ),
    "advi-quiet": Variant(
        r"The target is $\mathcal N(0, 1)$, and $q = \mathcal N(m, s^2)$ with $m = <m>$, $s = "
        r"<s>$. One draw's gradient in $b = \log s$ is $vz + 1$ with the entropy in closed "
        "form, and $uz$ sticking the landing. Answer with the pair of their variances.",
        lambda m, s: [(s * m) ** 2 + 2.0 * s**4, (s * m) ** 2 + 2.0 * (1.0 - s**2) ** 2],
        {"m": (1.0, 0.5, 1.5, 2.0, 3.0), "s": (0.5, 0.4, 0.6, 0.7, 0.8)},
    ),
    "amortised-moments": Variant(
        r"For some datum the posterior is $\mathrm{Gamma}(<shape>, \text{rate } <rate>)$. A "
        r"Gaussian recognition model for $\theta$ itself is trained on simulations, with a "
        "network as large as you please. Which mean and standard deviation does it report in "
        "the limit?",
        lambda shape, rate: [shape / rate, math.sqrt(shape) / rate],
        {"shape": (4, 3, 5, 6, 7, 8), "rate": (2, 2, 3, 4, 5)},
    ),
    "amortised-even": Variant(
        "Training takes <training> seconds, a query of the network <query> seconds, a run of "
        "NUTS <run> seconds. What is the smallest number of queries for which training first "
        "is the faster way?",
        lambda training, query, run: math.floor(training / (run - query)) + 1,
        {"training": (40, 25, 70, 90), "query": (0.001, 0.002, 0.003), "run": (0.5, 0.3, 0.7, 0.8)},
    ),
    "annealing-warm": Variant(
        "A proposal raises the energy by <rise>. At which temperature is it accepted one time "
        "in <times>?",
        lambda rise, times: rise / math.log(times),
        {"rise": (3, 2, 4, 5, 7), "times": (10, 5, 8, 20, 50, 100)},
    ),
    "annealing-swap": Variant(
        r"The target is a standard Gaussian on the line. How often do the rungs $\beta = "
        r"<beta>$ and $\beta = 1$ swap, in equilibrium?",
        lambda beta: 4.0 / math.pi * math.atan(math.sqrt(beta)),
        {"beta": (0.25, 0.1, 0.15, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8)},
    ),
    "challenge-scale": Variant(
        r"Three hypotheses $\theta \in \{1, 2, 3\}$ have the same prior. The likelihoods of "
        "the first two are <first> and <second>; the third was never computed. What is the "
        r"smallest value that $p(\mathcal D)$ can have, and what is $P(\theta = 2 \mid "
        r"\mathcal D)$ then? Answer with the pair.",
        lambda first, second: [(first + second) / 3.0, second / (first + second)],
        {"first": (1, 2, 3, 4, 5), "second": (10, 7, 8, 11, 13, 17)},
    ),
    "challenge-grid": Variant(
        r"For the cube with likelihood $e^{-(\theta_1 + \dots + \theta_d)}$ in $d = <d>$ "
        "dimensions, how many grid points along each axis bring the relative error of the "
        "evidence below <tol>, and how many are there in all? Answer with the pair.",
        grid,
        {"d": (10, 6, 8, 12, 15), "tol": (1e-4, 0.002, 0.0005, 0.0002)},
    ),
    "diagnostics-length": Variant(
        r"A chain behaves like an autoregression with $\rho = <rho>$. The posterior standard "
        "deviation is <sd>, and you want the mean with a standard error of <error>. How many "
        "draws?",
        lambda rho, sd, error: (1.0 + rho) / (1.0 - rho) * (sd / error) ** 2,
        {"rho": (0.95, 0.8, 0.9, 0.98), "sd": (2, 3, 4, 5), "error": (0.01, 0.02, 0.05)},
    ),
    "diagnostics-square": Variant(
        r"Give the worth of a draw, $\mathrm{ESS}/N$, for $x$ and for $x^2$ when $x_n$ is an "
        r"autoregression with $\rho = <rho>$, as a pair.",
        lambda rho: [(1.0 - rho) / (1.0 + rho), (1.0 - rho**2) / (1.0 + rho**2)],
        {"rho": (-0.8, -0.9, -0.7, -0.6, -0.5, -0.4, -0.3, 0.3, 0.4, 0.6, 0.7)},
    ),
    "gibbs-price": Variant(
        "Two unknowns have a Gaussian posterior with correlation <rho>. How many sweeps in "
        "turn are worth one independent draw of either?",
        lambda rho: (1.0 + rho**2) / (1.0 - rho**2),
        {"rho": (0.99, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.95, 0.97, 0.98)},
    ),
    "gibbs-centre": Variant(
        "A regression line with known noise and flat priors, measured at the times $1, 2, "
        r"\dots, <n>$. One sweep of Gibbs draws the intercept, then the slope. What is the "
        "autocorrelation of the slope after one sweep? And if the mean is first subtracted "
        "from the times? Answer with the pair.",
        centred,
        {"n": (10, 4, 5, 6, 7, 8, 12, 15, 20, 25, 30)},
    ),
    "hardness-forward": Variant(
        "A row of three pixels has two surfaces. The first pixel belongs to either with "
        "probability one half, each next one to the same surface as its neighbour with "
        "probability <stay>. The likelihoods of the label 0 are $<first>$, $<second>$ and "
        r"$<third>$; those of the label 1 are one minus these. Compute $p(\mathcal D)$ to four "
        "significant digits.",
        forward,
        {
            "stay": (0.8, 0.6, 0.7, 0.9),
            "first": (0.9, 0.7, 0.8),
            "second": (0.4, 0.3, 0.6),
            "third": (0.2, 0.1, 0.3),
        },
        digits=4,
    ),
    "challenge-quickscore": Variant(
        "Two conditions have the rates <r1> and <r2>. In the noisy-OR model a finding has the "
        "strengths <s1> and <s2> and the leak <leak>. With which probability is it present?",
        lambda r1, r2, s1, s2, leak: 1.0 - (1.0 - leak) * (1.0 - r1 * s1) * (1.0 - r2 * s2),
        {
            "r1": (0.1, 0.05, 0.15),
            "r2": (0.3, 0.2, 0.25),
            "s1": (0.8, 0.7, 0.9),
            "s2": (0.5, 0.4, 0.6),
            "leak": (0.05, 0.01, 0.02),
        },
    ),
    "hmc-stability": Variant(
        "A Gaussian in the plane has variances 1 and the correlation <rho>; $M = I$. Beyond "
        "which step size does the leapfrog blow up?",
        lambda rho: 2.0 * math.sqrt(1.0 - abs(rho)),
        {"rho": (0.9, -0.95, -0.8, -0.7, 0.5, 0.6, 0.75, 0.85, 0.96, 0.98, 0.99)},
    ),
    "hmc-length": Variant(
        r"The target is $\mathcal N(0, <variance>)$, a variance of <variance>; $M = 1$; the "
        "flow is exact. Which is the shortest slide after which a draw is independent of the "
        "one before?",
        lambda variance: 0.5 * math.pi * math.sqrt(variance),
        {"variance": (4, 2, 3, 5, 6, 7, 8, 9, 10, 12, 16, 25)},
    ),
    "hybrid-bias": Variant(
        "Somebody subtracts from each $f_s$ the mean of all <draws> draws, its own included, "
        "and divides by <draws>. Which fraction of the true gradient does the estimator have "
        "as its expectation?",
        lambda draws: 1.0 - 1.0 / draws,
        {"draws": (5, 3, 4, 6, 7, 8, 10, 12, 16, 20)},
    ),
    "hybrid-ladder": Variant(
        r"$q = \mathcal N(\mu, 1)$ and $f = x^2$, with $\mu = <mu>$. Derive the variance of "
        "the score gradient without a baseline, the best baseline, and the variance with it. "
        "Answer with the three numbers.",
        lambda mu: [
            mu**4 + 14.0 * mu**2 + 15.0,
            mu**2 + 3.0,
            mu**4 + 14.0 * mu**2 + 15.0 - (mu**2 + 3.0) ** 2,
        ],
        {"mu": (3, 1, 2, 4, 5, 6, 7, 8, 9)},
    ),
    "importance-underflow": Variant(
        "Five draws have log weights that lie 0, <gap>, 1, <drop> and 1 below <base>. What is "
        "their effective sample size?",
        worth,
        {"base": (-1040, -980, -1200, -2000), "gap": (2, 0.5, 1.5, 3), "drop": (10, 2.5, 4)},
    ),
    "importance-borderline": Variant(
        "The target is exponential with rate <rate>, the proposal exponential with rate $a$. "
        "For which $a$ does the variance of the weights become infinite, and for which is the "
        "Pareto shape of their tail equal to <shape>? Answer with the pair.",
        lambda rate, shape: [2.0 * rate, rate / (1.0 - shape)],
        {"rate": (1, 2, 3, 4, 5), "shape": (0.7, 0.3, 0.4, 0.6, 0.8)},
    ),
    "ising-ring": Variant(
        r"<n> spins in a ring, $\beta = <beta>$, no field: what is $\log Z$, to four digits?",
        lambda n, beta: math.log((2.0 * math.cosh(beta)) ** n + (2.0 * math.sinh(beta)) ** n),
        {"n": (10, 6, 8, 12, 15, 20), "beta": (1.0, 0.5, 0.8, 1.2, 1.5)},
        digits=4,
    ),
    "ising-lone": Variant(
        r"You believe in a noise rate $\varepsilon$ and a coupling $J = <coupling>$. A pixel "
        "has arrived white, and its four neighbours are known to be black. For which "
        r"$\varepsilon$ is it an even bet?",
        lambda coupling: 1.0 / (1.0 + math.exp(8.0 * coupling)),
        {"coupling": (0.5, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.6, 0.7)},
    ),
    "laplace-stirling": Variant(
        "Give Laplace's approximation of $<n>!$, from the mode and the curvature of the "
        r"integrand of $\int_0^\infty x^{<n>} e^{-x}\,\mathrm dx$, to four digits.",
        lambda n: math.sqrt(2.0 * math.pi * n) * n**n * math.exp(-n),
        {"n": (10, 4, 5, 6, 7, 8, 9, 11, 12)},
        digits=4,
    ),
    "laplace-bic": Variant(
        "Counts come from a Poisson distribution of unknown rate, with an exponential prior "
        r"of rate <rate>. Their mean settles at <mean>. To what does the error of $-\frac12 "
        r"\mathrm{BIC}$ (approximate minus exact log evidence) tend?",
        lambda mean, rate: (
            rate * mean - math.log(rate) - 0.5 * math.log(2.0 * math.pi) - 0.5 * math.log(mean)
        ),
        {"mean": (2, 3, 4, 5, 6), "rate": (1, 0.5, 1.5, 2)},
    ),
    "mcmc-repeat": Variant(
        "A chain starts at <start>. It proposes <a> (refused), <b> (accepted), <c> (refused), "
        "<d> (refused). What is the average of the four draws?",
        lambda start, a, b, c, d: (start + 3.0 * b) / 4.0,
        {
            "start": (4, 1, 2, 3),
            "a": (5, 4, 6),
            "b": (7, 5, 8, 9),
            "c": (6, 7, 10),
            "d": (8, 0, 11),
        },
    ),
    "mcmc-balance": Variant(
        "Two states have the target weights <a> and <b>. The proposal leads from the first to "
        "the second with probability <there>, from the second to the first with probability "
        "<back>, and stays otherwise. With which probabilities does Metropolis–Hastings move "
        "from the first to the second, and from the second to the first? Answer with the "
        "pair.",
        _moves,
        {"a": (3, 2, 5, 7), "b": (1, 3, 4), "there": (0.5, 0.3, 0.6), "back": (0.25, 0.2, 0.8)},
    ),
    "minds-majority": Variant(
        "An option has posterior probability <p>. How often is it chosen by the majority of "
        "three samples?",
        lambda p: p**3 + 3.0 * p**2 * (1.0 - p),
        {"p": (0.7, 0.55, 0.6, 0.65, 0.72, 0.75, 0.8, 0.85, 0.9)},
    ),
    "minds-race": Variant(
        "With $p = <p>$ and a lead of <lead>: how often is A chosen, and how many samples "
        "does it take on average? Answer with the pair.",
        race,
        {"p": (0.8, 0.6, 0.65, 0.7, 0.75), "lead": (2, 2, 3, 4)},
    ),
    "monte_carlo-digits": Variant(
        "How many draws from the Gamma(<shape>, 1) prior are needed for a standard error of "
        "<error> on its mean?",
        lambda shape, error: shape / error**2,
        {"shape": (3, 2, 4, 5, 6, 7), "error": (0.001, 0.01, 0.005, 0.002)},
    ),
    "monte_carlo-remember": Variant(
        r"Let $x_{n+1} = \rho x_n + \sqrt{1 - \rho^2}\,\varepsilon_n$ with $\rho = <rho>$ and "
        r"standard normal $\varepsilon_n$. By which factor is the true standard error of the "
        r"average of many such draws larger than $s/\sqrt N$?",
        lambda rho: math.sqrt((1.0 + rho) / (1.0 - rho)),
        {"rho": (0.9, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95, 0.98)},
    ),
    "nuts-bill": Variant(
        "A transition completes <doublings> doublings; the next is dropped after <steps> of "
        "its steps. How many gradients did it cost, and from how many states could the draw "
        "have come? Answer with the pair.",
        lambda doublings, steps: [2**doublings - 1 + steps, 2**doublings],
        {"doublings": (5, 4, 6, 7), "steps": (9, 3, 5, 7, 10, 11, 14)},
    ),
    "nuts-orbit": Variant(
        r"The target is $\mathcal N(0, <variance>)$ in each coordinate, a variance of "
        "<variance>, with $M = I$ and the exact flow from a start in equilibrium. At which "
        r"time does $(\theta(t) - \theta)^\top r(t)$ become negative, in the mean?",
        lambda variance: math.pi * math.sqrt(variance),
        {"variance": (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 25)},
    ),
    "importance-stratified": Variant(
        r"Four particles have weights in the proportion $<w1> : <w2> : <w3> : <w4>$. Stratified "
        r"resampling has the points $(j + u_j)/4$, $j = 0, \dots, 3$, and its uniform numbers are "
        "$u = (<u1>, <u2>, <u3>, <u4>)$. Which particles are chosen? Answer with the four "
        "indices, counted from zero.",
        lambda w1, w2, w3, w4, u1, u2, u3, u4: stratified([w1, w2, w3, w4], [u1, u2, u3, u4]),
        {
            "w1": (2, 1, 3),
            "w2": (9, 7, 8),
            "w3": (1, 2, 6),
            "w4": (4, 3, 5),
            "u1": (0.9, 0.15, 0.35),
            "u2": (0.2, 0.45, 0.85),
            "u3": (0.1, 0.55, 0.7),
            "u4": (0.6, 0.3, 0.95),
        },
    ),
    "rejection-evidence": Variant(
        "An expensive run with $c = <c>$ kept <kept> draws and needed <proposals> proposals; "
        "it stopped at the last kept draw. Give an unbiased estimate of the evidence, and an "
        "estimate of its standard error, as a pair.",
        lambda c, kept, proposals: [
            c * (kept - 1) / (proposals - 1),
            c * math.sqrt((kept - 1) * (proposals - kept) / (proposals - 1) ** 2 / (proposals - 2)),
        ],
        {
            "c": (8**-0.5, 0.2, 0.25, 0.5, 2.0),
            "kept": (20, 15, 25, 30),
            "proposals": (77, 60, 90, 120),
        },
    ),
    "rejection-dimension": Variant(
        "The target is a standard Gaussian, the proposal a Gaussian too wide by <percent> per "
        "cent in every direction, and you can afford <budget> proposals per kept draw. What "
        "is the largest dimension in which you can still use it?",
        lambda percent, budget: math.floor(math.log(budget) / math.log1p(percent / 100.0)),
        {"percent": (10, 5, 15, 20, 30), "budget": (1_000_000, 1_000, 20_000, 500_000)},
    ),
    "sghmc-noise": Variant(
        "<rows> rows, batches of <batch> without replacement, and single-row gradients with "
        "variance <variance>. What is the variance of the minibatch gradient?",
        lambda rows, batch, variance: rows**2 / batch * (1.0 - batch / rows) * variance,
        {
            "rows": (10_000, 2_000, 5_000),
            "batch": (100, 50, 200, 500),
            "variance": (2.5, 0.5, 1.5, 4),
        },
    ),
    "sghmc-growth": Variant(
        r"Naive dynamics on $\mathcal N(0, 1)$, with $V = <V>$ and $\varepsilon = <eps>$, "
        r"started in the target. After about how many steps is the variance of $\theta$ "
        "<factor>?",
        lambda V, eps, factor: 2.0 * (factor - 1.0) / (eps**2 * V),
        {"V": (4, 2, 5, 8), "eps": (0.1, 0.05, 0.02), "factor": (10, 3, 5, 20)},
        digits=2,
    ),
    "together-acceptance": Variant(
        r"The target is $\mathcal N(0, 1)$, the proposal of an independence sampler $\mathcal "
        "N(0, <variance>)$, a variance of <variance>. What fraction is accepted in "
        "equilibrium?",
        lambda variance: 4.0 / math.pi * math.atan(min(variance, 1.0 / variance) ** 0.5),
        {"variance": (0.5, 0.2, 0.25, 0.3, 0.4, 0.6, 0.7, 1.5, 3, 4, 6)},
    ),
    "together-pair": Variant(
        r"In one dimension an optimiser steps from $\theta = <here>$, where the slope of the log "
        r"density is $-<slope>$, to $\theta = <there>$, where it is $-<lower>$. Which variance and "
        "which mean has Pathfinder's Gaussian at the second point? Answer with the pair.",
        secant,
        {"here": (3, 4, 5), "slope": (4, 5, 6), "there": (1, 2), "lower": (1, 2, 3)},
    ),
    "together-silence": Variant(
        "Of <runs> independent runs none was flagged, and none was wrong. How large can the true "
        "share of wrong ones be, with <level> per cent confidence?",
        none_wrong,
        {"runs": (300, 60, 80, 100, 150, 200, 250, 400), "level": (95, 90, 99)},
    ),
    "vi-gap": Variant(
        "Two coordinates with unit variances. At which positive correlation does the best "
        "factorised approximation miss exactly <nats> nats of the evidence?",
        lambda nats: math.sqrt(-math.expm1(-2.0 * nats)),
        {"nats": (1, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)},
    ),
    "vi-forward": Variant(
        r"The target is a mixture of $\mathcal N(<m1>, <sd>^2)$ and $\mathcal N(<m2>, <sd>^2)$ "
        r"with the weight <w> of the first. Which Gaussian minimises $\mathrm{KL}(\pi "
        r"\,\Vert\, q)$? Answer with its mean and standard deviation.",
        _moments,
        {
            "m1": (-2, -4, -3, -1),
            "m2": (2, 1, 3, 5),
            "sd": (0.5, 0.4, 0.6, 1.0),
            "w": (0.3, 0.2, 0.4, 0.6),
        },
    ),
}
