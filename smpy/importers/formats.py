"""Formats that can be imported, and the search for the format of a file."""

from __future__ import annotations

import stat
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

FORMATS: Final = {
    "otf2": "smpy.importers.otf2",
    "paraver": "smpy.importers.paraver",
    "ti": "smpy.importers.time_independent",
    "dimemas": "smpy.importers.dimemas",
    "goal": "smpy.importers.goal",
}
"""Names of formats, each with the module that reads it."""

_HEAD_BYTES: Final = 4096


class TraceReader(Protocol):
    """Interface of a module that reads a format."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file whose first bytes are `head` has this format."""

    def read(self, path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
        """Read a trace, batch by batch, into a builder."""


def reader_of(path: Path, form: str | None = None) -> tuple[str, TraceReader]:
    """Name of a file's format, and its reader.

    Parameters
    ----------
    path : Path
        The file.
    form : str, optional
        The format; by default, the first one whose reader recognises the file.

    Raises
    ------
    UsageError
        If it is no plain file, or has none of the formats.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is no plain file: name the file of a trace, such as traces.otf2")
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error
    if form is not None and form not in FORMATS:
        raise UsageError(f"{form!r} is no format that can be imported: {', '.join(FORMATS)} are")
    for name in FORMATS if form is None else (form,):
        reader = cast("TraceReader", import_module(FORMATS[name]))
        if form is not None or reader.recognises(path, head):
            return name, reader
    raise UsageError(f"{path} has none of the formats that can be imported: {', '.join(FORMATS)}; or say it by --from")
