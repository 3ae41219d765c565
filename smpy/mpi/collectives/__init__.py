"""Collectives: the calls of one rank, and what all ranks of an open collective share."""
