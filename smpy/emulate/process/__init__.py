"""Settings and services of which a process has one, and each rank its own."""
