"""Threads of a rank's program, each on its own timeline: they wait and sleep in simulated time."""
