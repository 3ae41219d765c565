"""Events of a rank for Paraver: calls, lines, operations, sizes of collectives, polls, launches, kernels, regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.errors import UsageError
from smpy.export.added_facts import PROBES, TESTS
from smpy.export.communicators import Communicators
from smpy.export.dated_calls import DatedRank
from smpy.export.mpi_calls import OF_ROOT, name_of, sizes_of
from smpy.export.paraver_names import KERNEL, LAUNCHED_TASK, POLLED_REQUEST, REGION, CallNumbers
from smpy.export.rows_of_ranks import joined
from smpy.records.trace import Trace
from smpy.replay.trace_schedules import queries_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VALUES: Final = tuple("abcdefg")
RECORD: Final = np.dtype([(name, "i8") for name in ("cpu", "task", "date", *_VALUES, "kind")])
"""A record; its kind says what its values mean. Its numbers are those of its line, in their order."""

STATE, EVENT, CALL, COLLECTIVE, PROBE, POLL, MESSAGE = range(7)
"""Kinds of records."""

_NS: Final = 1e9
_FIRST: Final = -1  # place before all actions
_LARGEST: Final = 1e18  # value of an event that readers take
_COLLECTIVES: Final = ("collective", "start")
_STARTS: Final = ("send", "isend", "irecv", "irecv_held", "start")
_NAMED_BY_DETAIL: Final = (*_COLLECTIVES, "send", "isend", "access", "file_access", "file_iaccess")


def whole_ns(dates_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Dates in whole nanoseconds."""
    whole: NDArray[np.int64] = np.rint(dates_s * _NS).astype(np.int64)
    return whole


def records(kind: int, date_ns: NDArray[np.int64], *values: Any) -> NDArray[np.void]:
    """Records of a kind, without a place; further values are 0."""
    rows = np.zeros(len(date_ns), RECORD)
    rows["kind"], rows["date"] = kind, date_ns
    for name, value in zip(_VALUES, values, strict=False):
        rows[name] = value
    return rows


class Events:
    """Events of ranks.

    Parameters
    ----------
    trace : Trace
        Trace of a whole run.
    calls : CallNumbers
        Types and values of its events; calls that Extrae has no number for get theirs as they appear.
    communicators : Communicators
        Communicators of the trace.
    """

    def __init__(self, trace: Trace, calls: CallNumbers, communicators: Communicators) -> None:
        self._calls, self._communicators = calls, communicators
        self._folder, self._queries = trace.folder, queries_of(trace)
        self._line_of_site, self._kernel_of_site = np.array(calls.line_of_site), np.array(calls.kernel_of_site)
        self._has_operations = not trace.keeps_seconds

    def of_rank(self, dated: DatedRank) -> NDArray[np.void]:
        """Events of a rank, in order; it calls Init before its first action, and Finalize behind its last one.

        A rank that another one launches says so first.
        """
        actions = dated.actions
        types, values = self._numbers(dated)
        called = np.flatnonzero(types)
        collective = called[dated.is_named(*_COLLECTIVES)[called]]
        entered, left = (np.flatnonzero(dated.is_named(name)) for name in ("begin_region", "end_region"))
        kernel = np.where(dated.is_named("compute"), self._kernel_of_site[actions["site"]], 0)
        computed = np.flatnonzero(kernel)
        line = self._line_of_site[actions["site"][called]]
        flop = self._flop(dated, called)
        begin_ns, end_ns = whole_ns(dated.dates.begin_s), whole_ns(dated.dates.end_s)
        n_launched = int(dated.is_launched)
        start = records(EVENT, whole_ns(np.full(n_launched, dated.start_s)), LAUNCHED_TASK, dated.rank + 1)
        in_order = [
            (np.full(n_launched, _FIRST), start),
            (np.full(2, _FIRST), self._call_without_line("Init", dated.start_s, 0)),
            (
                called,
                records(CALL, begin_ns[called], types[called], values[called], line, flop[:-1]),
            ),
            (collective, records(COLLECTIVE, begin_ns[collective], *self._sizes(dated, collective))),
            *self._polls(dated, begin_ns),
            _launches(dated, begin_ns),
            (computed, records(EVENT, begin_ns[computed], KERNEL, kernel[computed])),
            (entered, records(EVENT, begin_ns[entered], REGION, actions["detail"][entered] + 1)),
            (left, records(EVENT, begin_ns[left], REGION)),
            (computed, records(EVENT, end_ns[computed], KERNEL)),
            (called, records(CALL, end_ns[called], types[called])),
            (np.full(2, len(actions)), self._call_without_line("Finalize", dated.end_s, flop[-1])),
        ]
        places, parts = zip(*in_order, strict=True)
        events: NDArray[np.void] = joined(parts).take(np.argsort(np.concatenate(places), kind="stable"))
        return events

    def _call_without_line(self, name: str, date_s: float, flop: float) -> NDArray[np.void]:
        """Begin and end of a call, with the operations before it."""
        kind, value = self._calls.of_call(name, is_collective=False)
        return records(CALL, whole_ns(np.full(2, date_s)), kind, [value, 0], 0, [flop, 0])

    def _flop(self, dated: DatedRank, called: NDArray[np.int64]) -> NDArray[np.float64]:
        """Whole operations of a rank up to each of its calls since the one before, and up to its end."""
        is_counted = dated.is_named("compute") & self._has_operations
        flop = np.append(0.0, np.cumsum(np.where(is_counted, dated.actions["amount"], 0.0)))
        whole: NDArray[np.float64] = np.diff(np.rint(flop[[0, *called, -1]]))
        if (whole > _LARGEST).any():
            raise UsageError(
                f"{self._folder} is not written for Paraver: rank {dated.rank} has more than {_LARGEST:.0e} flop "
                "between two calls"
            )
        return whole

    def _numbers(self, dated: DatedRank) -> NDArray[np.int64]:
        """Types and values of the calls of MPI; 0 for other actions."""
        actions, is_call = dated.actions, dated.dates.is_call
        detail = np.where(dated.is_named(*_NAMED_BY_DETAIL), actions["detail"], 0)
        is_over = dated.is_named("send", "isend") & (np.diff(dated.dates.first_over) > 0)
        sort = ((actions["action"].astype(np.int64) << 32) + detail) * 2 + is_over
        sort[~is_call] = -1
        _, first, of_action = np.unique(sort, return_index=True, return_inverse=True)
        numbers = np.zeros((2, len(first)), np.int64)
        for number in np.argsort(first).tolist():
            action = int(first[number])
            if is_call[action]:
                numbers[:, number] = self._number(
                    dated.names[actions["action"][action]], int(detail[action]), is_over=bool(is_over[action])
                )
        return numbers[:, of_action]

    def _number(self, action: str, detail: int, *, is_over: bool) -> tuple[int, int]:
        """Type and value of a call; zeros if it is none of MPI."""
        is_collective = action in _COLLECTIVES
        operation = self._queries[detail][0] if is_collective and detail in self._queries else ""
        name = name_of(action, detail, operation, is_over=is_over)
        return self._calls.of_call(name, is_collective=is_collective) if name else (0, 0)

    def _polls(self, dated: DatedRank, begin_ns: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.void]]]:
        """Facts of tests and probes, with their places; a request that is tested is named where it starts, too."""
        actions, is_test, is_probe = dated.actions, dated.is_named(*TESTS), dated.is_named(*PROBES)
        head = np.maximum.accumulate(np.where(dated.is_named("and"), 0, np.arange(len(actions))))
        request = actions["request"]
        named = np.flatnonzero(is_test[head])
        started = np.flatnonzero(dated.is_named(*_STARTS) & np.isin(request, request[named]))
        probe, poll = np.flatnonzero(is_probe), np.flatnonzero(is_test | is_probe)
        source = self._communicators.world_ranks(actions["comm"][probe], actions["peer"][probe])
        success = actions["detail"][poll]
        in_vain = np.where(dated.is_named("test_any")[poll], success == 0, actions["amount"][poll])
        return [
            (started, records(EVENT, begin_ns[started], POLLED_REQUEST, request[started] + 1)),
            (head[named], records(EVENT, begin_ns[head[named]], POLLED_REQUEST, request[named] + 1)),
            (probe, records(PROBE, begin_ns[probe], source + 1, actions["tag"][probe] + np.int64(1))),
            (poll, records(POLL, begin_ns[poll], success, in_vain)),
        ]

    def _sizes(self, dated: DatedRank, collective: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bytes sent and received in each collective, whether the rank is the root, and the communicator."""
        rows = dated.actions.take(collective)
        columns = (rows[name].tolist() for name in ("action", "comm", "peer", "bytes", "amount", "detail"))
        sizes = np.zeros((len(rows), 4), np.int64)
        for place, (code, comm, root, nbytes, n_entries, detail) in enumerate(zip(*columns, strict=True)):
            is_root = self._communicators.rank(comm, dated.rank) == root
            operation = self._queries[detail][0]
            if dated.names[code] == "start":
                operation = operation.removeprefix("inter_").removeprefix("i")
            tables = dated.tables(int(collective[place])) if n_entries else {}
            sizes[place] = (
                *sizes_of(operation, nbytes, tables, is_root=is_root),
                operation in OF_ROOT and is_root,
                comm + 1,
            )
        return sizes.T


def _launches(dated: DatedRank, begin_ns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """Places and events of the ranks that a rank launches."""
    rows = np.flatnonzero(dated.is_named("launch"))
    n_ranks = dated.actions["detail"][rows]
    place = np.repeat(rows, n_ranks)
    number = np.arange(len(place)) - np.repeat(np.cumsum(n_ranks) - n_ranks, n_ranks)
    return place, records(EVENT, begin_ns[place], LAUNCHED_TASK, dated.actions["peer"][place] + number + 1)
