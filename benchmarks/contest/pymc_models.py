"""The posteriors as PyMC models, and their draws in everybody's coordinates."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from . import problems


def model(posterior, unit):
    """Return a pymc.Model."""
    data, dim = problems.data(posterior), problems.dim(posterior)
    with pm.Model() as made:
        if posterior.startswith("gaussian"):
            x = pm.Flat("x", shape=dim, initval=np.zeros(dim))
            pm.Potential("density", -0.5 * unit * pt.dot(x, pt.dot(pt.as_tensor(data[0]), x)))
        elif posterior == "funnel_10":
            v = pm.Normal("v", 0.0, 3.0 * unit)
            pm.Normal("x", 0.0, pt.exp(0.5 * v), shape=dim - 1)
        elif posterior == "schools":
            mu = pm.Normal("mu", 0.0, 5.0 * unit)
            tau = pm.HalfCauchy("tau", 5.0)
            eta = pm.Normal("eta", 0.0, 1.0, shape=8)
            pm.Normal("y", mu + tau * eta, data[1], observed=data[0])
        elif posterior.startswith("ar"):
            rho, x = problems.CORRELATION, pm.Flat("x", shape=dim, initval=np.zeros(dim))
            steps = pt.sum((x[1:] - rho * x[:-1]) ** 2) / (1.0 - rho**2)
            pm.Potential("density", -0.5 * unit * (x[0] ** 2 + steps))
        elif posterior.startswith("groups"):
            mu = pm.Normal("mu", 0.0, 5.0 * unit)
            log_tau = pm.Normal("log_tau", 0.0, 1.0)
            eta = pm.Normal("eta", 0.0, 1.0, shape=dim - 2)
            middle = mu + pt.exp(log_tau) * eta[data[1]]
            pm.Normal("y", middle, problems.NOISE, observed=data[0])
        else:
            x = pm.Normal("x", 0.0, unit, shape=dim)
            pm.Bernoulli("y", logit_p=pt.dot(data[0], x), observed=data[1])
    return made


def values(posterior, trace):
    """Return draws (num_chains, num_samples, dim) from what a sampler made of the model."""
    group = trace.posterior if hasattr(trace, "posterior") else trace["posterior"].to_dataset()
    names = {
        "funnel_10": ("v", "x"),
        "schools": ("mu", "tau", "eta"),
        "groups": ("mu", "log_tau", "eta"),
    }.get(problems.family(posterior), ("x",))
    arrays = [np.asarray(group[name].values) for name in names]
    columns = [a.reshape(*a.shape[:2], -1) for a in arrays]
    if posterior == "schools":
        columns[1] = np.log(columns[1])
    return np.concatenate(columns, axis=-1)
