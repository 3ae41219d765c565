"""Import of traces for Paraver (.prv, with .pcf and .row), which Extrae writes: the timeline of a real run.

Messages have no communicator, and are taken to be of the world. A message is of another communicator of all ranks if
its receive was posted before that of an earlier message with its ranks and tag: in one communicator none overtakes.
Requests have no name, so a call that waits completes those that are over by its end: `Wait` the last one that came, or
the oldest one; `Waitall` all. `smpy export` names those that are tested. Sizes of collectives are those of the calls
(`own_sizes`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.collectives.register import SPLIT
from smpy.errors import UsageError
from smpy.export.paraver_names import (
    CALLER_LINE,
    CALLS,
    COLLECTIVES,
    COMMUNICATOR,
    FILES,
    IS_ROOT,
    KERNEL,
    LAUNCHED_TASK,
    OTHERS,
    POINT_TO_POINT,
    POLLED_REQUEST,
    POLLED_SOURCE,
    POLLED_TAG,
    POLLS_IN_VAIN,
    RECEIVED_BYTES,
    REGION,
    SENT_BYTES,
    SUCCESSFUL_POLL,
)
from smpy.importers.collective_sizes import OPERATIONS
from smpy.importers.own_sizes import totals_of
from smpy.importers.paraver_files import (
    ParaverEvents,
    ParaverHeader,
    ParaverMessage,
    ParaverNames,
    communicators,
    read_header,
    read_names,
    read_node_names,
    records,
)
from smpy.importers.real_run import RealRun

if TYPE_CHECKING:
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

_CALLS: Final = range(POINT_TO_POINT, FILES + 1)
_FACTS: Final = (
    *(SENT_BYTES, RECEIVED_BYTES, IS_ROOT, COMMUNICATOR),
    *(POLLED_SOURCE, POLLED_TAG, SUCCESSFUL_POLL, POLLS_IN_VAIN),
)
_COUNTERS: Final = range(42000000, 43000000)
_NS: Final = 1e9
_NOT_EXPORTED: Final = {
    POINT_TO_POINT: {
        "Irsend": 38, "Sendrecv": 41, "Sendrecv_replace": 42, "Waitsome": 60, "Testall": 125, "Testsome": 128,
    },
    OTHERS: {"Init_thread": 194},
}  # fmt: skip
_NAMES: Final = {
    kind: {value: name for name, value in (values | _NOT_EXPORTED.get(kind, {})).items()}
    for kind, values in CALLS.items()
}
_SENDS: Final = ("Send", "Bsend", "Ssend", "Rsend", "Sendrecv", "Sendrecv_replace")
_STARTED_SENDS: Final = ("Isend", "Ibsend", "Issend", "Irsend")
_RECEIVES: Final = ("Recv", "Mrecv", "Sendrecv", "Sendrecv_replace")
_STARTED_RECEIVES: Final = ("Irecv", "Imrecv")
_OF_ONE: Final = ("Wait", "Waitany", "Test", "Testany")
_OF_ALL: Final = ("Waitall", "Waitsome", "Testall", "Testsome", "Finalize")
_NO_NAME: Final = -1
_NULL, _NULL_NAMES = 0, (0, 1)  # a request; its names in polls
_GUESSED: Final = "requests have no names: a wait completes those that are over by its end"
_UNNAMED: Final = "a call that the .pcf does not name is left out of replays"
_NO_THREADS: Final = "threads other than a task's first are left out"


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file begins as a trace for Paraver does."""
    return head.startswith(b"#Paraver ")


def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Read a trace into a builder.

    Raises
    ------
    UsageError
        If a record has no known form: file, line and why; if its .pcf or its .row is missing; or if the events of a
        rank contradict each other.
    """
    header = read_header(path)
    names, nodes = read_names(path.with_suffix(".pcf")), read_node_names(path.with_suffix(".row"))
    hosts = [nodes[node] if 0 <= node < len(nodes) else f"node {node + 1}" for node in header.node_of_task]
    builder.begin(len(header.node_of_task), options, hosts=hosts)
    reader = _Reader(path, header, names, builder, options)
    try:
        reader.read(options)
    except UsageError as error:
        where = "" if str(error).startswith(str(path)) else f"{path}, line {reader.line}: "
        raise UsageError(f"{where}{error}") from None


@dataclass(slots=True, eq=False)
class _Request:
    """A request of a rank: its number, and when it is over, as far as that is known."""

    number: int
    kind: str  # "send", "receive" or "collective"
    began_ns: int
    left_ns: int
    message: ParaverMessage | None = None
    name: int = _NO_NAME  # that polls have for it
    facts: tuple[str, dict[int, int]] = ("", {})  # operation and sizes of a collective

    def is_over(self, by_ns: int) -> bool:
        """Whether it may be complete by a date; only for receives it is known."""
        if self.kind != "receive":
            return True
        return self.message is not None and self.message.ended_ns <= by_ns


@dataclass(slots=True, eq=False)
class _Task:
    """A rank: its call, and what it has sent, posted and started."""

    rank: int
    call: str = ""
    is_collective: bool = False
    depth: int = 0
    began_ns: int = 0
    facts: dict[int, int] = field(default_factory=dict)
    sent: deque[ParaverMessage] = field(default_factory=deque)  # by no call yet
    expected: list[ParaverMessage] = field(default_factory=list)  # by no receive yet
    open: list[_Request] = field(default_factory=list)
    named: dict[int, _Request] = field(default_factory=dict)  # those that polls name, as long as they are open
    names: list[int] = field(default_factory=list)  # in this call
    n_requests: int = 0
    counters: dict[str, float] = field(default_factory=dict)


class _Reader:
    """Turns records into events of a real run."""

    def __init__(
        self, path: Path, header: ParaverHeader, names: ParaverNames, builder: TraceBuilder, options: ImportOptions
    ) -> None:
        self._path, self._header, self._names, self._builder = path, header, names, builder
        self._run = RealRun(builder, options)
        self._tasks = [_Task(rank) for rank in range(builder.n_ranks)]
        self._comm_of = {
            number: 0 if members == list(range(builder.n_ranks)) else builder.comm(members)
            for number, members in communicators(path, builder.n_ranks).items()
        }
        self._index_of = [{rank: index for index, rank in enumerate(members)} for members in builder.members]
        self._posted_ns: dict[tuple[int, int, int], list[int]] = {}  # last in each communicator, by ranks and tag
        self._comm_of_place = [0]
        self.line = 1

    def read(self, options: ImportOptions) -> None:
        """Read all records. Messages of a date come before events of that date, as they belong to these."""
        remarks = self._builder.remarks

        def leave_out() -> None:
            remarks[_NO_THREADS] += 1

        events: list[ParaverEvents] = []
        for record in records(self._path, self._header, options.on_progress, leave_out):
            if events and record.date_ns > events[0].date_ns:
                self._pass_on(events)
                events = []
            if isinstance(record, ParaverMessage):
                message = record._replace(comm=self._comm_without_overtaking(record))
                self._tasks[message.rank].sent.append(message)
                self._expect(self._tasks[message.target], message)
            else:
                events.append(record)
        self._pass_on(events)
        for task in self._tasks:
            for message in (*task.sent, *task.expected):
                self.line = message.line
                raise UsageError(f"task {task.rank + 1} is in no call that sends or receives this message")
        self._run.end()

    def _pass_on(self, events: list[ParaverEvents]) -> None:
        for each in events:
            self.line = each.line
            self._take(each)

    def _comm_without_overtaking(self, message: ParaverMessage) -> int:
        """The first communicator of all ranks in which a message overtakes none."""
        posted_ns = self._posted_ns.setdefault((message.rank, message.target, message.tag), [])
        place = next((k for k, last_ns in enumerate(posted_ns) if last_ns <= message.received_from_ns), len(posted_ns))
        posted_ns[place : place + 1] = [message.received_from_ns]
        if place == len(self._comm_of_place):
            self._comm_of_place.append(self._builder.comm(range(self._builder.n_ranks)))
        return self._comm_of_place[place]

    def _expect(self, task: _Task, message: ParaverMessage) -> None:
        """Find the receive that was started for a message; else it is one that comes later, or waits for it."""
        for request in task.open:
            is_free = request.kind == "receive" and request.message is None
            if is_free and request.began_ns <= message.received_from_ns <= request.left_ns:
                request.message = message
                return
        task.expected.append(message)

    def _take(self, events: ParaverEvents) -> None:
        """Take the events of a task at one date."""
        task, date_s = self._tasks[events.rank], events.date_ns / _NS
        values = dict(events.values)
        grown = False
        for kind, value in events.values:
            if kind in _COUNTERS and value > 0:
                name = self._names.types.get(kind, str(kind)).partition(" [")[0]
                task.counters[name] = task.counters.get(name, 0) + value
                grown = True
        if grown:
            self._run.counters_are(task.rank, task.counters)
        for kind, value in events.values:
            if kind in _FACTS:
                task.facts[kind] = value
            elif kind == POLLED_REQUEST:
                task.names.append(value)
            elif kind == LAUNCHED_TASK:
                self._run.rank_launched(task.rank, date_s, value - 1)
            elif kind in _CALLS and value > 0:
                self._begin(task, events.date_ns, self._call_name(kind, value), values)
                task.is_collective = kind == COLLECTIVES
            elif kind in _CALLS:
                self._end(task, events.date_ns)
            elif kind in (REGION, KERNEL) and value > 0:
                name = self._names.values.get(kind, {}).get(value, f"function {value}")
                self._run.region_begins(task.rank, date_s, name)
            elif kind in (REGION, KERNEL):
                self._run.region_ends(task.rank, date_s)

    def _call_name(self, kind: int, value: int) -> str:
        name = self._names.values.get(kind, {}).get(value) or _NAMES.get(kind, {}).get(value)
        if not name:
            self._builder.remarks[_UNNAMED] += 1
        return (name or f"call {value}").removeprefix("MPI_")

    def _begin(self, task: _Task, date_ns: int, call: str, values: dict[int, int]) -> None:
        task.depth += 1
        line = self._names.values.get(CALLER_LINE, {}).get(values.get(CALLER_LINE, 0), "")
        file, _, number = line.rpartition(":")
        has_line = bool(file) and number.isdecimal() and number.isascii() and len(number) < 9
        self._run.call_begins(task.rank, date_ns / _NS, call, *((file, int(number)) if has_line else ()))
        if task.depth == 1:
            task.call, task.began_ns, task.names = call, date_ns, []
            task.facts = {kind: value for kind, value in values.items() if kind in _FACTS}

    def _end(self, task: _Task, date_ns: int) -> None:
        """End a call: what it has sent, received, started and completed is known by then."""
        if task.depth == 1:
            self._act(task, date_ns)
        task.depth = max(task.depth - 1, 0)
        self._run.call_ends(task.rank, date_ns / _NS)

    def _act(self, task: _Task, date_ns: int) -> None:
        call, rank, run = task.call, task.rank, self._run
        if call in _SENDS + _STARTED_SENDS and task.sent and task.sent[0].date_ns <= date_ns:
            message = task.sent.popleft()
            request = self._new_request(task, "send", date_ns, message) if call in _STARTED_SENDS else None
            run.message_sent(rank, message.comm, message.target, message.tag, message.nbytes, request)
        if call in _RECEIVES:
            received = self._expected_in(task, date_ns) or self._taken_back(task, date_ns)
            if received is not None:
                run.message_received(rank, received.comm, received.rank, received.tag, received.nbytes)
        elif call in _STARTED_RECEIVES:
            run.receive_posted(rank, self._new_request(task, "receive", date_ns, self._expected_in(task, date_ns)))
        elif call.lower() in OPERATIONS:
            self._meet(task, call.lower(), task.facts, None)
        elif call.lower()[1:] in OPERATIONS and call.startswith("I"):
            number = self._new_request(task, "collective", date_ns, None)
            task.open[-1].facts = call.lower()[1:], dict(task.facts)
            run.collective_started(rank, number)
        elif POLLS_IN_VAIN in task.facts:
            self._poll(task)
        elif call in _OF_ONE + _OF_ALL:
            for each in self._completed_in(task, date_ns):
                self._complete(task, each)
        elif call.startswith("Comm_"):
            self._make_communicator(task, date_ns)
        elif task.is_collective:
            raise UsageError(f"task {rank + 1} calls {call}, which cannot be imported")

    def _make_communicator(self, task: _Task, date_ns: int) -> None:
        """Take part in the gather of colors, which `smpy export` writes, and exchange the messages of the call."""
        if task.facts.get(SENT_BYTES):
            self._meet(task, SPLIT, task.facts, None)
        while task.sent and task.sent[0].date_ns <= date_ns:
            message = task.sent.popleft()
            self._run.message_sent(task.rank, message.comm, message.target, message.tag, message.nbytes)
        while (received := self._expected_in(task, date_ns)) is not None:
            self._run.message_received(task.rank, received.comm, received.rank, received.tag, received.nbytes)

    def _new_request(self, task: _Task, kind: str, left_ns: int, message: ParaverMessage | None) -> int:
        task.n_requests += 1
        name = task.names[0] if task.names else _NO_NAME
        request = _Request(task.n_requests, kind, task.began_ns, left_ns, message, name)
        task.open.append(request)
        if name != _NO_NAME:
            task.named[name] = request
        return task.n_requests

    def _poll(self, task: _Task) -> None:
        """Take the facts of a test or a probe, which `smpy export` tells."""
        success, probed = task.facts.get(SUCCESSFUL_POLL, 0), None
        if POLLED_SOURCE in task.facts:
            probed = 0, task.facts[POLLED_SOURCE] - 1, task.facts.get(POLLED_TAG, 0) - 1
        tested = [
            task.named[name].number if name in task.named else _NULL if name in _NULL_NAMES else task.n_requests + 1
            for name in task.names
        ]
        self._run.polled(task.rank, task.facts[POLLS_IN_VAIN], success, probed=probed, tested=tested)
        complete = task.named.get(task.names[success - 1]) if 0 < success <= len(task.names) else None
        if complete is not None and task.call in _OF_ONE:
            self._complete(task, complete)

    def _expected_in(self, task: _Task, date_ns: int) -> ParaverMessage | None:
        """The message whose receive was posted in the present call: of several, the first one posted."""
        posted = [each for each in task.expected if task.began_ns <= each.received_from_ns <= date_ns]
        if not posted:
            return None
        first = min(posted, key=lambda message: message.received_from_ns)
        task.expected.remove(first)
        return first

    def _taken_back(self, task: _Task, date_ns: int) -> ParaverMessage | None:
        """The message of the present call that a receive got which was started at the date of the call."""
        for request in task.open:
            message = request.message
            if message is not None and task.began_ns <= message.received_from_ns and message.ended_ns <= date_ns:
                request.message = None
                return message
        return None

    def _completed_in(self, task: _Task, date_ns: int) -> list[_Request]:
        """Requests that the present call, which waits or tests, completes."""
        is_test = task.call.startswith("Test")
        over = [each for each in task.open if each.is_over(date_ns) and (each.kind == "receive" or not is_test)]
        if task.call in _OF_ALL or not over:
            return over
        if len(over) > 1:
            self._builder.remarks[_GUESSED] += 1

        def ended_in_call(each: _Request) -> int:
            ended_ns = -1 if each.message is None else each.message.ended_ns
            return ended_ns if task.began_ns < ended_ns <= date_ns else -1

        return [max(over, key=ended_in_call)]  # the oldest one where none ended in the call

    def _complete(self, task: _Task, request: _Request) -> None:
        rank, message = task.rank, request.message
        task.open.remove(request)
        task.named.pop(request.name, None)
        if request.kind == "send":
            self._run.send_completed(rank, request.number)
        elif request.kind == "collective":
            self._meet(task, *request.facts, request.number)
        elif message is not None:
            self._run.message_received(rank, message.comm, message.rank, message.tag, message.nbytes, request.number)

    def _meet(self, task: _Task, operation: str, facts: dict[int, int], request: int | None) -> None:
        """Take part in a collective."""
        number = facts.get(COMMUNICATOR, 0)
        comm = self._comm_of.get(number, 0 if number in (0, 1) else -1)
        if comm < 0 or task.rank not in self._index_of[comm]:
            raise UsageError(
                f"task {task.rank + 1} performs {operation} in communicator {number}, which does not have it"
            )
        rank, n = self._index_of[comm][task.rank], len(self._index_of[comm])
        is_root = facts.get(IS_ROOT, 0) == 1
        sizes = facts.get(SENT_BYTES, 0), facts.get(RECEIVED_BYTES, 0)
        sent, received = totals_of(operation, *sizes, n, rank, is_root=is_root)
        self._run.collective(task.rank, operation, comm, rank if is_root else -1, sent, received, request)
