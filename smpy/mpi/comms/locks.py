"""Locks that threads of a rank share, by communicator; mpi4py takes one for each collective of objects.

A rank has one thread, so that no call here needs one: a program that looks finds those of the calls it has made.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock

from smpy.mpi.state.world import Communicator

__all__ = ["locks_of", "mark_use"]


def locks_of(communicator: Communicator, rank: int) -> dict[Hashable, Lock]:
    """The locks of a rank, by their key."""
    return communicator.locks.setdefault(rank, {})


def mark_use(communicator: Communicator, rank: int, call: str) -> None:
    """A rank makes a call that has a lock; of a communicator whose locks nobody has looked at nothing is kept."""
    if communicator.locks:
        locks_of(communicator, rank).setdefault(call, Lock())
