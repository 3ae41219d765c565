"""Timeline of each rank: the intervals of a trace as columns, sorted by rank and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.result import needed
from smpy.errors import UsageError
from smpy.records.columns import numbers
from smpy.records.computing_lines import called, calling
from smpy.records.profile import INTERVAL_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace

KINDS: Final = INTERVAL_KINDS
"""Kinds of intervals, by number."""

COMPUTE: Final = KINDS.index("compute")
OVERHEAD: Final = KINDS.index("overhead")
POLLING: Final = KINDS.index("polling")
PROBING: Final = KINDS.index("probing")
TRANSFER: Final = KINDS.index("transfer")
LATE: Final = tuple(KINDS.index(kind) for kind in ("late_sender", "late_receiver", "late_members"))
IDLE: Final = KINDS.index("idle")
ONE_DATE_S: Final = 1e-9
"""Events closer than this count as simultaneous."""


class Place(NamedTuple):
    """A line of the program, and the call in it.

    Attributes
    ----------
    call : str
        "Recv", or the name of a kernel; empty: the program itself.
    file : str
        Empty where it is not known.
    line : int
        0: not known.
    is_kernel : bool
        Whether `call` names a kernel.
    function : str
        The function in which the program computes, where samples tell it; empty: not known.
    """

    call: str
    file: str
    line: int
    is_kernel: bool
    function: str = ""

    @property
    def what(self) -> str:
        """Name in tables: "Recv", or "sweep()"; "user code up to" if samples name no function."""
        return calling(self.function) if self.function else called(self.call, self.file)

    @property
    def where(self) -> str:
        """Text such as "late.py:10"."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def text(self) -> str:
        """Text such as "Recv late.py:10"."""
        return f"{self.what} {self.where}".rstrip()

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the place."""
        return {"call": self.call or None, "file": self.file or None, "line": self.line or None}


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The intervals of all ranks.

    Parameters
    ----------
    n_ranks : int
        Number of ranks of the run.
    time_s : float
        Time covered by the trace: the run's makespan, or the length of a window.
    first : (n_ranks + 1,) array of int
        Intervals of rank r are those from first[r] to first[r + 1] - 1; each begins where the one before ended.
    start_s, end_s : (n_intervals,) array of float
        Dates.
    kind : (n_intervals,) array of int
        Number in `KINDS`.
    place : (n_intervals,) array of int
        Number in `places`.
    other : (n_intervals,) array of int
        The rank that was waited for; -1: none.
    message : (n_intervals,) array of int
        The message that ended a wait or a transfer; -1: none.
    places : sequence of Place
        Lines of the program, and their calls.
    """

    n_ranks: int
    time_s: float
    first: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    kind: NDArray[np.int8]
    place: NDArray[np.int32]
    other: NDArray[np.int32]
    message: NDArray[np.int64]
    places: Sequence[Place]

    @property
    def ranks_told(self) -> NDArray[np.int64]:
        """Number of ranks in the trace."""
        return np.flatnonzero(np.diff(self.first))

    @property
    def rank(self) -> NDArray[np.int32]:
        """[n_intervals] rank of each interval."""
        return np.repeat(np.arange(self.n_ranks, dtype=np.int32), np.diff(self.first))

    def duration_s(self) -> NDArray[np.float64]:
        """[n_intervals] length of each interval in seconds."""
        return self.end_s - self.start_s

    def computing_s(self) -> NDArray[np.float64]:
        """[n_ranks] time that each computes."""
        weights = np.where(self.kind == COMPUTE, self.duration_s(), 0.0)
        return np.bincount(self.rank, weights=weights, minlength=self.n_ranks).astype(np.float64)


def read_timeline(trace: Trace, *, with_messages: bool = True) -> Timeline:
    """The intervals of a trace.

    Parameters
    ----------
    trace : Trace
        Trace of a run, or the part there is of an unfinished one.
    with_messages : bool
        Whether `message` is read; else it is empty.

    Raises
    ------
    UsageError
        If there are none, or without pyarrow.
    """
    columns = ["rank", "start_s", "end_s", "kind", "site", "other", *(["message"] if with_messages else [])]
    table = trace.table("intervals", columns=columns)
    if table.num_rows == 0:
        raise UsageError("the trace has no intervals: no simulated time passed in it")
    rank = integers(table["rank"], np.int32, -1)
    order = np.argsort(rank, kind="stable")
    start_s, end_s = floats(table["start_s"])[order], floats(table["end_s"])[order]
    first = np.searchsorted(rank[order], np.arange(trace.n_ranks + 1))
    places, place_of_site = _places(trace)
    return Timeline(
        n_ranks=trace.n_ranks,
        time_s=float(end_s.max() - start_s.min()),
        first=first.astype(np.int64),
        start_s=start_s,
        end_s=end_s,
        kind=_kinds(table["kind"])[order],
        place=place_of_site[integers(table["site"], np.int32, 0)[order]],
        other=integers(table["other"], np.int32, -1)[order],
        message=integers(table["message"], np.int64, -1)[order] if with_messages else np.empty(0, np.int64),
        places=places,
    )


def integers(column: Any, dtype: type[np.signedinteger[Any]], null: int) -> NDArray[Any]:
    """Column of numbers, with nulls replaced."""
    return np.asarray(numbers(column, null), dtype)


def floats(column: Any) -> NDArray[np.float64]:
    """Column of numbers; null becomes NaN."""
    return np.asarray(numbers(column, nan), np.float64)


def _kinds(column: Any) -> NDArray[np.int8]:
    codes, words = words_by_number(column)
    unknown = [word for word in words if word not in KINDS]
    if unknown:
        raise UsageError(f"the trace has intervals of a kind {unknown[0]!r}, which this version of smpy does not know")
    return np.array([KINDS.index(word) for word in words] or [0], np.int8)[codes]


def words_by_number(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Column of words as numbers, and the words; null becomes the empty word."""
    pyarrow = needed("pyarrow")
    encoded = column if pyarrow.types.is_dictionary(column.type) else column.dictionary_encode()
    chunk = encoded.unify_dictionaries().combine_chunks()
    if isinstance(chunk, pyarrow.ChunkedArray):  # without a row
        return np.empty(0, np.int64), []
    words = [word or "" for word in chunk.dictionary.to_pylist()]
    codes = integers(chunk.indices, np.int64, len(words))
    return codes, [*words, ""] if (codes == len(words)).any() else words


def _places(trace: Trace) -> tuple[list[Place], NDArray[np.int32]]:
    """The places, and the index of each site's place; site 0 belongs to no call."""
    table = trace.table("sites", columns=["site", "call", "file", "line", "is_kernel"])
    calls, call_words = words_by_number(table["call"])
    files, file_words = words_by_number(table["file"])
    lines = integers(table["line"], np.int64, 0)
    kernels = numbers(table["is_kernel"])
    rows = np.stack([calls, files, lines, kernels.astype(np.int64)], axis=1).reshape(-1, 4)
    unique, which = np.unique(rows, axis=0, return_inverse=True)
    places = [
        Place("", "", 0, is_kernel=False),
        *(Place(call_words[c], file_words[f], int(line), bool(k)) for c, f, line, k in unique),
    ]
    sites = integers(table["site"], np.int64, 0)
    place_of_site = np.zeros(int(sites.max(initial=0)) + 1, np.int32)
    place_of_site[sites] = which.reshape(-1) + 1
    return places, place_of_site
