"""Collectives of a run as the messages of their schedules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smpy.collectives.choice import selection_of
from smpy.collectives.comm_hosts import SENT_ONCE
from smpy.collectives.hosts import Hosts
from smpy.engine.schedules import ScheduleCall, calls_of
from smpy.export.action_columns import Row
from smpy.export.communicators import Communicators
from smpy.export.run_machine import RunMachine
from smpy.records.trace import Trace
from smpy.replay.trace_schedules import TraceSchedules


class CollectiveCalls:
    """The collectives of the run, as calls of each rank; stores the programs of their schedules.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    machine : RunMachine
        Machine of the run.
    communicators : Communicators
        Communicators of the trace.
    """

    def __init__(self, trace: Trace, machine: RunMachine, communicators: Communicators) -> None:
        self._communicators: Final = communicators
        self._words: Final[list[tuple[int, ...]]] = []
        pairs = [(operation, name) for operation, name in trace.info["trace"]["algorithms"]]
        self._schedules: Final = TraceSchedules(
            trace,
            self,
            selection_of(machine.choice, pairs),
            lambda ranks: Hosts(machine.host_of_rank[rank] for rank in ranks),
        )
        self._due: Final[dict[tuple[int, int], frozenset[str]]] = {}  # searches for hosts, by rank and communicator
        self._calls: Final[dict[tuple[int, ...], list[ScheduleCall]]] = {}

    def new_schedule(self, words: Iterable[int]) -> int:
        """Store a program and return its number."""
        self._words.append(tuple(words))
        return len(self._words) - 1

    def calls(self, rank: int, row: Row, tables: dict[int, list[int]]) -> list[ScheduleCall]:
        """The calls of a rank of the world in a collective, from its row in `actions` and its tables of numbers."""
        comm, root, nbytes = row.comm, row.peer, row.bytes
        number, self._due[rank, comm] = self._schedules(row.detail, comm, self._due.get((rank, comm), SENT_ONCE))
        member, n_ranks = self._communicators.rank(comm, rank), self._communicators.size(comm)
        key = member, number, root, nbytes
        if tables or key not in self._calls:
            schedule_calls = calls_of(self._words[number], member, n_ranks, root, nbytes, tables)
            if tables:
                return schedule_calls
            self._calls[key] = schedule_calls
        return self._calls[key]
