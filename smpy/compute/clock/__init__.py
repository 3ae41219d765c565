"""Measured computing: processor time becomes simulated time."""
