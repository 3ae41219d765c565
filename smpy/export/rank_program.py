"""Program of one rank, as text: a base for formats that list what each rank does, in order.

Such formats name a request by its message: its ranks and its tag. A wait is for the oldest open request of that name.
They know the world alone, so communicators have tags of their own. A receive has the source and the tag of the message
that it took. Collectives that a format lacks are the messages of their schedules, with the algorithms of the machine.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from smpy.collectives.facts import Query
from smpy.engine.schedules import Instruction, ScheduleCall
from smpy.errors import UsageError
from smpy.export.action_columns import Row, action_columns, rows_of
from smpy.export.collective_calls import CollectiveCalls
from smpy.export.communicators import OF_COLLECTIVES, Communicators
from smpy.export.matches import Matches
from smpy.export.run_machine import RunMachine, machine_of_run
from smpy.records.trace import Trace
from smpy.records.trace_layout import damaged
from smpy.records.whole_runs import check_whole
from smpy.replay.trace_schedules import queries_of

PLAIN_MODES: Final = (0, 3)
"""Modes of standard sends, and of those that are a part of another call."""

_NULL_REQUEST: Final = -1
_NO_REQUESTS: Final = (_NULL_REQUEST, 0)  # 0: that of a send that was complete at once
_UNWAITED_MAX: Final = 64  # requests of one name that nobody waits for, before their waits are written


class RequestName(NamedTuple):
    """Name of the requests of a message: ranks of the world, and a tag of the format."""

    source: int
    target: int
    tag: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts of a run that all its ranks share."""

    trace: Trace
    form: str
    machine: RunMachine
    communicators: Communicators
    matches: Matches
    collectives: CollectiveCalls
    queries: dict[int, tuple[str, Query]]
    by_hints: frozenset[int]  # schedules with an algorithm that a hint of their communicator chose

    @classmethod
    def of(cls, trace: Trace, form: str) -> RunFacts:
        """Read the facts of a trace, which is to be written in a format."""
        check_whole(trace, f"be written as {form}")
        communicators = Communicators(trace)
        machine = machine_of_run(trace)
        collectives = CollectiveCalls(trace, machine, communicators)
        choices = trace.info["trace"].get("choices", ())
        by_hints = frozenset(number for choice in choices for number in choice["schedules"])
        matches = Matches(trace, communicators)
        return cls(trace, form, machine, communicators, matches, collectives, queries_of(trace), by_hints)

    def rows(self) -> Iterator[Row]:
        """The actions of all ranks."""
        numbers_of_names: dict[str, int] = {}
        for columns in action_columns(self.trace, numbers_of_names):
            yield from rows_of(columns, list(numbers_of_names))

    def check_tags(self) -> None:
        """Refuse a program whose own tags are those that other communicators have."""
        if self.matches.largest_tag >= self.communicators.tags_end:
            raise UsageError(
                f"{self.trace.folder} is not written as {self.form}: the tag {self.matches.largest_tag} is one that "
                "collectives or other communicators have"
            )


class RankProgram:
    """Program of one rank; a format is a class below it, which writes lines.

    Parameters
    ----------
    run : RunFacts
        Facts of the run.
    rank : int
        The rank.

    Attributes
    ----------
    lines : list of str
        Lines so far; the writer removes them.
    """

    HAS_WAIT_ALL: ClassVar[bool] = False

    def __init__(self, run: RunFacts, rank: int) -> None:
        self.lines: list[str] = []
        self.rank = rank
        self.run = run
        self.amounts_per_s = run.machine.amounts_per_s[rank]
        self._row: Row | None = None  # the row whose text is being written
        self._message_of: dict[int, RequestName] = {}  # by open request
        self._open: dict[RequestName, deque[int]] = defaultdict(deque)
        self._unwaited: set[int] = set()  # open requests that nobody waits for
        self._listed: list[int] = []  # requests of a list that is being read
        self._first: int | None = None  # place in the list, from 1, of the only one that is waited for; 0: none
        self._tables: dict[int, list[int]] = {}
        self._n_entries = 0  # entries of a collective still to come
        self._collective: Row | None = None
        self._n_inner = 0  # requests of collectives' messages so far, which have numbers below 0

    # ---- lines, written by a format ----

    def compute(self, amount: float) -> None:
        """Write computing, of which a second has `amounts_per_s`."""
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        """Write time that the rank spends in another way."""
        raise NotImplementedError

    def send(self, message: RequestName, nbytes: int, *, is_started: bool) -> None:
        """Write a send."""
        raise NotImplementedError

    def receive(self, message: RequestName, nbytes: int, *, is_started: bool) -> None:
        """Write a receive."""
        raise NotImplementedError

    def wait(self, message: RequestName, *, is_tested: bool = False) -> None:
        """Write a wait for the oldest open request of a name."""
        raise NotImplementedError

    def wait_all(self) -> None:
        """Write a wait for all open requests."""
        raise NotImplementedError

    def collective(self, row: Row, operation: str, query: Query, tables: dict[int, list[int]]) -> bool:
        """Write a collective, unless the format lacks it; return whether it has it."""
        raise NotImplementedError

    # ---- rows of actions ----

    def add(self, row: Row) -> None:
        """Add the lines of a row."""
        self._row = row
        if self._listed and row.action != "and":
            self._end_list()
        perform = _PERFORM.get(row.action)
        if perform is None:
            raise self.refused(_REASONS.get(row.action, f"it has nothing for {row.action!r}"))
        perform(self, row)

    def end(self) -> None:
        """End the program."""
        if self._listed:
            self._end_list()

    def refused(self, why: str) -> UsageError:
        """Error for a call that the format lacks."""
        row, trace = self._row, self.run.trace
        call = trace.labels[trace.label_of_site[row.site]] if row else ""
        where = f" ({call})" if call else ""
        return UsageError(f"{trace.folder} is not written as {self.run.form}: rank {self.rank}{where}: {why}")

    def _nothing(self, row: Row) -> None:
        """Ignore a row that takes no time."""

    def _compute(self, row: Row) -> None:
        if row.bytes:
            raise self.refused("the time of its computing depends on the memory")
        self.compute(self._amount(row))

    def _pause(self, row: Row) -> None:
        self.pause(self._amount(row))

    def _amount(self, row: Row) -> float:
        if not 0 <= row.amount < float("inf"):
            raise damaged(f"{self.run.trace.folder / 'actions.parquet'}: {row.amount} of rank {row.rank} is no amount")
        return row.amount

    def _send(self, row: Row) -> None:
        if row.detail not in PLAIN_MODES:
            raise self.refused("it has no sends of another mode")
        communicators = self.run.communicators
        target = communicators.world_rank(row.comm, row.peer)
        message = RequestName(self.rank, target, communicators.tag(row.comm, row.tag))
        is_started = row.action == "isend" or row.amount != 1
        self.send(message, row.bytes, is_started=is_started)
        if is_started:
            self._start(row.request, message, is_unwaited=row.amount == 1)

    def _receive(self, row: Row) -> None:
        communicators, matches = self.run.communicators, self.run.matches
        taken = matches.taken_by(self.rank, row.request, row.peer, row.tag)
        if taken is None:
            raise self.refused("it receives a message that nobody sent")
        source, tag = communicators.world_rank(row.comm, taken[0]), communicators.tag(row.comm, taken[1])
        message = RequestName(source, self.rank, tag)
        is_started = row.action == "irecv"
        self.receive(message, min(row.bytes, matches.largest_bytes), is_started=is_started)
        if is_started:
            self._start(row.request, message)

    def _start(self, request: int, message: RequestName, *, is_unwaited: bool = False) -> None:
        of_name = self._open[message]
        of_name.append(request)
        self._message_of[request] = message
        if is_unwaited:
            self._unwaited.add(request)
            if len(of_name) > _UNWAITED_MAX and of_name[0] in self._unwaited:
                self._wait_for_one(of_name[0])

    def _free(self, row: Row) -> None:
        if row.request in self._message_of:
            self._unwaited.add(row.request)

    def _wait(self, row: Row) -> None:
        if row.request not in _NO_REQUESTS:
            self._wait_for_one(row.request)

    def _wait_all(self, row: Row) -> None:
        self._listed = [row.request]
        self._first = None

    def _and(self, row: Row) -> None:
        self._listed.append(row.request)

    def _wait_any(self, row: Row) -> None:
        self._listed = [row.request]
        self._first = row.detail

    def _end_list(self) -> None:
        """Write the wait for a list of requests, once it has been read."""
        requests, self._listed = self._listed, []
        self._wait_for(requests if self._first is None else requests[self._first - 1 : self._first])

    def _test(self, row: Row) -> None:
        if row.amount or not row.detail:
            raise self.refused("it polls in vain, which depends on time")
        if row.request not in _NO_REQUESTS:
            self._wait_for_one(row.request, is_tested=True)

    def _wait_for(self, requests: Sequence[int]) -> None:
        """Write waits; those of one name in the order in which they were started."""
        waited = set(requests).difference(_NO_REQUESTS)
        if self.HAS_WAIT_ALL and len(requests) > 1 and waited >= self._message_of.keys() - self._unwaited:
            self.wait_all()
            for left in (self._message_of, self._open, self._unwaited):
                left.clear()
            return
        for request in sorted(waited, key=abs):
            self._wait_for_one(request)

    def _wait_for_one(self, request: int, *, is_tested: bool = False) -> None:
        message = self._message_of.get(request)
        if message is None:
            raise damaged(f"{self.run.trace.folder / 'actions.parquet'}: rank {self.rank} waits for no request")
        of_name = self._open[message]
        while of_name[0] != request and of_name[0] in self._unwaited:
            self._close(message)
        if of_name[0] != request or (is_tested and len(of_name) > 1):
            raise self.refused("it waits for a request before an older one of the same ranks and tag")
        self._close(message, is_tested=is_tested)

    def _close(self, message: RequestName, *, is_tested: bool = False) -> None:
        of_name = self._open[message]
        request = of_name.popleft()
        if not of_name:
            del self._open[message]
        del self._message_of[request]
        self._unwaited.discard(request)
        self.wait(message, is_tested=is_tested)

    # ---- collectives ----

    def _begin_collective(self, row: Row) -> None:
        self._collective, self._tables, self._n_entries = row, {}, int(row.amount)
        if not self._n_entries:
            self._end_collective()

    def _entry(self, row: Row) -> None:
        self._tables.setdefault(row.detail, []).append(row.bytes)
        self._n_entries -= 1
        if not self._n_entries:
            self._end_collective()

    def _end_collective(self) -> None:
        """Write a collective, once all its table entries have been read."""
        row, self._collective = self._collective, None
        if row is None:
            raise damaged(
                f"{self.run.trace.folder / 'actions.parquet'}: rank {self.rank} has an entry of no collective"
            )
        operation, query = self.run.queries.get(row.detail, ("", None))
        if query is None or row.detail in self.run.by_hints or not self.collective(row, operation, query, self._tables):
            calls = self.run.collectives.calls(self.rank, row, self._tables)
            self._perform(row.comm, calls)

    def _perform(self, comm: int, calls: Iterable[ScheduleCall]) -> None:
        """Write the messages of a collective."""
        tag = self.run.communicators.tag(comm, OF_COLLECTIVES)
        started: list[int] = []  # requests, or 0 once waited for
        for call in calls:
            if call.code in (Instruction.FORK, Instruction.MEET):
                raise self.refused("its collective has parts that no messages in one order express")
            if call.code == Instruction.WAIT_ALL:
                self._wait_inner(started, range(len(started)))
                started.clear()
            elif call.code == Instruction.WAIT_FOR:
                self._wait_inner(started, [call.number])
            elif call.code == Instruction.WAIT_OLDEST:
                self._wait_inner(started, [number for number, request in enumerate(started) if request][:1])
            elif call.code == Instruction.COMBINE:
                self.pause(call.bytes_in * self.run.machine.reduction_byte_s)
            else:
                started += self._exchange(comm, call, tag)
        self._wait_inner(started, range(len(started)))

    def _exchange(self, comm: int, call: ScheduleCall, tag: int) -> list[int]:
        """Write the messages of a call, and return the requests of those that it only starts."""
        started = []
        is_exchange = call.code == Instruction.EXCHANGE
        if call.code in (Instruction.SEND, Instruction.ISEND, Instruction.EXCHANGE):
            message = RequestName(self.rank, self.run.communicators.world_rank(comm, call.to), tag)
            self.send(message, call.bytes_out, is_started=call.code != Instruction.SEND)
            if call.code != Instruction.SEND:
                started.append(self._start_inner(message))
        if call.code in (Instruction.RECV, Instruction.IRECV, Instruction.EXCHANGE):
            message = RequestName(self.run.communicators.world_rank(comm, call.source), self.rank, tag)
            self.receive(message, call.bytes_in, is_started=call.code != Instruction.RECV)
            if call.code != Instruction.RECV:
                started.append(self._start_inner(message))
        if is_exchange:
            self._wait_for(started)
            return []
        return started

    def _start_inner(self, message: RequestName) -> int:
        self._n_inner += 1
        request = _NULL_REQUEST - self._n_inner
        self._start(request, message)
        return request

    def _wait_inner(self, started: list[int], numbers: Iterable[int]) -> None:
        waited = [started[number] for number in numbers if started[number]]
        for number in numbers:
            started[number] = 0
        if waited:
            self._wait_for(waited)


_PERFORM: Final[dict[str, Callable[[Any, Row], None]]] = {
    "compute": RankProgram._compute,
    "sleep": RankProgram._pause,
    "skip": RankProgram._pause,
    "overhead": RankProgram._pause,
    "send": RankProgram._send,
    "isend": RankProgram._send,
    "recv": RankProgram._receive,
    "irecv": RankProgram._receive,
    "wait": RankProgram._wait,
    "wait_all": RankProgram._wait_all,
    "wait_any": RankProgram._wait_any,
    "and": RankProgram._and,
    "test": RankProgram._test,
    "free": RankProgram._free,
    "collective": RankProgram._begin_collective,
    "entry": RankProgram._entry,
    **dict.fromkeys(("noise_free", "took", "begin_region", "end_region", "end"), RankProgram._nothing),
}
_ONE_SIDED: Final = "it has no one-sided accesses"
_FILES: Final = "it has no accesses to files"
_POLLS: Final = "it has no probes or polls, which depend on time"
_STARTED: Final = "it has no collectives that are started and waited for later"
_LAUNCH: Final = "it has no ranks that others start"
_REASONS: Final = {
    **dict.fromkeys(("access", "rget", "complete", "lock", "unlock"), _ONE_SIDED),
    **dict.fromkeys(("file_access", "file_iaccess"), _FILES),
    **dict.fromkeys(("test_any", "get_status", "iprobe", "improbe", "probe", "mprobe", "irecv_held"), _POLLS),
    **dict.fromkeys(("start", "latch"), _STARTED),
    **dict.fromkeys(("launch", "launched"), _LAUNCH),
    **dict.fromkeys(("device_kernel", "device_copy", "device_memory"), "it has no devices of hosts"),
    "cancel": "it cannot cancel a request",
    "host_state": "it has no states of hosts",
}
