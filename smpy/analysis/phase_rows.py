"""Rows of a trace by which phases are found: calls and computing of each rank in order, with codes and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.analysis.call_events import POSTED
from smpy.analysis.timeline import integers
from smpy.records.columns import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace

_NO_TIME: Final = (
    *("noise_free", "took", "entry", "and", "latch", "free", "begin_region", "end_region", "launched", "end"),
)
_COLUMNS: Final = {"rank": -1, "site": 0, "comm": -1, "peer": -1, "bytes": 0, "amount": 0}
_TYPES: Final = {
    "rank": np.int32,
    "site": np.int32,
    "row": np.int32,
    "kind": np.int8,
    "code": np.int64,
    "amount": np.float64,
    "site_of_0": np.int32,
}


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
        Number of a call's action in `POSTED`; -1: computing.
    code : (n,) array of int
        Number of a call, which is that of others with its name, line, communicator size, distance of the partner and
        size class.
    computing_s : (n,) array of float
        Seconds of computing.
    date_s : (n of rank 0 + 1,) array of float
        Date of each row of rank 0, and its end.
    n_actions : (n_ranks,) array of int
        Number of all actions of each rank.
    """

    n_ranks: int
    first: NDArray[np.int64]
    row: NDArray[np.int32]
    label: NDArray[np.int32]
    kind: NDArray[np.int8]
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
    reader = _ActionReader(trace)
    for batch in trace.batches("actions", ["action", *_COLUMNS]):
        reader.read(batch)
    rank = reader.take("rank")
    order = np.argsort(rank, kind="stable")
    first = np.searchsorted(rank[order], np.arange(trace.n_ranks + 1))
    del rank
    row, kind, code, site, amount = (reader.take(name)[order] for name in ("row", "kind", "code", "site", "amount"))
    intervals = _read_intervals(trace, len(trace.label_of_site))
    with np.errstate(invalid="ignore", divide="ignore"):
        per_amount = np.where(reader.amount_of_site > 0, intervals.computing_s / reader.amount_of_site, 0.0)
    amount *= per_amount[site]
    return PhaseRows(
        n_ranks=trace.n_ranks,
        first=first,
        row=row,
        label=trace.label_of_site[site],
        kind=kind,
        code=code,
        computing_s=amount,
        date_s=_dates(intervals, trace.makespan_s, reader.take("site_of_0"), row[: first[1]]),
        n_actions=reader.n_actions,
    )


class _ActionReader:
    """Columns of calls and computing in small types, from batches of actions: of a long trace, they are its memory.

    Attributes
    ----------
    n_actions : (n_ranks,) array of int
        Actions of each rank so far.
    amount_of_site : (n_sites,) array of float
        Operations and bytes of computing in each site.
    """

    def __init__(self, trace: Trace) -> None:
        comms = trace.table("comms", ["comm", "n"])
        self._size_of_comm = np.bincount(integers(comms["comm"], np.int64, 0), integers(comms["n"], np.int64, 0))
        self._label_of_site, n_sites = trace.label_of_site, len(trace.label_of_site)
        self._most = int(self._size_of_comm.max(initial=1)) + 1
        self._follows_latch = np.zeros(trace.n_ranks, np.bool_)
        self._parts: dict[str, list[NDArray[Any]]] = {name: [np.empty(0, dtype)] for name, dtype in _TYPES.items()}
        self.n_actions = np.zeros(trace.n_ranks, np.int64)
        self.amount_of_site = np.zeros(n_sites)

    def read(self, batch: Any) -> None:
        """Take the rows of a batch."""
        words = batch["action"].dictionary.to_pylist()
        action = numbers(batch["action"].indices)
        is_call, is_compute, is_latch, has_no_time = (
            np.isin(action, [number for number, word in enumerate(words) if word in names])
            for names in (POSTED, ("compute",), ("latch",), _NO_TIME)
        )
        rank, site, comm, peer, size, amount = (numbers(batch[name], null) for name, null in _COLUMNS.items())
        kind = np.array([POSTED.index(word) if word in POSTED else -1 for word in words] or [0], np.int8)[action]
        row, kept = self._numbered(rank, is_latch), is_call | is_compute
        amount = np.where(is_compute, amount + size, 0.0)
        self.amount_of_site += np.bincount(site, amount, len(self.amount_of_site))
        code = self._codes(kind[kept], rank[kept], self._label_of_site[site[kept]], comm[kept], peer[kept], size[kept])
        rows = {"rank": rank, "site": site, "row": row, "kind": kind, "amount": amount}
        for name, column in rows.items():
            self._parts[name].append(column[kept].astype(_TYPES[name]))
        self._parts["code"].append(code)
        self._parts["site_of_0"].append(np.where(has_no_time, -1, site)[rank == 0].astype(np.int32))

    def take(self, name: str) -> NDArray[Any]:
        """Return a column, and free its parts."""
        return np.concatenate(self._parts.pop(name))

    def _numbered(self, rank: NDArray[np.int32], is_latch: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Number of each action in its rank; one that follows a latch has the latch's, with which it begins."""
        order = np.argsort(rank, kind="stable")
        ranks, begins, counts = np.unique(rank[order], return_index=True, return_counts=True)
        number = np.arange(len(rank)) - np.repeat(begins - self.n_actions[ranks], counts)
        follows_latch = np.append(False, is_latch[order][:-1])
        follows_latch[begins] = self._follows_latch[ranks]
        self.n_actions[ranks] += counts
        self._follows_latch[ranks] = is_latch[order][begins + counts - 1]
        row = np.empty(len(rank), np.int64)
        row[order] = number - follows_latch
        return row

    def _codes(
        self,
        kind: NDArray[np.int8],
        rank: NDArray[np.int32],
        label: NDArray[np.int32],
        comm: NDArray[np.int32],
        peer: NDArray[np.int32],
        size: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        n = np.maximum(np.where(comm >= 0, self._size_of_comm[np.maximum(comm, 0)], 1), 1).astype(np.int64)
        away = np.where(peer >= 0, (peer - rank) % n, n)
        size_class = np.frexp(np.maximum(size, 0) + 1.0)[1]
        call = label.astype(np.int64) * (len(POSTED) + 1) + kind + 1
        return ((call * self._most + n) * self._most + away) * 1024 + size_class


def _dates(
    intervals: _Intervals, makespan_s: float, sites: NDArray[np.int32], row: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Date of each row of rank 0, and its end.

    Rows of a site that follow each other are matched with intervals of that site that do, where there are as many of
    both: the k-th with the k-th. Dates of rows between them are interpolated.
    """
    takes_time = np.flatnonzero(sites >= 0)
    theirs, start_s = intervals.site_of_0, intervals.start_of_0_s
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
    """Computing in each site; sites and begins of the intervals of rank 0, in order."""

    computing_s: NDArray[np.float64]
    site_of_0: NDArray[np.int32]
    start_of_0_s: NDArray[np.float64]


def _read_intervals(trace: Trace, n_sites: int) -> _Intervals:
    """Intervals of a trace, but those after the end of a rank."""
    computing_s = np.zeros(n_sites)
    sites, starts_s = [np.empty(0, np.int32)], [np.empty(0)]
    for batch in trace.batches("intervals", ["rank", "start_s", "end_s", "kind", "site"]):
        words, codes = batch["kind"].dictionary.to_pylist(), numbers(batch["kind"].indices)
        is_idle, is_compute = (
            np.isin(codes, [number for number, word in enumerate(words) if word == kind])
            for kind in ("idle", "compute")
        )
        site, start_s = numbers(batch["site"], 0), numbers(batch["start_s"])
        seconds = (numbers(batch["end_s"]) - start_s)[is_compute]
        computing_s += np.bincount(site[is_compute], seconds, n_sites)
        mine = (numbers(batch["rank"]) == 0) & ~is_idle
        sites.append(site[mine].astype(np.int32))
        starts_s.append(start_s[mine])
    return _Intervals(computing_s, np.concatenate(sites), np.concatenate(starts_s))
