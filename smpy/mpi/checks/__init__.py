"""Checks of a program's calls in a run with --check: one observer per kind of mistake, and the mistakes found."""
