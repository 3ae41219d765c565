"""The table of collectives that a user names, by its name or by its file: the file's text belongs to the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from smpy.errors import UsageError
from smpy.input_files import read_text
from smpy.platforms.models.machine_models import CollectiveChoice


def with_table(choice: CollectiveChoice, named: str, folder: Path = Path()) -> CollectiveChoice:
    """A choice of algorithms with another table; names are not checked here.

    Parameters
    ----------
    choice : CollectiveChoice
        The choice to change. Its forced algorithms stay, and under a file its table.
    named : str
        Name of a table; or, with a dot or a slash, of a file that holds one.
    folder : Path
        Folder that the file's name is relative to.

    Raises
    ------
    UsageError
        If the file cannot be read.
    """
    if not any(mark in named for mark in "./\\"):
        return replace(choice, table=named, file="", content="")
    path = folder / named
    try:
        content = read_text(path, "table of collectives")
    except OSError as wrong:
        raise UsageError(f"cannot read the table of collectives {str(path)!r}: {wrong.strerror}") from None
    return replace(choice, file=str(path.absolute()), content=content)
