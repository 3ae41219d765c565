"""Schedules of the collectives of a trace, with the algorithms of a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from smpy.collectives.choice import algorithms_under
from smpy.collectives.comm_hosts import HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.register import OPERATIONS
from smpy.collectives.schedule import NO_STEPS
from smpy.collectives.world_schedules import Algorithms
from smpy.errors import DamagedFileError
from smpy.platforms.models.machine_models import CollectiveChoice

if TYPE_CHECKING:
    from smpy.collectives.hosts import Hosts
    from smpy.collectives.selection import Selection
    from smpy.collectives.world_schedules import ScheduleMaker
    from smpy.records.trace import Trace


class TraceSchedules:
    """Schedules of the calls of a trace.

    Parameters
    ----------
    trace : Trace
        The trace.
    maker : ScheduleMaker
        Stores programs of schedules and returns their numbers.
    selection : Selection
        The choice of algorithms.
    hosts_of : callable
        Returns the hosts of some ranks of the world.

    Attributes
    ----------
    members : dict of int to list of int
        World ranks of each communicator.
    algorithms : Algorithms
        Algorithms of the world, with the numbers of the schedules made so far.
    """

    def __init__(
        self,
        trace: Trace,
        maker: ScheduleMaker,
        selection: Selection,
        hosts_of: Callable[[Sequence[int]], Hosts],
    ) -> None:
        self.members, _ = members_of(trace)
        self._folder = trace.folder
        self._maker = maker
        self.algorithms = Algorithms(selection)
        self._asked = queries_of(trace)
        self._choice_of = {
            number: _choice(record)
            for record in trace.info["trace"].get("choices", ())
            for number in record["schedules"]
        }
        self._hosts_of = {comm: HostsOfComm(partial(hosts_of, ranks)) for comm, ranks in self.members.items()}

    def __call__(self, schedule: int, comm: int, due: frozenset[str]) -> tuple[int, frozenset[str]]:
        """Return the number of a schedule of the trace, and the searches for hosts that are due after it.

        Parameters
        ----------
        schedule, comm : int
            The schedule, and the communicator that performs it.
        due : frozenset of str
            Searches for hosts that are due in the communicator before the call.

        Raises
        ------
        DamagedFileError
            If the communicator does not have as many ranks as the call.
        """
        if schedule not in self._asked:
            return self._maker.new_schedule(NO_STEPS), due  # only a latch
        operation, query = self._asked[schedule]
        if query.n_ranks != len(self.members[comm]):
            raise DamagedFileError(
                f"{self._folder}: {operation} of {query.n_ranks} ranks, and {len(self.members[comm])} take part"
            )
        hosts = self._hosts_of[comm]
        hosts.search.due = set(due)
        algorithms = algorithms_under(self.algorithms, self._choice_of.get(schedule))
        operation_schedule = algorithms.schedule(self._maker, operation, query, hosts)
        return operation_schedule, frozenset(hosts.search.due)


def members_of(trace: Trace) -> tuple[dict[int, list[int]], dict[int, int]]:
    """World ranks of each communicator, and its other group."""
    members: dict[int, list[int]] = {}
    other_of: dict[int, int] = {}
    for row in trace.table("comms").to_pylist():
        first, step, n = row["first"], row["step"], row["n"]
        members.setdefault(row["comm"], []).extend(range(first, first + n * step, step) if step else [first] * n)
        other_of[row["comm"]] = row["other"]
    return members, other_of


def queries_of(trace: Trace) -> dict[int, tuple[str, Query]]:
    """Operation of each schedule of a trace, and the query by which its algorithm is chosen."""
    queries = {}
    for row in trace.table("collectives").to_pylist():
        if row["operation"] not in OPERATIONS:
            raise DamagedFileError(
                f"{trace.folder / 'collectives.parquet'}: no collective is called {row['operation']!r}"
            )
        known = {name: row[name] for name in Query._fields if name in row}
        queries[row["schedule"]] = row["operation"], Query(nbytes=row["bytes"], **known)
    return queries


def _choice(record: Mapping[str, Any]) -> CollectiveChoice:
    """The choice of algorithms in a communicator's hints during the run."""
    pairs = tuple((operation, name) for operation, name in record["algorithms"])
    return CollectiveChoice(record["table"], pairs, record["file"], record["content"])
