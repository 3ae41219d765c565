"""Rows of ranks, sorted on disk: files for groups of ranks, so that the rows of a group fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUP_ROWS: Final = 1 << 18


def groups_of_ranks(n_rows: int, n_ranks: int) -> NDArray[np.int64]:
    """Group of each rank: neighbours share one, as long as their rows fit in memory together."""
    n_groups = min(max(-(-n_rows // _GROUP_ROWS), 1), n_ranks)
    return np.arange(n_ranks) * n_groups // n_ranks


def joined(parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Rows of one structured type, one part after the other; numpy would copy them field by field."""
    raw = np.concatenate([part.view(f"V{part.itemsize}") for part in parts])
    return raw.view(parts[0].dtype)


def append_to_files(
    rows: NDArray[np.void], file_of_row: NDArray[np.int64], n_files: int, path_of: Callable[[int], Path]
) -> None:
    """Append each row to its file; those of a file stay in their order.

    `take` copies a structured row as a whole, and an index its fields: 25 times as slow.
    """
    file_of_row = file_of_row.astype(np.min_scalar_type(n_files))  # numpy sorts numbers of 16 bits by their digits
    rows = rows.take(np.argsort(file_of_row, kind="stable"))
    ends = np.cumsum(np.bincount(file_of_row, minlength=n_files))
    for number, part in enumerate(np.split(rows, ends[:-1])):
        if len(part):
            with path_of(number).open("ab") as file:
                part.tofile(file)


class RowsOfRanks:
    """Rows of a table in files, one for each group of ranks.

    Parameters
    ----------
    folder : Path
        Folder for the files; the caller removes it.
    name : str
        Beginning of their names.
    group_of_rank : array of int
        Group of each rank.
    dtype : numpy.dtype
        Structured type of a row, with a field `rank`.
    """

    def __init__(self, folder: Path, name: str, group_of_rank: NDArray[np.int64], dtype: np.dtype[Any]) -> None:
        self._folder, self._name = folder, name
        self._group_of_rank, self._dtype = group_of_rank, dtype

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Add rows, as columns, in the order in which they are to be read."""
        rows = np.empty(len(columns["rank"]), self._dtype)
        for name, column in columns.items():
            rows[name] = column
        append_to_files(rows, self._group_of_rank[rows["rank"]], int(self._group_of_rank[-1]) + 1, self._path)

    def read(self, group: int) -> list[NDArray[np.void]]:
        """The rows of each rank of a group, in the order in which they were added."""
        path = self._path(group)
        rows = np.empty(0, self._dtype)
        if path.exists():
            rows = np.fromfile(path, self._dtype)
            path.unlink()
        rows = rows.take(np.argsort(rows["rank"], kind="stable"))
        ranks = np.flatnonzero(self._group_of_rank == group)
        return np.split(rows, np.searchsorted(rows["rank"], ranks[1:]))

    def _path(self, group: int) -> Path:
        return self._folder / f"{self._name}.{group}"
