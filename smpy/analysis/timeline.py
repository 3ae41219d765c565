"""Timelines of ranks and their threads: intervals of a trace as columns, sorted by location (`threads`) and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.result import import_optional
from smpy.analysis.spans import merge_spans
from smpy.errors import UsageError
from smpy.records.columns import numbers
from smpy.records.computing_lines import called, calling
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.threads import MessageSides, locations, rank_of_locations, wake_ups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace

KINDS: Final = INTERVAL_KINDS
"""Kinds of intervals, by number."""

COMPUTE: Final = KINDS.index("compute")
SLEEP: Final = KINDS.index("sleep")
OVERHEAD: Final = KINDS.index("overhead")
POLLING: Final = KINDS.index("polling")
PROBING: Final = KINDS.index("probing")
TRANSFER: Final = KINDS.index("transfer")
LATE: Final = tuple(KINDS.index(kind) for kind in ("late_sender", "late_receiver", "late_members"))
IDLE: Final = KINDS.index("idle")
WORK: Final = COMPUTE, KINDS.index("device")
"""Kinds of intervals in which a rank computes, or waits for its device."""
SKIPPED: Final = KINDS.index("skipped")
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
    """The intervals of all ranks, and of their threads.

    Parameters
    ----------
    n_ranks : int
        Number of ranks of the run.
    rank_of : (n_locations,) array of int
        Rank of each location of intervals: ranks' own programs, then threads.
    started_by : (n_locations,) array of int
        The location that started each; -1: none.
    time_s : float
        Time covered by the trace: the run's makespan, or the length of a window.
    first : (n_locations + 1,) array of int
        Intervals of location o are those from first[o] to first[o + 1] - 1; each begins where the one before ended.
    start_s, end_s : (n_intervals,) array of float
        Dates.
    kind : (n_intervals,) array of int
        Number in `KINDS`.
    place : (n_intervals,) array of int
        Number in `places`.
    other : (n_intervals,) array of int
        The location that was waited for, or that ended a sleep; -1: none.
    message : (n_intervals,) array of int
        The message that ended a wait or a transfer; -1: none.
    places : sequence of Place
        Lines of the program, and their calls.
    """

    n_ranks: int
    rank_of: NDArray[np.int32]
    started_by: NDArray[np.int32]
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
    def traced_ranks(self) -> NDArray[np.int64]:
        """Number of ranks in the trace."""
        return np.flatnonzero(np.diff(self.first[: self.n_ranks + 1]))

    @property
    def n_locations(self) -> int:
        """Number of ranks and threads."""
        return len(self.rank_of)

    @property
    def has_threads(self) -> bool:
        """Whether ranks had threads."""
        return self.n_locations > self.n_ranks

    @property
    def location(self) -> NDArray[np.int32]:
        """[n_intervals] location of each interval."""
        return np.repeat(np.arange(self.n_locations, dtype=np.int32), np.diff(self.first))

    @property
    def rank(self) -> NDArray[np.int32]:
        """[n_intervals] rank of each interval."""
        return np.repeat(self.rank_of, np.diff(self.first))

    def duration_s(self) -> NDArray[np.float64]:
        """[n_intervals] length of each interval in seconds."""
        return self.end_s - self.start_s

    def skipped_s(self) -> float:
        """Mean time of iterations that the ranks in the trace did not perform."""
        is_skipped = self.kind == SKIPPED
        return float(self.duration_s()[is_skipped].sum()) / len(self.traced_ranks) if is_skipped.any() else 0.0

    def computing_s(self) -> NDArray[np.float64]:
        """[n_ranks] time that each computes or waits for its device, in one of its threads or in several at once."""
        computes = np.flatnonzero(np.isin(self.kind, WORK))
        rank, start_s, end_s = self.rank[computes], self.start_s[computes], self.end_s[computes]
        seconds = np.bincount(rank, weights=end_s - start_s, minlength=self.n_ranks).astype(np.float64)
        for one in np.unique(self.rank_of[self.n_ranks :]).tolist():
            mine = rank == one
            spans = merge_spans(start_s[mine], end_s[mine]) if mine.any() else np.zeros((0, 2))
            seconds[one] = float((spans[:, 1] - spans[:, 0]).sum())
        return seconds


def skipped_words(skipped_s: float, time_s: float, figures: str) -> str:
    """Sentence on the share of a run that was not performed; "": all was."""
    share = f"{skipped_s / time_s:.1%} of the time is that of iterations that were skipped" if skipped_s else ""
    return f"{share}: {figures} those performed." if skipped_s else ""


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
    columns = ["start_s", "end_s", "kind", "site", "other", *(["message"] if with_messages else [])]
    table = trace.table("intervals", columns=["rank", *columns])
    if table.num_rows == 0:
        raise UsageError("the trace has no intervals: no simulated time passed in it")
    rank_of = rank_of_locations(trace)
    location, parts = integers(table["rank"], np.int32, -1), [table]
    if len(rank_of) > trace.n_ranks:
        parts.append(trace.table("thread_intervals", columns=["rank", "thread", *columns]))
        location = np.concatenate([location, locations(trace, parts[1])])
    order = np.argsort(location, kind="stable")

    def column(read: Callable[[Any], NDArray[Any]], name: str) -> NDArray[Any]:
        values = [read(part[name]) for part in parts]
        return (values[0] if len(values) == 1 else np.concatenate(values))[order]

    places, place_of_site = _places(trace)
    message = np.empty(0, np.int64)
    if with_messages:
        message = column(lambda values: integers(values, np.int64, -1), "message")
    timeline = Timeline(
        n_ranks=trace.n_ranks,
        rank_of=rank_of,
        started_by=np.full(len(rank_of), -1, np.int32),
        time_s=0.0,
        first=np.searchsorted(location[order], np.arange(len(rank_of) + 1)).astype(np.int64),
        start_s=column(floats, "start_s"),
        end_s=column(floats, "end_s"),
        kind=column(_kinds, "kind"),
        place=place_of_site[column(lambda values: integers(values, np.int32, 0), "site")],
        other=column(lambda values: integers(values, np.int32, -1), "other"),
        message=message,
        places=places,
    )
    if with_messages:
        _set_locations(trace, timeline)
    return replace(timeline, time_s=float(timeline.end_s.max() - timeline.start_s.min()))


def _set_locations(trace: Trace, timeline: Timeline) -> None:
    """Replace ranks that were waited for by the locations that ended the waits, and set the starter of each."""
    other, can_be_woken = timeline.other, np.isin(timeline.kind, (SLEEP, *LATE))
    if timeline.has_threads:
        unknown = np.full(len(other), -1, np.int32)
        sides = MessageSides(trace).locations(timeline.message, unknown, unknown)
        for kind, side in zip(("late_sender", "late_receiver"), sides, strict=True):
            is_known = (timeline.kind == KINDS.index(kind)) & (other >= 0) & (side >= 0)
            other[is_known] = side[is_known]
    woken, date_s, by = wake_ups(trace)
    for one in np.unique(woken).tolist():
        low, high = int(timeline.first[one]), int(timeline.first[one + 1])
        mine = np.flatnonzero(woken == one)
        begins = mine[(date_s[mine] == timeline.start_s[low]) if low < high else np.ones(len(mine), np.bool_)]
        timeline.started_by[one] = by[begins[0]] if len(begins) else -1
        at = low + np.searchsorted(timeline.end_s[low:high], date_s[mine])
        ends = np.flatnonzero(at < high)
        ends = ends[(timeline.end_s[at[ends]] == date_s[mine[ends]]) & can_be_woken[at[ends]]]
        other[at[ends]] = by[mine[ends]]


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
    pyarrow = import_optional("pyarrow")
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
