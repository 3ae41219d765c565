"""Import of programs of Dimemas (.dim), which prv2dim writes: bursts of computing, messages, collectives.

A file has no dates. It is read twice: collectives first, as the sizes of all ranks tell the blocks of a call; then all
records of each rank, in order. Threads of a task but the first are left out. Records are those of Dimemas' own parser;
the partner of a message is a task, with or without its thread.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from smpy.engine.messages import STANDARD, SYNCHRONOUS
from smpy.errors import UsageError
from smpy.importers.action_rows import ACTION_ROW, action_row
from smpy.importers.collective_sizes import OF_ROOT, CallShape, shape_of
from smpy.importers.message_counts import MessageCounts
from smpy.importers.own_sizes import totals_of
from smpy.importers.trace_builder import RANKS_MAX

if TYPE_CHECKING:
    from smpy.importers.held_rows import Row
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

_HEADER: Final = re.compile(rb'#DIMEMAS:"([^"\n]*)":([01])(?:,\d+)?:(\d{1,9})\(([\d,]*)\)(?:,(\d{1,9}))?[\d,:]*\s*\n?')
_OPERATIONS: Final = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall"),
    *("alltoallv", "reduce", "allreduce", "reduce_scatter", "", "scan"),
)
_RENDEZVOUS, _IMMEDIATE = 1, 2  # bits of the kind of a send
_RECEIVE, _POST, _WAIT, _WAIT_ALL = range(4)  # kinds of a receive
_TAG_MAX: Final = (1 << 31) - 1
_BYTES_MAX: Final = 1 << 50
_SECONDS_MAX: Final = 1e15
_LINE_MAX_BYTES: Final = 16 << 20
_ROWS_AT_ONCE: Final = 1 << 15
_NO_THREADS: Final = "threads other than a task's first are left out"
_NO_WAITS: Final = "nobody waits for a started send: the format has no record of that"
_NO_EVENTS: Final = "user events are left out"


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file begins as a program of Dimemas does."""
    return head.startswith(b"#DIMEMAS:")


def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Read a program into a builder.

    Raises
    ------
    UsageError
        If a line has no known form: file, line and why; if a message or a collective lacks a side.
    """
    if options.cycles is not None:
        raise UsageError(f"{path} has no counters: leave out --cycles")
    n_ranks = _read_header(path)
    builder.begin(n_ranks, options)
    calls = _Calls(path, builder)
    for record in _records(path, n_ranks, lambda share: options.on_progress(share / 2)):
        calls.add(record)
    calls.end()
    rows: list[Row] = []
    lines: list[int] = []  # of the rows
    counts = MessageCounts(lambda rank, line: f"{path}, line {line}", builder.members)

    def hand_over() -> None:
        if rows:
            batch = np.array(rows, ACTION_ROW)
            counts.add(batch, np.array(lines))
            builder.actions(batch)
            rows.clear()
            lines.clear()

    tasks = [_Task(rank, builder, calls, rows, options.flop_per_s) for rank in range(n_ranks)]
    for record in _records(path, n_ranks, lambda share: options.on_progress(0.5 + share / 2)):
        if record.task >= 0:
            record.checked(tasks[record.task].add)
            lines += [record.line] * (len(rows) - len(lines))
        if len(rows) >= _ROWS_AT_ONCE:
            hand_over()
    for task in tasks:
        task.end()
    lines += [0] * (len(rows) - len(lines))
    hand_over()
    counts.check()


def _read_header(path: Path) -> int:
    with path.open("rb") as file:
        header = _HEADER.fullmatch(file.readline(_LINE_MAX_BYTES))
    if header is None:
        raise UsageError(f'{path}, line 1: it is no `#DIMEMAS:"name":0:TASKS(THREADS,...),COMMUNICATORS`')
    n_tasks = int(header[3])
    if not 0 < n_tasks <= RANKS_MAX or header[4].count(b",") + 1 != n_tasks:
        raise UsageError(f"{path}, line 1: it says {n_tasks:,} tasks, and not the threads of as many")
    return n_tasks


# ---- records ----


class _Record(NamedTuple):
    """A line: its number, its kind, its task or -1, and the numbers behind these."""

    path: Path
    line: int
    kind: str
    task: int
    words: Sequence[str]

    def checked(self, take: Callable[[_Record], None]) -> None:
        """Pass the record on; an error then names its line."""
        try:
            take(self)
        except UsageError as error:
            raise UsageError(f"{self.path}, line {self.line}: {error}") from None

    def number(self, i: int, what: str, least: int = 0, most: int = _BYTES_MAX) -> int:
        """The number in a place behind the thread, or from the end."""
        try:
            word = self.words[i]
        except IndexError:
            raise UsageError(f"it does not say its {what}") from None
        if not (re.fullmatch(r"-?\d{1,18}", word, re.ASCII) and least <= int(word) <= most):
            raise UsageError(f"{word[:40]!r} is no {what}")
        return int(word)

    def seconds(self) -> float:
        """The length of a burst."""
        word = self.words[0] if self.words else ""
        try:
            value = float(word)
        except ValueError:
            value = -1.0
        if "_" in word or not (0 <= value <= _SECONDS_MAX and isfinite(value)):
            raise UsageError(f"{word[:40]!r} is no number of seconds")
        return value


def _records(path: Path, n_ranks: int, on_progress: Callable[[float], None]) -> Iterator[_Record]:
    """Records of a file; definitions have task -1, and what threads but the first do has no words."""
    n_bytes, n_read = max(path.stat().st_size, 1), 0
    with path.open("rb") as file:
        for number in range(1, 1 << 62):
            data = file.readline(_LINE_MAX_BYTES)
            if not data:
                return
            if len(data) == _LINE_MAX_BYTES or b"\0" in data or not data.isascii():
                raise UsageError(f"{path}, line {number}: this is no text of Dimemas")
            n_read += len(data)
            if number % _ROWS_AT_ONCE == 0:
                on_progress(n_read / n_bytes)
            kind, *words = data.decode().strip().split(":")
            if number == 1 or not kind or kind == "s":
                continue
            if kind == "d":
                yield _Record(path, number, kind, -1, words)
                continue
            record = _Record(path, number, kind, 0, words)
            try:
                task = record.number(0, f"task: there are 0 to {n_ranks - 1}", most=n_ranks - 1)
                thread = record.number(1, "thread")
            except UsageError as error:
                raise UsageError(f"{path}, line {number}: {error}") from None
            yield _Record(path, number, kind if thread == 0 else "", task, words[2:])


# ---- communicators and collectives ----


@dataclass(slots=True)
class _Part:
    """Parts of the ranks in one call."""

    operation: str
    root: int
    line: int
    sent: dict[int, int] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)


class _Calls:
    """The communicators of a program, and its collective calls, whose sizes stand with all ranks."""

    def __init__(self, path: Path, builder: TraceBuilder) -> None:
        self._path, self._builder = path, builder
        self._comm_of: dict[int, int] = {}
        self._index_of: dict[int, dict[int, int]] = {}
        self._n_of: dict[tuple[int, int], int] = defaultdict(int)
        self._parts: dict[tuple[int, int], _Part] = {}
        self._shapes: dict[tuple[int, int], tuple[int, CallShape, int]] = {}
        self._n_taken: dict[tuple[int, int], int] = defaultdict(int)

    def add(self, record: _Record) -> None:
        """Add what a record says of communicators and collectives."""
        if record.kind == "d":
            record.checked(self._define)
        elif record.kind == "10":
            record.checked(self._join)

    def comm(self, record: _Record, i: int) -> int:
        """The builder's number of the communicator in a place of a record."""
        number = record.number(i, "communicator")
        if number not in self._comm_of:
            raise UsageError(f"communicator {number} is not defined")
        return self._comm_of[number]

    def rank_in(self, comm: int, rank: int) -> int:
        """Rank in a communicator of a rank of the world."""
        if comm not in self._index_of:
            self._index_of[comm] = {member: index for index, member in enumerate(self._builder.members[comm])}
        if rank not in self._index_of[comm]:
            raise UsageError(f"task {rank} is not in the communicator")
        return self._index_of[comm][rank]

    def next_of(self, rank: int, comm: int) -> tuple[int, CallShape, int]:
        """Number, shape and root of the next call of a rank in a communicator."""
        n = self._n_taken[comm, rank]
        self._n_taken[comm, rank] += 1
        return self._shapes[comm, n]

    def end(self) -> None:
        """Make calls of their parts.

        Raises
        ------
        UsageError
            If a call lacks a rank.
        """
        for (comm, n), part in self._parts.items():
            members = self._builder.members[comm]
            lacking = next((rank for rank in range(len(members)) if rank not in part.sent), None)
            if lacking is not None:
                place = f"{self._path}, line {part.line}"
                raise UsageError(f"{place}: task {members[lacking]} does not take part in this {part.operation}")
            sent, received = ([sizes[rank] for rank in range(len(members))] for sizes in (part.sent, part.received))
            shape = shape_of(part.operation, part.root, sent, received)
            if shape.assumed:
                self._builder.remarks[shape.assumed] += 1
            number = self._builder.collective(part.operation, len(members), **shape.facts) if len(members) > 1 else 0
            self._shapes[comm, n] = number, shape, part.root
        self._parts.clear()

    def _define(self, record: _Record) -> None:
        if not record.words or record.words[0] != "1":
            return  # files and windows
        number, n = record.number(1, "communicator"), record.number(2, "number of tasks")
        members = [
            record.number(i, "task", most=self._builder.n_ranks - 1) for i in range(3, 3 + min(n, len(record.words)))
        ]
        if len(record.words) != 3 + n or len(set(members)) != n or n == 0:
            raise UsageError(f"communicator {number} does not have the {n:,} different tasks that it says")
        if number in self._comm_of:
            raise UsageError(f"communicator {number} is defined twice")
        is_world = members == list(range(self._builder.n_ranks))
        self._comm_of[number] = 0 if is_world else self._builder.comm(members)

    def _join(self, record: _Record) -> None:
        number, comm = record.number(0, "operation"), self.comm(record, 1)
        operation = _OPERATIONS[number] if number < len(_OPERATIONS) else ""
        if not operation:
            raise UsageError(f"operation {number} cannot be imported")
        rank = self.rank_in(comm, record.task)
        root = self.rank_in(comm, record.number(2, "root")) if operation in OF_ROOT else 0
        sizes = record.number(4, "size"), record.number(5, "size")
        n = self._n_of[comm, rank]
        self._n_of[comm, rank] += 1
        part = self._parts.setdefault((comm, n), _Part(operation, root, record.line))
        if (part.operation, part.root) != (operation, root):
            raise UsageError(f"this {operation} meets the {part.operation} of line {part.line}, or one of another root")
        n_members = len(self._builder.members[comm])
        part.sent[rank], part.received[rank] = totals_of(operation, *sizes, n_members, rank, is_root=rank == root)


# ---- ranks ----


class _Task:
    """Converter of the records of one rank to rows."""

    def __init__(self, rank: int, builder: TraceBuilder, calls: _Calls, rows: list[Row], flop_per_s: float) -> None:
        self._rank, self._builder, self._calls, self._rows = rank, builder, calls, rows
        self._flop_per_s = flop_per_s
        self._n_requests = 0
        self._posted: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)  # by communicator, source, tag

    def add(self, record: _Record) -> None:
        """Convert a record."""
        add = _KINDS.get(record.kind)
        if add is None:
            raise UsageError(f"a record of kind {record.kind[:40]!r} cannot be imported")
        add(self, record)

    def end(self) -> None:
        """End the rank."""
        self._rows.append(action_row("end", self._rank, 0))

    def nothing(self, record: _Record) -> None:
        """Ignore a record that takes no time."""

    def of_thread(self, record: _Record) -> None:
        self._builder.remarks[_NO_THREADS] += 1

    def event(self, record: _Record) -> None:
        self._builder.remarks[_NO_EVENTS] += 1

    def burst(self, record: _Record) -> None:
        amount = record.seconds() * self._flop_per_s
        if amount > 0:
            self._rows.append(action_row("compute", self._rank, 0, amount=amount))

    def send(self, record: _Record) -> None:
        peer, nbytes, tag, comm = self._message(record)
        kind = record.number(-1, "kind of a send", most=_RENDEZVOUS | _IMMEDIATE)
        is_started = bool(kind & _IMMEDIATE)
        if is_started:
            self._builder.remarks[_NO_WAITS] += 1
        mode = SYNCHRONOUS if kind & _RENDEZVOUS else STANDARD
        site = self._site(
            ("Issend" if is_started else "Ssend") if kind & _RENDEZVOUS else "Isend" if is_started else "Send"
        )
        self._rows.append(
            action_row(
                "isend" if is_started else "send",
                *(self._rank, site, comm, peer, tag, nbytes),
                amount=float(not is_started),
                request=self._new_request(),
                detail=mode,
            )
        )

    def receive(self, record: _Record) -> None:
        peer, nbytes, tag, comm = self._message(record)
        kind = record.number(-1, "kind of a receive", most=_WAIT_ALL)
        key = comm, peer, tag
        if kind in (_WAIT, _WAIT_ALL):
            if not self._posted[key]:
                raise UsageError(
                    f"it waits for a message of task {peer} with tag {tag} that no receive was started for"
                )
            row = action_row("wait", self._rank, self._site("Wait"), request=self._posted[key].popleft())
        else:
            request = self._new_request()
            if kind == _POST:
                self._posted[key].append(request)
            site = self._site("Irecv" if kind == _POST else "Recv")
            action = "irecv" if kind == _POST else "recv"
            row = action_row(action, self._rank, site, comm, peer, tag, nbytes, request=request)
        self._rows.append(row)

    def collective(self, record: _Record) -> None:
        comm = self._calls.comm(record, 1)
        operation = _OPERATIONS[record.number(0, "operation")]
        rank = self._calls.rank_in(comm, self._rank)
        number, shape, root = self._calls.next_of(rank, comm)
        if not number:
            return  # among one rank
        entries = [(k, value) for k, table in enumerate(shape.tables[rank] if shape.tables else ()) for value in table]
        site = self._site(operation.capitalize())
        self._rows.append(
            action_row(
                "collective",
                *(self._rank, site, comm, root),
                nbytes=shape.blocks[rank],
                amount=len(entries),
                detail=number,
            )
        )
        self._rows += [action_row("entry", self._rank, site, nbytes=value, detail=k) for k, value in entries]

    def _message(self, record: _Record) -> tuple[int, int, int, int]:
        """Partner in the communicator, bytes, tag and communicator; the partner's thread may be there."""
        words = record.words
        if len(words) not in (5, 6):
            raise UsageError("it is no message: PARTNER[:THREAD]:BYTES:TAG:COMMUNICATOR:KIND")
        comm = self._calls.comm(record, -2)
        partner = record.number(0, f"task: there are 0 to {self._builder.n_ranks - 1}", most=self._builder.n_ranks - 1)
        self._calls.rank_in(comm, self._rank)
        peer = self._calls.rank_in(comm, partner)
        return peer, record.number(-4, "size"), record.number(-3, "tag", most=_TAG_MAX), comm

    def _site(self, call: str) -> int:
        return self._builder.site(self._rank, call)

    def _new_request(self) -> int:
        self._n_requests += 1
        return self._n_requests


_KINDS: Final[dict[str, Callable[[_Task, _Record], None]]] = {
    "": _Task.of_thread,
    "0": _Task.nothing,
    "1": _Task.burst,
    "2": _Task.send,
    "3": _Task.receive,
    "10": _Task.collective,
    "20": _Task.event,
}
