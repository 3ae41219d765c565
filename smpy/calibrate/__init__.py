"""Measures this machine, and fits the parameters of a simulated one: kernels, memory, network."""
