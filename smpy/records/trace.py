"""A trace, read: the folder that `smpy run --trace` writes; `schema.md` beside this file names tables and columns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import UsageError, meant
from smpy.records.trace_layout import COLUMNS, FORMAT, INFO

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

BATCH_ROWS: Final = 65_536
_BUFFER_BYTES: Final = 1 << 18


class Trace:
    """The trace of a run.

    Tables are read when they are asked for; of the large ones, only the columns and rows that are.

    Parameters
    ----------
    folder : path
        What `smpy run --trace` was told.

    Attributes
    ----------
    folder : Path
        The same.
    info : dict
        What `run.json` holds: the run's summary, and under `trace` what was recorded.

    Raises
    ------
    UsageError
        If there is no trace, or not one that this version reads; and, from every method, if pyarrow is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        path = self.folder / INFO
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(
                f"{folder} is not a trace: {path.name}: {error.strerror}; name the folder that `smpy run --trace` wrote"
            ) from error
        except ValueError as error:  # of JSON, of UTF-8
            raise UsageError(f"{path} is damaged: {error}; record the run again") from error
        if not isinstance(content, dict) or not isinstance(content.get("trace"), dict):
            raise UsageError(f"{path} is not of a trace: name the folder that `smpy run --trace` wrote")
        if content["trace"].get("format") != FORMAT:
            raise UsageError(
                f"{folder} was recorded by another version of smpy, {content.get('smpy', 'which is not known')}, with "
                f"traces of format {content['trace'].get('format')}; this one reads format {FORMAT}: record it again"
            )
        self.info: dict[str, Any] = content

    @property
    def n_ranks(self) -> int:
        """Ranks of the world."""
        return int(self.info["ranks"])

    @property
    def makespan_s(self) -> float:
        """Simulated date at which the last rank ended, or at which a partial run stopped, in seconds."""
        return float(self.info["makespan_s"])

    @property
    def is_complete(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.info["trace"]["is_complete"])

    @cached_property
    def host_of_rank(self) -> list[str]:
        """Where each rank ran: the host's name, or, of more hosts than the summary spells out, its number."""
        runs = self.info["trace"]["hosts_of_ranks"]
        names = {host: f"host {host}" for host, _ in runs}
        if len(names) <= len(self.info["mapping"]):
            names = {host: name for (host, _), (name, _) in zip(runs, cycle(self.info["mapping"]), strict=False)}
        return [names[host] for host, n_ranks in runs for _ in range(n_ranks)]

    def schema(self, name: str) -> pa.Schema:
        """A table's columns and their types."""
        file = self._open(name)
        return _no_rows(name).schema if file is None else file.schema_arrow

    def n_rows(self, name: str) -> int:
        """How many rows a table has."""
        file = self._open(name)
        return 0 if file is None else int(file.metadata.num_rows)

    def table(self, name: str, columns: Sequence[str] | None = None, where: Any = None) -> pa.Table:
        """A table, or some of it.

        Parameters
        ----------
        name : str
            One of `COLUMNS`.
        columns : sequence of str, optional
            Which; all by default.
        where : list of tuple, or pyarrow expression, optional
            The rows, as `filters` of `pyarrow.parquet.read_table` has it: `[("rank", "==", 3)]`.

        Raises
        ------
        UsageError
            If there is no such table or column, or it cannot be read.
        """
        file = self._opened_with(name, columns)
        if file is None:
            return _no_rows(name, columns)
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            if where is None:
                return file.read(columns and list(columns))
            return pq.read_table(self._path(name), columns=columns and list(columns), filters=where)  # imports pandas
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error

    def batches(
        self, name: str, columns: Sequence[str] | None = None, n_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """A table's rows in their order, some at a time: memory does not grow with the trace.

        Parameters
        ----------
        name : str
            One of `COLUMNS`.
        columns : sequence of str, optional
            Which; all by default.
        n_rows : int
            Of a batch, at most.

        Raises
        ------
        UsageError
            As `table` does.
        """
        file = self._opened_with(name, columns)
        if file is None:
            return
        import pyarrow as pa

        try:
            yield from file.iter_batches(n_rows, columns=columns and list(columns))
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error

    @cached_property
    def _sites(self) -> tuple[list[tuple[str, str]], NDArray[np.int32], NDArray[np.bool_]]:
        import numpy as np

        table = self.table("sites", ["site", "call", "file", "line", "is_kernel"])
        n_sites = max(table["site"].to_pylist(), default=0)
        label_of_site = np.zeros(n_sites + 1, dtype=np.int32)
        is_kernel = np.zeros(n_sites + 1, dtype=np.bool_)
        calls = {("", ""): 0}
        columns = (table[name].to_pylist() for name in ("site", "call", "file", "line", "is_kernel"))
        for site, call, file, line, kernel in zip(*columns, strict=True):
            place = f"{file}:{line}" if line else file or ""
            label_of_site[site] = calls.setdefault((call or "", place), len(calls))
            is_kernel[site] = kernel
        return list(calls), label_of_site, is_kernel

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls of the program, each once for all ranks: `("Send", "ring.py:12")`; the first is empty: none."""
        return self._sites[0]

    @property
    def labels(self) -> list[str]:
        """The same as a word each: `"Send ring.py:12"`."""
        return [" ".join(filter(None, call)) for call in self.calls]

    @property
    def label_of_site(self) -> NDArray[np.int32]:
        """Of each row of `sites`, which of `labels` it is; of 0, which is no site: 0."""
        return self._sites[1]

    @property
    def is_kernel(self) -> NDArray[np.bool_]:
        """Of each row of `sites`, whether it is a kernel that the program named; of 0: no."""
        return self._sites[2]

    def _path(self, name: str) -> Path:
        if name not in COLUMNS:
            raise UsageError(f"a trace has no table {name!r}{meant(name, COLUMNS)}; it has {', '.join(COLUMNS)}")
        return self.folder / f"{name}.parquet"

    def _open(self, name: str) -> pq.ParquetFile | None:
        """A table's file; None: it has no rows, and so there is none."""
        path = self._path(name)
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise UsageError(f'traces need pyarrow: {error}; pip install "smpy-mpi[analysis]"') from error
        if not path.exists():
            return None
        pool = pa.default_memory_pool()
        pa.set_memory_pool(pa.system_memory_pool())  # which the file keeps: its own clears huge pages
        try:
            return pq.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)  # else it holds what it has read
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(name, error) from error
        finally:
            pa.set_memory_pool(pool)

    def _opened_with(self, name: str, columns: Sequence[str] | None) -> pq.ParquetFile | None:
        file = self._open(name)
        known = list(COLUMNS[name]) if file is None else file.schema_arrow.names
        for column in columns or ():
            if column not in known:
                raise UsageError(f"{name}.parquet has no column {column!r}{meant(column, known)}")
        return file

    def _damaged(self, name: str, error: Exception) -> UsageError:
        return UsageError(f"{self.folder / name}.parquet cannot be read: {error}; record the run again")


def _no_rows(name: str, columns: Sequence[str] | None = None) -> pa.Table:
    import pyarrow as pa

    types = COLUMNS[name]
    return pa.schema({column: getattr(pa, types[column])() for column in columns or types}).empty_table()
