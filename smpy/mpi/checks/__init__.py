"""Checks of a program's calls, of a run with --check: an observer a kind of mistake, and what they found."""
