"""A trace as a program in GOAL, the language of LogGOPSim: computing, sends and receives of each rank, in order.

Computing, sleep and overheads become `calc`, in whole nanoseconds; the sum of a rank is exact to half a nanosecond.
An operation requires those for which its rank had waited, and the start of one that it did not wait for. A receive
has the size of the message that it took; a receive from any source also has its source and tag. Collectives become
the messages of their schedules, with the algorithms of the machine and a tag of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.choice import selection_of
from smpy.collectives.comm_hosts import SEARCHED
from smpy.collectives.hosts import Hosts
from smpy.engine.schedules import Instruction, ScheduleCall, calls_of
from smpy.errors import UsageError
from smpy.records.files import in_place_when_whole
from smpy.records.recorded_machine import recorded_machine
from smpy.records.trace import Trace
from smpy.records.trace_layout import MACHINE, damaged
from smpy.replay.trace_schedules import TraceSchedules

if TYPE_CHECKING:
    from smpy.platforms.models.machine_models import CollectiveChoice

SUFFIX: Final = ".goal"

_COLUMNS: Final = ("rank", "action", "site", "comm", "peer", "tag", "bytes", "amount", "request", "detail")
_CALCULATED: Final = ("compute", "sleep", "overhead")
_SENDS: Final = ("send", "isend")
_RECEIVES: Final = ("recv", "irecv")
_WAITS: Final = ("wait", "wait_all", "and")
_WITHOUT_TIME: Final = ("noise_free", "begin_region", "end_region", "free", "took", "end")
_STANDARD: Final = 0
_ANY: Final = -1
_NS: Final = 1e9
_LARGEST: Final = 1 << 53  # largest number that a reader of GOAL accepts
_COLLECTIVE_TAG: Final = (1 << 31) - 1
Row = dict[str, Any]


def write(trace: Trace, path: Path) -> None:
    """Write a trace to `path`. The program of all ranks is held in memory.

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
    info = trace.info["trace"]
    if not info["can_replay"] or not info["is_complete"]:
        raise UsageError(f"{trace.folder} is not of a whole run: trace one, without --trace-ranks and --trace-window")
    described = recorded_machine(trace)
    machine = described.build()
    hosts = [host for host, n_ranks in info["hosts_of_ranks"] for _ in range(n_ranks)]
    if max(hosts) >= machine.n_hosts:
        raise damaged(f"{trace.folder / MACHINE} has {machine.n_hosts} hosts, and the run was on {max(hosts) + 1}")
    messages = _Messages(trace)
    collectives = _Collectives(trace, described.models.collectives, hosts)
    programs = [
        _Program(rank, machine.speed_flop_per_s(host), messages, collectives) for rank, host in enumerate(hosts)
    ]
    for row in _rows(trace):
        programs[row["rank"]].add(trace, row)
    with in_place_when_whole(path) as scratch, scratch.open("w", encoding="utf-8") as file:
        file.write(f"num_ranks {len(programs)}\n")
        for rank, program in enumerate(programs):
            file.write("\n".join((f"rank {rank} {{", *program.lines, "}\n")))


def _rows(trace: Trace) -> Iterator[Row]:
    for batch in trace.batches("actions", _COLUMNS):
        yield from batch.to_pylist()


class _Messages:
    """The messages of the run: sizes of those not yet received, and matches of receives from any source."""

    def __init__(self, trace: Trace) -> None:
        self._sizes: Final[dict[tuple[int, int], dict[int, deque[tuple[int, int]]]]] = {}
        self._took: Final[dict[tuple[int, int], tuple[int, int]]] = {}
        for number, row in enumerate(_rows(trace)):
            if row["action"] in _SENDS:
                of_tag = self._sizes.setdefault((row["rank"], row["peer"]), {})
                of_tag.setdefault(row["tag"], deque()).append((number, row["bytes"]))
            elif row["action"] == "took":
                self._took[row["rank"], row["request"]] = row["peer"], row["tag"]

    def taken_by(self, row: Row) -> tuple[int, int, int]:
        """Source, tag and size of the message that a receive takes; those of the receive if it took none."""
        source, tag = row["peer"], row["tag"]
        if source == _ANY:
            source, tag = self._took.get((row["rank"], row["request"]), (source, tag))
        of_tag = self._sizes.get((source, row["rank"]), {})
        left = [sizes for sent, sizes in of_tag.items() if sizes and tag in (_ANY, sent)]
        return source, tag, min(left, key=lambda sizes: sizes[0]).popleft()[1] if left else row["bytes"]


class _Collectives:
    """The collectives of the run, as calls of each rank; stores the programs of their schedules."""

    def __init__(self, trace: Trace, choice: CollectiveChoice, host_of_rank: list[int]) -> None:
        self._words: Final[list[tuple[int, ...]]] = []
        pairs = [(operation, name) for operation, name in trace.info["trace"]["algorithms"]]
        self._schedules: Final = TraceSchedules(
            trace, self, selection_of(choice, pairs), lambda ranks: Hosts(host_of_rank[rank] for rank in ranks)
        )
        self._due: Final[dict[int, frozenset[str]]] = {}  # searches for hosts, by rank
        self._calls: Final[dict[tuple[int, ...], list[ScheduleCall]]] = {}

    def new_schedule(self, words: Iterable[int]) -> int:
        """Store a program and return its number."""
        self._words.append(tuple(words))
        return len(self._words) - 1

    def calls(self, rank: int, row: Row, tables: dict[int, list[int]]) -> list[ScheduleCall]:
        """The calls of a rank in a collective on all ranks, from its row in `actions` and its tables of numbers."""
        number, self._due[rank] = self._schedules(row["detail"], 0, self._due.get(rank, SEARCHED))
        n_ranks = len(self._schedules.members[0])
        key = rank, number, row["peer"], row["bytes"]
        if tables or key not in self._calls:
            schedule_calls = calls_of(self._words[number], rank, n_ranks, row["peer"], row["bytes"], tables)
            if tables:
                return schedule_calls
            self._calls[key] = schedule_calls
        return self._calls[key]


class _Program:
    """The operations of one rank, with the speed of its core."""

    def __init__(self, rank: int, speed_flop_per_s: float, messages: _Messages, collectives: _Collectives) -> None:
        self.lines: Final[list[str]] = []
        self._speed_flop_per_s = speed_flop_per_s
        self._rank = rank
        self._messages = messages
        self._collectives = collectives
        self._tables: dict[int, list[int]] = {}  # tables of the collective in `self._collective`
        self._collective: Row | None = None
        self._n_entries = 0  # entries of these tables still to come
        self._n_operations = 0
        self._needs: list[str] = []  # requirements of the next operation
        self._of_request: Final[dict[int, str]] = {}
        self._calculated_ns, self._written_ns = 0.0, 0

    def add(self, trace: Trace, row: Row) -> None:
        """Add the operations of a row of `actions`."""
        action = row["action"]
        if not (0 <= row["bytes"] <= _LARGEST and 0 <= row["amount"] <= _LARGEST):
            raise damaged(f"{trace.folder / 'actions.parquet'}: an amount of rank {row['rank']} is not of a run")
        if action in _CALCULATED:
            if row["bytes"]:
                raise _refused(trace, row, "its time depends on the memory")
            self._calculate(row["amount"] / (self._speed_flop_per_s if action == "compute" else 1.0))
        elif action in _WAITS:
            if row["request"] in self._of_request:
                self._needs.append(f"requires {self._of_request.pop(row['request'])}")
        elif action in (*_SENDS, *_RECEIVES, "collective"):
            if row["comm"]:
                raise _refused(trace, row, "its messages are not of COMM_WORLD")
            self._communicate(trace, row)
        elif action == "entry":
            self._tables.setdefault(row["detail"], []).append(row["bytes"])
            self._n_entries -= 1
            self._perform_whole()
        elif action not in _WITHOUT_TIME:
            beside = "a collective that goes on beside its rank would share the rank's CPU otherwise in GOAL"
            raise _refused(trace, row, beside if action in ("start", "latch") else f"GOAL has nothing for {action!r}")

    def _communicate(self, trace: Trace, row: Row) -> None:
        if row["action"] == "collective":
            self._collective, self._tables, self._n_entries = row, {}, int(row["amount"])
            self._perform_whole()
        elif row["tag"] == _COLLECTIVE_TAG:
            raise _refused(trace, row, f"the tag {_COLLECTIVE_TAG} is that of collectives")
        else:
            self._exchange(trace, row)

    def _perform_whole(self) -> None:
        """Add the messages of the collective, once all its table entries have been read."""
        if self._collective is not None and not self._n_entries:
            self._perform(self._collectives.calls(self._rank, self._collective, self._tables))
            self._collective = None

    def _perform(self, calls: list[ScheduleCall]) -> None:
        sent = ""
        started: list[str] = []  # labels of started operations; empty once waited for
        for call in calls:
            if call.code in (Instruction.SEND, Instruction.ISEND, Instruction.EXCHANGE):
                sent = self._operation(f"send {call.bytes_out}b to {call.to} tag {_COLLECTIVE_TAG}")
                self._needs = [f"requires {sent}" if call.code == Instruction.SEND else f"irequires {sent}"]
                if call.code == Instruction.ISEND:
                    started.append(sent)
            if call.code in (Instruction.RECV, Instruction.IRECV, Instruction.EXCHANGE):
                label = self._operation(f"recv {call.bytes_in}b from {call.source} tag {_COLLECTIVE_TAG}")
                self._needs = [f"irequires {label}" if call.code == Instruction.IRECV else f"requires {label}"]
                if call.code == Instruction.EXCHANGE:
                    self._needs.append(f"requires {sent}")
                if call.code == Instruction.IRECV:
                    started.append(label)
            elif call.code == Instruction.WAIT_ALL:
                self._await(started, range(len(started)))
                started.clear()
            elif call.code == Instruction.WAIT_FOR:
                self._await(started, [call.number])
            elif call.code == Instruction.WAIT_OLDEST:
                self._await(started, [number for number, label in enumerate(started) if label][:1])
        self._await(started, range(len(started)))

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
        if row["action"] in _SENDS:
            if row["detail"] != _STANDARD:
                raise _refused(trace, row, "GOAL has no sends of another mode")
            label = self._operation(f"send {row['bytes']}b to {row['peer']} tag {row['tag']}")
        else:
            source, tag, size = self._messages.taken_by(row)
            label = self._operation(f"recv {size}b from {source} tag {tag}")
        is_over = row["action"] == "recv" or (row["action"] == "send" and row["amount"] == 1)
        self._needs = [f"requires {label}" if is_over else f"irequires {label}"]
        if not is_over:
            self._of_request[row["request"]] = label

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
