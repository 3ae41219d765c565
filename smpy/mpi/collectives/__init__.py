"""Collectives: the calls of one rank, and the state that all ranks of an open collective share."""
