"""`Pickle`: conversion of objects to messages, and `pickle`, the default one, which each rank may change for itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pickle import HIGHEST_PROTOCOL, PickleBuffer, dumps, loads
from typing import Any, Final, Self

from smpy.engine.running import current, is_running, per_world
from smpy.engine.surface import surface
from smpy.mpi.data.memory_type import buffer

__all__ = ["Pickle", "pickle", "pickle_of_rank"]

_PROTOCOL = int(os.environ.get("MPI4PY_PICKLE_PROTOCOL", str(HIGHEST_PROTOCOL)))
_THRESHOLD = int(os.environ.get("MPI4PY_PICKLE_THRESHOLD", str(1 << 18)))


class Pickle:
    """Converts objects to bytes and back.

    Parameters
    ----------
    dumps, loads : callable, optional
        Functions that convert; by default, those of the standard library's `pickle`.
    protocol : int, optional
        Protocol passed to `dumps`; by default, the highest one.
    threshold : int, optional
        Buffers of at least that many bytes are kept out of band by `dumps_oob`.
    """

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._dumps = _dumps if dumps is None else dumps
        self._loads = _loads if loads is None else loads
        self.PROTOCOL = protocol
        self.THRESHOLD = threshold

    def dumps(self, obj: Any) -> bytes:
        """Pickled bytes of an object."""
        return self._dumps(obj) if self._protocol is None else self._dumps(obj, self._protocol)

    def loads(self, data: Any) -> Any:
        """Object that `data` encodes."""
        return self._loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[Any]]:
        """Pickled bytes of an object, and its large buffers separately."""
        buffers: list[Any] = []

        def stays_inside(lent: PickleBuffer) -> bool:
            raw = lent.raw()
            if raw.nbytes < self._threshold:
                return True
            buffers.append(buffer(raw) if surface is not None else raw)
            return False

        protocol = max(5, HIGHEST_PROTOCOL if self._protocol is None else self._protocol)
        return self._dumps(obj, protocol, buffer_callback=stays_inside), buffers

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """Object that bytes and separate buffers encode."""
        return self._loads(data, buffers=buffers)

    @property
    def PROTOCOL(self) -> int | None:
        """Protocol version; None leaves it to `dumps`."""
        return self._protocol

    @PROTOCOL.setter
    def PROTOCOL(self, protocol: int | None) -> None:
        self._protocol = _PROTOCOL if protocol is None and self._dumps is _dumps else protocol

    @property
    def THRESHOLD(self) -> int:
        """Size in bytes from which a buffer is kept out of band."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, threshold: int | None) -> None:
        self._threshold = _THRESHOLD if threshold is None else threshold


_dumps, _loads = dumps, loads


class _OwnPickles(dict[int, Pickle]):
    """Settings of each rank of a world that has changed them."""


class _OfEachRank(Pickle):
    """`Pickle` with settings per rank; a rank gets its own on the first assignment, other ranks share one."""

    _of_all: Pickle

    def __new__(cls, *args: Any, **named: Any) -> Self:
        self = super().__new__(cls)
        self._of_all = Pickle()
        return self

    def __init__(
        self,
        dumps: Callable[..., bytes] | None = None,
        loads: Callable[..., Any] | None = None,
        protocol: int | None = None,
        threshold: int | None = None,
    ) -> None:
        self._set(Pickle(dumps, loads, protocol, threshold))

    def _set(self, own: Pickle) -> None:
        if is_running():
            per_world(_OwnPickles)[current().rank] = own
        else:
            self._of_all = own

    def _of_rank(self) -> Pickle:
        return per_world(_OwnPickles).get(current().rank, self._of_all) if is_running() else self._of_all

    def _to_change(self) -> Pickle:
        own = self._of_rank()
        if own is self._of_all and is_running():
            own = Pickle()
            self._set(own)
        return own

    def dumps(self, obj: Any) -> bytes:
        return self._of_rank().dumps(obj)

    def loads(self, data: Any) -> Any:
        return self._of_rank().loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[Any]]:
        return self._of_rank().dumps_oob(obj)

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        return self._of_rank().loads_oob(data, buffers)

    @property
    def PROTOCOL(self) -> int | None:
        return self._of_rank().PROTOCOL

    @PROTOCOL.setter
    def PROTOCOL(self, protocol: int | None) -> None:
        self._to_change().PROTOCOL = protocol

    @property
    def THRESHOLD(self) -> int:
        return self._of_rank().THRESHOLD

    @THRESHOLD.setter
    def THRESHOLD(self, threshold: int | None) -> None:
        self._to_change().THRESHOLD = threshold


pickle: Final = _OfEachRank.__new__(_OfEachRank)  # without __init__, which sets the importing rank's own
"""`Pickle` that the lower-case calls use."""


def pickle_of_rank() -> Pickle:
    """The running rank's settings, for many objects at once."""
    return pickle._of_rank()
