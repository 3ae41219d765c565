"""Hints of a communicator; those that choose algorithms of its collectives are checked when a rank gives them."""

from __future__ import annotations

from collections.abc import Mapping

from smpy.collectives.choice import choice_of_hints
from smpy.errors import UsageError
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.world import Communicator

__all__ = ["give_hints"]


def give_hints(communicator: Communicator, rank: int, hints: Mapping[str, str], call: str) -> None:
    """Add hints to those of a rank.

    Parameters
    ----------
    communicator : Communicator
        The communicator.
    rank : int
        The running rank there.
    hints : mapping of str to str
        Keys and values.
    call : str
        Name of the method that the program called.
    """
    if not hints:
        return
    own = communicator.own_of(rank, to_change=True)
    both = {**own.info, **hints}
    try:
        choice = choice_of_hints(both)
    except UsageError as wrong:
        fail("ERR_INFO_VALUE", f"{call}: {wrong}")
    own.info = both
    if choice is not None:
        communicator.choices[rank] = choice
        for collective in communicator.joint.open.values():
            collective.plain_allreduce = None  # ranks that join one are compared
