"""Objects as the bytes that collectives move: pickled before, unpickled afterwards."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

from smpy.engine.running import as_computing, current
from smpy.mpi.data.pickling import pickle, pickle_of_rank

__all__ = ["SIZE_BYTES", "offsets_of", "pickled", "pickled_each", "unpickled", "unpickled_all"]

SIZE_BYTES: Final = 8
"""Bytes that mpi4py sends to announce a size: one MPI_COUNT."""


def pickled(obj: Any) -> bytes:
    """Pickled bytes of an object."""
    return as_computing(pickle.dumps, obj)


def pickled_each(objects: Iterable[Any] | None, n: int) -> list[bytes]:
    """Pickled bytes of each object; None stands for `n` times None."""
    items = [None] * n if objects is None else list(objects)
    if len(items) != n:
        raise ValueError(f"expecting {n} items, got {len(items)}")
    dumps = pickle_of_rank().dumps
    return as_computing(lambda: [dumps(item) for item in items])


def unpickled(block: bytes, source: int, call: str) -> Any:
    """Unpickled object of a rank; an exception raised by unpickling gets a note with the sender."""
    return unpickled_all([block], call, first_source=source)[0]


def unpickled_all(blocks: Iterable[bytes], call: str, first_source: int = 0) -> list[Any]:
    """Unpickled objects of consecutive ranks; an exception raised by unpickling gets a note with the sender."""
    objects: list[Any] = []
    try:
        as_computing(objects.extend, map(pickle_of_rank().loads, blocks))
    except Exception as error:
        source = first_source + len(objects)
        error.add_note(f"while rank {current().rank} unpickled what rank {source} sent it in {call}")
        raise
    return objects


def offsets_of(blocks: Sequence[bytes]) -> array[int]:
    """Offsets in bytes of consecutively packed blocks, and their end; empty without blocks."""
    return array("q", accumulate(map(len, blocks), initial=0) if blocks else ())
