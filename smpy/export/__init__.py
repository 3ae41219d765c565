"""Export of traces to formats of other tools; each module has `SUFFIX` and `write(trace, path)`."""

from __future__ import annotations

import gc
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from smpy.records.trace import Trace

FORMATS: Final = {
    "perfetto": "smpy.export.perfetto",
    "csv": "smpy.export.csv",
    "goal": "smpy.export.goal",
    "ti": "smpy.export.ti",
    "otf2": "smpy.export.otf2",
    "dimemas": "smpy.export.dimemas",
    "paraver": "smpy.export.paraver",
}
"""Names of formats, each with the module that writes it."""


class Writer(Protocol):
    """Interface of a module that writes a format."""

    SUFFIX: str

    def write(self, trace: Trace, path: Path) -> None:
        """Write the trace to `path`, batch by batch."""


def export(trace: Trace, form: str, path: Path | None = None) -> Path:
    """Write a trace in another format.

    Parameters
    ----------
    trace : Trace
        Trace to write. Memory grows with its largest rank for `otf2`, `paraver` and `goal`, and with receives from any
        source or of any tag for `ti` and `dimemas`.
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
        If the trace cannot be read, the format cannot express it, or the file cannot be written.
    """
    writer = cast("Writer", import_module(FORMATS[form]))
    path = path or Path(trace.folder.resolve().name + writer.SUFFIX)
    has_collector = gc.isenabled()
    gc.disable()  # rows make no cycles, and a collector would walk through all that are held
    try:
        writer.write(trace, path)
    finally:
        if has_collector:
            gc.enable()
    return path
