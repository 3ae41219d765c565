"""Traces in the formats of other tools: a module each, with `SUFFIX` and `write(trace, path)`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from smpy.records.trace import Trace

FORMATS: Final = {
    "perfetto": "smpy.export.perfetto",
    "csv": "smpy.export.csv",
    "goal": "smpy.export.goal",
}
"""Names of formats, and the modules that write them."""


class Writer(Protocol):
    """Interface of a format's module."""

    SUFFIX: str

    def write(self, trace: Trace, path: Path) -> None:
        """Write `path`, batch by batch."""


def export(trace: Trace, form: str, path: Path | None = None) -> Path:
    """Write a trace in another format.

    Parameters
    ----------
    trace : Trace
        Trace to write; memory grows with it for `goal` alone.
    form : str
        One of `FORMATS`.
    path : Path, optional
        The file, or folder, to write; by default the trace's name with the format's suffix, in the working directory.

    Returns
    -------
    Path
        Path of the file or folder that was written.

    Raises
    ------
    UsageError
        If the trace cannot be read, the format cannot tell it, or the file cannot be written.
    """
    writer = cast("Writer", import_module(FORMATS[form]))
    path = path or Path(trace.folder.resolve().name + writer.SUFFIX)
    writer.write(trace, path)
    return path
