"""Events of a real run, in the order of their dates, as a timeline, messages and actions of its ranks.

A call waits for the latest date of its partners that lies in it, and from then on for a transfer. Partners tell their
dates later: such a call, and an action that lacks a fact of a later event, keep a place among the rows of their rank,
and rows are passed on up to the first place that is not filled. So memory holds what is under way, and not the trace.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, nan
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from smpy.engine.messages import BUFFERED, STANDARD, SYNCHRONOUS
from smpy.engine.trace import ACTIONS, dtype_of
from smpy.errors import UsageError
from smpy.importers.call_sorts import CallSort, sort_of
from smpy.importers.collective_sizes import OF_ROOT, OPERATIONS, shape_of
from smpy.importers.held_rows import HeldRows, Row
from smpy.records.profile import INTERVAL_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

T = TypeVar("T")

_ACTION_ROW: Final = dtype_of("actions")
_NUMBER: Final = {name: number for number, name in enumerate(ACTIONS)}
_KIND: Final = {name: number for number, name in enumerate(INTERVAL_KINDS)}
_COMPUTE, _OVERHEAD, _TRANSFER, _IDLE = (_KIND[kind] for kind in ("compute", "overhead", "transfer", "idle"))
_LATE_SENDER, _LATE_RECEIVER, _LATE_MEMBERS = (_KIND[f"late_{who}"] for who in ("sender", "receiver", "members"))
_MODES: Final = {"Ssend": SYNCHRONOUS, "Issend": SYNCHRONOUS, "Bsend": BUFFERED, "Ibsend": BUFFERED}
_COMPUTING, _ISEND, _IRECV, _ENTRY = (_NUMBER[name] for name in ("compute", "isend", "irecv", "entry"))
_NO_CALL: Final = sort_of("")
_TAG_MAX: Final = (1 << 31) - 1
_BYTES_MAX: Final = 1 << 50
_CALLS_AT_ONCE: Final = 1 << 13
_ROWS_HELD: Final = 1 << 17
"""Rows of a rank behind a send after which it is taken not to have waited for its receive."""
_RECEIVES_HELD: Final = 1 << 10
"""Completed receives of a rank that wait to be matched, behind one that was posted before them."""


@dataclass(slots=True, eq=False)
class _RealMessage:
    """A message, and the calls that wait for it to be matched."""

    number: int
    source: int
    target: int
    tag: int
    nbytes: int
    site: int
    sent_s: float
    done_s: float = inf  # end of the sender's call, or wait
    calls: list[_Call] = field(default_factory=list)
    is_matched: bool = False
    posted_s: float = 0.0  # its receive
    receive_site: int = 0


@dataclass(slots=True, eq=False)
class _Receive:
    """A receive; once it is complete, the key of its message: communicator, source, target, tag."""

    posted_s: float
    site: int
    row: int = -1
    request: int = 0
    key: tuple[int, int, int, int] | None = None
    is_over: bool = False
    is_passed: bool = False  # by receives that were posted later
    call: _Call | None = None
    message: _RealMessage | None = None


@dataclass(slots=True, eq=False)
class _Part:
    """Part of a rank in a collective call; at last, the rank that entered last before it left, and when."""

    of: _RankState
    site: int
    row: int
    entered_s: float
    request: int = 0
    left_s: float = 0.0
    root: int = 0
    sent: int = 0
    received: int = 0
    meeting: _Meeting | None = None
    call: _Call | None = None
    last_s: float | None = None
    last_rank: int = -1


@dataclass(slots=True, eq=False)
class _Meeting:
    """The n-th call of a collective in a communicator: parts of ranks that have come, and number of those that left."""

    operation: str
    comm: int
    n: int
    parts: list[_Part] = field(default_factory=list)
    n_left: int = 0


@dataclass(slots=True, eq=False)
class _Call:
    """A call that waits for others; `n_open` of them have not told their dates."""

    of: _RankState
    place: int
    entered_s: float
    left_s: float
    site: int
    sends: list[_RealMessage]
    receives: list[_Receive]
    parts: list[_Part]
    n_open: int = 0


@dataclass(slots=True, eq=False)
class _RankState:
    """A rank: the call that it is in, what it has started, and its rows."""

    rank: int
    has_begun: bool = False
    since_s: float = 0.0
    sort: CallSort = _NO_CALL
    depth: int = 0
    site: int = 0
    entered_s: float = 0.0
    n_requests: int = 0
    sends: list[tuple[int, int, int, int]] = field(default_factory=list)  # of this call: comm, peer, tag, bytes
    receives: list[tuple[int, int, int, int]] = field(default_factory=list)
    waited: list[int] = field(default_factory=list)
    sent: list[_RealMessage] = field(default_factory=list)
    got: list[_Receive] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)
    open_sends: dict[int, tuple[int, _RealMessage]] = field(default_factory=dict)
    open_receives: dict[int, _Receive] = field(default_factory=dict)
    open_parts: dict[int, _Part] = field(default_factory=dict)
    posted: deque[_Receive] = field(default_factory=deque)
    regions: list[tuple[str, float, int]] = field(default_factory=list)
    counters: Mapping[str, float] = field(default_factory=dict)
    counters_since: Mapping[str, float] = field(default_factory=dict)
    intervals: HeldRows = field(default_factory=HeldRows)
    actions: HeldRows = field(default_factory=HeldRows)

    def new_request(self) -> int:
        """Number of a new request."""
        self.n_requests += 1
        return self.n_requests


class RealRun:
    """Receiver of the events of all ranks, which fills the tables of a trace.

    Dates are in seconds from the begin of the run. Those of one rank must not fall; those of different ranks should be
    in order. Ranks of partners and roots are those of the communicator. `request` is any number by which the trace
    names a request of the rank.

    Parameters
    ----------
    builder : TraceBuilder
        Takes the rows; `begin` has been called.
    options : ImportOptions
        The options.
    """

    def __init__(self, builder: TraceBuilder, options: ImportOptions) -> None:
        self._builder, self._options = builder, options
        self._flop_per_s = options.flop_per_s
        self._ranks = [_RankState(rank) for rank in range(builder.n_ranks)]
        self._places: dict[tuple[int, str, str, int], tuple[int, int, CallSort]] = {}
        self._index_of: dict[int, dict[int, int]] = {}
        self._sent: dict[tuple[int, int, int, int], deque[_RealMessage]] = {}
        self._received: dict[tuple[int, int, int, int], deque[_Receive]] = {}
        self._n_calls_of: dict[tuple[int, str, int], int] = {}
        self._meetings: dict[tuple[int, str, int], _Meeting] = {}
        self._messages: list[Row] = []
        self._regions: list[Row] = []
        self._counted: dict[tuple[int, str, str], float] = defaultdict(float)
        self._n_messages = 0
        self._n_latches = 0
        self._n_calls = 0

    # ---- what a rank does ----

    def call_begins(self, rank: int, date_s: float, call: str, file: str = "", line: int = 0) -> None:
        """Begin a call of MPI, such as "Send"; a call within a call is part of it."""
        state = self._ranks[rank]
        state.depth += 1
        if state.depth > 1:
            return
        place = self._places.get((rank, call, file, line)) or self._new_place(rank, call, file, line)
        self._compute_until(state, date_s, place[1])
        state.site, _, state.sort = place
        state.entered_s = date_s

    def call_ends(self, rank: int, date_s: float) -> None:
        """End the call of a rank."""
        state = self._ranks[rank]
        if not state.depth:
            raise UsageError(f"rank {rank} leaves a call at {date_s:.9g} s that it has not entered")
        state.depth -= 1
        if state.depth:
            return
        if date_s < state.since_s:
            self._refuse_date(state, date_s)
        if state.sends or state.receives:
            self._act_on_messages(state)
        if state.waited:
            self._wait_for(state, state.waited)
            state.waited = []
        if state.sent or state.got or state.parts:
            self._wait_in_call(state, date_s)
        else:
            self._pass_call(state, date_s)
        state.since_s = date_s
        state.counters_since = state.counters
        self._n_calls += 1
        if self._n_calls % max(_CALLS_AT_ONCE, 4 * len(self._ranks)) == 0:
            self._pass_on()

    def region_begins(self, rank: int, date_s: float, name: str, file: str = "", line: int = 0) -> None:
        """Begin a region: a function of the program, or a part that it names. Computing in it is a kernel's.

        A region within a call of MPI is part of the call.
        """
        state = self._ranks[rank]
        if state.depth:
            return
        self._compute_until(state, date_s, self._builder.site(rank, "", file, line))
        site = self._builder.site(rank, name, file, line, is_kernel=True)
        state.regions.append((name, date_s, site))
        state.actions.add(self._row("begin_region", state, site, detail=self._builder.region(name)))

    def region_ends(self, rank: int, date_s: float) -> None:
        """End the innermost region of a rank."""
        state = self._ranks[rank]
        if state.depth:
            return
        if not state.regions:
            raise UsageError(f"rank {rank} leaves a region at {date_s:.9g} s that it has not entered")
        self._compute_until(state, date_s, 0)
        name, began_s, site = state.regions.pop()
        state.actions.add(self._row("end_region", state, site, detail=self._builder.region(name)))
        self._regions.append((rank, name, began_s, date_s))

    def counters_are(self, rank: int, values: Mapping[str, float]) -> None:
        """Set counters of a rank that grow, as they are at its next event."""
        state = self._ranks[rank]
        state.counters = {**state.counters, **values}

    # ---- what happens in its call ----

    def message_sent(self, rank: int, comm: int, peer: int, tag: int, nbytes: int, request: int | None = None) -> None:
        """Send a message, with a request if the call does not wait for it."""
        state = self._ranks[rank]
        target = self._partner(state, comm, peer, tag, nbytes)
        message = _RealMessage(self._n_messages, rank, target, tag, nbytes, state.site, state.entered_s)
        self._n_messages += 1
        if request is None:
            state.sends.append((comm, peer, tag, nbytes))
            state.sent.append(message)
        else:
            number = state.new_request()
            state.open_sends[request] = number, message
            mode = _MODES.get(state.sort.call, STANDARD)
            state.actions.add((0.0, nbytes, rank, _ISEND, state.site, comm, peer, tag, number, mode))
        key = comm, rank, target, tag
        waiting = self._received.get(key)
        if waiting is None:
            self._sent.setdefault(key, deque()).append(message)
        else:
            self._match(message, _next_of(self._received, key, waiting))

    def receive_posted(self, rank: int, request: int) -> None:
        """Post a receive; its message is told when it is complete."""
        state = self._ranks[rank]
        row = state.actions.keep()
        receive = _Receive(state.entered_s, state.site, row, state.new_request())
        state.open_receives[request] = receive
        state.posted.append(receive)

    def message_received(
        self, rank: int, comm: int, peer: int, tag: int, nbytes: int, request: int | None = None
    ) -> None:
        """Receive a message, by a receive that was posted as `request`, or by this call."""
        state = self._ranks[rank]
        source = self._partner(state, comm, peer, tag, nbytes)
        if request is None:
            receive = _Receive(state.entered_s, state.site)
            state.receives.append((comm, peer, tag, nbytes))
            state.posted.append(receive)
        else:
            receive = self._started(state, state.open_receives, request)
            row = 0.0, nbytes, rank, _IRECV, receive.site, comm, peer, tag, receive.request, 0
            state.actions.fill(receive.row, row)
            state.waited.append(receive.request)
        receive.key = comm, source, rank, tag
        state.got.append(receive)
        if receive.is_passed:
            self._look_for(receive)
        else:
            self._drain(state)

    def send_completed(self, rank: int, request: int) -> None:
        """Complete a send that was started as `request`."""
        state = self._ranks[rank]
        number, message = self._started(state, state.open_sends, request)
        state.waited.append(number)
        state.sent.append(message)

    def request_cancelled(self, rank: int, request: int) -> None:
        """Cancel a receive, or a send, that was started as `request`."""
        state = self._ranks[rank]
        if request in state.open_sends:
            raise UsageError(f"rank {rank} cancels a send at {state.entered_s:.9g} s, which cannot be replayed")
        receive = self._started(state, state.open_receives, request)
        state.actions.fill(receive.row, [])
        receive.is_over = True
        self._drain(state)

    def collective_started(self, rank: int, request: int) -> None:
        """Start a collective as `request`; its facts are told when it is complete."""
        state = self._ranks[rank]
        row = state.actions.keep()
        state.open_parts[request] = _Part(state, state.site, row, state.entered_s, state.new_request())

    def collective(
        self, rank: int, operation: str, comm: int, root: int, sent: int, received: int, request: int | None = None
    ) -> None:
        """Take part in a collective, which this call performs, or which was started as `request`.

        `sent` and `received` are the rank's bytes in all, as in `collective_sizes`; a negative root is not known.
        """
        state = self._ranks[rank]
        if operation not in OPERATIONS:
            raise UsageError(f"rank {rank} performs {operation} at {state.entered_s:.9g} s, which cannot be imported")
        if max(sent, received) > _BYTES_MAX:
            raise UsageError(f"rank {rank} moves {max(sent, received):,} bytes at {state.entered_s:.9g} s: too many")
        index = self._members(comm).get(rank)
        if index is None:
            raise UsageError(f"rank {rank} performs {operation} in communicator {comm}, which it is not in")
        if request is None:
            part = _Part(state, state.site, state.actions.keep(), state.entered_s)
        else:
            part = self._started(state, state.open_parts, request)
            if len(self._members(comm)) > 1:
                state.waited.append(part.request)
            operation = f"i{operation}"
        part.root, part.sent, part.received = root, sent, received
        state.parts.append(part)
        counted = comm, operation, rank
        n = self._n_calls_of[counted] = self._n_calls_of.get(counted, -1) + 1
        part.meeting = self._meetings.get((comm, operation, n))
        if part.meeting is None:
            part.meeting = self._meetings[comm, operation, n] = _Meeting(operation, comm, n)
        part.meeting.parts.append(part)

    # ---- the end ----

    def end(self) -> None:
        """End the run.

        Raises
        ------
        UsageError
            If the trace is not whole: a rank lacks events, or a message or collective lacks a side.
        """
        for state in self._ranks:
            self._check_end(state)
        self._check_sides()
        finish_s = [state.since_s for state in self._ranks]
        makespan_s = max(finish_s)
        for state in self._ranks:
            state.actions.add(self._row("end", state, 0))
            if state.since_s < makespan_s:
                state.intervals.add((state.since_s, makespan_s, _IDLE, 0, -1, -1))
        self._pass_on()
        self._builder.rows("counters", [(*key, value) for key, value in self._counted.items()])
        self._builder.dates(finish_s)

    def _check_end(self, state: _RankState) -> None:
        rank = state.rank
        if not state.has_begun:
            raise UsageError(f"there is no event of rank {rank}: a file of the trace is missing")
        if state.depth:
            raise UsageError(f"rank {rank} is in {state.sort.call} when its events end: the trace is cut off")
        for receive in state.open_receives.values():
            state.actions.fill(receive.row, [])
            receive.is_over = True
            self._builder.remarks["receives that were never complete are left out"] += 1
        for part in state.open_parts.values():
            raise UsageError(f"rank {rank} starts a collective at {part.entered_s:.9g} s and never completes it")
        while state.regions:
            name, began_s, _ = state.regions.pop()
            self._regions.append((rank, name, began_s, state.since_s))
        self._drain(state)

    def _check_sides(self) -> None:
        for meeting in self._meetings.values():
            lacking = sorted(set(self._members(meeting.comm)) - {part.of.rank for part in meeting.parts})
            raise UsageError(
                f"rank {meeting.parts[0].of.rank} performs {meeting.operation} number {meeting.n + 1} of communicator "
                f"{meeting.comm}, and rank {lacking[0]} does not"
            )
        for sent in self._sent.values():
            raise UsageError(
                f"rank {sent[0].source} sends {sent[0].nbytes:,} bytes to rank {sent[0].target} with tag {sent[0].tag} "
                f"at {sent[0].sent_s:.9g} s, and nobody receives them"
            )
        for (_, source, target, tag), received in self._received.items():
            raise UsageError(
                f"rank {target} receives from rank {source} with tag {tag} at {received[0].posted_s:.9g} s, "
                "and nobody sends that"
            )

    # ---- rows of actions ----

    def _row(
        self,
        action: str,
        state: _RankState,
        site: int,
        comm: int = -1,
        peer: int = 0,
        tag: int = 0,
        nbytes: int = 0,
        amount: float = 0.0,
        request: int = 0,
        detail: int = 0,
    ) -> Row:
        return amount, nbytes, state.rank, _NUMBER[action], site, comm, peer, tag, request, detail

    def _wait_for(self, state: _RankState, requests: list[int]) -> None:
        is_one, site = len(requests) == 1, state.site
        for k, request in enumerate(requests):
            name = "and" if k else "wait" if is_one else "wait_all"
            state.actions.add(self._row(name, state, site, request=request, detail=0 if k else len(requests) - 1))

    def _act_on_messages(self, state: _RankState) -> None:
        """Rows of the messages that the call itself sends and receives; both together if it does both."""
        mode = _MODES.get(state.sort.call, STANDARD)
        if state.sends and state.receives:
            requests = []
            for name, messages in (("isend", state.sends), ("irecv", state.receives)):
                for message in messages:
                    requests.append(state.new_request())
                    state.actions.add(self._row(name, state, state.site, *message, request=requests[-1]))
            self._wait_for(state, requests)
        else:
            for message in state.sends:
                number = state.new_request()
                state.actions.add(
                    self._row("send", state, state.site, *message, amount=1.0, request=number, detail=mode)
                )
            for message in state.receives:
                state.actions.add(self._row("recv", state, state.site, *message, request=state.new_request()))
        state.sends, state.receives = [], []

    # ---- dates and places ----

    def _new_place(self, rank: int, call: str, file: str, line: int) -> tuple[int, int, CallSort]:
        sort = sort_of(call)
        if sort.is_kept and not self._options.keeps_calls:
            raise UsageError(
                f"rank {rank} calls {call}, which cannot be replayed: --keep-calls keeps the time of such calls"
            )
        place = self._builder.site(rank, call, file, line), self._builder.site(rank, "", file, line), sort
        self._places[rank, call, file, line] = place
        return place

    def _compute_until(self, state: _RankState, date_s: float, site: int) -> None:
        """Let a rank compute up to a date; its first event begins it."""
        since_s = state.since_s
        if not since_s <= date_s < inf:
            self._refuse_date(state, date_s)
        if not state.has_begun:
            state.has_begun = True
            if date_s > 0:
                state.intervals.add((0.0, date_s, _OVERHEAD, 0, -1, -1))
        elif date_s > since_s:
            if state.regions:
                site = state.regions[-1][2]
            state.intervals.add((since_s, date_s, _COMPUTE, site, -1, -1))
            seconds = self._seconds_in_cycles(state) if self._options.cycles else date_s - since_s
            if seconds > 0:
                state.actions.add((seconds * self._flop_per_s, 0, state.rank, _COMPUTING, site, -1, 0, 0, 0, 0))
            if state.counters:
                self._count(state)
        state.since_s = date_s
        state.counters_since = state.counters

    def _refuse_date(self, state: _RankState, date_s: float) -> None:
        raise UsageError(
            f"rank {state.rank} has an event at {date_s:.9g} s after one at {state.since_s:.9g} s: dates cannot fall"
        )

    def _count(self, state: _RankState) -> None:
        region = state.regions[-1][0] if state.regions else ""
        before = state.counters_since
        for name, value in state.counters.items():
            self._counted[state.rank, region, name] += value - before.get(name, 0)

    def _seconds_in_cycles(self, state: _RankState) -> float:
        name, frequency_hz = self._options.cycles, self._options.frequency_hz
        if name not in state.counters or not frequency_hz:
            known = ", ".join(state.counters) or "none"
            raise UsageError(f"rank {state.rank} has no counter {name!r} at {state.since_s:.9g} s: it has {known}")
        return (state.counters[name] - state.counters_since.get(name, 0)) / frequency_hz

    # ---- partners ----

    def _partner(self, state: _RankState, comm: int, peer: int, tag: int, nbytes: int) -> int:
        """The partner of a message as a rank of the world."""
        members = self._builder.members[comm]
        if not 0 <= peer < len(members):
            raise UsageError(
                f"rank {state.rank} has a message with rank {peer} at {state.entered_s:.9g} s, in a communicator of "
                f"{len(members)} ranks"
            )
        if not (0 <= tag <= _TAG_MAX and 0 <= nbytes <= _BYTES_MAX):
            raise UsageError(
                f"rank {state.rank} has a message of {nbytes} bytes with tag {tag} at {state.entered_s:.9g} s: "
                "there is no such message"
            )
        return members[peer]

    def _members(self, comm: int) -> dict[int, int]:
        """Rank in a communicator of each of its members."""
        if comm not in self._index_of:
            self._index_of[comm] = {rank: index for index, rank in enumerate(self._builder.members[comm])}
        return self._index_of[comm]

    def _started(self, state: _RankState, started: dict[int, T], request: int) -> T:
        try:
            return started.pop(request)
        except KeyError:
            raise UsageError(
                f"rank {state.rank} completes a request at {state.entered_s:.9g} s that it has not started"
            ) from None

    def _drain(self, state: _RankState) -> None:
        """Match receives in the order in which they were posted."""
        posted = state.posted
        while posted and (posted[0].is_over or posted[0].key is not None or len(posted) > _RECEIVES_HELD):
            receive = posted.popleft()
            if receive.key is not None:
                self._look_for(receive)
            else:
                receive.is_passed = True

    def _look_for(self, receive: _Receive) -> None:
        key = receive.key
        waiting = self._sent.get(key)
        if waiting is None:
            self._received.setdefault(key, deque()).append(receive)
        else:
            self._match(_next_of(self._sent, key, waiting), receive)

    def _match(self, message: _RealMessage, receive: _Receive) -> None:
        receive.message, message.is_matched = message, True
        message.posted_s, message.receive_site = receive.posted_s, receive.site
        for call in message.calls:
            self._tell(call)
        message.calls.clear()
        if receive.call is not None:
            self._receive_ends(message, receive.call.left_s)
            self._tell(receive.call)

    def _receive_ends(self, message: _RealMessage, ended_s: float) -> None:
        """Add the row of a message; one that was sent later by its clock is dated at its end."""
        sent_s = message.sent_s
        if sent_s > ended_s:
            self._builder.remarks["messages arrive before they were sent: clocks run apart"] += 1
            sent_s = ended_s
        started_s = sent_s if message.done_s < message.posted_s else nan
        self._messages.append(
            (
                *(message.number, message.source, message.target, message.tag, message.nbytes),
                *(message.site, message.receive_site, sent_s, message.posted_s, started_s, ended_s),
            )
        )

    # ---- the time of calls ----

    def _pass_call(self, state: _RankState, date_s: float) -> None:
        """End a call that waits for no other rank, as far as the trace tells."""
        sort, entered_s = state.sort, state.entered_s
        if date_s > entered_s:
            state.intervals.add((entered_s, date_s, sort.kind, state.site, -1, -1))
        if sort.is_kept:
            self._builder.remarks["calls to files or windows keep the time that they took"] += 1
            state.actions.add(self._row("sleep", state, state.site, amount=date_s - entered_s))
        elif sort.is_poll or sort.is_choice:
            self._builder.depends_on_time(polls=sort.is_poll, choices=sort.is_choice)

    def _wait_in_call(self, state: _RankState, date_s: float) -> None:
        """End a call that has to do with other ranks: keep a place for its time until all have told their dates."""
        call = _Call(state, -1, state.entered_s, date_s, state.site, state.sent, state.got, state.parts)
        state.sent, state.got, state.parts = [], [], []
        call.place = state.intervals.keep(call)
        call.n_open = 1
        for message in call.sends:
            message.done_s = date_s
            if not message.is_matched:
                message.calls.append(call)
                call.n_open += 1
        for receive in call.receives:
            receive.call = call
            if receive.message is None:
                call.n_open += 1
            else:
                self._receive_ends(receive.message, date_s)
        for part in call.parts:
            part.call, part.left_s = call, date_s
            call.n_open += 1
        for part in call.parts:
            meeting = part.meeting
            assert meeting is not None
            meeting.n_left += 1
            if meeting.n_left == len(self._members(meeting.comm)):
                del self._meetings[meeting.comm, meeting.operation, meeting.n]
                self._end_meeting(meeting)
        if state.sort.is_poll or state.sort.is_choice:
            self._builder.depends_on_time(polls=state.sort.is_poll, choices=state.sort.is_choice)
        self._tell(call)

    def _tell(self, call: _Call) -> None:
        """Note that one more has told its dates to a call; after the last one, fill its place."""
        call.n_open -= 1
        if call.n_open == 0 and call.place in call.of.intervals.open:
            self._settle(call)

    def _settle(self, call: _Call) -> None:
        """Fill the place of a call: it waits for the last of its partners' dates, then for a transfer."""
        entered_s, left_s = call.entered_s, call.left_s
        last_s, kind, other, number = -inf, _OVERHEAD, -1, -1
        for receive in call.receives:
            message = receive.message
            if message is not None and min(message.sent_s, left_s) > last_s:
                last_s = min(message.sent_s, left_s)
                kind, other, number = _LATE_SENDER, message.source, message.number
        for message in call.sends:
            if message.is_matched and last_s < message.posted_s < left_s:
                last_s, kind, other, number = message.posted_s, _LATE_RECEIVER, message.target, message.number
        for part in call.parts:
            if part.last_s is not None and part.last_s > last_s:
                last_s, kind, other, number = part.last_s, _LATE_MEMBERS, part.last_rank, -1
        rows: list[Row] = []
        if kind == _OVERHEAD:
            rows.append((entered_s, left_s, _OVERHEAD, call.site, -1, -1))
        else:
            if last_s > entered_s:
                rows.append((entered_s, last_s, kind, call.site, other, number))
            rows.append((max(entered_s, last_s), left_s, _TRANSFER, call.site, -1, number))
        call.of.intervals.fill(call.place, [row for row in rows if row[1] > row[0]])
        call.sends, call.receives, call.parts = [], [], []  # no circle is left to the garbage collector

    def _end_meeting(self, meeting: _Meeting) -> None:
        """Fill the actions of a collective, and tell each rank which one entered last before it left."""
        parts = sorted(meeting.parts, key=lambda part: part.entered_s)
        latest = 0
        for part in sorted(parts, key=lambda part: part.left_s):
            while latest + 1 < len(parts) and parts[latest + 1].entered_s <= part.left_s:
                latest += 1
            part.last_s, part.last_rank = parts[latest].entered_s, parts[latest].of.rank
        index_of = self._members(meeting.comm)
        parts.sort(key=lambda part: index_of[part.of.rank])
        self._act_on_meeting(meeting, parts)
        for part in parts:
            assert part.call is not None
            self._tell(part.call)
        meeting.parts.clear()

    def _act_on_meeting(self, meeting: _Meeting, parts: list[_Part]) -> None:
        n, root, builder = len(parts), parts[0].root, self._builder
        if n == 1:
            parts[0].of.actions.fill(parts[0].row, [])
            return
        if root < 0 and meeting.operation.removeprefix("i") in OF_ROOT:
            builder.remarks["a root that the trace does not tell is taken to be 0"] += 1
        root = max(root, 0)
        if root >= n:
            raise UsageError(f"rank {parts[0].of.rank} names a root {root} among {n} ranks")
        shape = shape_of(
            meeting.operation.removeprefix("i"), root, [part.sent for part in parts], [part.received for part in parts]
        )
        if shape.assumed:
            builder.remarks[shape.assumed] += 1
        schedule = builder.collective(meeting.operation, n, **shape.facts)
        latch = 0
        if meeting.operation == "ibarrier":
            self._n_latches += 1
            latch = self._n_latches
        for index, part in enumerate(parts):
            state, site, comm = part.of, part.site, meeting.comm
            tables = shape.tables[index] if shape.tables else ()
            entries = [
                (0.0, number, state.rank, _ENTRY, site, -1, 0, 0, 0, table)
                for table, numbers in enumerate(tables)
                for number in numbers
            ]
            name = "start" if part.request else "collective"
            row = self._row(
                name, state, site, comm, root, latch, shape.blocks[index], len(entries), part.request, schedule
            )
            before = [self._row("latch", state, site, tag=latch, amount=n)] if latch else []
            state.actions.fill(part.row, [*before, row, *entries])

    # ---- passing rows on ----

    def _pass_on(self) -> None:
        """Pass on the rows that are known."""
        intervals: list[Row] = []
        actions: list[Row] = []
        ranks, n_of_rank = [], []
        for state in self._ranks:
            if len(state.intervals) > _ROWS_HELD:
                self._give_up_waiting(state)
            taken = state.intervals.take()
            if taken:
                intervals += taken
                ranks.append(state.rank)
                n_of_rank.append(len(taken))
            actions += state.actions.take()
        if actions:
            self._builder.actions(np.array(actions, _ACTION_ROW))
        if intervals:
            columns = _columns(intervals, ("start_s", "end_s", "kind", "site", "other", "message"), "ffiiiq")
            rank = np.repeat(np.array(ranks, np.int32), n_of_rank)
            self._builder.intervals({"rank": rank, **columns})
        if self._messages:
            names = ("message", "source", "target", "tag", "bytes", "send_site", "receive_site")
            dates = ("send_posted_s", "receive_posted_s", "started_s", "ended_s")
            self._builder.messages(_columns(self._messages, (*names, *dates), "qiiiqiiffff"))
            self._messages = []
        self._builder.rows("regions", self._regions)
        self._regions = []

    def _give_up_waiting(self, state: _RankState) -> None:
        """Settle the oldest calls that only wait to know when their messages are received."""
        for call in list(state.intervals.open.values()):
            if len(state.intervals) <= _ROWS_HELD or any(part.last_s is None for part in call.parts):
                return
            self._settle(call)


def _columns(rows: list[Row], names: Sequence[str], kinds: str) -> dict[str, NDArray[Any]]:
    types = {"f": np.float64, "i": np.int32, "q": np.int64}
    columns = zip(names, kinds, zip(*rows, strict=True), strict=True)
    return {name: np.array(values, types[kind]) for name, kind, values in columns}


def _next_of(waiting: dict[tuple[int, int, int, int], deque[T]], key: tuple[int, int, int, int], own: deque[T]) -> T:
    """Take the first of those that wait for a key; a key without any is forgotten."""
    first = own.popleft()
    if not own:
        del waiting[key]
    return first
