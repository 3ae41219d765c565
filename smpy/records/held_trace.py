"""A trace that keeps tables in memory once they are read, for callers that read it several times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.records.trace import BATCH_ROWS, Trace

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX: Final = 8_000_000
"""Largest number of rows of a table kept in memory, at about 50 bytes each; larger tables are read each time."""


class HeldTrace(Trace):
    """A `Trace` that keeps its small tables in memory."""

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        self._tables: dict[tuple[object, ...], pa.Table] = {}
        self._batches: dict[tuple[object, ...], list[pa.RecordBatch]] = {}
        self._n_rows: dict[str, int] = {}

    def n_rows(self, name: str) -> int:
        """Number of rows of a table."""
        if name not in self._n_rows:
            self._n_rows[name] = super().n_rows(name)
        return self._n_rows[name]

    def table(self, name: str, columns: Sequence[str] | None = None, where: Any = None) -> pa.Table:
        """Table, as `Trace.table` returns it; kept for later calls."""
        if self.n_rows(name) > ROWS_MAX:
            return super().table(name, columns, where)
        key = name, None if columns is None else tuple(columns), repr(where)
        if key not in self._tables:
            self._tables[key] = super().table(name, columns, where)
        return self._tables[key]

    def batches(
        self, name: str, columns: Sequence[str] | None = None, n_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Batches, as `Trace.batches` returns them; kept for later calls."""
        if self.n_rows(name) > ROWS_MAX:
            return super().batches(name, columns, n_rows)
        key = name, None if columns is None else tuple(columns), n_rows
        if key not in self._batches:
            self._batches[key] = list(super().batches(name, columns, n_rows))
        return iter(self._batches[key])
