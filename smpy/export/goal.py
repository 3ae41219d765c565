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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.engine.schedules import Instruction, ScheduleCall
from smpy.errors import UsageError
from smpy.export.action_columns import ACTION, Row, action_columns, is_named, rows_of
from smpy.export.collective_calls import CollectiveCalls
from smpy.export.communicators import ANY, OF_COLLECTIVES, Communicators
from smpy.export.rank_program import PLAIN_MODES
from smpy.export.rows_of_ranks import RowsOfRanks, groups_of_ranks
from smpy.export.run_machine import RunMachine, machine_of_run
from smpy.records.files import in_place_when_whole
from smpy.records.trace import Trace
from smpy.records.trace_layout import damaged
from smpy.records.whole_runs import check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX: Final = ".goal"

_CALCULATED: Final = ("compute", "sleep", "overhead", "skip")
_SENDS: Final = ("send", "isend")
_RECEIVES: Final = ("recv", "irecv")
_EXCHANGES: Final = (*_SENDS, *_RECEIVES)
_WAITS: Final = ("wait", "wait_all", "and")
_WITHOUT_TIME: Final = ("noise_free", "begin_region", "end_region", "free", "took", "end")
_PERFORMS: Final = ("collective", "start")
_NS: Final = 1e9
_LARGEST: Final = 1 << 53  # largest number that a reader of GOAL accepts
_N_STRANDS: Final = 2
_ROWS_AT_ONCE: Final = 1 << 16
_SEND: Final = np.dtype([("rank", "i4"), ("source", "i4"), ("joint", "i4"), ("tag", "i4"), ("bytes", "i8")])


def write(trace: Trace, path: Path) -> None:
    """Write a trace to `path`. The actions of one rank are in memory, and the sizes of messages to it.

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
    collectives = CollectiveCalls(trace, machine, communicators)
    with TemporaryDirectory(prefix="smpy-export-") as folder, in_place_when_whole(path) as scratch:
        names: list[str] = []  # of actions
        ranks = _ranks(trace, communicators, names, Path(folder))
        with scratch.open("w", encoding="ascii") as file:
            file.write(f"num_ranks {trace.n_ranks}\n")
            for rank, (actions, messages) in enumerate(ranks):
                program = _Program(trace, rank, machine, communicators, messages, collectives)
                file.write(f"rank {rank} {{\n")
                for rows in actions:
                    program.check(rows, names)
                    for row in rows_of(rows, names):
                        program.add(row)
                    file.writelines(program.lines)
                    program.lines.clear()
                file.write("}\n")


def _ranks(
    trace: Trace, communicators: Communicators, names: list[str], folder: Path
) -> Iterator[tuple[Iterator[NDArray[np.void]], _Messages]]:
    """Yield the actions of each rank, in the order of ranks, and its messages; they are sorted in a folder.

    Peers of sends and receives become ranks of the world. The names of actions are known before the first rank.
    """
    group_of_rank = groups_of_ranks(trace.n_rows("actions"), trace.n_ranks)
    actions = RowsOfRanks(folder, "actions", group_of_rank, ACTION)
    sends = RowsOfRanks(folder, "sends", group_of_rank, _SEND)
    numbers_of_names: dict[str, int] = {}
    for columns in action_columns(trace, numbers_of_names):
        known = list(numbers_of_names)
        is_exchange = is_named(known, columns["action"], *_EXCHANGES)
        columns["peer"] = columns["peer"].copy()
        columns["peer"][is_exchange] = communicators.world_ranks(
            columns["comm"][is_exchange], columns["peer"][is_exchange]
        )
        actions.add(columns)
        _give_tags(columns, known, communicators)
        sends.add(_sends(columns, known, communicators))
    names += numbers_of_names
    for group in range(int(group_of_rank[-1]) + 1):
        for of_rank, to_rank in zip(actions.read(group), sends.read(group), strict=True):
            took = of_rank.take(np.flatnonzero(is_named(names, of_rank["action"], "took")))
            yield _parts(of_rank), _Messages(communicators, to_rank, took)


def _parts(actions: NDArray[np.void]) -> Iterator[NDArray[np.void]]:
    """Yield the actions of a rank, some of them at once, so that their objects take little memory."""
    for first in range(0, len(actions), _ROWS_AT_ONCE):
        yield actions[first : first + _ROWS_AT_ONCE]


def _give_tags(columns: Mapping[str, NDArray[Any]], names: Sequence[str], communicators: Communicators) -> None:
    """Give tags to the messages of collectives and of communicators, in the order of actions."""
    is_performed = is_named(names, columns["action"], *_PERFORMS)
    is_given = is_performed | (is_named(names, columns["action"], *_SENDS) & (columns["comm"] != 0))
    tag = np.where(is_performed, OF_COLLECTIVES, columns["tag"])[is_given]
    pairs = (columns["comm"][is_given].astype(np.int64) << 32) + tag
    _, first = np.unique(pairs, return_index=True)
    for place in np.flatnonzero(is_given)[np.sort(first)].tolist():
        comm = int(columns["comm"][place])
        if is_performed[place]:
            for strand in range(1 + _N_STRANDS):
                communicators.tag(comm, OF_COLLECTIVES - strand)
        else:
            communicators.tag(comm, int(columns["tag"][place]))


def _sends(
    columns: Mapping[str, NDArray[Any]], names: Sequence[str], communicators: Communicators
) -> dict[str, NDArray[Any]]:
    """Columns of the messages that are sent, with the ranks of the world to which they go."""
    is_send = is_named(names, columns["action"], *_SENDS)
    sent = {name: columns[name][is_send] for name in ("rank", "comm", "peer", "tag", "bytes")}
    comms, comm = np.unique(sent["comm"], return_inverse=True)
    joint = np.array([communicators.joint(each) for each in comms.tolist()], np.int32)[comm]
    return {"rank": sent["peer"], "source": sent["rank"], "joint": joint, "tag": sent["tag"], "bytes": sent["bytes"]}


class _Messages:
    """Messages to a rank: sizes of those not yet received, and matches of its receives from any source."""

    def __init__(self, communicators: Communicators, sent: NDArray[np.void], took: NDArray[np.void]) -> None:
        self._communicators: Final = communicators
        self._sizes: Final[dict[tuple[int, int], dict[int, deque[tuple[int, int]]]]] = {}
        columns = (sent[name].tolist() for name in ("joint", "source", "tag", "bytes"))
        for number, (joint, source, tag, nbytes) in enumerate(zip(*columns, strict=True)):
            of_tag = self._sizes.setdefault((joint, source), {})
            of_tag.setdefault(tag, deque()).append((number, nbytes))
        taken = zip(took["peer"].tolist(), took["tag"].tolist(), strict=True)
        self._took: Final = dict(zip(took["request"].tolist(), taken, strict=True))

    def taken_by(self, row: Row) -> tuple[int, int, int]:
        """Source, tag and size of the message that a receive takes; those of the receive if it took none."""
        comm, peer, tag = row.comm, row.peer, row.tag
        if peer == ANY and row.request in self._took:
            peer, tag = self._took[row.request]
            peer = self._communicators.world_rank(comm, peer)
        of_tag = self._sizes.get((self._communicators.joint(comm), peer), {})
        if tag == ANY:
            tag = min(((sizes[0], sent) for sent, sizes in of_tag.items() if sizes), default=(0, ANY))[1]
        left = of_tag.get(tag)
        size = left.popleft()[1] if left else min(row.bytes, _LARGEST)
        return peer, tag if tag == ANY else self._communicators.tag(comm, tag), size


class _Program:
    """The operations of one rank, with what its core computes in a second, and its reductions."""

    def __init__(
        self,
        trace: Trace,
        rank: int,
        machine: RunMachine,
        communicators: Communicators,
        messages: _Messages,
        collectives: CollectiveCalls,
    ) -> None:
        self.lines: Final[list[str]] = []
        self._trace, self._rank = trace, rank
        self._communicators = communicators
        self._amounts_per_s = machine.amounts_per_s[rank]
        self._reduction_byte_s = machine.reduction_byte_s
        self._messages = messages
        self._collectives = collectives
        self._tables: dict[int, list[int]] = {}  # tables of the collective in `self._collective`
        self._collective: Row | None = None
        self._n_entries = 0  # entries of these tables still to come
        self._n_operations = 0
        self._needs: list[str] = []  # requirements of the next operation
        self._of_request: Final[dict[int, list[str]]] = {}
        self._calculated_ns, self._written_ns = 0.0, 0

    def check(self, rows: NDArray[np.void], names: Sequence[str]) -> None:
        """Check the amounts of rows of `actions`, where a receive may have room for any, and their tags."""
        is_receive, is_compute = (is_named(names, rows["action"], *some) for some in (_RECEIVES, ("compute",)))
        most = np.where(is_compute, _LARGEST * self._amounts_per_s / _NS, _LARGEST)
        nbytes, amount = np.where(is_receive, 0, rows["bytes"]), rows["amount"]
        if not ((nbytes >= 0) & (nbytes <= _LARGEST) & (amount >= 0) & (amount <= most)).all():
            raise damaged(f"{self._trace.folder / 'actions.parquet'}: an amount of rank {self._rank} is not of a run")
        has_tag = is_named(names, rows["action"], *_EXCHANGES) & (rows["comm"] == 0)
        for at in np.flatnonzero(has_tag & (rows["tag"] >= self._communicators.tags_end))[:1].tolist():
            (row,) = rows_of(rows[at : at + 1], names)
            raise self._refused(row, f"the tag {row.tag} is one that collectives or other communicators have")

    def add(self, row: Row) -> None:
        """Add the operations of a row of `actions`."""
        action = row.action
        if action in _EXCHANGES:
            self._exchange(row)
        elif action in _CALCULATED:
            if row.bytes:
                raise self._refused(row, "its time depends on the memory")
            self._calculate(row.amount / (self._amounts_per_s if action == "compute" else 1.0))
        elif action in _WAITS:
            for label in self._of_request.pop(row.request, ()):
                self._needs.append(f"requires {label}")
        elif action in _PERFORMS:
            self._collective, self._tables, self._n_entries = row, {}, int(row.amount)
            self._perform_whole()
        elif action == "entry":
            self._tables.setdefault(row.detail, []).append(row.bytes)
            self._n_entries -= 1
            self._perform_whole()
        elif action not in _WITHOUT_TIME:
            latch = "it waits for ranks that send it no message, which GOAL cannot express"
            raise self._refused(row, latch if action == "latch" else f"GOAL has nothing for {action!r}")

    def _perform_whole(self) -> None:
        """Add the messages of the collective, once all its table entries have been read."""
        if self._collective is not None and not self._n_entries:
            row, self._collective = self._collective, None
            left = self._perform(row.comm, self._collectives.calls(self._rank, row, self._tables))
            if row.action == "start":
                self._of_request[row.request] = left
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

    def _exchange(self, row: Row) -> None:
        action, comm = row.action, row.comm
        if action in _SENDS:
            if row.detail not in PLAIN_MODES:
                raise self._refused(row, "GOAL has no sends of another mode")
            tag = self._communicators.tag(comm, row.tag) if comm else row.tag
            label = self._operation(f"send {row.bytes}b to {row.peer} tag {tag}")
        else:
            source, tag, size = self._messages.taken_by(row)
            label = self._operation(f"recv {size}b from {source} tag {tag}")
        is_over = action == "recv" or (action == "send" and row.amount == 1)
        self._needs = [f"requires {label}" if is_over else f"irequires {label}"]
        if not is_over:
            self._of_request[row.request] = [label]

    def _operation(self, text: str) -> str:
        """Write an operation and return its label."""
        label = f"o{self._n_operations}"
        self._n_operations += 1
        if len(self._needs) == 1:  # mostly
            self.lines.append(f"{label}: {text}\n{label} {self._needs[0]}\n")
        else:
            self.lines.append("".join((f"{label}: {text}\n", *(f"{label} {need}\n" for need in self._needs))))
        return label

    def _refused(self, row: Row, why: str) -> UsageError:
        call = self._trace.labels[self._trace.label_of_site[row.site]]
        where = f" ({call})" if call else ""
        return UsageError(f"{self._trace.folder} is not written as GOAL: rank {self._rank}{where}: {why}")
