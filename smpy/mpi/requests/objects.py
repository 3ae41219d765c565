"""Objects as messages: pickled to be sent, unpickled where they arrive."""

from __future__ import annotations

from typing import Any, Final

from smpy.engine.messages import Envelope, Load, PartialBytes
from smpy.engine.running import as_computing, current
from smpy.mpi.data.message_specifications import lent
from smpy.mpi.data.pickling import pickle

__all__ = ["ANY_SIZE", "ObjectReceive", "load_of"]

ANY_SIZE: Final = 1 << 62
"""Capacity in bytes that every message fits into."""


def load_of(obj: Any, call: str) -> Load:
    """The payload end of a send of an object."""
    try:
        return lent(as_computing(pickle.dumps, obj))
    except Exception as error:  # pickling runs the program's own code
        error.add_note(f"in {call}: the message to send")
        raise


class ObjectReceive:
    """A receive of the bytes of a pickled object."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def load(self, capacity: int) -> Load:
        """The payload end of the receive."""
        return Load(capacity, take=self._take)

    def _take(self, view: memoryview | PartialBytes) -> None:
        self._data = bytes(view.data if isinstance(view, PartialBytes) else view)

    def open(self, envelope: Envelope | None = None) -> Any:
        """The object; None when no bytes came."""
        data, self._data = self._data, b""
        try:
            return as_computing(pickle.loads, data) if data else None
        except Exception as error:
            if envelope is not None:
                error.add_note(
                    f"while rank {current().rank} unpickled what rank {envelope.source} sent it with tag "
                    f"{envelope.tag}: recv gets what send sends, Recv what Send sends"
                )
            raise
