"""A trace as a time-independent trace, which SimGrid's `smpirun -replay` performs, and `smpy replay` likewise.

It is a folder: `main` lists a file for each rank, which has what the rank does, a line for each action. A collective is
a line if the line says all by which an algorithm is chosen; else it is its messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Final

from smpy.collectives.facts import Query
from smpy.collectives.parts import ring_parts
from smpy.export.action_columns import Row
from smpy.export.new_folder import new_folder_when_whole
from smpy.export.rank_files import write_rank_files
from smpy.export.rank_program import RankProgram, RequestName, RunFacts
from smpy.records.trace import Trace

SUFFIX: Final = ".ti"

_BYTE: Final = 6
_TYPE_OF_BYTES: Final = {1: _BYTE, 2: 3, 4: 1, 8: 0, 16: 14, 32: 27}  # datatypes by the bytes of an entry
_IN_BLOCKS: Final = ("gather", "scatter", "allgather", "alltoall")
_REDUCTIONS: Final = ("reduce", "allreduce", "scan", "exscan")


def write(trace: Trace, path: Path) -> None:
    """Write a trace to the new folder `path`.

    Parameters
    ----------
    trace : Trace
        Trace to write, of a whole run.
    path : Path
        The folder.

    Raises
    ------
    UsageError
        If the trace cannot be read, the format lacks an operation of the run, or the folder cannot be written.
    """
    run = RunFacts.of(trace, "a time-independent trace")
    with new_folder_when_whole(path) as folder:
        names = [f"rank-{rank}" for rank in range(trace.n_ranks)]
        programs = [_Program(run, rank) for rank in range(trace.n_ranks)]
        write_rank_files(run, programs, [folder / name for name in names])
        (folder / "main").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


class _Program(RankProgram):
    """Lines of one rank."""

    HAS_WAIT_ALL: ClassVar[bool] = True

    def __init__(self, run: RunFacts, rank: int) -> None:
        super().__init__(run, rank)
        self._operations_per_amount = run.machine.operations_per_amount[rank]
        self.lines.append(f"{rank} init")

    def compute(self, amount: float) -> None:
        self.lines.append(f"{self.rank} compute {amount * self._operations_per_amount!r}")

    def pause(self, seconds: float) -> None:
        self.lines.append(f"{self.rank} sleep {seconds!r}")

    def send(self, message: RequestName, nbytes: int, *, is_started: bool) -> None:
        action = "isend" if is_started else "send"
        self.lines.append(f"{self.rank} {action} {message.target} {message.tag} {nbytes} {_BYTE}")

    def receive(self, message: RequestName, nbytes: int, *, is_started: bool) -> None:
        action = "irecv" if is_started else "recv"
        self.lines.append(f"{self.rank} {action} {message.source} {message.tag} {nbytes} {_BYTE}")

    def wait(self, message: RequestName, *, is_tested: bool = False) -> None:
        name = f"{message.source} {message.target} {message.tag}"
        if is_tested:
            self.lines.append(f"{self.rank} test {name}")
        self.lines.append(f"{self.rank} wait {name}")

    def wait_all(self) -> None:
        self.lines.append(f"{self.rank} waitall")

    def collective(self, row: Row, operation: str, query: Query, tables: dict[int, list[int]]) -> bool:
        communicators = self.run.communicators
        if query.n_ranks == 1 or not communicators.is_world(row.comm):
            return query.n_ranks == 1
        line = self._collective_line(row, operation, query, tables)
        if line is None:
            return False
        self.lines.append(f"{self.rank} {line}")
        return True

    def _collective_line(self, row: Row, operation: str, query: Query, tables: dict[int, list[int]]) -> str | None:
        """Line of a collective among all ranks; None if there is none with this query."""
        n, nbytes, root = query.n_ranks, row.bytes, row.peer
        type_ = _TYPE_OF_BYTES.get(query.item_bytes)
        if type_ is None:
            return None
        says, line = query._replace(nbytes=nbytes), None  # what the line says
        if operation == "barrier":
            says, line = Query(n, nbytes), "barrier"
        elif operation == "bcast":
            says, line = Query(n, nbytes), f"bcast {nbytes} {root} {_BYTE}"
        elif operation in _REDUCTIONS:
            says = Query(n, nbytes, item_bytes=query.item_bytes, n_entries=nbytes // query.item_bytes)
            with_root = f" {root}" if operation == "reduce" else ""
            line = f"{operation} {says.n_entries} 0{with_root} {type_}"
        elif operation in _IN_BLOCKS:
            says, line = Query(n, nbytes), f"{operation} {nbytes} {nbytes}"
            line += f" {root} {_BYTE} {_BYTE}" if operation in ("gather", "scatter") else f" {_BYTE} {_BYTE}"
        elif operation == "reduce_scatter":
            counts = _counts(tables, 0, n, query.item_bytes)
            total = sum(counts)
            are_equal = len(set(counts)) == 1
            says = Query(n, nbytes, item_bytes=query.item_bytes, n_entries=total, are_equal=are_equal)
            says = says._replace(total_bytes=total * query.item_bytes)
            line = f"reducescatter {_words(counts)} 0 {type_}"
        elif operation == "gatherv":
            says, line = Query(n, nbytes), f"gatherv {nbytes} {_words(_counts(tables, 1, n))} {root} {_BYTE} {_BYTE}"
        elif operation == "scatterv":
            says, line = Query(n, nbytes), f"scatterv {_words(_counts(tables, 0, n))} {nbytes} {root} {_BYTE} {_BYTE}"
        elif operation == "allgatherv":
            item_bytes = max((query.total_bytes or 0) // max(query.n_entries, 1), 1)
            type_, counts = _TYPE_OF_BYTES.get(item_bytes), _counts(tables, 1, n, item_bytes)
            says = Query(n, nbytes, n_entries=sum(counts), total_bytes=sum(counts) * item_bytes)
            says = says._replace(in_parts=ring_parts(tuple(counts), item_bytes) is not None)
            line = f"allgatherv {nbytes // item_bytes} {_words(counts)} {type_} {type_}"
        elif operation == "alltoallv":
            out, into = _counts(tables, 0, n), _counts(tables, 1, n)
            says = Query(n, nbytes)
            line = f"alltoallv {sum(out)} {_words(out)} {sum(into)} {_words(into)} {_BYTE} {_BYTE}"
        is_told = says == query._replace(nbytes=nbytes) and type_ is not None
        return line if is_told else None


def _counts(tables: dict[int, list[int]], number: int, n: int, item_bytes: int = 1) -> list[int]:
    """Sizes of blocks, from a table of the offsets at which they begin; 0 on ranks that do not know them."""
    offsets = tables.get(number, [0] * (n + 1))
    return [(end - begin) // item_bytes for begin, end in pairwise(offsets)]


def _words(counts: Sequence[int]) -> str:
    return " ".join(map(str, counts))
