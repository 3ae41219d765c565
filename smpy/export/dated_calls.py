"""MPI calls of each rank with their dates, in order, as a tracing tool would have seen them under the program.

A trace has actions without dates, and intervals and messages with dates. Both are in the order of their rank, so that
the intervals of an action are those of its line that follow the intervals of the action before. A message says when
its sides were posted, and when it had arrived. Calls of one line that follow each other and take no time in between
share their intervals: collectives among them end with the last one, which then has all of the time.

The rows of a rank are in memory, and those of other ranks beside it up to a limit.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from smpy.export.communicators import ANY, Communicators
from smpy.export.rows_of_ranks import RowsOfRanks, groups_of_ranks
from smpy.records.columns import is_known, numbers
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace import Trace
from smpy.records.trace_layout import damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SENDS: Final = ("send", "isend")
_RECEIVES: Final = ("recv", "irecv", "irecv_held")
_LISTS: Final = ("wait_all", "wait_any", "test_any")
_COLLECTIVES: Final = ("collective", "start")
_BUFFERED: Final = 2  # mode of a send that nobody waits for
_TESTS: Final = ("test", "get_status")
_REGIONS: Final = ("begin_region", "end_region")
_NO_CALLS: Final = (*("noise_free", "took", "end", "free", "latch", "launch", "launched", "host_state"),)
_ACTION_COLUMNS: Final = ("rank", "action", "site", "comm", "peer", "tag", "bytes", "amount", "request", "detail")
_NULL: Final = {"site": 0, "comm": -1}


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


class DatedRank(NamedTuple):
    """Calls and computing of one rank, in order; and its intervals, as rows."""

    rank: int
    calls: list[DatedCall]
    intervals: NDArray[np.void]


def dated_ranks(trace: Trace, communicators: Communicators) -> Iterator[DatedRank]:
    """Yield the calls of each rank, in the order of ranks.

    Parameters
    ----------
    trace : Trace
        Trace of a whole run.
    communicators : Communicators
        Those of the trace.
    """
    group_of_rank = groups_of_ranks(trace.n_rows("actions") + trace.n_rows("intervals"), trace.n_ranks)
    with TemporaryDirectory(prefix="smpy-export-") as name:
        folder = Path(name)
        actions, names = _actions(trace, RowsOfRanks(folder, "actions", group_of_rank))
        intervals = _intervals(trace, RowsOfRanks(folder, "intervals", group_of_rank))
        sent = _messages(trace, "send", "source", RowsOfRanks(folder, "sent", group_of_rank))
        received = _messages(trace, "receive", "target", RowsOfRanks(folder, "received", group_of_rank))
        rank = 0
        for group in range(int(group_of_rank[-1]) + 1):
            tables = [table.read(group) for table in (actions, intervals, sent, received)]
            for _ in range(np.count_nonzero(group_of_rank == group)):
                of_rank = [table.pop(rank, None) for table in tables]
                walk = _Walk(communicators, names, *of_rank)
                dated = DatedRank(rank, walk.calls(), walk.intervals)
                if not walk.is_over:
                    raise damaged(f"{trace.folder}: the intervals of rank {rank} are not those of its actions")
                yield dated
                rank += 1


def _rows(columns: dict[str, NDArray[Any]]) -> NDArray[np.void]:
    """A structured array of columns."""
    dtype = np.dtype([(name, column.dtype) for name, column in columns.items()])
    rows = np.empty(len(columns["rank"]), dtype)
    for name, column in columns.items():
        rows[name] = column
    return rows


def _actions(trace: Trace, table: RowsOfRanks) -> tuple[RowsOfRanks, list[str]]:
    names: dict[str, int] = {}
    for batch in trace.batches("actions", _ACTION_COLUMNS):
        codes = _coded(batch["action"], names)
        columns = {
            name: codes if name == "action" else numbers(batch[name], null=_NULL.get(name)) for name in _ACTION_COLUMNS
        }
        table.add(_rows(columns))
    return table, list(names)


def _coded(column: Any, names: dict[str, int]) -> NDArray[np.int8]:
    """Numbers of words; new ones are added to the known ones."""
    codes = [names.setdefault(word, len(names)) for word in column.dictionary.to_pylist()]
    coded: NDArray[np.int8] = np.array(codes, np.int8)[numbers(column.indices)]
    return coded


def _intervals(trace: Trace, table: RowsOfRanks) -> RowsOfRanks:
    names = {kind: number for number, kind in enumerate(INTERVAL_KINDS)}
    for batch in trace.batches("intervals", ["rank", "start_s", "end_s", "kind", "site"]):
        columns = {name: numbers(batch[name], null=_NULL.get(name)) for name in ("rank", "start_s", "end_s", "site")}
        table.add(_rows(columns | {"kind": _coded(batch["kind"], names)}))
    return table


def _messages(trace: Trace, side: str, rank: str, table: RowsOfRanks) -> RowsOfRanks:
    """The program's own messages, without those of collectives, as rows of the ranks at one side."""
    posted, site = f"{side}_posted_s", f"{side}_site"
    columns = ["message", "source", "target", "tag", "bytes", site, posted, "ended_s"]
    for batch in trace.batches("messages", columns):
        is_own = is_known(batch["tag"]) & is_known(batch[site]) & is_known(batch[posted]) & is_known(batch["ended_s"])
        rows = {name: numbers(batch[name])[is_own] for name in columns}
        table.add(_rows({"rank": rows[rank], "site": rows.pop(site), "posted_s": rows.pop(posted), **rows}))
    return table


class _Walk:
    """Walk along the actions of a rank, beside its intervals."""

    def __init__(
        self,
        communicators: Communicators,
        names: Sequence[str],
        actions: NDArray[np.void] | None,
        intervals: NDArray[np.void] | None,
        sent: NDArray[np.void] | None,
        received: NDArray[np.void] | None,
    ) -> None:
        self._communicators = communicators
        self._rows = _lists(actions, _ACTION_COLUMNS)
        self._rows["action"] = [names[code] for code in self._rows["action"]]
        self.intervals = np.empty(0, _INTERVAL) if intervals is None else intervals
        of_intervals = _lists(intervals, ("start_s", "end_s", "site", "kind"))
        self._start_s, self._end_s = of_intervals["start_s"], of_intervals["end_s"]
        self._site, self._kind = of_intervals["site"], of_intervals["kind"]
        self._next = 0  # interval
        self._now_s = 0.0
        self._sent = _by_line(sent, "target")
        self._received = _by_line(received, "source")
        self._took = {
            request: (peer, tag)
            for action, request, peer, tag in zip(*(self._rows[name] for name in _TOOK_COLUMNS), strict=True)
            if action == "took"
        }
        self._open: dict[int, TracedMessage] = {}
        self._started: dict[int, DatedCall] = {}  # collectives

    def calls(self) -> list[DatedCall]:
        """The calls, in order."""
        calls: list[DatedCall] = []
        left = deque(zip(*(self._rows[name] for name in _ACTION_COLUMNS), strict=True))
        while left:
            row = left.popleft()
            _, action, site, comm, peer, tag, nbytes, amount, request, detail = row
            if action in _NO_CALLS:
                continue
            begin_s = self._now_s
            message: TracedMessage | None = None
            waited: Sequence[int] = ()
            completed: Sequence[TracedMessage] = ()
            tables: dict[int, list[int]] = {}
            if action in _LISTS:
                listed = [request, *_following(left, "and", _REQUEST)]
                waited = listed if action == "wait_all" else listed[detail - 1 : detail] if detail else ()
                completed = self._wait(site, waited, is_poll=action == "test_any")
            elif action in _COLLECTIVES:
                tables = self._collective(site, left)
            elif action in _SENDS or action in _RECEIVES:
                begin_s, message = self._post(row)
                if message is not None:
                    completed = self._end_of_post(action, site, amount, detail, message)
            elif action in _ALONE:
                self._pass_one(_ALONE[action], amount)
            elif action == "skip":
                self._pass_skipped(begin_s + amount)
            elif action == "wait" or (action in _TESTS and detail):
                waited = (request,)
                completed = self._wait(site, waited, is_poll=action != "wait")
            elif action not in _REGIONS:
                self._pass(site)
            collectives = [self._started.pop(each) for each in waited if each in self._started]
            columns = site, comm, peer, tag, nbytes, amount, request, detail
            parts = message, completed, collectives, tables
            calls.append(DatedCall(action, begin_s, self._now_s, *columns, *parts))
            if action == "start":
                self._started[request] = calls[-1]
        return calls

    @property
    def is_over(self) -> bool:
        """Whether all intervals but the idle time at the end belong to a call."""
        return all(kind == _IDLE for kind in self._kind[self._next :])

    def _collective(self, site: int, left: deque[tuple[Any, ...]]) -> dict[int, list[int]]:
        """Go to the end of a collective, unless another one of its line follows; return its tables.

        A message of its line that follows says when it was over.
        """
        tables: dict[int, list[int]] = {}
        while left and left[0][_ACTION] == "entry":
            entry = left.popleft()
            tables.setdefault(entry[_DETAIL], []).append(entry[_BYTES])
        if not left or left[0][_SITE] != site:
            self._pass(site)
        elif left[0][_ACTION] not in _COLLECTIVES:
            match = self._find(left[0])
            until_s = None if match is None else match[0][match[1]][_POSTED]
            while self._is_next(site) and (until_s is None or self._end_s[self._next] <= until_s):
                self._go_on()
        return tables

    def _wait(self, site: int, requests: Sequence[int], *, is_poll: bool) -> list[TracedMessage]:
        """Go to the end of a wait; return the messages whose requests it completed."""
        completed = [self._open.pop(request) for request in requests if request in self._open]
        ended_s = max((each.ended_s for each in completed), default=None)
        is_known = not is_poll and not any(request in self._started for request in requests)
        self._pass(site, ended_s if is_known else None, len(completed))
        return completed

    def _pass(self, site: int, until_s: float | None = None, n_overheads: int = 1) -> None:
        """Go to the end of the next intervals of a line; with a date, of those that end until then, and overheads."""
        while self._is_next(site) and (until_s is None or self._end_s[self._next] <= until_s):
            self._go_on()
        while n_overheads and self._is_next(site) and self._kind[self._next] == _OVERHEAD:
            self._go_on()
            n_overheads -= 1

    def _go_on(self) -> None:
        """Go to the end of the next interval."""
        self._now_s = self._end_s[self._next]
        self._next += 1

    def _pass_one(self, kind: int, amount: float) -> None:
        """Go to the end of the next interval, if it is of a kind."""
        if amount > 0 and self._next < len(self._site) and self._kind[self._next] == kind:
            self._go_on()

    def _pass_skipped(self, until_s: float) -> None:
        """Go to the end of skipped time: of a gathering of ranks, and of what is added to it."""
        while self._now_s < until_s * (1 - _ROUNDING) and self._next < len(self._kind):
            if self._kind[self._next] != _SKIPPED:
                return
            self._go_on()

    def _is_next(self, site: int) -> bool:
        """Whether the next interval is of a line."""
        return self._next < len(self._site) and self._site[self._next] == site

    def _find(self, row: _Columns) -> tuple[deque[_Columns], int] | None:
        """Find the message of an action: a queue, and its place there; None: it has none."""
        _, action, site, comm, peer, tag, _, _, request, _ = row
        if action in _SENDS:
            messages = self._sent
        elif action in _RECEIVES:
            messages = self._received
            if peer == ANY or action == "irecv_held":
                peer, tag = self._took.get(request, (peer, tag))
        else:
            return None
        other = peer if peer == ANY else self._communicators.world_rank(comm, peer)
        return _place(messages, site, other, tag)

    def _post(self, row: _Columns) -> tuple[float, TracedMessage | None]:
        """Go to the date at which a message was posted; return the begin of the call, and the message."""
        _, action, site, comm, _, _, _, _, request, _ = row
        match = self._find(row)
        message = None
        if match is not None:
            queue, place = match
            message = TracedMessage._make((*queue[place], comm, request, action in _RECEIVES))
            del queue[place]
        begin_s = self._now_s
        if message is None:
            return begin_s, None
        while self._next < len(self._site) and self._end_s[self._next] <= message.posted_s:
            is_before = not self._is_next(site)
            self._go_on()
            if is_before:
                begin_s = self._now_s  # an interval of a call before
        return begin_s, message

    def _end_of_post(
        self, action: str, site: int, amount: float, detail: int, message: TracedMessage
    ) -> Sequence[TracedMessage]:
        """Go to the end of a call that waits for its message, or open its request; return the message if it is over."""
        if action in _SENDS and detail == _BUFFERED:
            return (message,)
        if action == "recv" or (action == "send" and amount == 1):
            self._pass(site, message.ended_s)
            return (message,)
        self._open[message.request] = message
        return ()


_INTERVAL: Final = np.dtype(
    [("rank", "i4"), ("start_s", "f8"), ("end_s", "f8"), ("site", "i4"), ("kind", "i1")],
)
_MESSAGE_COLUMNS: Final = ("message", "source", "target", "tag", "bytes", "posted_s", "ended_s")
_TAG, _POSTED = map(_MESSAGE_COLUMNS.index, ("tag", "posted_s"))
_TOOK_COLUMNS: Final = ("action", "request", "peer", "tag")
_ACTION, _SITE, _BYTES, _REQUEST, _DETAIL = map(_ACTION_COLUMNS.index, ("action", "site", "bytes", "request", "detail"))
_OVERHEAD: Final = INTERVAL_KINDS.index("overhead")
_IDLE: Final = INTERVAL_KINDS.index("idle")
_SKIPPED: Final = INTERVAL_KINDS.index("skipped")
_ROUNDING: Final = 1e-12  # of dates
_ALONE: Final = {name: INTERVAL_KINDS.index(name) for name in ("compute", "sleep", "overhead")}
"""Actions of one interval each, with its kind."""

_Columns = tuple[Any, ...]
_ByLine = dict[tuple[int, int], deque[_Columns]]


def _lists(rows: NDArray[np.void] | None, names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [] if rows is None else rows[name].tolist() for name in names}


def _by_line(rows: NDArray[np.void] | None, other: str) -> _ByLine:
    """Messages of a rank by line and by the rank at the other side, in the order in which they were matched."""
    messages: _ByLine = defaultdict(deque)
    if rows is not None:
        rows = rows[np.argsort(rows["message"], kind="stable")]
        columns = zip(*(rows[name].tolist() for name in _MESSAGE_COLUMNS), strict=True)
        for site, rank, message in zip(rows["site"].tolist(), rows[other].tolist(), columns, strict=True):
            messages[site, rank].append(message)
    return messages


def _following(left: deque[tuple[Any, ...]], action: str, column: int) -> Iterator[Any]:
    """A column of the next rows, as long as they are of an action; they are taken off."""
    while left and left[0][_ACTION] == action:
        yield left.popleft()[column]


def _place(messages: _ByLine, site: int, other: int, tag: int) -> tuple[deque[_Columns], int] | None:
    """Find the first message of a line and a rank, or of any, with a tag, or with any."""
    keys = [(site, other)] if other != ANY else [key for key in messages if key[0] == site]
    for key in keys:
        for place, message in enumerate(messages.get(key, ())):
            if tag in (ANY, message[_TAG]):
                return messages[key], place
    return None
