"""Threads of a rank's program, each in a timeline of its own: they wait and sleep in simulated time."""
