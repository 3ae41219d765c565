"""One run: it is set up, its ranks live and end."""
