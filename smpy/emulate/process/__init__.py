"""State and services that a process has once and that each simulated rank needs for itself."""
