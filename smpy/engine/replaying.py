"""A world whose ranks perform the rows of a trace."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.engine import Engine
from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import TROUBLE, check
from smpy.errors import DeadlockError, SmpyError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


_OF_ROWS: Final = (lib.SIM_BAD_RANK, lib.SIM_BAD_REQUEST, lib.SIM_BAD_SCHEDULE, lib.SIM_BAD_SIZE)


_STRETCHES_MAX: Final = 100
"""Stretches of 50 ms of the kernel's work at one date, after which free polls are taken to have no end."""


class RowsError(SmpyError):
    """Rows that no rank can perform."""


class ReplayEngine(Engine):
    """One simulated world without a program; its parameters are those of `Engine`."""

    def know_memories(self, host_factor: float = 1.0, core_factor: float = 1.0) -> None:
        """Tell the kernel the memory bandwidth of each host with ranks, so that moving bytes takes time there.

        Parameters
        ----------
        host_factor, core_factor : float
            Factors on the machine's memory bandwidth of a host, and of a core; 0: no limit.
        """
        for host in set(self.hosts_of(range(self.n_ranks))):
            memory = self.platform.memory(host)
            limits = memory.bandwidth_bytes_per_s * host_factor, memory.core_bandwidth_bytes_per_s * core_factor
            check(lib.sim_host_memory(self._sim, host, *limits))

    def know_places(self) -> None:
        """Tell the kernel the places of files of each host with ranks, so that accesses to files take time there."""
        places = self.file_places()
        if places is not None:
            for host in set(self.hosts_of(range(self.n_ranks))):
                places.tell(host)

    def sends_at_once(self, rank: int, nbytes: int) -> bool:
        """Whether a standard send of a rank, of so many bytes, is complete when it is posted."""
        return bool(lib.sim_sends_at_once(self._sim, rank, nbytes))

    def new_sites(
        self,
        rank: Sequence[int],
        call: Sequence[int],
        line: Sequence[int],
        comm: Sequence[int],
        calls: Mapping[str, int],
        kernels: Collection[str],
    ) -> int:
        """Tell the kernel call sites that rows name as their accounts, and return the number of the first one.

        Parameters
        ----------
        rank, call, line, comm : sequence of int, [sites]
            Rank of each site, numbers of its call and its line, and its communicator or -1.
        calls : mapping of str to int
            Numbers of the calls.
        kernels : collection of str
            Names of calls that are kernels.
        """
        columns = [array("i", column) for column in (rank, call, line, comm)]
        first = int(lib.sim_new_accounts(self._sim, len(rank), *(ffi.from_buffer("int[]", each) for each in columns)))
        check(first)
        self.call_numbers = dict(calls)
        self.kernel_names = set(kernels)
        return first

    def new_timeline(self, rank: int) -> int:
        """A further timeline of a rank, for rows whose `rank` is its number; the first one has the rank's."""
        timeline = int(lib.sim_timeline_new(self._sim, rank))
        check(timeline)
        self.has_threads = True
        return timeline

    def perform(self, rows_for: Callable[[int], NDArray[Any] | None], on_yield: Callable[[], None]) -> None:
        """Perform rows of actions until every rank has ended.

        Parameters
        ----------
        rows_for : callable
            Called with a rank that has no rows left: the next rows, of it and of others, each rank's in its order; None
            when there are no more. They are `smpy.engine.trace.dtype_of("actions")`, with this world's communicators,
            schedules and accounts.
        on_yield : callable
            Called between stretches of at most about 50 ms of the kernel's work.

        Raises
        ------
        DeadlockError
            If no rank can go on, or ranks only poll for what will not come.
        RowsError
            If the rows end before the ranks do, or no rank can perform one of them.
        SmpyError
            If the machine does not let the ranks go on.
        UsageError
            If its polls are free, and ranks poll at one date without end.
        """
        check(lib.sim_replay_begin(self._sim))
        polling = self.platform.models.polling
        polls_are_free = polling.test_s == 0 or polling.iprobe_s == 0
        date_s, n_stretches = 0.0, 0  # of the kernel's work at this date without new rows
        while True:
            word = lib.sim_replay_next(self._sim)
            n_stretches = n_stretches + 1 if word == lib.SIM_YIELD and self.now_s == date_s else 0
            date_s = self.now_s
            if polls_are_free and n_stretches == _STRETCHES_MAX:
                raise UsageError(
                    f"at {date_s:.9g} s ranks of the trace poll without end: polls of this machine are free "
                    "(smpi/test and smpi/iprobe, or mpi.test and mpi.iprobe): give them a time"
                )
            if word >= 0:
                rows = rows_for(word)
                if rows is None:
                    raise RowsError(f"the rows end before rank {word} does")
                code = lib.sim_replay_feed(self._sim, len(rows), ffi.from_buffer("trace_action[]", rows))
                _check_rows(code)
                check(code)
            elif word == lib.SIM_YIELD and not lib.sim_replay_is_in_vain(self._sim):
                on_yield()
            elif word == lib.SIM_DONE:
                return
            elif word in (lib.SIM_STUCK, lib.SIM_YIELD):
                raise DeadlockError(f"at {self.now_s:.9g} s no rank of the trace can go on")
            else:
                _check_rows(lib.sim_error(self._sim))
                raise self._breakage()

    def place_of_line(self, number: int) -> tuple[str, int]:
        """No file, which its reader knows, and the line of it: the account of the row."""
        return "", number

    def n_left_alone(self) -> int:
        """Number of sends that were complete at once in the trace and are not here, and for which no rank waits."""
        return int(lib.sim_replay_left_alone(self._sim))


def _check_rows(code: int) -> None:
    """Raise an error if the kernel has refused the content of a row."""
    if code in _OF_ROWS:
        raise RowsError(TROUBLE[code])
