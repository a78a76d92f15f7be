"""Independent draws: Monte Carlo, rejection, importance sampling and its particles."""
