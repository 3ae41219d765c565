"""`Pickle`: how objects become messages, and `pickle`, the one in use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pickle import HIGHEST_PROTOCOL, PickleBuffer, dumps, loads
from typing import Any, Final

__all__ = ["Pickle", "pickle"]

_PROTOCOL = int(os.environ.get("MPI4PY_PICKLE_PROTOCOL", str(HIGHEST_PROTOCOL)))
_THRESHOLD = int(os.environ.get("MPI4PY_PICKLE_THRESHOLD", str(1 << 18)))


class Pickle:
    """Turns objects into bytes and back.

    Parameters
    ----------
    dumps, loads : callable, optional
        The functions that do it; those of the standard library's `pickle` without them.
    protocol : int, optional
        Passed to `dumps`; the highest there is by default.
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
        """The object as bytes."""
        return self._dumps(obj) if self._protocol is None else self._dumps(obj, self._protocol)

    def loads(self, data: Any) -> Any:
        """The object that bytes stand for."""
        return self._loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[memoryview]]:
        """The object as bytes, and the large buffers inside it apart."""
        buffers: list[memoryview] = []

        def stays_inside(buffer: PickleBuffer) -> bool:
            raw = buffer.raw()
            if raw.nbytes < self._threshold:
                return True
            buffers.append(raw)
            return False

        protocol = max(5, HIGHEST_PROTOCOL if self._protocol is None else self._protocol)
        return self._dumps(obj, protocol, buffer_callback=stays_inside), buffers

    def loads_oob(self, data: Any, buffers: Iterable[Any]) -> Any:
        """The object that bytes and buffers apart stand for."""
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
        """Bytes from which a buffer is kept out of band."""
        return self._threshold

    @THRESHOLD.setter
    def THRESHOLD(self, threshold: int | None) -> None:
        self._threshold = _THRESHOLD if threshold is None else threshold


_dumps, _loads = dumps, loads

pickle: Final = Pickle()
"""What the lower-case calls use."""
