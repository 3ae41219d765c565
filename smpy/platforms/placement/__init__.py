"""Placement: the host of each rank."""
