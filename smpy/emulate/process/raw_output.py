"""Descriptors 1 and 2 on a rank: bytes written to them appear in order with printed text.

This covers `os.write` and files that `open` and `os.fdopen` make of the descriptors. Closing such a file leaves the
descriptor open, because all ranks share it. Output of child processes, and output to duplicated descriptors, is
printed at once.
"""

from __future__ import annotations

import builtins
import io
import os
from typing import TYPE_CHECKING, Any, Final

from smpy.emulate.modules.streams import RankOutput
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import rank_here

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_WRITING: Final = frozenset({"w", "a", "wb", "ab", "wt", "at"})


class _OpenedOutput(io.BufferedIOBase):
    """File that `open(1, "wb")` returns on a rank: written bytes are printed at once, so that none are lost."""

    def __init__(self, output: RankOutput, mode: str) -> None:
        super().__init__()
        self._output = output
        self.name = output.fileno()
        self.mode = mode

    def write(self, data: ReadableBuffer, /) -> int:
        self._check_open()
        return self._output.buffer.write(data)

    def flush(self) -> None:
        self._check_open()
        self._output.flush()

    def writable(self) -> bool:
        self._check_open()
        return True

    def fileno(self) -> int:
        self._check_open()
        return self.name

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")


def install_raw_output(patches: Patches, streams: tuple[RankOutput, RankOutput]) -> None:
    """Redirect writes to descriptors 1 and 2 to the rank's output until the patches are undone."""
    real_write, real_open, fstat, samestat = os.write, open, os.fstat, os.path.samestat
    outputs = {stream.fileno(): stream for stream in streams}
    begun = {}
    for descriptor in outputs:
        try:
            begun[descriptor] = fstat(descriptor)
        except OSError:  # closed before smpy began
            continue

    def is_output(fd: int) -> bool:
        """Whether the descriptor is a standard stream of the running rank that the program has not redirected."""
        if fd not in begun or rank_here() is None:
            return False
        try:
            return samestat(fstat(fd), begun[fd])
        except OSError:  # closed by a rank: its own stream, as another rank sees it
            return True

    def write(fd: int, data: ReadableBuffer, /) -> int:
        return outputs[fd].buffer.write(data) if is_output(fd) else real_write(fd, data)

    def open_(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if type(file) is not int or mode not in _WRITING or not is_output(file):
            return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        opened = _OpenedOutput(outputs[file], mode)
        if "b" in mode:
            return opened
        return io.TextIOWrapper(opened, encoding, errors, newline, line_buffering=buffering == 1, write_through=True)

    patches.attribute(os, "write", write)
    patches.attribute(builtins, "open", open_)
    patches.attribute(io, "open", builtins.open)
