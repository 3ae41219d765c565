"""Rows of a file of comma-separated values whose first line names the columns."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from smpy.errors import UsageError
from smpy.input_files import read_text


def read_csv_rows(path: Path, what: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of the columns; the number and words of each line that is not blank.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Name of its content: "table of times".

    Raises
    ------
    UsageError
        If the file cannot be read, or a line has more or fewer values than there are columns.
    """
    try:
        text = read_text(path, what)
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except csv.Error as error:
        raise UsageError(f"{path} is no table of comma-separated values: {error}") from error
    head = [word.strip() for word in rows[0]] if rows else []
    lines = [(line, row) for line, row in enumerate(rows[1:], start=2) if any(word.strip() for word in row)]
    for line, row in lines:
        if len(row) != len(head):
            raise UsageError(f"{path}, line {line}: {len(row)} values for {len(head)} columns")
    return head, lines


def number_above_0(path: Path, line: int, word: str) -> float:
    """Number in a cell.

    Raises
    ------
    UsageError
        If it is none, or not above 0.
    """
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{path}, line {line}: {word!r} is no number above 0")
    return number
