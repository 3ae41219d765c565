"""MPI calls of each rank with their dates, in order, as a tracing tool would have seen them under the program.

A trace has actions without dates, and intervals and messages with dates; the kernel finds the dates of the actions.
The rows of a rank are in memory, and those of other ranks beside it up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from smpy.engine.call_dates import CALL_KINDS, NO_MESSAGE, NO_QUEUE, CallDates, find_call_dates
from smpy.errors import UsageError
from smpy.export.action_columns import ACTION, action_columns, coded, is_named
from smpy.export.added_facts import TESTS
from smpy.export.communicators import ANY, Communicators
from smpy.export.rows_of_ranks import RowsOfRanks, groups_of_ranks, joined
from smpy.records.columns import is_known, numbers
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace import Trace
from smpy.records.trace_layout import damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SENDS: Final = ("send", "isend")
_RECEIVES: Final = ("recv", "irecv", "irecv_held")
_BUFFERED: Final = 2  # mode of a send that nobody waits for
_OVERHEAD: Final = INTERVAL_KINDS.index("overhead")
_IDLE: Final = INTERVAL_KINDS.index("idle")
_ALONE: Final = {name: INTERVAL_KINDS.index(name) for name in ("compute", "sleep", "overhead")} | {
    "skip": INTERVAL_KINDS.index("skipped")
}
"""Kinds of the intervals of actions that have no site: one interval each, but for skipped time, which may have more."""

_KINDS: Final = {
    **dict.fromkeys(("noise_free", "took", "end", "free", "latch", "host_state"), "none"),
    **dict.fromkeys(("begin_region", "end_region", "launch", "launched"), "instant"),
    **dict.fromkeys(_ALONE, "alone"),
    "skip": "skipped",
    **dict.fromkeys((*_SENDS, *_RECEIVES), "post"),
    **{name: name for name in ("wait", "wait_all", "wait_any", "test", "test_any", "and")},
    **{name: name for name in ("collective", "start", "entry")},
}
"""Kinds of actions, for the kernel, as long as other columns say nothing else; the kind of others is "other"."""

_INTERVAL: Final = np.dtype([("rank", "i4"), ("start_s", "f8"), ("end_s", "f8"), ("site", "i4"), ("kind", "i1")])
_SIDE: Final = np.dtype(
    [
        *(("rank", "i4"), ("site", "i4"), ("message", "i8"), ("source", "i4"), ("target", "i4"), ("tag", "i4")),
        *(("bytes", "i8"), ("posted_s", "f8"), ("ended_s", "f8")),
    ]
)
_CALL_COLUMNS: Final = ("site", "comm", "peer", "tag", "bytes", "amount", "request", "detail")
_SIDE_COLUMNS: Final = ("message", "source", "target", "tag", "bytes", "posted_s", "ended_s")


class TracedMessage(NamedTuple):
    """One side of a message of the program's.

    Attributes
    ----------
    number, source, target, tag, bytes
        Columns of `messages`.
    posted_s, ended_s : float
        Dates at which this side was posted, and at which the message had arrived.
    comm, request : int
        Communicator, and the rank's number of the request.
    is_receive : bool
        Whether this is the side that receives.
    """

    number: int
    source: int
    target: int
    tag: int
    bytes: int
    posted_s: float
    ended_s: float
    comm: int
    request: int
    is_receive: bool


class DatedCall(NamedTuple):
    """An action of a rank, with its dates.

    Attributes
    ----------
    action : str
        Its name.
    begin_s, end_s : float
        Dates at which it began and ended.
    site, comm, peer, tag, bytes, amount, request, detail
        Columns of `actions`.
    message : TracedMessage or None
        The message that it sent, or posted a receive for.
    completed : sequence of TracedMessage
        Messages whose requests it completed.
    collectives : sequence of DatedCall
        Started collectives that it completed.
    tables : dict
        Tables of a collective.
    tested : sequence of int
        Requests that it tests.
    """

    action: str
    begin_s: float
    end_s: float
    site: int
    comm: int
    peer: int
    tag: int
    bytes: int
    amount: float
    request: int
    detail: int
    message: TracedMessage | None
    completed: Sequence[TracedMessage]
    collectives: Sequence[DatedCall]
    tables: dict[int, list[int]]
    tested: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class DatedRank:
    """Calls and computing of one rank, in order.

    Attributes
    ----------
    rank : int
        The rank.
    names : sequence of str
        Names of actions, by their numbers.
    actions, intervals : structured array
        Its rows of `actions` and `intervals`; words are numbers.
    sides : structured array
        Its sides of messages.
    dates : CallDates
        Dates of its actions; those that are no calls have none.
    """

    rank: int
    names: Sequence[str]
    actions: NDArray[np.void]
    intervals: NDArray[np.void]
    sides: NDArray[np.void]
    dates: CallDates

    @property
    def is_launched(self) -> bool:
        """Whether another rank launches this one."""
        return bool(self.is_named("launched").any())

    @property
    def start_s(self) -> float:
        """Date at which the rank started."""
        return _start_s(self.intervals)

    @property
    def end_s(self) -> float:
        """Date at which the last call ended."""
        return float(self.dates.end_s.max(initial=self.start_s))

    def tables(self, action: int) -> dict[int, list[int]]:
        """Tables of a collective, from the entries behind it."""
        tables: dict[int, list[int]] = {}
        entries = self.actions[action + 1 :][: int(self.actions["amount"][action])]
        for number, offset in zip(entries["detail"].tolist(), entries["bytes"].tolist(), strict=True):
            tables.setdefault(number, []).append(offset)
        return tables

    def tested(self, action: int) -> list[int]:
        """Requests of a test: its own, and those of the list behind it."""
        end = action + 1
        while end < len(self.actions) and self.names[self.actions["action"][end]] == "and":
            end += 1
        requests: list[int] = self.actions["request"][action:end].tolist()
        return requests

    def is_named(self, *names: str) -> NDArray[np.bool_]:
        """Mask of the actions with one of some names."""
        return is_named(self.names, self.actions["action"], *names)

    def calls(self) -> Iterator[DatedCall]:
        """Yield the calls."""
        dates = self.dates
        rows = list(zip(*(self.actions[name].tolist() for name in _CALL_COLUMNS), strict=True))
        sides = list(zip(*(self.sides[name].tolist() for name in _SIDE_COLUMNS), strict=True))
        codes, side_of = self.actions["action"].tolist(), dates.message.tolist()
        begin_s, end_s = dates.begin_s.tolist(), dates.end_s.tolist()
        first_over, over = dates.first_over.tolist(), dates.over.tolist()
        posted: dict[int, TracedMessage] = {}  # by action, as long as no call has completed it
        started: dict[int, DatedCall] = {}
        for number in np.flatnonzero(dates.is_call).tolist():
            action, row = self.names[codes[number]], rows[number]
            message = None
            if side_of[number] != NO_MESSAGE:
                comm, request = row[_CALL_COLUMNS.index("comm")], row[_CALL_COLUMNS.index("request")]
                message = TracedMessage._make((*sides[side_of[number]], comm, request, action in _RECEIVES))
                posted[number] = message
            ended = over[first_over[number] : first_over[number + 1]]
            completed = [posted.pop(each) for each in ended if each in posted]
            collectives = [started.pop(each) for each in ended if each in started]
            tables = self.tables(number) if action in ("collective", "start") else {}
            tested = self.tested(number) if action in TESTS else ()
            parts = message, completed, collectives, tables, tested
            call = DatedCall._make((action, begin_s[number], end_s[number], *row, *parts))
            if action == "start":
                started[number] = call
            yield call


def dated_ranks(trace: Trace, communicators: Communicators) -> Iterator[DatedRank]:
    """Yield the calls of each rank, in the order of ranks.

    Parameters
    ----------
    trace : Trace
        Trace of a whole run.
    communicators : Communicators
        Communicators of the trace.
    """
    group_of_rank = groups_of_ranks(trace.n_rows("actions") + trace.n_rows("intervals"), trace.n_ranks)
    with TemporaryDirectory(prefix="smpy-export-") as name:
        dtypes = {"actions": ACTION, "intervals": _INTERVAL, "sent": _SIDE, "received": _SIDE}
        tables = {table: RowsOfRanks(Path(name), table, group_of_rank, dtype) for table, dtype in dtypes.items()}
        numbers_of_names: dict[str, int] = {}
        for columns in action_columns(trace, numbers_of_names):
            tables["actions"].add(columns)
        names = list(numbers_of_names)
        _add_intervals(trace, tables["intervals"])
        _add_messages(trace, "send", "source", tables["sent"])
        _add_messages(trace, "receive", "target", tables["received"])
        rank = 0
        for group in range(int(group_of_rank[-1]) + 1):
            for rows in zip(*(table.read(group) for table in tables.values()), strict=True):
                dated = _dated(communicators, rank, names, *rows)
                if (dated.intervals["kind"][dated.dates.n_intervals :] != _IDLE).any():
                    for action in np.flatnonzero(dated.is_named(*_SENDS) & (dated.dates.message == NO_MESSAGE)):
                        call = trace.labels[trace.label_of_site[dated.actions["site"][action]]]
                        reason = f"nobody receives a message of rank {rank} ({call}), so its calls have no dates"
                        raise UsageError(f"{trace.folder} cannot be written with dates: {reason}")
                    raise damaged(f"{trace.folder}: the intervals of rank {rank} are not those of its actions")
                yield dated
                rank += 1


def _add_intervals(trace: Trace, table: RowsOfRanks) -> None:
    names = {kind: number for number, kind in enumerate(INTERVAL_KINDS)}
    for batch in trace.batches("intervals", _INTERVAL.names):
        columns = {name: numbers(batch[name], null=0) for name in ("rank", "start_s", "end_s", "site")}
        table.add(columns | {"kind": coded(batch["kind"], names)})


def _add_messages(trace: Trace, side: str, rank: str, table: RowsOfRanks) -> None:
    """Add the program's own messages, without those of collectives, as rows of the ranks at one side."""
    posted, site = f"{side}_posted_s", f"{side}_site"
    columns = ["message", "source", "target", "tag", "bytes", site, posted, "ended_s"]
    for batch in trace.batches("messages", columns):
        is_own = is_known(batch["tag"]) & is_known(batch[site]) & is_known(batch[posted]) & is_known(batch["ended_s"])
        rows = {name: numbers(batch[name])[is_own] for name in columns}
        table.add({"rank": rows[rank], "site": rows.pop(site), "posted_s": rows.pop(posted), **rows})


def _dated(
    communicators: Communicators,
    rank: int,
    names: Sequence[str],
    actions: NDArray[np.void],
    intervals: NDArray[np.void],
    sent: NDArray[np.void],
    received: NDArray[np.void],
) -> DatedRank:
    """Dates of the actions of one rank."""
    peer, tag = _taken(names, actions)
    partner = _partners(communicators, names, actions, peer)
    sides = joined((sent, received))
    is_received = np.arange(len(sides)) >= len(sent)
    queue_of_side = _keys(is_received, sides["site"], np.where(is_received, sides["source"], sides["target"]))
    order = np.lexsort((sides["message"], queue_of_side))
    sides, (queues, first) = sides.take(order), np.unique(queue_of_side[order], return_index=True)
    key = _keys(is_named(names, actions["action"], *_RECEIVES), actions["site"], partner)
    queue = np.searchsorted(queues, key)
    has_queue = (partner != ANY) & (np.append(queues, -1)[queue] == key)
    requests, request = np.unique(actions["request"], return_inverse=True)
    columns = {
        "kind": _kinds(names, actions),
        "alone_kind": np.array([_ALONE.get(name, _IDLE) for name in names], np.int8)[actions["action"]],
        "site": actions["site"],
        "tag": tag,
        "request": request,
        "queue": np.where(has_queue, queue, NO_QUEUE),
        "chosen": actions["detail"],
        **{f"interval_{name}": intervals[name] for name in ("end_s", "site", "kind")},
        "first_of_queue": np.append(first, len(sides)),
        "message_tag": sides["tag"],
        **{name: sides[name] for name in ("posted_s", "ended_s")},
    }
    dates = find_call_dates(columns, len(requests), _OVERHEAD, _start_s(intervals))
    return DatedRank(rank, names, actions, intervals, sides, dates)


def _start_s(intervals: NDArray[np.void]) -> float:
    """Date at which a rank started: later than 0 if another one has started it."""
    return float(intervals["start_s"][0]) if len(intervals) else 0.0


def _kinds(names: Sequence[str], actions: NDArray[np.void]) -> NDArray[np.int8]:
    """The kernel's kinds of actions."""
    of_name = np.array([CALL_KINDS[_KINDS.get(name, "other")] for name in names], np.int8)
    kinds: NDArray[np.int8] = of_name[actions["action"]]
    is_alone = (kinds == CALL_KINDS["alone"]) | (kinds == CALL_KINDS["skipped"])
    kinds[is_alone & ~(actions["amount"] > 0)] = CALL_KINDS["instant"]
    kinds[(kinds == CALL_KINDS["test"]) & (actions["detail"] == 0)] = CALL_KINDS["other"]
    is_over = is_named(names, actions["action"], "send") & (actions["amount"] == 1)
    kinds[is_over | is_named(names, actions["action"], "recv")] = CALL_KINDS["post_and_wait"]
    kinds[is_named(names, actions["action"], *_SENDS) & (actions["detail"] == _BUFFERED)] = CALL_KINDS["post_buffered"]
    return kinds


def _taken(names: Sequence[str], actions: NDArray[np.void]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Peers and tags of actions; those of receives from any source are those of the messages that they took."""
    peer, tag = actions["peer"].copy(), actions["tag"].copy()
    is_any = is_named(names, actions["action"], *_RECEIVES) & (peer == ANY) | is_named(
        names, actions["action"], "irecv_held"
    )
    took = actions[is_named(names, actions["action"], "took")]
    if len(took):
        took = took[np.argsort(took["request"], kind="stable")]
        request = actions["request"][is_any]
        last = np.searchsorted(took["request"], request, side="right") - 1
        has_taken = (last >= 0) & (took["request"][last] == request)
        for column, of_took in ((peer, took["peer"]), (tag, took["tag"])):
            column[is_any] = np.where(has_taken, of_took[last], column[is_any])
    return peer, tag


def _partners(
    communicators: Communicators, names: Sequence[str], actions: NDArray[np.void], peer: NDArray[np.int32]
) -> NDArray[np.int32]:
    """World ranks at the other side of the messages that actions post; `ANY` of other actions."""
    partner = np.full(len(actions), ANY, np.int32)
    is_post = is_named(names, actions["action"], *_SENDS, *_RECEIVES)
    partner[is_post] = communicators.world_ranks(actions["comm"][is_post], peer[is_post])
    return partner


def _keys(is_received: NDArray[np.bool_], site: NDArray[np.int32], partner: NDArray[np.int32]) -> NDArray[np.int64]:
    """Number of each side, site and rank at the other side of a message."""
    keys: NDArray[np.int64] = ((site.astype(np.int64) << 32) + partner) * 2 + is_received
    return keys
