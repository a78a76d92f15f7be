"""What chains are worth, said wrongly; and chains that are one."""

from planting import Bug


def unsplit(x):
    return x


def never_cut(rho):
    return -1.0 + 2.0 * rho.sum()


def one_generator(rng, num_chains):
    return [rng] * num_chains


_EQUALS = "test_diagnostics.test_equals_arviz", {"name": "sticky"}
BUGS = {
    "ranks are not split": Bug("bayeslib.diagnostics.estimators._split", unsplit, *_EQUALS),
    "autocorrelations are not cut": Bug(
        "bayeslib.diagnostics.estimators._integrated_time", never_cut, *_EQUALS
    ),
    "chains share their generator": Bug(
        "bayeslib.chains.blocks.spawn",
        one_generator,
        "test_trust_seeds.test_draws_are_the_same_for_any_number_of_threads_and_chains",
        {"name": "metropolis"},
    ),
}
