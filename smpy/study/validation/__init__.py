"""Simulations of benchmarks that were measured on a real machine, beside their results."""
