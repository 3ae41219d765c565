"""Measures this machine, and fits what a simulated one needs to know: kernels, memory, network."""
