"""What chains are worth, said wrongly; and chains that are one."""

from planting import Bug

_EQUALS = "test_diagnostics.test_equals_arviz", {"name": "sticky"}
BUGS = {
    "ranks are not split": Bug("bayeslib.diagnostics.estimators._split", lambda x: x, *_EQUALS),
    "autocorrelations are not cut": Bug(
        "bayeslib.diagnostics.estimators._integrated_time",
        lambda rho: -1.0 + 2.0 * rho.sum(),
        *_EQUALS,
    ),
    "chains share their generator": Bug(
        "bayeslib.chains.run.spawn",
        lambda rng, num_chains: [rng] * num_chains,
        "test_trust_seeds.test_draws_are_the_same_for_any_number_of_threads_and_chains",
        {"name": "metropolis"},
    ),
}
