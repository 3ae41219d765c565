"""A trace as a program in GOAL, the language of LogGOPSim: computing, sends and receives of each rank, in order.

Computing, sleep, overheads and the arithmetic of reductions become `calc`, in whole nanoseconds; the sum of a rank is
exact to half a nanosecond. An operation requires those for which its rank had waited, and the start of one that it did
not wait for. A receive has the size and tag of the message that it took; a receive from any source also has its source.
Collectives become the messages of their schedules, with the algorithms of the machine. A started one has no order with
the calls between its start and its wait. Ranks are those of the world; a communicator has tags of its own, some for its
collectives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, Final

from smpy.engine.schedules import Instruction, ScheduleCall
from smpy.errors import UsageError
from smpy.export.collective_calls import CollectiveCalls
from smpy.export.communicators import ANY, OF_COLLECTIVES, Communicators
from smpy.export.rank_files import ROWS_AT_ONCE, append_lines
from smpy.export.rank_program import action_rows
from smpy.export.run_machine import machine_of_run
from smpy.records.files import in_place_when_whole
from smpy.records.trace import Trace
from smpy.records.trace_layout import damaged
from smpy.records.whole_runs import check_whole

SUFFIX: Final = ".goal"

_COLUMNS: Final = ("rank", "action", "site", "comm", "peer", "tag", "bytes", "amount", "request", "detail")
_CALCULATED: Final = ("compute", "sleep", "overhead", "skip")
_SENDS: Final = ("send", "isend")
_RECEIVES: Final = ("recv", "irecv")
_WAITS: Final = ("wait", "wait_all", "and")
_WITHOUT_TIME: Final = ("noise_free", "begin_region", "end_region", "free", "took", "end")
_PERFORMS: Final = ("collective", "start")
_PLAIN_MODES: Final = (0, 3)  # standard sends, and those that are a part of another call
_NS: Final = 1e9
_LARGEST: Final = 1 << 53  # largest number that a reader of GOAL accepts
_N_STRANDS: Final = 2
Row = dict[str, Any]


def write(trace: Trace, path: Path) -> None:
    """Write a trace to `path`. The sizes of all messages are held in memory.

    Parameters
    ----------
    trace : Trace
        Trace to write, of a whole run.
    path : Path
        The file; an existing one is replaced.

    Raises
    ------
    UsageError
        If the trace cannot be read, GOAL lacks an operation of the run, or the file cannot be written.
    """
    check_whole(trace, "be written as GOAL")
    machine = machine_of_run(trace)
    communicators = Communicators(trace)
    messages = _Messages(trace, communicators)
    collectives = CollectiveCalls(trace, machine, communicators)
    programs = [
        _Program(rank, amounts_per_s, machine.reduction_byte_s, communicators, messages, collectives)
        for rank, amounts_per_s in enumerate(machine.amounts_per_s)
    ]
    lines = [program.lines for program in programs]
    with TemporaryDirectory() as folder, in_place_when_whole(path) as scratch:
        paths = [Path(folder, f"rank-{rank}") for rank in range(len(programs))]
        rows = _rows(trace)
        for first in rows:
            programs[first["rank"]].add(trace, first)
            for row in islice(rows, ROWS_AT_ONCE):
                programs[row["rank"]].add(trace, row)
            append_lines(lines, paths)
        with scratch.open("wb") as file:
            file.write(f"num_ranks {len(programs)}\n".encode())
            for rank, path_of_rank in enumerate(paths):
                file.write(f"rank {rank} {{\n".encode())
                if path_of_rank.exists():
                    with path_of_rank.open("rb") as of_rank:
                        copyfileobj(of_rank, file)
                file.write(b"}\n")


def _rows(trace: Trace) -> Iterator[Row]:
    for row in action_rows(trace, _COLUMNS):
        yield dict(zip(_COLUMNS, row, strict=True))


class _Messages:
    """The messages of the run: sizes of those not yet received, and matches of receives from any source."""

    def __init__(self, trace: Trace, communicators: Communicators) -> None:
        self._communicators: Final = communicators
        self._sizes: Final[dict[tuple[int, int, int], dict[int, deque[tuple[int, int]]]]] = {}
        self._took: Final[dict[tuple[int, int], tuple[int, int]]] = {}
        for number, row in enumerate(_rows(trace)):
            if row["action"] in _SENDS:
                comm, target = row["comm"], communicators.world_rank(row["comm"], row["peer"])
                of_tag = self._sizes.setdefault((communicators.joint(comm), row["rank"], target), {})
                of_tag.setdefault(row["tag"], deque()).append((number, row["bytes"]))
                communicators.tag(comm, row["tag"])
            elif row["action"] == "took":
                self._took[row["rank"], row["request"]] = row["peer"], row["tag"]
            elif row["action"] in _PERFORMS:
                for strand in range(1 + _N_STRANDS):
                    communicators.tag(row["comm"], OF_COLLECTIVES - strand)

    def taken_by(self, row: Row) -> tuple[int, int, int]:
        """Source, tag and size of the message that a receive takes; those of the receive if it took none."""
        comm, peer, tag = row["comm"], row["peer"], row["tag"]
        if peer == ANY:
            peer, tag = self._took.get((row["rank"], row["request"]), (peer, tag))
        source = self._communicators.world_rank(comm, peer)
        of_tag = self._sizes.get((self._communicators.joint(comm), source, row["rank"]), {})
        left = [(sizes[0], sent) for sent, sizes in of_tag.items() if sizes and tag in (ANY, sent)]
        if not left:
            return source, tag if tag == ANY else self._communicators.tag(comm, tag), min(row["bytes"], _LARGEST)
        (_, size), tag = min(left)
        of_tag[tag].popleft()
        return source, self._communicators.tag(comm, tag), size


class _Program:
    """The operations of one rank, with what its core computes in a second, and its reductions."""

    def __init__(
        self,
        rank: int,
        amounts_per_s: float,
        reduction_byte_s: float,
        communicators: Communicators,
        messages: _Messages,
        collectives: CollectiveCalls,
    ) -> None:
        self.lines: Final[list[str]] = []
        self._communicators = communicators
        self._amounts_per_s = amounts_per_s
        self._reduction_byte_s = reduction_byte_s
        self._rank = rank
        self._messages = messages
        self._collectives = collectives
        self._tables: dict[int, list[int]] = {}  # tables of the collective in `self._collective`
        self._collective: Row | None = None
        self._n_entries = 0  # entries of these tables still to come
        self._n_operations = 0
        self._needs: list[str] = []  # requirements of the next operation
        self._of_request: Final[dict[int, list[str]]] = {}
        self._calculated_ns, self._written_ns = 0.0, 0

    def add(self, trace: Trace, row: Row) -> None:
        """Add the operations of a row of `actions`."""
        action = row["action"]
        nbytes = 0 if action in _RECEIVES else row["bytes"]  # a receive of an object has room for any
        if not (0 <= nbytes <= _LARGEST and 0 <= row["amount"] <= _LARGEST):
            raise damaged(f"{trace.folder / 'actions.parquet'}: an amount of rank {row['rank']} is not of a run")
        if action in _CALCULATED:
            if row["bytes"]:
                raise _refused(trace, row, "its time depends on the memory")
            self._calculate(row["amount"] / (self._amounts_per_s if action == "compute" else 1.0))
        elif action in _WAITS:
            self._needs += [f"requires {label}" for label in self._of_request.pop(row["request"], ())]
        elif action in (*_SENDS, *_RECEIVES):
            self._exchange(trace, row)
        elif action in _PERFORMS:
            self._collective, self._tables, self._n_entries = row, {}, int(row["amount"])
            self._perform_whole()
        elif action == "entry":
            self._tables.setdefault(row["detail"], []).append(row["bytes"])
            self._n_entries -= 1
            self._perform_whole()
        elif action not in _WITHOUT_TIME:
            latch = "it waits for ranks that send it no message, which GOAL cannot express"
            raise _refused(trace, row, latch if action == "latch" else f"GOAL has nothing for {action!r}")

    def _perform_whole(self) -> None:
        """Add the messages of the collective, once all its table entries have been read."""
        if self._collective is not None and not self._n_entries:
            row, self._collective = self._collective, None
            left = self._perform(row["comm"], self._collectives.calls(self._rank, row, self._tables))
            if row["action"] == "start":
                self._of_request[row["request"]] = left
            else:
                self._needs += [f"requires {label}" for label in left]

    def _perform(self, comm: int, calls: Iterable[ScheduleCall], strand: int = 0) -> list[str]:
        """Add the messages of a collective, or of a strand; return the labels of those that it has not waited for."""
        started: list[str] = []  # labels of started operations; empty once waited for
        ends: list[str] = []  # requirements of what follows the strands
        left = iter(calls)
        for call in left:
            if call.code == Instruction.FORK:
                needs = list(self._needs)
                own = takewhile(lambda each: each.code != Instruction.HALT, left)
                ends += [f"requires {label}" for label in self._perform(comm, own, call.number)]
                ends += self._needs
                self._needs = needs
            elif call.code == Instruction.JOIN:
                self._needs += ends
                ends.clear()
            elif call.code == Instruction.WAIT_ALL:
                self._await(started, range(len(started)))
                started.clear()
            elif call.code == Instruction.WAIT_FOR:
                self._await(started, [call.number])
            elif call.code == Instruction.WAIT_OLDEST:
                self._await(started, [number for number, label in enumerate(started) if label][:1])
            elif call.code == Instruction.COMBINE:
                self._calculate(call.bytes_in * self._reduction_byte_s)
            else:
                started += self._send_and_receive(comm, call, self._communicators.tag(comm, OF_COLLECTIVES - strand))
        self._needs += ends
        return [label for label in started if label]

    def _send_and_receive(self, comm: int, call: ScheduleCall, tag: int) -> list[str]:
        """Add the messages of a call; return the label of one that it only starts."""
        sent = ""
        if call.code in (Instruction.SEND, Instruction.ISEND, Instruction.EXCHANGE):
            to = self._communicators.world_rank(comm, call.to)
            sent = self._operation(f"send {call.bytes_out}b to {to} tag {tag}")
            self._needs = [f"requires {sent}" if call.code == Instruction.SEND else f"irequires {sent}"]
            if call.code == Instruction.ISEND:
                return [sent]
        if call.code in (Instruction.RECV, Instruction.IRECV, Instruction.EXCHANGE):
            source = self._communicators.world_rank(comm, call.source)
            label = self._operation(f"recv {call.bytes_in}b from {source} tag {tag}")
            self._needs = [f"irequires {label}" if call.code == Instruction.IRECV else f"requires {label}"]
            if call.code == Instruction.EXCHANGE:
                self._needs.append(f"requires {sent}")
            if call.code == Instruction.IRECV:
                return [label]
        return []

    def _await(self, started: list[str], numbers: Iterable[int]) -> None:
        """Make the next operation require some of the started ones."""
        for number in numbers:
            if started[number]:
                self._needs.append(f"requires {started[number]}")
                started[number] = ""

    def _calculate(self, seconds: float) -> None:
        self._calculated_ns += seconds * _NS
        ns = round(self._calculated_ns) - self._written_ns
        if ns:
            self._written_ns += ns
            self._needs = [f"requires {self._operation(f'calc {ns}')}"]

    def _exchange(self, trace: Trace, row: Row) -> None:
        if row["comm"] == 0 and row["tag"] >= self._communicators.tags_end:
            raise _refused(trace, row, f"the tag {row['tag']} is one that collectives or other communicators have")
        if row["action"] in _SENDS:
            if row["detail"] not in _PLAIN_MODES:
                raise _refused(trace, row, "GOAL has no sends of another mode")
            target = self._communicators.world_rank(row["comm"], row["peer"])
            tag = self._communicators.tag(row["comm"], row["tag"])
            label = self._operation(f"send {row['bytes']}b to {target} tag {tag}")
        else:
            source, tag, size = self._messages.taken_by(row)
            label = self._operation(f"recv {size}b from {source} tag {tag}")
        is_over = row["action"] == "recv" or (row["action"] == "send" and row["amount"] == 1)
        self._needs = [f"requires {label}" if is_over else f"irequires {label}"]
        if not is_over:
            self._of_request[row["request"]] = [label]

    def _operation(self, text: str) -> str:
        """Write an operation and return its label."""
        label = f"o{self._n_operations}"
        self._n_operations += 1
        self.lines.append(f"{label}: {text}")
        self.lines.extend(f"{label} {need}" for need in self._needs)
        return label


def _refused(trace: Trace, row: Row, why: str) -> UsageError:
    call = trace.labels[trace.label_of_site[row["site"] or 0]]
    where = f" ({call})" if call else ""
    return UsageError(f"{trace.folder} is not written as GOAL: rank {row['rank']}{where}: {why}")
