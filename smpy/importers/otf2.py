"""Reader of OTF2, the format of Score-P, TAU and others, by the package `otf2`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is an anchor file of OTF2."""
    return path.suffix == ".otf2" or head[1:5] == b"OTF2"


def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Read a trace."""
    raise UsageError(f"{path}: OTF2 cannot be read yet")
