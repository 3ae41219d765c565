"""One run: its set-up, the life of its ranks, and its end."""
