"""Computing that takes simulated time, and memory whose content does not matter."""
