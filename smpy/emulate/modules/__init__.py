"""Modules that each rank has of its own, and modules that all ranks share."""
