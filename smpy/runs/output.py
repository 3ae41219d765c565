"""Output of a run: short text is kept in memory, long text in a file, with its first and last part in memory."""

from __future__ import annotations

import os
from typing import Final, NamedTuple, TextIO

from smpy.records.remark import Remark
from smpy.runs.request import read_bytes
from smpy.units import format_bytes

OUTPUT_MAX_BYTES: Final = 16 << 20
"""Limit of a stream's output in memory, in bytes: of longer output, each end keeps half of this."""


class Output(NamedTuple):
    """Text that a run has printed on a stream.

    Attributes
    ----------
    text : str
        All the text, or its first and last part.
    file : TextIO or None
        All the text, if `text` is a part: a file without a name, which no longer exists once it is closed.
    n_bytes : int
        Size of all the text.
    """

    text: str
    file: TextIO | None
    n_bytes: int


def read_output(descriptor: int, encoding: str, name: str) -> Output:
    """Output of a stream that went to a file.

    Parameters
    ----------
    descriptor : int
        Descriptor of the file, which may be closed afterwards.
    encoding : str
        Encoding of the file.
    name : {"stdout", "stderr"}
        The stream.
    """
    n_bytes = os.fstat(descriptor).st_size
    if n_bytes <= OUTPUT_MAX_BYTES:
        data = read_bytes(descriptor)
        return Output(data.decode(encoding, "backslashreplace"), None, len(data))
    half = OUTPUT_MAX_BYTES // 2
    first, last = (os.pread(descriptor, half, at).decode(encoding, "backslashreplace") for at in (0, n_bytes - half))
    gap = f"\n[smpy: {n_bytes - 2 * half:,} bytes are left out here; {name}_file of the run has all]\n"
    whole = open(os.dup(descriptor), encoding=encoding, errors="backslashreplace", newline="")  # noqa: SIM115  # the run's
    whole.seek(0)
    return Output(first + gap + last, whole, n_bytes)


def remarks_on_output(out: Output, err: Output) -> tuple[Remark, ...]:
    """Remarks on output that is too long for memory."""
    remarks = []
    for name, output in (("stdout", out), ("stderr", err)):
        if output.file is not None:
            half = format_bytes(OUTPUT_MAX_BYTES // 2)
            line = f"{format_bytes(output.n_bytes)} on {name}: {name} has the first and last {half}, {name}_file all"
            remarks.append(Remark("output", (line,), {"stream": name, "bytes": output.n_bytes}))
    return tuple(remarks)
