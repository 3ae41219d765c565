"""Rows of ranks, sorted on disk: files for groups of ranks, so that the rows of a group fit in memory."""

from __future__ import annotations

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
    """

    def __init__(self, folder: Path, name: str, group_of_rank: NDArray[np.int64]) -> None:
        self._folder, self._name = folder, name
        self._group_of_rank = group_of_rank
        self._dtype: np.dtype[Any] | None = None

    def add(self, rows: NDArray[np.void]) -> None:
        """Add rows with a field `rank`, in the order in which they are to be read."""
        if not len(rows):
            return
        self._dtype = rows.dtype
        group = self._group_of_rank[rows["rank"]]
        order = np.argsort(group, kind="stable")
        numbers, firsts = np.unique(group[order], return_index=True)
        for number, part in zip(numbers, np.split(order, firsts[1:]), strict=True):
            with self._path(number).open("ab") as file:
                file.write(rows[part].tobytes())

    def read(self, group: int) -> dict[int, NDArray[np.void]]:
        """The rows of a group by rank, in the order in which they were added."""
        path = self._path(group)
        if self._dtype is None or not path.exists():
            return {}
        rows = np.fromfile(path, self._dtype)
        path.unlink()
        rows = rows[np.argsort(rows["rank"], kind="stable")]
        ranks, firsts = np.unique(rows["rank"], return_index=True)
        return dict(zip(ranks.tolist(), np.split(rows, firsts[1:]), strict=True))

    def _path(self, group: int) -> Path:
        return self._folder / f"{self._name}.{group}"
