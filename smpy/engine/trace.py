"""The rows of a trace, as the kernel writes them: one numpy array a table."""

from __future__ import annotations

from enum import IntFlag
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.engine.kernel import ffi, lib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STRUCTS: Final = {
    "intervals": (lib.TRACE_INTERVALS, "trace_interval"),
    "messages": (lib.TRACE_MESSAGES, "trace_message"),
    "actions": (lib.TRACE_ACTIONS, "trace_action"),
    "comms": (lib.TRACE_COMMS, "trace_members"),
    "regions": (lib.TRACE_REGIONS, "trace_mark"),
    "threads": (lib.TRACE_THREADS, "trace_thread_mark"),
    "thread_intervals": (lib.TRACE_THREAD_INTERVALS, "trace_interval"),
    "thread_messages": (lib.TRACE_THREAD_MESSAGES, "trace_message_threads"),
    "wake_ups": (lib.TRACE_WAKE_UPS, "trace_wake_up"),
}
TABLES: Final = tuple(_STRUCTS)
"""The kernel's tables of a trace."""


class RowColumns(IntFlag):
    """Columns of a kind of row of `actions`, and their meaning to readers (world/rows.h)."""

    COMM = lib.ROW_COMM
    DETAIL = lib.ROW_DETAIL
    COUNTED = lib.ROW_COUNTED
    TABLES = lib.ROW_TABLES
    POLL = lib.ROW_POLL
    SECONDS = lib.ROW_SECONDS
    SENDS = lib.ROW_SENDS


class RowKind(NamedTuple):
    """A kind of row of `actions`, in words: `means`, and `detail` for that column, or ""."""

    name: str
    means: str
    detail: str
    columns: int


def _row_kinds() -> tuple[RowKind, ...]:
    def text(words: Any) -> str:
        return str(ffi.string(words).decode())

    kinds = takewhile(bool, map(lib.sim_row_words, count()))
    return tuple(RowKind(text(kind.name), text(kind.means), text(kind.detail), kind.columns) for kind in kinds)


ROW_KINDS: Final = _row_kinds()
"""The kernel's kinds of rows of `actions`, in the order of its numbers."""

ACTIONS: Final = tuple(kind.name for kind in ROW_KINDS)
"""Their names."""


def actions_with(columns: RowColumns) -> tuple[str, ...]:
    """Names of the kinds that have all these columns."""
    return tuple(kind.name for kind in ROW_KINDS if columns & kind.columns == columns)


def dtype_of(table: str) -> np.dtype[Any]:
    """The numpy type of a table's rows: the columns of the kernel's structure."""
    import numpy as np

    kinds = {"double": "f8", "int64_t": "i8", "int": "i4"}
    struct = ffi.typeof(_STRUCTS[table][1])
    fields = [(name, kinds[field.type.cname], field.offset) for name, field in struct.fields]
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": ffi.sizeof(struct)})


def take_columns(sim: Any, table: str) -> dict[str, NDArray[Any]]:
    """The rows of a table since they were taken last, each column as an array."""
    import numpy as np

    number, n = _STRUCTS[table][0], n_rows(sim, table)
    fields = dtype_of(table).fields
    assert fields is not None
    columns = {name: np.empty(n, kind) for name, (kind, *_) in fields.items()}
    offsets = ffi.new("int[]", [int(offset) for _, offset, *_ in fields.values()])
    sizes = ffi.new("int[]", [column.itemsize for column in columns.values()])
    places = ffi.new("char *[]", [ffi.cast("char *", column.ctypes.data) for column in columns.values()])
    lib.sim_trace_take(sim, number, len(columns), offsets, sizes, places)
    return columns


def n_rows(sim: Any, table: str) -> int:
    """Number of rows of a table since they were taken last."""
    return int(lib.sim_trace_rows(sim, _STRUCTS[table][0]))
