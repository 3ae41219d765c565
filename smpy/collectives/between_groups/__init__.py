"""Algorithms of all operations between two groups."""
