"""Locks that threads of a rank share, by communicator; mpi4py takes one for each collective of objects.

A rank has one thread, so that no call here needs a lock: a program that asks for locks gets those of its own calls.
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
    """Record a rank's call that takes a lock, if any rank has asked for the communicator's locks."""
    if communicator.locks:
        locks_of(communicator, rank).setdefault(call, Lock())
