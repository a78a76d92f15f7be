"""Stan through pystan. Every call needs a seed of its own: httpstan keeps finished fits on disk
and replays them.
"""

import numpy as np
import stan

from . import problems

GAUSSIAN = """
data {int d; matrix[d, d] precision;}
parameters {vector[d] x;}
model {target += -0.5 * UNIT * dot_product(x, precision * x);}
"""
PROGRAMS = {
    "gaussian_2": GAUSSIAN,
    "gaussian_100": GAUSSIAN,
    "funnel_10": """
parameters {real v; vector[9] x;}
model {v ~ normal(0, 3 * UNIT); x ~ normal(0, exp(v / 2));}
""",
    "schools": """
data {vector[8] y; vector[8] sigma;}
parameters {real mu; real<lower=0> tau; vector[8] eta;}
model {
  mu ~ normal(0, 5 * UNIT); tau ~ cauchy(0, 5); eta ~ normal(0, 1);
  y ~ normal(mu + tau * eta, sigma);
}
""",
    "ar": """
data {int d;}
parameters {vector[d] x;}
model {
  target += -0.5 * UNIT * (x[1]^2 + dot_self(x[2:d] - RHO * x[1:(d - 1)]) / (1 - RHO^2));
}
""".replace("RHO", repr(problems.CORRELATION)),
    "groups": """
data {int d; int n; vector[n] y; array[n] int group;}
parameters {real mu; real log_tau; vector[d] eta;}
model {
  mu ~ normal(0, 5 * UNIT); log_tau ~ normal(0, 1); eta ~ normal(0, 1);
  y ~ normal(mu + exp(log_tau) * eta[group], NOISE);
}
""".replace("NOISE", repr(problems.NOISE)),
    "logistic": """
data {int n; int d; matrix[n, d] rows; array[n] int labels;}
parameters {vector[d] x;}
model {x ~ normal(0, UNIT); labels ~ bernoulli_logit_glm(rows, 0, x);}
""",
}

PROGRAMS["rows"] = PROGRAMS["logistic"]


class Contestant:
    def __init__(self, posterior, variant, unit, seed):
        self._posterior = posterior
        self._program = PROGRAMS[problems.family(posterior)].replace("UNIT", repr(unit))
        self._data = _data(posterior)
        self._models = {}
        self.prepare(seed)

    def prepare(self, seed):
        """Tie the program, compiled once, to a seed, as pystan wants it before it samples."""
        if seed not in self._models:
            model = stan.build(self._program, data=self._data, random_seed=seed)
            self._models = {seed: model}

    def call(self, seed, save_warmup=False):
        return self._models[seed].sample(
            num_chains=problems.NUM_CHAINS, num_warmup=problems.NUM_WARMUP,
            num_samples=problems.NUM_SAMPLES, delta=problems.TARGET_ACCEPT,
            save_warmup=save_warmup,
        )  # fmt: skip

    def read(self, fit):
        columns = [
            fit[name].reshape(-1, problems.NUM_SAMPLES, problems.NUM_CHAINS)
            for name in fit.param_names
        ]
        values = np.concatenate(columns).transpose(2, 1, 0)
        if self._posterior == "schools":
            values[:, :, 1] = np.log(values[:, :, 1])
        return values, {"num_gradients": int(fit["n_leapfrog__"].sum())}

    def calibrate(self, seed):
        self.prepare(seed)
        fit = self.call(seed, save_warmup=True)
        steps = fit["n_leapfrog__"].reshape(-1, problems.NUM_CHAINS)
        return float(steps.sum() / steps[problems.NUM_WARMUP :].sum())


def _data(posterior):
    data = [array.tolist() for array in problems.data(posterior)]
    if posterior.startswith("gaussian"):
        return {"d": len(data[0]), "precision": data[0]}
    if posterior == "schools":
        return {"y": data[0], "sigma": data[1]}
    if posterior.startswith("ar"):
        return {"d": problems.dim(posterior)}
    if posterior.startswith("groups"):
        group = [1 + index for index in data[1]]
        return {"d": problems.dim(posterior) - 2, "n": len(group), "y": data[0], "group": group}
    if posterior.startswith(("logistic", "rows")):
        labels = [int(label) for label in data[1]]
        return {"n": len(labels), "d": len(data[0][0]), "rows": data[0], "labels": labels}
    return {}
