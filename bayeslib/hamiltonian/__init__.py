"""Hamiltonian flow: HMC, NUTS, and flow along noisy gradients."""
