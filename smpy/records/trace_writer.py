"""Writer of a trace: Parquet tables that grow during a run, and a summary at its end (`schema.md`)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import NoRoomError, UsageError
from smpy.records.trace_layout import COLUMNS, INFO, MACHINE, MAY_BE_NULL, OPTIONAL_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyarrow.parquet import ParquetWriter

_GROUP_ROWS: Final = 1 << 15
_GROUPS_AHEAD: Final = 2
_BUFFER_BYTES: Final = 1 << 18
_PARTS: Final = {INFO, MACHINE, *(f"{name}.parquet" for name in COLUMNS)}


class TraceWriter:
    """Tables of one trace.

    A thread writes them; at most two groups of rows wait for it.

    Parameters
    ----------
    folder : Path
        Folder of the trace, created if it does not exist. It must be empty or hold an earlier trace, which is removed.

    Attributes
    ----------
    pa : module
        pyarrow.
    files : dict of str to dict
        `rows`, `bytes` and `sha256` of each complete table, by the name of its file.

    Raises
    ------
    UsageError
        If the folder cannot be written, holds something else, or pyarrow is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as parquet
        except ImportError as error:
            raise UsageError(f"a trace is written by pyarrow: {error}; pip install '.[trace]'") from error
        self.pa, self._parquet = pa, parquet
        self.folder = folder
        self.files: dict[str, dict[str, Any]] = {}
        self._writers: dict[str, tuple[ParquetWriter, _CountedFile]] = {}
        self._n_rows: Counter[str] = Counter()
        self._waiting: dict[str, list[pa.Table]] = {}
        self._trouble: OSError | None = None
        self._to_write: SimpleQueue[tuple[str, pa.Table] | None] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(_GROUPS_AHEAD):
            self._room.put(None)
        self._is_new_folder = not folder.exists()
        _make_room(folder)
        self._thread = Thread(target=self._write_all, name="smpy trace", daemon=True)
        self._thread.start()

    def add(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows: pyarrow columns, or lists of equal length in which None is null.

        Raises
        ------
        NoRoomError
            If they cannot be written.
        """
        pa, kinds = self.pa, COLUMNS[table] | OPTIONAL_COLUMNS.get(table, {})
        may_be_null = MAY_BE_NULL.get(table, ())
        arrays = {
            name: self._listed(kinds[name], values) if isinstance(values, list) else values
            for name, values in columns.items()
        }
        fields = [pa.field(name, array.type, nullable=name in may_be_null) for name, array in arrays.items()]
        waiting = self._waiting.setdefault(table, [])
        waiting.append(pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields)))
        if sum(each.num_rows for each in waiting) >= _GROUP_ROWS:
            self._hand_over(table)

    def all(self, values: NDArray[Any]) -> pa.Array:
        """A column of numbers without nulls, which shares the memory of the array."""
        return self.where(None, values)

    def where(self, is_known: NDArray[Any] | None, values: NDArray[Any]) -> pa.Array:
        """A column of numbers, null where the mask says so."""
        import numpy as np

        pa = self.pa
        bits = None if is_known is None else pa.py_buffer(np.packbits(is_known, bitorder="little"))
        memory = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
        return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bits, pa.py_buffer(memory)])

    def named(self, codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
        """A column of names, given their numbers."""
        return self._words(codes.astype("i1"), names)

    def _words(self, codes: NDArray[Any], vocabulary: Sequence[str]) -> pa.Array:
        from smpy.records.columns import words

        return self.pa.DictionaryArray.from_arrays(self.all(codes), words(vocabulary))

    def _listed(self, kind: str, values: list[Any]) -> pa.Array:
        import numpy as np

        if kind == "string":
            code_of: dict[str, int] = {}
            codes = [code_of.setdefault(word, len(code_of)) for word in values]
            return self._words(np.array(codes, np.int32), list(code_of))
        is_known = np.array([each is not None for each in values], np.bool_) if None in values else None
        return self.where(is_known, np.array([each or 0 for each in values], kind.rstrip("_")))

    def _hand_over(self, table: str) -> None:
        self._room.get()
        if self._trouble is not None:
            self._room.put(None)
            raise NoRoomError(self._complaint(self._trouble)) from self._trouble
        self._to_write.put((table, self.pa.concat_tables(self._waiting.pop(table))))

    def _write_all(self) -> None:
        """Write queued tables, in the thread, until the queue ends; after an error, only empty the queue."""
        while (group := self._to_write.get()) is not None:
            try:
                if self._trouble is None:
                    self._write(*group)
            except OSError as error:
                self._trouble = error
            finally:
                self._room.put(None)

    def _write(self, table: str, rows: pa.Table) -> None:
        if table not in self._writers:
            file = _CountedFile(self.folder / f"{table}.parquet")
            self._writers[table] = self._new_writer(file, rows.schema), file
        self._writers[table][0].write_table(rows, row_group_size=max(rows.num_rows, 1))
        self._n_rows[table] += rows.num_rows

    def _new_writer(self, file: _CountedFile, schema: pa.Schema) -> ParquetWriter:
        floats = {field.name for field in schema if self.pa.types.is_floating(field.type)}
        plain = floats - {"amount", "power_w"}  # few of these are distinct
        numbered = {name for name in ("message",) if name in schema.names}
        return self._parquet.ParquetWriter(
            file,
            schema,
            memory_pool=self.pa.system_memory_pool(),  # pyarrow's own pool clears huge pages and keeps them
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
        """Complete all tables.

        Raises
        ------
        NoRoomError
            If they cannot be written.
        """
        try:
            for table in list(self._waiting):
                self._hand_over(table)
        finally:
            self._end()
        if self._trouble is not None:
            raise NoRoomError(self._complaint(self._trouble)) from self._trouble

    def remove(self) -> None:
        """Remove the closed tables, and the folder if it was created for them."""
        for name in self.files:
            (self.folder / name).unlink(missing_ok=True)
        if self._is_new_folder:
            with suppress(OSError):
                self.folder.rmdir()

    def _end(self) -> None:
        """End the thread, and leave the tables readable as far as they are written."""
        self._to_write.put(None)
        self._thread.join()
        self._waiting.clear()
        while self._writers:
            table, (writer, file) = self._writers.popitem()
            try:
                writer.close()
                file.close()
                self.files[file.path.name] = {"rows": self._n_rows[table], **file.seal()}
            except OSError as error:
                self._trouble = self._trouble or error

    def _complaint(self, error: OSError) -> str:
        reason = os.strerror(error.errno) if error.errno else str(error)
        return f"the trace in {self.folder} is not whole: {reason}; make room, or trace less (--trace-window)"


class _CountedFile:
    """A file with a running checksum of its content."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb", buffering=_BUFFER_BYTES)
        self._sum = sha256()

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def write(self, data: bytes) -> int:
        """Append bytes."""
        n_bytes = self._file.write(data)
        self._sum.update(data)
        return n_bytes

    def tell(self) -> int:
        """Number of bytes that have been written."""
        return self._file.tell()

    def flush(self) -> None:
        """Pass all bytes to the system."""
        self._file.flush()

    def close(self) -> None:
        """Complete the file."""
        self._file.close()

    def seal(self) -> dict[str, Any]:
        """Size and checksum, for `run.json`."""
        return {"bytes": self.path.stat().st_size, "sha256": self._sum.hexdigest()}


def check_room(folder: Path) -> None:
    """Refuse a folder that holds something else than a trace.

    Raises
    ------
    UsageError
        If it does, or cannot be read.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file, and a trace is a folder: name another one")
        others = [each.name for each in folder.iterdir() if each.name not in _PARTS] if folder.exists() else []
    except OSError as error:
        raise UsageError(_refusal(folder, error)) from error
    if others:
        raise UsageError(f"{folder} holds {others[0]!r}, which is no part of a trace: name a new folder")


def remove_trace(folder: Path) -> None:
    """Remove the files of a trace from its folder, which need not exist.

    Raises
    ------
    OSError
        If one cannot be removed.
    """
    for name in _PARTS:
        with suppress(FileNotFoundError):
            (folder / name).unlink()


def _make_room(folder: Path) -> None:
    check_room(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_trace(folder)
        (folder / INFO).touch()
        (folder / INFO).unlink()
    except OSError as error:
        raise UsageError(_refusal(folder, error)) from error


def _refusal(folder: Path, error: OSError) -> str:
    return f"cannot write a trace to {folder}: {error.strerror or error}; name another folder"
