"""Writes a trace: Parquet tables that grow while a run goes on, and a summary at its end (`schema.md`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import SmpyError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow.parquet import ParquetWriter

FORMAT: Final = 1
"""Of the files: it grows when a reader of the one before would be wrong."""

INFO: Final = "run.json"
MACHINE: Final = "machine.pickle"
TABLE_NAMES: Final = ("intervals", "messages", "actions", "sites", "comms", "regions", "collectives")

_GROUP_ROWS: Final = 1 << 17


class TraceWriter:
    """The tables of one trace.

    Parameters
    ----------
    folder : Path
        Where; it is made, or is empty, or has an earlier trace, which goes.

    Raises
    ------
    UsageError
        If the folder cannot be written, holds something else, or pyarrow is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as parquet
        except ImportError:
            raise UsageError('a trace is written by pyarrow: pip install "smpy[trace]"') from None
        self._pa, self._parquet = pa, parquet
        self.folder = folder
        self._writers: dict[str, ParquetWriter] = {}
        self._waiting: dict[str, list[pa.Table]] = {}
        _make_room(folder)

    def add(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows: arrays of one length, of numpy or pyarrow.

        Raises
        ------
        SmpyError
            If they cannot be written.
        """
        rows = self._pa.table(columns)
        waiting = self._waiting.setdefault(table, [])
        waiting.append(rows)
        if sum(each.num_rows for each in waiting) >= _GROUP_ROWS:
            self._write(table)

    def _write(self, table: str) -> None:
        rows = self._pa.concat_tables(self._waiting.pop(table))
        try:
            writer = self._writers.get(table)
            if writer is None:
                writer = self._writers[table] = self._new_writer(table, rows.schema)
            writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        except OSError as error:
            raise SmpyError(self._complaint(error)) from error

    def _new_writer(self, table: str, schema: pa.Schema) -> ParquetWriter:
        plain = {field.name for field in schema if self._pa.types.is_floating(field.type) and field.name != "amount"}
        numbered = {name for name in ("message",) if name in schema.names}
        return self._parquet.ParquetWriter(
            self.folder / f"{table}.parquet",
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in schema.names if name not in plain | numbered],
            column_encoding={
                **dict.fromkeys(plain, "BYTE_STREAM_SPLIT"),
                **dict.fromkeys(numbered, "DELTA_BINARY_PACKED"),
            },
            write_statistics=[name for name in schema.names if name.endswith("_s") or name in ("rank", "message")],
        )

    def close(self) -> None:
        """Complete the tables.

        Raises
        ------
        SmpyError
            If they cannot be written.
        """
        try:
            for table in list(self._waiting):
                self._write(table)
            for writer in self._writers.values():
                writer.close()
        except OSError as error:
            raise SmpyError(self._complaint(error)) from error
        finally:
            self._writers.clear()
            self._waiting.clear()

    def _complaint(self, error: OSError) -> str:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return f"the trace in {self.folder} is not whole: {reason}; make room, or trace less (--trace-window)"


def _make_room(folder: Path) -> None:
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file, and a trace is a folder: name another one")
        known = {INFO, MACHINE, *(f"{name}.parquet" for name in TABLE_NAMES)}
        others = [each.name for each in folder.iterdir() if each.name not in known] if folder.exists() else []
        if others:
            raise UsageError(f"{folder} holds {others[0]!r}, which is no part of a trace: name a new folder")
        folder.mkdir(parents=True, exist_ok=True)
        for name in known:
            with suppress(FileNotFoundError):
                (folder / name).unlink()
        (folder / INFO).touch()
        (folder / INFO).unlink()
    except OSError as error:
        raise UsageError(f"cannot write a trace to {folder}: {error.strerror or error}; name another folder") from error


def coded(pa: Any, codes: NDArray[Any], names: Sequence[str]) -> pa.DictionaryArray:
    """A column of names, from their numbers."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))


def nullable(pa: Any, values: NDArray[Any], is_null: NDArray[Any]) -> pa.Array:
    """A column that says nothing in some rows."""
    return pa.array(values, mask=is_null)
