"""Collectives as the kernel performs them, and the communicators they are of."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import Loop, check
from smpy.engine.surface import surface

_MOST_TABLES = 4


def _rank_tables(tables: Sequence[Sequence[int]]) -> tuple[Any, object]:
    """Tables in the kernel's form, and the buffers that must live until the kernel has copied them."""
    if not tables:
        return ffi.NULL, None
    if len(tables) > _MOST_TABLES:
        raise ValueError(f"{len(tables)} tables: a schedule reads at most {_MOST_TABLES}")
    packed = ffi.new("rank_tables *")
    alive = [ffi.from_buffer("int64_t[]", t if isinstance(t, array) else array("q", t)) for t in tables]
    packed.n = len(tables)
    for k, numbers in enumerate(alive):
        packed.table[k], packed.n_entries[k] = numbers, len(numbers)
    return packed, alive


class Collectives(Loop):
    """Calls that take part in a collective, and that create and free communicators.

    Attributes
    ----------
    algorithms : object
        This world's choice of algorithms of its collectives; kept here for the layer that chooses
        (`smpy.collectives`).
    """

    algorithms: Any = None

    def new_schedule(self, words: Iterable[int]) -> int:
        """Pass a collective's program to the kernel; return its number."""
        self.must_be_here()
        code = array("q", words)
        number = int(lib.sim_schedule_new(self._sim, len(code), ffi.from_buffer("int64_t[]", code)))
        check(number)
        return number

    def _collective(
        self, comm: int, schedule: int, root: int, nbytes: int, call: str, tables: Sequence[Sequence[int]] = ()
    ) -> None:
        """Take part in a collective, and wait until this rank has finished it.

        Parameters
        ----------
        comm, schedule, root : int
            Numbers of the communicator and of the schedule, and a rank the schedule may speak of.
        nbytes : int
            The size that the schedule speaks of, in bytes.
        call : str
            Name of the MPI call.
        tables : sequence of sequences of int
            At most four: the numbers of this rank that the schedule reads.
        """
        packed, _alive = _rank_tables(tables)
        code = lib.sim_append_collective(self._sim, self.timeline, comm, schedule, root, nbytes, packed)
        check(code)
        self.block(call)

    collective = _collective if TYPE_CHECKING or surface is None else surface.collective

    def start_collective(
        self, comm: int, schedule: int, root: int, nbytes: int, tables: Sequence[Sequence[int]] = (), latch: int = 0
    ) -> int:
        """Start a collective and continue; return the number of a request that completes with its schedule.

        A schedule that is started waits for nothing. With a `latch`, the request is not complete before all its ranks
        have started.
        """
        packed, _alive = _rank_tables(tables)
        number = int(lib.sim_append_start(self._sim, self.timeline, comm, schedule, root, nbytes, packed, latch))
        check(number)
        self._keep_pace()
        return number

    def new_latch(self, n_ranks: int) -> int:
        """Number of a latch for `start_collective` that opens when `n_ranks` ranks have come."""
        self.must_be_here()
        number = int(lib.sim_latch_new(self._sim, n_ranks))
        check(number)
        return number

    def comm_new(self, world_ranks: Sequence[int]) -> int:
        """Create a communicator of these world ranks; return its number."""
        self.must_be_here()
        ranks = array("i", world_ranks)
        with self._communicators:
            number = int(lib.sim_comm_new(self._sim, len(ranks), ffi.from_buffer("int[]", ranks)))
        check(number)
        return number

    def comm_new_inter(self, side0_world_ranks: Sequence[int], side1_world_ranks: Sequence[int]) -> tuple[int, int]:
        """Create an intercommunicator; return the number that its ranks use on each side.

        Ranks, sizes and world ranks of such a number are those of its own side; messages go to and come from the other.
        """
        self.must_be_here()
        ranks = [array("i", side) for side in (side0_world_ranks, side1_world_ranks)]
        sides = [(len(side), ffi.from_buffer("int[]", side)) for side in ranks]
        with self._communicators:
            number = int(lib.sim_comm_new_inter(self._sim, *sides[0], *sides[1]))
        check(number)
        return number, int(lib.sim_comm_other(self._sim, number))

    def comm_self(self) -> int:
        """Number of the communicator of the running rank alone."""
        number = int(lib.sim_comm_self(self._sim, self.rank))
        check(number)
        return number

    def comm_is_self(self, comm: int) -> bool:
        """Whether it is the communicator of a rank alone."""
        return bool(lib.sim_comm_is_self(self._sim, comm))

    def comm_free(self, comm: int) -> None:
        """Forget a communicator, or its side of one, after all its ranks have freed it."""
        self.must_be_here()
        with self._communicators:
            lib.sim_comm_free(self._sim, comm)

    def comm_size(self, comm: int) -> int:
        """Number of ranks in a communicator."""
        with self._communicators:
            return int(lib.sim_comm_size(self._sim, comm))

    def comm_rank(self, comm: int) -> int:
        """Rank of the caller in a communicator, -1 if it is not a member."""
        with self._communicators:
            return int(lib.sim_comm_rank(self._sim, comm, self.rank))

    def peers_of(self, comm: int) -> list[int]:
        """World ranks with which messages on a communicator are exchanged."""
        return self.world_ranks(int(lib.sim_comm_other(self._sim, comm)))

    def world_ranks(self, comm: int) -> list[int]:
        """World rank of each rank of a communicator."""
        return [lib.sim_comm_world_rank(self._sim, comm, r) for r in range(self.comm_size(comm))]
