"""`os.write` on standard output or error: on a rank it comes at its date, among what the rank prints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from smpy.emulate.patches import Patches
from smpy.emulate.ranks import rank_here
from smpy.emulate.streams import RankOutput

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def install_raw_output(patches: Patches, streams: tuple[RankOutput, RankOutput]) -> None:
    """Have what ranks write to descriptors 1 and 2 be their output until the patches are undone."""
    real_write, fstat, samestat = os.write, os.fstat, os.path.samestat
    outputs = {stream.fileno(): stream.buffer for stream in streams}
    begun = {}
    for descriptor in outputs:
        try:
            begun[descriptor] = fstat(descriptor)
        except OSError:  # closed before smpy began
            continue

    def write(fd: int, data: ReadableBuffer, /) -> int:
        """Write bytes; to a standard stream, unless the program has laid a file over it."""
        if fd not in begun or rank_here() is None or not samestat(fstat(fd), begun[fd]):
            return real_write(fd, data)
        return outputs[fd].write(data)

    patches.attribute(os, "write", write)
