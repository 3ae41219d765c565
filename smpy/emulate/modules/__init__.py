"""Modules of which each rank has a copy, and modules that all ranks share."""
