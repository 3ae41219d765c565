"""Computing in simulated seconds, and memory whose content does not matter."""
