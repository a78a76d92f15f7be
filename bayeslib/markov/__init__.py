"""Markov chains: Metropolis, Gibbs, slices, tempering, annealing, lattices."""
