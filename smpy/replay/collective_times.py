"""Time of a single collective call with any algorithm: the kernel performs its schedule, and no Python runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from smpy.collectives.comm_hosts import HostSearch, HostsOfComm
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.register import BLOCKING
from smpy.collectives.selection import Selection
from smpy.collectives.world_schedules import Algorithms
from smpy.engine.replaying import ReplayEngine
from smpy.engine.trace import ACTIONS, dtype_of
from smpy.errors import UsageError
from smpy.platforms.placement.placement import place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from smpy.platforms.description import Description

COMPARED: Final = tuple(operation for operation in BLOCKING if operation != "neighbour")
"""Operations whose algorithms can be timed."""

_REDUCTIONS: Final = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
_SCATTERED: Final = ("reduce_scatter", "reduce_scatter_block")
_TABLES_OF: Final = {
    "gatherv": (1,),
    "scatterv": (0,),
    "allgatherv": (1,),
    "reduce_scatter": (0,),
    "alltoallv": (0, 1),
    "alltoallw": (0, 1),
}
"""Tables of offsets that ranks pass."""
WITHOUT_SIZE: Final = ("barrier", "alltoallv", "alltoallw")
"""Operations whose choice does not depend on bytes."""

_ENTRY_BYTES: Final = 8


def query_of(operation: str, n_ranks: int, nbytes: int) -> Query:
    """A call of an operation with blocks of one size, for which an algorithm is chosen.

    Parameters
    ----------
    operation : str
        One of `COMPARED`.
    n_ranks : int
        Size of the communicator.
    nbytes : int
        Bytes of the message of bcast, reduce, allreduce, scan and exscan; of a rank's block of the other operations.
        A reduction has entries of 8 bytes, or of 1 byte if `nbytes` is no multiple of 8.
    """
    if operation not in _REDUCTIONS:
        total_bytes = n_ranks * nbytes if operation == "allgatherv" else None
        return Query(n_ranks, 0 if operation in WITHOUT_SIZE else nbytes, total_bytes=total_bytes)
    item_bytes = _ENTRY_BYTES if nbytes % _ENTRY_BYTES == 0 else 1
    n_blocks = n_ranks if operation in _SCATTERED else 1
    total_bytes = n_ranks * nbytes if operation == "reduce_scatter" else None
    n_entries = n_blocks * nbytes // item_bytes
    return Query(n_ranks, nbytes, item_bytes=item_bytes, n_entries=n_entries, total_bytes=total_bytes)


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Times of single calls on a machine: all ranks enter at once, and nothing else happens.

    The search for hosts has been made before, and the root is rank 0.

    Parameters
    ----------
    machine : Description
        The machine.
    host_of_rank : sequence of int
        Host of each rank, all in one communicator.
    """

    machine: Description
    host_of_rank: Sequence[int]

    @classmethod
    def on(cls, machine: Description, n_ranks: int, **placement: Any) -> CallTimes:
        """Times of ranks placed on a machine.

        Parameters
        ----------
        machine : Description
            The machine.
        n_ranks : int
            Number of ranks.
        **placement
            Parameters of `smpy.platforms.place`.

        Raises
        ------
        UsageError
            If the ranks have no place on the machine.
        """
        return cls(machine, place(machine.build(), n_ranks, **placement))

    @property
    def n_ranks(self) -> int:
        """Number of ranks."""
        return len(self.host_of_rank)

    def _hosts(self) -> HostsOfComm:
        """The hosts of the ranks; no search for them is due."""
        hosts = HostsOfComm(lambda: Hosts(self.host_of_rank))
        hosts.search = HostSearch(is_due=False)
        return hosts

    def chosen(self, selection: Selection, operation: str, nbytes: int) -> str:
        """Return the algorithm that a selection chooses for a call."""
        query = query_of(operation, self.n_ranks, nbytes)
        return selection.rules(operation).choose(query, self._hosts().known).name

    def works(self, selection: Selection, operation: str, nbytes: int) -> bool:
        """Whether the algorithm of the selection has a schedule for a call."""
        built = self.machine.build()
        engine = ReplayEngine(built, built.models, self.host_of_rank)
        try:
            query = query_of(operation, self.n_ranks, nbytes)
            Algorithms(selection).schedule(engine, operation, query, self._hosts())
        except UsageError:
            return False
        finally:
            engine.close()
        return True

    def time_s(self, selection: Selection, operation: str, nbytes: int) -> float:
        """Seconds until the last rank has left a call with the algorithm of a selection.

        Raises
        ------
        UsageError
            If the algorithm does not work for these ranks.
        SmpyError
            If the machine does not let the call end.
        """
        built = self.machine.build()
        engine = ReplayEngine(built, built.models, self.host_of_rank)
        try:
            query = query_of(operation, self.n_ranks, nbytes)
            schedule = Algorithms(selection).schedule(engine, operation, query, self._hosts())
            batches = iter([self._rows(operation, nbytes, query, schedule)])
            engine.perform(lambda _: next(batches, None), lambda: None)
            return max(engine.finish_s())
        finally:
            engine.close()

    def _rows(self, operation: str, nbytes: int, query: Query, schedule: int) -> NDArray[np.void]:
        """The rows of all ranks: the call with its tables of offsets, and the end of the rank."""
        import numpy as np

        n, tables = self.n_ranks, _TABLES_OF.get(operation, ())
        n_entries = len(tables) * (n + 1)
        rows = np.zeros((n, n_entries + 2), dtype_of("actions"))
        rows["rank"] = np.arange(n)[:, None]
        rows["peer"][:, 0] = 0
        rows["action"][:, 0] = ACTIONS.index("collective")
        rows["bytes"][:, 0] = query.nbytes
        rows["amount"][:, 0] = n_entries
        rows["detail"][:, 0] = schedule
        entries = rows[:, 1:-1]
        entries["action"] = ACTIONS.index("entry")
        entries["bytes"] = np.tile(np.arange(n + 1) * nbytes, len(tables))
        entries["detail"] = np.repeat(np.array(tables, int), n + 1)
        rows["action"][:, -1] = ACTIONS.index("end")
        return rows.ravel()
