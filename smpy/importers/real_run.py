"""Events of a real run, in the order of their dates, as a timeline, messages and actions of its ranks.

A call waits for the latest date of its partners that lies in it, and from then on for a transfer. Partners tell their
dates later: such a call, and an action that lacks a fact of a later event, keep a place among the rows of their rank,
and rows are passed on up to the first place that is not filled. So memory holds what is under way, and not the trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

from smpy.engine.messages import BUFFERED, STANDARD, SYNCHRONOUS
from smpy.errors import UsageError
from smpy.importers.action_rows import NUMBER, action_row
from smpy.importers.call_sorts import CallSort, sort_of
from smpy.importers.held_rows import Row
from smpy.importers.matching import Matching
from smpy.importers.meetings import Meetings
from smpy.importers.real_rank import MeetingPart, RealMessage, RealPoll, RealRank, RealReceive, WaitingCall
from smpy.importers.run_tables import pass_on
from smpy.importers.waiting_time import tell
from smpy.records.profile import INTERVAL_KINDS
from smpy.units import format_time

if TYPE_CHECKING:
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

T = TypeVar("T")

_COMPUTE, _OVERHEAD, _IDLE = (INTERVAL_KINDS.index(kind) for kind in ("compute", "overhead", "idle"))
_COMPUTING, _ISEND, _IRECV = (NUMBER[name] for name in ("compute", "isend", "irecv"))
_POLLS: Final = {
    "Test": "test",
    "Testany": "test_any",
    "Request_get_status": "get_status",
    "Iprobe": "iprobe",
    "Improbe": "iprobe",
    "Probe": "probe",
    "Mprobe": "probe",
}
"""Actions of calls that poll; a probe need not hold the message, as its receive says which one it takes."""
_POLLS_MAX: Final = 1 << 53
_MODES: Final = {"Ssend": SYNCHRONOUS, "Issend": SYNCHRONOUS, "Bsend": BUFFERED, "Ibsend": BUFFERED}
_TAG_MAX: Final = (1 << 31) - 1
_BYTES_MAX: Final = 1 << 50
_CALLS_AT_ONCE: Final = 1 << 13


class RealRun:
    """Receiver of the events of all ranks, which fills the tables of a trace.

    Dates are in seconds from the begin of the run. Dates of a rank must not fall, and events should come by date. Ranks
    of partners and roots are those of the communicator. `request` is any number by which the trace names a request of
    the rank.

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
        self._ranks = [RealRank(rank) for rank in range(builder.n_ranks)]
        self._places: dict[tuple[int, str, str, int], tuple[int, int, CallSort]] = {}
        self._matching = Matching(builder)
        self._meetings = Meetings(builder)
        self._regions: list[Row] = []
        self._counted: dict[tuple[int, str, str], float] = defaultdict(float)
        self._launched: set[int] = set()  # by other ranks
        self._begun_launched: set[int] = set()
        self._n_messages = 0
        self._n_calls = 0
        self._n_polls_left_out = 0
        self._polls_left_out_s = 0.0

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
        if state.begun:
            for row in state.begun.values():
                state.actions.add(row)
            state.begun.clear()
        if state.sends or state.receives:
            self._act_on_messages(state)
        if state.poll is not None:
            self._act_on_poll(state, state.poll)
        if state.waited:
            self._wait_for(state, state.waited)
            state.waited = []
        if state.sent or state.got or state.parts:
            self._wait_in_call(state, date_s)
        else:
            self._pass_call(state, date_s)
        state.poll = None
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
        state.actions.add(action_row("begin_region", state.rank, site, detail=self._builder.region(name)))

    def region_ends(self, rank: int, date_s: float) -> None:
        """End the innermost region of a rank."""
        state = self._ranks[rank]
        if state.depth:
            return
        if not state.regions:
            raise UsageError(f"rank {rank} leaves a region at {date_s:.9g} s that it has not entered")
        self._compute_until(state, date_s, 0)
        name, began_s, site = state.regions.pop()
        state.actions.add(action_row("end_region", state.rank, site, detail=self._builder.region(name)))
        self._regions.append((rank, name, began_s, date_s))

    def rank_launched(self, rank: int, date_s: float, launched: int) -> None:
        """Let a rank launch a further one, or begin as a launched one if it is its own; other tools do not tell that.

        A rank starts ranks of higher numbers.
        """
        state, is_own = self._ranks[rank], launched == rank
        is_known = launched in (self._begun_launched if is_own else self._launched)
        if state.depth or is_known or (state.has_begun if is_own else not rank < launched < len(self._ranks)):
            raise UsageError(f"rank {rank} launches rank {launched} at {date_s:.9g} s, which makes no sense")
        if is_own:
            self._begun_launched.add(rank)
            state.has_begun, state.since_s = True, date_s
        else:
            self._launched.add(launched)
        self._compute_until(state, date_s, 0)
        facts = {} if is_own else {"peer": launched, "detail": 1}
        state.actions.add(action_row("launched" if is_own else "launch", rank, 0, **facts))

    def counters_are(self, rank: int, values: Mapping[str, float]) -> None:
        """Set counters of a rank that grow, as they are at its next event."""
        state = self._ranks[rank]
        state.counters = {**state.counters, **values}

    # ---- what happens in its call ----

    def message_sent(self, rank: int, comm: int, peer: int, tag: int, nbytes: int, request: int | None = None) -> None:
        """Send a message, with a request if the call does not wait for it."""
        state = self._in_call(rank)
        target = self._partner(state, comm, peer, tag, nbytes)
        message = RealMessage(self._n_messages, rank, target, tag, nbytes, state.site, state.entered_s)
        self._n_messages += 1
        if request is None:
            state.sends.append((comm, peer, tag, nbytes))
            state.sent.append(message)
        else:
            number = state.new_request()
            state.open_sends[request] = number, message
            mode = _MODES.get(state.sort.call, STANDARD)
            state.begun[number] = 0.0, nbytes, rank, _ISEND, state.site, comm, peer, tag, number, mode
        self._matching.send(message, (comm, rank, target, tag))

    def receive_posted(self, rank: int, request: int) -> None:
        """Post a receive; its message is told when it is complete."""
        state = self._in_call(rank)
        row = state.actions.keep()
        receive = RealReceive(state.entered_s, state.site, row, state.new_request())
        state.open_receives[request] = receive
        state.posted.append(receive)

    def message_received(
        self, rank: int, comm: int, peer: int, tag: int, nbytes: int, request: int | None = None
    ) -> None:
        """Receive a message, by a receive that was posted as `request`, or by this call."""
        state = self._in_call(rank)
        source = self._partner(state, comm, peer, tag, nbytes)
        if request is None:
            receive = RealReceive(state.entered_s, state.site)
            state.receives.append((comm, peer, tag, nbytes))
            state.posted.append(receive)
        else:
            receive = self._started(state, state.open_receives, request)
            row = 0.0, nbytes, rank, _IRECV, receive.site, comm, peer, tag, receive.request, 0
            state.actions.fill(receive.row, row)
            state.waited.append(receive.request)
        state.got.append(receive)
        self._matching.complete(state, receive, (comm, source, rank, tag))

    def send_completed(self, rank: int, request: int) -> None:
        """Complete a send that was started as `request`."""
        state = self._in_call(rank)
        number, message = self._started(state, state.open_sends, request)
        if number in state.begun:
            state.begun[number] = 1.0, *state.begun[number][1:]  # complete at once: nobody waits for it
            message.done_s = message.sent_s
        else:
            state.waited.append(number)
            state.sent.append(message)

    def request_cancelled(self, rank: int, request: int) -> None:
        """Cancel a receive, or a send, that was started as `request`."""
        state = self._in_call(rank)
        if request in state.open_sends:
            raise UsageError(f"rank {rank} cancels a send at {state.entered_s:.9g} s, which cannot be replayed")
        receive = self._started(state, state.open_receives, request)
        state.actions.fill(receive.row, [])
        receive.is_over = True
        self._matching.drain(state)

    def collective_started(self, rank: int, request: int) -> None:
        """Start a collective as `request`; its facts are told when it is complete."""
        state = self._in_call(rank)
        row = state.actions.keep()
        state.open_parts[request] = MeetingPart(state, state.site, row, state.entered_s, state.new_request())

    def collective(
        self, rank: int, operation: str, comm: int, root: int, sent: int, received: int, request: int | None = None
    ) -> None:
        """Take part in a collective, which this call performs, or which was started as `request`.

        `sent` and `received` are the rank's bytes in all, as in `collective_sizes`; a negative root is not known.
        """
        state = self._in_call(rank)
        if request is None:
            part = MeetingPart(state, state.site, state.actions.keep(), state.entered_s)
        else:
            part = self._started(state, state.open_parts, request)
            if len(self._builder.members[comm]) > 1:
                state.waited.append(part.request)
        part.root, part.sent, part.received = root, sent, received
        state.parts.append(part)
        self._meetings.join(part, operation, comm)

    def polled(
        self,
        rank: int,
        n_in_vain: int,
        success: int,
        *,
        probed: tuple[int, int, int] | None = None,
        tested: Sequence[int] = (),
    ) -> None:
        """Say what this call polls for, before it completes anything; other tools than smpy do not tell that.

        Parameters
        ----------
        rank : int
            The rank.
        n_in_vain : int
            Number of polls that find nothing.
        success : int
            Number of the tested request that is complete at last, from 1, or 1 for a message; 0: none.
        probed : tuple of int, optional
            Communicator, source and tag of a probe; -1: any.
        tested : sequence of int
            Requests that are tested; those below 1 are null.
        """
        state = self._in_call(rank)
        action = _POLLS.get(state.sort.call, "")
        n_tested = 0 if probed else 1 if action != "test_any" else max(len(tested), 1)
        comm, source, tag = probed or (-1, 0, 0)
        n_sources = len(self._builder.members[comm]) if probed else 1
        if (
            (action in ("iprobe", "probe")) != (probed is not None)
            or len(tested) != n_tested
            or not (action and 0 <= n_in_vain <= _POLLS_MAX and 0 <= success <= max(n_tested, 1))
            or not (-1 <= source < n_sources and -1 <= tag <= _TAG_MAX)
        ):
            raise UsageError(f"rank {rank} polls in {state.sort.call} at {state.entered_s:.9g} s, which makes no sense")
        requests = [self._number_of(state, request) for request in tested]
        if None not in requests:
            numbers = [number for number in requests if number is not None]
            state.poll = RealPoll(action, n_in_vain, success, comm, source, tag, numbers)
            self._builder.depends_on_time(failed_polls=n_in_vain)

    # ---- the end ----

    def _pass_on(self) -> None:
        pass_on(self._builder, self._ranks, self._matching.rows)
        self._matching.rows.clear()
        self._builder.rows("regions", self._regions)
        self._regions.clear()

    def end(self) -> None:
        """End the run.

        Raises
        ------
        UsageError
            If the trace is not whole: a rank lacks events, or a message or collective lacks a side.
        """
        for state in self._ranks:
            self._check_end(state)
        for rank in sorted(self._launched ^ self._begun_launched):
            if rank in self._launched:
                raise UsageError(f"rank {rank} is launched, and begins before")
            raise UsageError(f"rank {rank} begins as a launched rank, and no rank launches it")
        self._matching.check()
        self._meetings.check()
        finish_s = [state.since_s for state in self._ranks]
        makespan_s = max(finish_s)
        for state in self._ranks:
            state.actions.add(action_row("end", state.rank, 0))
            if state.since_s < makespan_s:
                state.intervals.add((state.since_s, makespan_s, _IDLE, 0, -1, -1))
        self._pass_on()
        if self._n_polls_left_out:
            text = "a test or probe that completes nothing is left out of replays; together they took"
            self._builder.remarks[f"{text} {format_time(self._polls_left_out_s)}"] = self._n_polls_left_out
        self._builder.rows("counters", [(*key, value) for key, value in self._counted.items()])
        self._builder.dates(finish_s)

    def _check_end(self, state: RealRank) -> None:
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
        self._matching.drain(state)

    # ---- rows of actions ----

    def _wait_for(self, state: RealRank, requests: list[int]) -> None:
        is_one, site = len(requests) == 1, state.site
        for k, request in enumerate(requests):
            name = "and" if k else "wait" if is_one else "wait_all"
            state.actions.add(action_row(name, state.rank, site, request=request, detail=0 if k else len(requests) - 1))

    def _act_on_poll(self, state: RealRank, poll: RealPoll) -> None:
        """Rows of a poll, which also waits for the request that it finds complete."""
        first, *others = poll.requests or [0]
        amount = 0 if poll.action == "test_any" else poll.n_in_vain
        facts = poll.comm, poll.source, poll.tag, 0, amount, first, poll.success
        state.actions.add(action_row(poll.action, state.rank, state.site, *facts))
        for request in others:
            state.actions.add(action_row("and", state.rank, state.site, request=request))
        if poll.success and poll.requests:
            complete = poll.requests[poll.success - 1]
            state.waited = [request for request in state.waited if request != complete]

    def _act_on_messages(self, state: RealRank) -> None:
        """Rows of the messages that the call itself sends and receives; both together if it does both."""
        mode = _MODES.get(state.sort.call, STANDARD)
        if state.sends and state.receives:
            requests = []
            for name, messages in (("isend", state.sends), ("irecv", state.receives)):
                for message in messages:
                    requests.append(state.new_request())
                    state.actions.add(action_row(name, state.rank, state.site, *message, request=requests[-1]))
            self._wait_for(state, requests)
        else:
            for message in state.sends:
                number = state.new_request()
                state.actions.add(
                    action_row("send", state.rank, state.site, *message, amount=1.0, request=number, detail=mode)
                )
            for message in state.receives:
                state.actions.add(action_row("recv", state.rank, state.site, *message, request=state.new_request()))
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

    def _compute_until(self, state: RealRank, date_s: float, site: int) -> None:
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

    def _refuse_date(self, state: RealRank, date_s: float) -> None:
        raise UsageError(
            f"rank {state.rank} has an event at {date_s:.9g} s after one at {state.since_s:.9g} s: dates cannot fall"
        )

    def _count(self, state: RealRank) -> None:
        region = state.regions[-1][0] if state.regions else ""
        before = state.counters_since
        for name, value in state.counters.items():
            self._counted[state.rank, region, name] += value - before.get(name, 0)

    def _seconds_in_cycles(self, state: RealRank) -> float:
        name, frequency_hz = self._options.cycles or "", self._options.frequency_hz
        if name not in state.counters or frequency_hz is None:
            known = ", ".join(state.counters) or "none"
            raise UsageError(f"rank {state.rank} has no counter {name!r} at {state.since_s:.9g} s: it has {known}")
        return (state.counters[name] - state.counters_since.get(name, 0)) / frequency_hz

    # ---- partners ----

    def _in_call(self, rank: int) -> RealRank:
        state = self._ranks[rank]
        if not state.depth:
            raise UsageError(f"rank {rank} has to do with others after {state.since_s:.9g} s, outside of a call")
        return state

    def _partner(self, state: RealRank, comm: int, peer: int, tag: int, nbytes: int) -> int:
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

    def _started(self, state: RealRank, started: dict[int, T], request: int) -> T:
        try:
            return started.pop(request)
        except KeyError:
            raise UsageError(
                f"rank {state.rank} completes a request at {state.entered_s:.9g} s that it has not started"
            ) from None

    def _number_of(self, state: RealRank, request: int) -> int | None:
        """Number of a request that a test names; None: it has not been started."""
        if request < 1:
            return request
        if request in state.open_sends:
            return state.open_sends[request][0]
        started = state.open_receives.get(request) or state.open_parts.get(request)
        return None if started is None else started.request

    # ---- the time of calls ----

    def _pass_call(self, state: RealRank, date_s: float) -> None:
        """End a call that waits for no other rank, as far as the trace shows."""
        sort, entered_s = state.sort, state.entered_s
        if date_s > entered_s:
            state.intervals.add((entered_s, date_s, sort.kind, state.site, -1, -1))
        if sort.is_kept:
            self._builder.remarks["calls to files or windows keep the time that they took"] += 1
            state.actions.add(action_row("sleep", state.rank, state.site, amount=date_s - entered_s))
        elif sort.is_poll or sort.is_choice:
            self._builder.depends_on_time(polls=sort.is_poll, choices=sort.is_choice)
            if sort.is_poll and state.poll is None:
                self._n_polls_left_out += 1
                self._polls_left_out_s += date_s - entered_s

    def _wait_in_call(self, state: RealRank, date_s: float) -> None:
        """End a call that has to do with other ranks: keep a place for its time until all have told their dates."""
        call = WaitingCall(state, -1, state.entered_s, date_s, state.site, state.sent, state.got, state.parts)
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
                self._matching.end(receive.message, date_s)
        for part in call.parts:
            part.call, part.left_s = call, date_s
            call.n_open += 1
        for part in call.parts:
            self._meetings.leave(part)
        if state.sort.is_poll or state.sort.is_choice:
            self._builder.depends_on_time(polls=state.sort.is_poll, choices=state.sort.is_choice)
        tell(call)
