"""Rows of a trace by which phases are found: calls and computing of each rank in order, with codes and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.call_events import POSTED
from smpy.analysis.timeline import floats, integers, words_by_number
from smpy.records.columns import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace

_NO_TIME: Final = (
    *("noise_free", "took", "entry", "and", "latch", "free", "begin_region", "end_region", "launched", "end"),
)
_COLUMNS: Final = {"rank": -1, "site": 0, "comm": -1, "peer": -1, "bytes": 0, "amount": 0}


@dataclass(frozen=True, slots=True, eq=False)
class PhaseRows:
    """Calls and computing of all ranks, sorted by rank; those of a rank are in its order.

    Parameters
    ----------
    n_ranks : int
        Number of ranks.
    first : (n_ranks + 1,) array of int
        Rows of rank r are those from first[r] to first[r + 1] - 1.
    row : (n,) array of int
        Number of the action among those of its rank.
    label : (n,) array of int
        Call and line: index into the trace's `labels`.
    kind : (n,) array of int
        Of a call, the number of its action in `POSTED`; -1: computing.
    code : (n,) array of int
        Of calls: equal numbers for the same call, line, communicator size, distance of the partner and size class.
    computing_s : (n,) array of float
        Seconds of computing.
    date_s : (n of rank 0 + 1,) array of float
        Date of each row of rank 0, and its end.
    n_actions : (n_ranks,) array of int
        Number of all actions of each rank.
    """

    n_ranks: int
    first: NDArray[np.int64]
    row: NDArray[np.int64]
    label: NDArray[np.int32]
    kind: NDArray[np.int64]
    code: NDArray[np.int64]
    computing_s: NDArray[np.float64]
    date_s: NDArray[np.float64]
    n_actions: NDArray[np.int64]

    @property
    def is_call(self) -> NDArray[np.bool_]:
        """[n] whether each is a call; else it is computing."""
        return self.kind >= 0


def read_phase_rows(trace: Trace) -> PhaseRows:
    """Read the calls and the computing of a trace.

    Parameters
    ----------
    trace : Trace
        Trace with dates and all that its ranks did.
    """
    parts: list[list[NDArray[Any]]] = []
    ranks, sites_of_0, marks = [], [], []
    for batch in trace.batches("actions", ["action", *_COLUMNS]):
        words = batch["action"].dictionary.to_pylist()
        action = numbers(batch["action"].indices)
        is_call, is_compute, is_latch, has_no_time = (
            np.isin(action, [number for number, word in enumerate(words) if word in names])
            for names in (POSTED, ("compute",), ("latch",), _NO_TIME)
        )
        columns = [numbers(batch[name], null) for name, null in _COLUMNS.items()]
        kept = is_call | is_compute
        kind = np.array([POSTED.index(word) if word in POSTED else -1 for word in words] or [0])[action]
        parts.append([column[kept] for column in columns] + [kind[kept]])
        ranks.append(columns[0].astype(np.int32))
        is_first = columns[0] == 0
        sites_of_0.append(np.where(has_no_time, -1, columns[1])[is_first])
        marks.append(np.where(is_latch, 2, kept).astype(np.int8))
    rank, site, comm, peer, size, amount, kind = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    whose, mark = np.concatenate(ranks), np.concatenate(marks)
    every = np.argsort(whose, kind="stable")
    begin = np.searchsorted(whose[every], np.arange(trace.n_ranks + 1))
    in_rank = np.arange(len(whose)) - np.repeat(begin[:-1], np.diff(begin))
    is_kept = mark[every] == 1
    follows_latch = np.append(False, mark[every][:-1] == 2)
    row = (in_rank - follows_latch)[is_kept]
    order = np.argsort(rank, kind="stable")
    rank, site, comm, peer, size, amount, kind = (
        column[order] for column in (rank, site, comm, peer, size, amount, kind)
    )
    first = np.searchsorted(rank, np.arange(trace.n_ranks + 1))
    label, intervals = trace.label_of_site[site], _read_intervals(trace)
    return PhaseRows(
        n_ranks=trace.n_ranks,
        first=first,
        row=row,
        label=label,
        kind=kind,
        code=_codes(trace, kind, rank, label, comm, peer, size),
        computing_s=_computing_s(intervals, site, np.where(kind >= 0, 0.0, amount + size), len(trace.label_of_site)),
        date_s=_dates(intervals, trace.makespan_s, np.concatenate(sites_of_0), row[: first[1]]),
        n_actions=np.diff(begin),
    )


def _codes(
    trace: Trace,
    kind: NDArray[np.int64],
    rank: NDArray[np.int32],
    label: NDArray[np.int32],
    comm: NDArray[np.int32],
    peer: NDArray[np.int32],
    size: NDArray[np.int64],
) -> NDArray[np.int64]:
    table = trace.table("comms", ["comm", "n"])
    comms = integers(table["comm"], np.int64, 0)
    size_of = np.bincount(comms, weights=integers(table["n"], np.int64, 0)).astype(np.int64)
    n = np.maximum(np.where(comm >= 0, size_of[np.maximum(comm, 0)], 1), 1)
    away = np.where(peer >= 0, (peer - rank) % n, n)
    size_class = np.frexp(np.maximum(size, 0) + 1.0)[1]
    most = int(n.max(initial=1)) + 1
    call = label.astype(np.int64) * (len(POSTED) + 1) + kind + 1
    return ((call * most + n) * most + away) * 1024 + size_class


def _computing_s(
    intervals: _Intervals, site: NDArray[np.int32], amount: NDArray[np.float64], n_sites: int
) -> NDArray[np.float64]:
    """Seconds of each row: computing in its site, which is of one rank, shared out by amounts."""
    computes = intervals.is_compute
    of_site = np.bincount(intervals.site[computes], intervals.seconds[computes], n_sites)
    amounts = np.bincount(site, amount, n_sites)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_amount = np.where(amounts > 0, of_site / amounts, 0.0)
    seconds: NDArray[np.float64] = amount * per_amount[site]
    return seconds


def _dates(
    intervals: _Intervals, makespan_s: float, sites: NDArray[np.int32], row: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Date of each row of rank 0, and its end.

    Rows of a site that follow each other are matched with intervals of that site that do, where there are as many of
    both: the k-th with the k-th. Dates of rows between them are interpolated.
    """
    takes_time = np.flatnonzero(sites >= 0)
    mine = intervals.rank == 0
    theirs, start_s = intervals.site[mine], intervals.start_s[mine]
    of_rows, of_intervals = _run_begins(sites[takes_time]), _run_begins(theirs)
    n_sites = int(max(sites.max(initial=0), theirs.max(initial=0))) + 1
    row_site, interval_site = sites[takes_time][of_rows], theirs[of_intervals]
    is_sure = np.bincount(row_site, minlength=n_sites) == np.bincount(interval_site, minlength=n_sites)
    one, other = (np.flatnonzero(is_sure[column]) for column in (row_site, interval_site))
    one = one[np.argsort(row_site[one], kind="stable")]
    other = other[np.argsort(interval_site[other], kind="stable")]
    at, begin_s = takes_time[of_rows[one]], start_s[of_intervals[other]]
    order = np.argsort(at)
    known_row = np.concatenate([[-1], at[order], [len(sites)]])
    known_s = np.concatenate([[0.0], np.maximum.accumulate(begin_s[order]), [makespan_s]])
    date_s: NDArray[np.float64] = np.interp(np.append(row, len(sites)), known_row, known_s)
    return date_s


def _run_begins(sites: NDArray[np.int32]) -> NDArray[np.int64]:
    """Begins of runs of equal numbers."""
    return np.flatnonzero(np.append(True, sites[1:] != sites[:-1])) if len(sites) else np.empty(0, np.int64)


class _Intervals(NamedTuple):
    rank: NDArray[np.int32]
    site: NDArray[np.int32]
    start_s: NDArray[np.float64]
    seconds: NDArray[np.float64]
    is_compute: NDArray[np.bool_]


def _read_intervals(trace: Trace) -> _Intervals:
    """Intervals in the order of each rank, but those after its end."""
    table = trace.table("intervals", ["rank", "start_s", "end_s", "kind", "site"])
    codes, words = words_by_number(table["kind"])
    is_there = np.isin(codes, [number for number, word in enumerate(words) if word != "idle"])
    start_s = floats(table["start_s"])[is_there]
    return _Intervals(
        integers(table["rank"], np.int32, 0)[is_there],
        integers(table["site"], np.int32, 0)[is_there],
        start_s,
        floats(table["end_s"])[is_there] - start_s,
        np.isin(codes[is_there], [number for number, word in enumerate(words) if word == "compute"]),
    )
