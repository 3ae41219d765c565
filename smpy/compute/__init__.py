"""How computing becomes simulated seconds, and memory whose content does not matter."""
