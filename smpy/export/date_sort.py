"""Records sorted by date on disk: files for spans of time, so that the records of a span fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.export.rows_of_ranks import append_to_files, joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPAN_RECORDS: Final = 1 << 15
_HELD_RECORDS: Final = 1 << 17  # before they are written to their files
_N_CELLS: Final = 1 << 20  # of the histogram by which spans are chosen


class DateHistogram:
    """Numbers of records over time, from which spans with about as many records each are chosen.

    Parameters
    ----------
    end : int
        Last date.
    """

    def __init__(self, end: int) -> None:
        self._cell = end // _N_CELLS + 1
        self._n_records = np.zeros(_N_CELLS, np.int64)

    def add(self, dates: NDArray[np.int64]) -> None:
        """Count records."""
        self._n_records += np.bincount((dates // self._cell).clip(0, _N_CELLS - 1), minlength=_N_CELLS)

    def spans(self) -> NDArray[np.int64]:
        """First dates of the spans after the first one."""
        number = np.cumsum(self._n_records) // _SPAN_RECORDS
        return (np.flatnonzero(np.diff(number)) + 1) * self._cell


class DateSort:
    """Records of a structured type, with a field `date`.

    Parameters
    ----------
    folder : Path
        Folder for the files; the caller removes it.
    spans : array of int
        First dates of spans.
    """

    def __init__(self, folder: Path, spans: NDArray[np.int64]) -> None:
        self._folder, self._spans = folder, spans
        self._held: list[NDArray[np.void]] = []
        self._n_held = 0

    def add(self, records: NDArray[np.void]) -> None:
        """Add records; those of one date stay in this order."""
        self._held.append(records)
        self._n_held += len(records)
        if self._n_held >= _HELD_RECORDS:
            self._write()

    def sorted(self, dtype: np.dtype[Any]) -> Iterator[NDArray[np.void]]:
        """Yield all records by date, a span at a time."""
        self._write()
        for number in range(len(self._spans) + 1):
            path = self._path(number)
            if path.exists():
                records = np.fromfile(path, dtype)
                path.unlink()
                yield records.take(np.argsort(records["date"], kind="stable"))

    def _write(self) -> None:
        if not self._n_held:
            return
        records = joined(self._held)
        self._held, self._n_held = [], 0
        span = np.searchsorted(self._spans, records["date"], side="right")
        append_to_files(records, span, len(self._spans) + 1, self._path)

    def _path(self, number: int) -> Path:
        return self._folder / f"span.{number}"
