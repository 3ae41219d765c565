"""Reader of a trace, the folder that `smpy run --trace` writes; `schema.md` here lists tables and columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import cycle
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import DamagedFileError, UsageError, meant
from smpy.input_files import read_plain_file
from smpy.records.trace_checks import Known, RowChecks
from smpy.records.trace_info import check_file, read_info
from smpy.records.trace_layout import COLUMNS, COMMS_MAX, DATED_TABLES, OPTIONAL_COLUMNS, damaged

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

BATCH_ROWS: Final = 65_536
_BUFFER_BYTES: Final = 1 << 18


class Trace:
    """The trace of a run.

    Tables are read on demand; large ones only in the columns and rows that the caller selects.

    Parameters
    ----------
    folder : path
        Folder that `smpy run --trace` wrote.

    Attributes
    ----------
    folder : Path
        The same.
    info : dict
        Content of `run.json`: the run's summary, and under `trace` the facts of the recording.

    Raises
    ------
    UsageError
        If there is no trace that this version can read; and, from every method, if pyarrow is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.info: dict[str, Any] = read_info(self.folder)
        self._whole: dict[str, bool] = {}

    @property
    def n_ranks(self) -> int:
        """Ranks of the world."""
        return int(self.info["ranks"])

    @property
    def makespan_s(self) -> float:
        """Date at which the last rank ended, or at which a partial run stopped, in seconds.

        Raises
        ------
        UsageError
            If the trace has no dates.
        """
        self._want_dates()
        return float(self.info["makespan_s"])

    @property
    def has_dates(self) -> bool:
        """Whether the trace says when things happened; an imported one may only say what ranks did."""
        return self.info["makespan_s"] is not None

    @property
    def is_imported(self) -> bool:
        """Whether another tool recorded the trace."""
        return "imported" in self.info["trace"]

    @property
    def keeps_seconds(self) -> bool:
        """Whether amounts of computing are nanoseconds of the machine that was traced, and not operations."""
        return self.is_imported and bool(self.info["trace"]["imported"]["keeps_seconds"])

    @property
    def is_complete(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.info["trace"]["is_complete"])

    @cached_property
    def host_of_rank(self) -> list[str]:
        """Host of each rank: its name, or, of more hosts than the summary spells out, its number."""
        runs = self.info["trace"]["hosts_of_ranks"]
        names = {host: f"host {host}" for host, _ in runs}
        if len(names) <= len(self.info["mapping"]):
            names = {host: name for (host, _), (name, _) in zip(runs, cycle(self.info["mapping"]), strict=False)}
        return [names[host] for host, n_ranks in runs for _ in range(n_ranks)]

    def schema(self, name: str) -> pa.Schema:
        """A table's columns and their types."""
        file = self._open(name)
        return _schema(name) if file is None else file.schema_arrow

    def n_rows(self, name: str) -> int:
        """Number of rows of a table."""
        file = self._open(name)
        return 0 if file is None else int(file.metadata.num_rows)

    def table(self, name: str, columns: Sequence[str] | None = None, where: Any = None) -> pa.Table:
        """A table, or selected columns and rows of it.

        Parameters
        ----------
        name : str
            One of `COLUMNS`.
        columns : sequence of str, optional
            Columns to read; all by default.
        where : list of tuple, or pyarrow expression, optional
            Rows to read, as in `filters` of `pyarrow.parquet.read_table`: `[("rank", "==", 3)]`.

        Raises
        ------
        UsageError
            If there is no such table or column, or it cannot be read.
        """
        file = self._opened_with(name, columns)
        import pyarrow as pa

        if file is None:
            return pa.Table.from_batches([], _schema(name, columns))  # `empty_table` would import pandas
        import pyarrow.parquet as pq

        try:
            if where is None:
                rows = file.read(columns and list(columns))
            else:
                source = _source(self._path(name))
                rows = pq.read_table(source, columns=columns and list(columns), filters=where)  # imports pandas
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error
        checks = self._checks(name, in_order=where is None)
        for batch in rows.to_batches():
            checks.check(batch)
        return rows

    def batches(
        self, name: str, columns: Sequence[str] | None = None, n_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Rows of a table in batches and in order: memory does not grow with the trace.

        Parameters
        ----------
        name : str
            One of `COLUMNS`.
        columns : sequence of str, optional
            Columns to read; all by default.
        n_rows : int
            Most rows of a batch.

        Raises
        ------
        UsageError
            For the reasons of `table`.
        """
        file = self._opened_with(name, columns)
        if file is None:
            return
        import pyarrow as pa

        checks = self._checks(name, in_order=True)
        try:
            for batch in file.iter_batches(n_rows, columns=columns and list(columns)):
                checks.check(batch)
                yield batch
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error

    @cached_property
    def _sites(self) -> tuple[list[tuple[str, str]], NDArray[np.int32], NDArray[np.bool_], NDArray[np.int32]]:
        import numpy as np

        table = self.table("sites", ["site", "call", "file", "line", "is_kernel", "rank"])
        n_sites = max(table["site"].to_pylist(), default=0)
        label_of_site = np.zeros(n_sites + 1, dtype=np.int32)
        is_kernel = np.zeros(n_sites + 1, dtype=np.bool_)
        rank_of_site = np.full(n_sites + 1, -1, dtype=np.int32)
        calls = {("", ""): 0}
        columns = (table[name].to_pylist() for name in table.column_names)
        for site, call, file, line, kernel, rank in zip(*columns, strict=True):
            place = f"{file}:{line}" if line else file or ""
            label_of_site[site] = calls.setdefault((call or "", place), len(calls))
            is_kernel[site] = kernel
            rank_of_site[site] = rank
        return list(calls), label_of_site, is_kernel, rank_of_site

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls of the program, each once for all ranks: `("Send", "ring.py:12")`; entry 0 is empty."""
        return self._sites[0]

    @property
    def labels(self) -> list[str]:
        """The calls of the program as one string each: `"Send ring.py:12"`."""
        return [" ".join(filter(None, call)) for call in self.calls]

    @property
    def label_of_site(self) -> NDArray[np.int32]:
        """Index into `labels` for each row of `sites`; 0 for row 0, which is no site."""
        return self._sites[1]

    @property
    def is_kernel(self) -> NDArray[np.bool_]:
        """Whether each row of `sites` is a kernel that the program named; false for row 0."""
        return self._sites[2]

    @property
    def rank_of_site(self) -> NDArray[np.int32]:
        """Rank of each row of `sites`; -1 for row 0."""
        return self._sites[3]

    def _path(self, name: str) -> Path:
        if name not in COLUMNS:
            raise UsageError(f"a trace has no table {name!r}{meant(name, COLUMNS)}; it has {', '.join(COLUMNS)}")
        return self.folder / f"{name}.parquet"

    def _open(self, name: str) -> pq.ParquetFile | None:
        """Open a table's file; None if the table has no rows, and so no file."""
        path = self._path(name)
        if not self._is_whole(path.name):
            return None
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise UsageError(f"traces need pyarrow: {error}; pip install '.[analysis]'") from error
        pool = pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())  # kept by the file: pyarrow's own pool clears huge pages
        try:
            # pre_buffer would keep all data read so far
            file = pq.ParquetFile(_source(path), buffer_size=_BUFFER_BYTES, pre_buffer=False)
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error
        finally:
            pa.set_memory_pool(pool)
        self._check_layout(name, file)
        return file

    def _is_whole(self, name: str) -> bool:
        """Whether the trace has a file; on first use its size and checksum are checked, and a mismatch is an error."""
        if name not in self._whole:
            self._whole[name] = check_file(self.folder, name, self.info["trace"]["files"])
        return self._whole[name]

    def file_bytes(self, name: str) -> bytes:
        """Content of a file that is not a table.

        Raises
        ------
        UsageError
            If it is not as it was written.
        """
        if not self._is_whole(name):
            raise damaged(f"{self.folder / name} is missing")
        return read_plain_file(self.folder / name, "trace")

    def _checks(self, name: str, *, in_order: bool) -> RowChecks:
        return RowChecks(name, self._path(name), lambda: self._known, in_order=in_order)

    @cached_property
    def _known(self) -> Known:
        """Numbers and names to which rows may refer."""
        import numpy as np

        from smpy.records.columns import numbers

        files = self.info["trace"]["files"]
        n_sites, n_actions = (files.get(f"{name}.parquet", {"rows": 0})["rows"] for name in ("sites", "actions"))
        file = self._open("comms")
        comms = np.zeros(1, np.int32) if file is None else numbers(file.read(["comm"])["comm"])
        if not ((comms >= 0) & (comms < COMMS_MAX)).all():
            raise damaged(f"{self._path('comms')} has a communicator with a wrong number")
        return Known(
            n_ranks=self.n_ranks,
            n_sites=n_sites,
            n_threads=files.get("threads.parquet", {"rows": 0})["rows"],
            n_names=len(self.info["trace"]["regions"]),
            n_actions=n_actions,
            n_failed_polls=self.info["trace"]["n_failed_polls"],
            makespan_s=self.makespan_s if self.has_dates else 0.0,
            is_comm=np.bincount(comms) > 0,
        )

    def _check_layout(self, name: str, file: pq.ParquetFile) -> None:
        n_rows, expected = file.metadata.num_rows, self.info["trace"]["files"][f"{name}.parquet"]["rows"]
        if n_rows != expected:
            raise damaged(f"{self._path(name)} has {n_rows:,} of {expected:,} rows")
        may_lack = set(OPTIONAL_COLUMNS.get(name, ()))
        for column in _schema(name, [*COLUMNS[name], *OPTIONAL_COLUMNS.get(name, ())]):
            here = file.schema_arrow.field(column.name) if column.name in file.schema_arrow.names else None
            if here is None and column.name in may_lack:
                continue
            if here is None or getattr(here.type, "value_type", here.type) != column.type:
                raise damaged(f"{self._path(name)} has no column {column.name} of {column.type}")

    def _want_dates(self) -> None:
        if not self.has_dates:
            raise UsageError(f"{self.folder} has no dates, as its format has none: replay it with --trace")

    def _opened_with(self, name: str, columns: Sequence[str] | None) -> pq.ParquetFile | None:
        if name in DATED_TABLES:
            self._want_dates()
        file = self._open(name)
        known = list(COLUMNS[name]) if file is None else file.schema_arrow.names
        for column in columns or ():
            if column not in known:
                raise UsageError(f"{name}.parquet has no column {column!r}{meant(column, known)}")
        return file

    def _damaged(self, name: str, error: Exception) -> DamagedFileError:
        return damaged(f"{self.folder / name}.parquet cannot be read: {error}")


def _source(path: Path) -> Path | pa.BufferReader:
    """A file for pyarrow; its content in memory if its name is not UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        import pyarrow as pa

        with path.open("rb") as file:
            is_empty = not os.fstat(file.fileno()).st_size
            return pa.BufferReader(b"" if is_empty else mmap(file.fileno(), 0, access=ACCESS_READ))
    return path


def _schema(name: str, columns: Sequence[str] | None = None) -> pa.Schema:
    import pyarrow as pa

    types = COLUMNS[name] | OPTIONAL_COLUMNS.get(name, {})
    return pa.schema({column: getattr(pa, types[column])() for column in columns or COLUMNS[name]})
