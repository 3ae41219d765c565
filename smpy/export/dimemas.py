"""A trace as a .dim for Dimemas, as prv2dim writes it: bursts of computing, messages and collectives of each task.

All messages are in the communicator of the world, with tags that tell those of other communicators apart. A started
send is never waited for: the format has no record of that. Bursts are in whole nanoseconds.
"""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import BinaryIO, Final

from smpy.collectives.facts import Query
from smpy.export.action_columns import Row
from smpy.export.mpi_calls import OF_ROOT, sizes_of
from smpy.export.rank_files import write_rank_files
from smpy.export.rank_program import RankProgram, RequestName, RunFacts
from smpy.records.files import in_place_when_whole
from smpy.records.trace import Trace

SUFFIX: Final = ".dim"

_NS: Final = 1e9
_WORLD: Final = 1
_BLOCKING, _IMMEDIATE = 0, 2  # sends; receives
_RECEIVE, _POST, _WAIT = range(3)
_OPERATIONS: Final = {
    name: number
    for number, name in enumerate(
        ("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall",
         "alltoallv", "reduce", "allreduce", "reduce_scatter")
    )
} | {"scan": 14}  # fmt: skip


def write(trace: Trace, path: Path) -> None:
    """Write a trace to `path`.

    Parameters
    ----------
    trace : Trace
        Trace to write, of a whole run.
    path : Path
        The file; an existing one is replaced.

    Raises
    ------
    UsageError
        If the trace cannot be read, the format lacks an operation of the run, or the file cannot be written.
    """
    run = RunFacts.of(trace, "a program of Dimemas")
    with in_place_when_whole(path) as scratch, TemporaryDirectory(prefix="smpy-export-") as folder:
        files = [Path(folder) / str(rank) for rank in range(trace.n_ranks)]
        write_rank_files(run, [_Task(run, rank) for rank in range(trace.n_ranks)], files)
        with scratch.open("wb") as file:
            _write_tasks(file, path.stem, _definitions(run), files)


def _definitions(run: RunFacts) -> list[str]:
    """Lines of the communicators."""
    lines = []
    for comm in run.communicators.numbers():
        if not run.communicators.is_between_groups(comm):
            members = run.communicators.members(comm)
            lines.append(f"d:1:{comm + 1}:{len(members)}:{':'.join(map(str, members))}\n")
    return lines


def _write_tasks(file: BinaryIO, name: str, definitions: list[str], files: list[Path]) -> None:
    """Write the header, the records of each task, and the table of the places at which they begin."""
    tasks = ",".join("1" for _ in files)
    sizes = [path.stat().st_size for path in files]
    n_bytes = sum(map(len, definitions)) + sum(sizes)
    header, table_at = "", -1
    while len(header) + n_bytes != table_at:  # the header has the place of the table, and so decides about it
        table_at = len(header) + n_bytes
        header = f'#DIMEMAS:"{name}":1,{table_at}:{len(files)}({tasks}),{len(definitions)},0,0\n'
    file.write("".join((header, *definitions)).encode("ascii", "replace"))
    places = []
    for path in files:
        places.append(file.tell())
        with path.open("rb") as records:
            copyfileobj(records, file)
    file.writelines(f"s:{task}:{place}\n".encode() for task, place in enumerate(places))


class _Task(RankProgram):
    """Records of one task."""

    def __init__(self, run: RunFacts, rank: int) -> None:
        super().__init__(run, rank)
        self._spent_ns, self._written_ns = 0.0, 0
        self._posted_bytes: dict[RequestName, deque[int]] = defaultdict(deque)

    def compute(self, amount: float) -> None:
        self._spent_ns += amount / self.amounts_per_s * _NS

    def pause(self, seconds: float) -> None:
        self._spent_ns += seconds * _NS

    def send(self, message: RequestName, nbytes: int, *, is_started: bool) -> None:
        kind = _IMMEDIATE if is_started else _BLOCKING
        self._add(f"2:{self.rank}:0:{message.target}:-1:{nbytes}:{message.tag}:{_WORLD}:{kind}")

    def receive(self, message: RequestName, nbytes: int, *, is_started: bool) -> None:
        if is_started:
            self._posted_bytes[message].append(nbytes)
        self._add_receive(message, nbytes, _POST if is_started else _RECEIVE)

    def wait(self, message: RequestName, *, is_tested: bool = False) -> None:
        posted = self._posted_bytes.get(message)
        if posted:  # else it is for a send
            self._add_receive(message, posted.popleft(), _WAIT)

    def collective(self, row: Row, operation: str, query: Query, tables: dict[int, list[int]]) -> bool:
        number = _OPERATIONS.get(operation)
        if number is None:
            return False
        communicators = self.run.communicators
        is_root = communicators.rank(row.comm, self.rank) == row.peer
        sent, received = sizes_of(operation, row.bytes, tables, is_root=is_root)
        root = communicators.members(row.comm)[row.peer] if operation in OF_ROOT else 0
        self._add(f"10:{self.rank}:0:{number}:{row.comm + 1}:{root}:0:{sent}:{received}:1")
        return True

    def end(self) -> None:
        super().end()
        self._add_burst()

    def _add_receive(self, message: RequestName, nbytes: int, kind: int) -> None:
        self._add(f"3:{self.rank}:0:{message.source}:-1:{nbytes}:{message.tag}:{_WORLD}:{kind}")

    def _add(self, record: str) -> None:
        """Add a record, after the burst before it, which is there even if it took no time."""
        self._add_burst()
        self.lines.append(record)

    def _add_burst(self) -> None:
        ns = round(self._spent_ns) - self._written_ns
        self._written_ns += ns
        self.lines.append(f"1:{self.rank}:0:{ns // 10**9}.{ns % 10**9:09d}")
