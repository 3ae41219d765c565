"""The Python face of one simulated world: the loop, the calls that a surface makes for a rank, and queries."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, isnan
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.accounts import (
    Accounts,
    account_energy_j,
    accounts,
    call_counts,
    caused_waits_s,
    host_energy_j,
    kept_waiting_s,
    link_energy_j,
    link_loads,
    message_pairs,
    skipped_s,
)
from smpy.engine.added_ranks import AddedRanks
from smpy.engine.added_timelines import AddedTimelines
from smpy.engine.background import Background
from smpy.engine.device_work import DeviceWork
from smpy.engine.file_accesses import FileAccesses
from smpy.engine.host_states import HostStates
from smpy.engine.kernel import ffi, lib
from smpy.engine.messages import LeftKind, LeftOver, WaitingRank, WaitKind
from smpy.engine.surface import surface
from smpy.engine.time_categories import Spent
from smpy.engine.trace import n_rows, take_columns
from smpy.engine.window_accesses import WindowAccesses

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEQUENCE: Final = "MessageProgram.perform"


class Engine(WindowAccesses, FileAccesses, DeviceWork, AddedRanks, AddedTimelines, HostStates, Background):
    """One simulated world.

    Parameters
    ----------
    platform : Platform
        The machine.
    models : Models
        Times of messages and calls on it.
    host_of_rank : sequence of int
        Host number of each rank.
    """

    def host_name(self, rank: int) -> str:
        """Name of the simulated host a world rank runs on."""
        return self.platform.host_names[self._host_of_rank[rank]]

    def hosts_of(self, ranks: Iterable[int]) -> Iterator[int]:
        """Host numbers of some world ranks."""
        return map(self._host_of_rank.__getitem__, ranks)

    def frame_of(self, timeline: int) -> Any:
        """Innermost Python frame of a waiting timeline, or None."""
        body = self._greenlets[timeline]
        return None if body is None else body.gr_frame

    def waiting(self) -> list[WaitingRank]:
        """Waits of all ranks that have not ended, and of their threads."""
        return self._found(lib.sim_waiting)

    def polling(self) -> list[WaitingRank]:
        """Polls of all ranks whose last poll was in vain and that have done nothing else since then."""
        return self._found(lib.sim_polling)

    def polls_in_vain(self) -> bool:
        """Whether the running rank's last poll was in vain, and it has only computed and slept since then."""
        return bool(lib.sim_polls_in_vain(self._sim, lib.sim_running(self._sim)))

    def _found(self, look: Callable[..., None]) -> list[WaitingRank]:
        waiting = []
        out = ffi.new("waiting *")
        for timeline in range(len(self._greenlets)):
            look(self._sim, timeline, out)
            if out.kind != lib.WAIT_NOTHING:
                rank, (call, step) = int(lib.sim_rank_of(self._sim, timeline)), self._blocked_in(timeline, out)
                thread = self._bodies[timeline].name if timeline in self._bodies else ""
                waiting.append(
                    WaitingRank(
                        rank,
                        timeline,
                        WaitKind(out.kind),
                        out.comm,
                        out.peer,
                        out.tag,
                        out.bytes,
                        out.n_requests,
                        call,
                        step,
                        thread,
                    )
                )
        return waiting

    def _blocked_in(self, timeline: int, wait: Any) -> tuple[str, int]:
        """Call in which a timeline waits, and its step of a sequence, or -1."""
        if timeline in self.parked:
            return self.parked[timeline](), -1
        if surface is not None and (of_sequence := surface.step_waited_for(timeline, wait.request)):
            call, step = of_sequence
            return ("Wait" if call in ("Isend", "Irecv") else call), step
        if (
            wait.kind == lib.WAIT_PROBE and self._waits_in[timeline] == _SEQUENCE
        ):  # `AwaitedMessage.wait`, and what follows it
            return "Iprobe", -1
        return self._waits_in[timeline], -1

    def left_over(self) -> Iterator[LeftOver]:
        """Operations that the program started and did not complete, in no particular order."""
        kind = ffi.new("int *")
        number = 0
        while number := lib.sim_left_over(self._sim, number, kind):
            left, line = lib.sim_request(self._sim, number), self._line(number)
            date_s = float(lib.sim_request_date_s(self._sim, number))
            yield LeftOver(
                LeftKind(kind[0]),
                left.rank,
                bool(left.is_send),
                left.comm,
                left.peer,
                left.tag,
                left.bytes,
                line,
                date_s,
                bool(left.is_done),
            )

    def target_of(self, sent: LeftOver) -> int:
        """World rank of the receiver of a message that was not received."""
        return int(lib.sim_comm_world_rank(self._sim, lib.sim_comm_other(self._sim, sent.comm), sent.peer))

    def _line(self, request: int) -> tuple[str, int]:
        """File and line at which a request was posted."""
        return self.place_of_line(lib.sim_request(self._sim, request).line)

    def place_of_line(self, number: int) -> tuple[str, int]:
        """File and line of a number in the kernel; 0: none."""
        place: tuple[str, int] = self.call_recorder.line_at(number) if number else ("", 0)
        return place

    def statistics(self) -> Any:
        """Counts of what happened so far: messages, bytes, events, solves, copied_bytes, progress."""
        out = ffi.new("statistics *")
        lib.sim_statistics(self._sim, out)
        return out

    def path(self, rank: int) -> list[float]:
        """Sums over the critical path to a rank's date; the last one is of variances."""
        sums = ffi.new("double[]", lib.PATH_SUMS)
        lib.sim_path(self._sim, self.first_timeline(rank), sums)
        return list(sums)

    def finish_s(self) -> array[float]:
        """Date at which each rank ended, NaN for those that have not."""
        dates_s = array("d", bytes(8 * self.n_ranks))
        lib.sim_finish_s(self._sim, ffi.from_buffer("double[]", dates_s))
        return dates_s

    def accounts(self) -> Accounts:
        """Accounts of each rank's calls, once the run is over."""
        return accounts(self._sim)

    def call_counts(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Site and rank of each account so far; its calls, messages and bytes (`accounts.call_counts`)."""
        return call_counts(self._sim)

    def skipped_s(self) -> array[float]:
        """Seconds of iterations that each rank did not perform."""
        return skipped_s(self._sim, self.n_ranks)

    def kept_waiting_s(self) -> array[float]:
        """Seconds that each rank kept others waiting."""
        return kept_waiting_s(self._sim, self.n_ranks)

    def caused_waits_s(self) -> array[float]:
        """Part of the ranks' waits that is certainly due to each rank's delays, in seconds, once the run is over."""
        return caused_waits_s(self._sim, self.n_ranks)

    def count_links(self) -> None:
        """Count traffic of links; called before the run."""
        if lib.sim_count_links(self._sim) < 0:
            raise MemoryError("no memory for the traffic of links")

    def count_pairs(self, *, all_of_ranks: bool) -> None:
        """Count messages by pair; to be called before the run.

        Pairs are of ranks, and of hosts once pairs of ranks get many, unless `all_of_ranks`.
        """
        if lib.sim_count_pairs(self._sim, all_of_ranks) < 0:
            raise MemoryError("no memory for a matrix of messages")

    def begin_trace(self, window_s: tuple[float, float] | None, ranks: Sequence[int] | None) -> bool:
        """Make the kernel write a trace, of all or of a window or some ranks; called before the first call.

        Returns
        -------
        bool
            Whether it tells all that the run does.

        Raises
        ------
        MemoryError
            If there is no memory for it.
        """
        first_s, last_s = (0.0, inf) if window_s is None else window_s
        is_kept: Any = ffi.NULL
        if ranks is not None:
            chosen = set(ranks)
            is_kept = ffi.new("uint8_t[]", bytes(rank in chosen for rank in range(self.n_ranks)))
        if lib.sim_trace_begin(self._sim, first_s, last_s, is_kept) < 0:
            raise MemoryError("no memory for a trace")
        self.is_traced = True
        return window_s is None and ranks is None

    def tell_noise_free(self, kernel: str, flop: float, *, has_noisy: bool) -> None:
        """Write a kernel's operations without noise to the trace; `has_noisy`: those with noise are computed next."""
        if self.is_traced:
            number = self.call_numbers.setdefault(kernel, len(self.call_numbers))
            self.kernel_names.add(kernel)
            lib.sim_trace_noise_free(self._sim, self.timeline, number, flop, has_noisy)

    def n_trace_rows(self, table: str) -> int:
        """Number of new rows of a table of the trace since the last `take`."""
        return n_rows(self._sim, table)

    def take_trace(self, table: str) -> dict[str, NDArray[Any]]:
        """Take the new rows of a table of the trace, each column as an array."""
        return take_columns(self._sim, table)

    def link_loads(self) -> list[tuple[str, int, float, float, float, bool, str]]:
        """Rows of counted links.

        Name, most flows at once, bytes, seconds with flows, seconds full, whether shared, nodes that it joins.
        """
        platform = self.platform
        return [
            (platform.link_name(load[0]), *load[1:], platform.is_shared(load[0]), platform.link_label(load[0]))
            for load in link_loads(self._sim)
        ]

    def hosts_energy(self) -> Iterator[tuple[str, float, bool]]:
        """Name, and Joules so far, of each host with known power, and whether it has computed."""
        names = self.platform.host_names
        joules, is_used = host_energy_j(self._sim, len(names))
        return ((name, j, bool(used)) for name, j, used in zip(names, joules, is_used, strict=True) if not isnan(j))

    def links_energy(self) -> Iterator[tuple[str, float]]:
        """Name, and Joules so far, of each link with known power."""
        joules = enumerate(link_energy_j(self._sim, self.platform.n_links))
        return ((self.platform.link_name(link), j) for link, j in joules if not isnan(j))

    def accounts_energy_j(self, n_accounts: int) -> array[float]:
        """Joules above the idle power of hosts, of each account."""
        return account_energy_j(self._sim, n_accounts)

    def message_pairs(self) -> tuple[bool, bytes]:
        """Messages by pair: whether pairs are of hosts, not ranks; and an unordered array of message_pair."""
        return message_pairs(self._sim)

    def spent_s(self) -> Spent:
        """Time of all ranks together by category, so far or to their ends."""
        spent = ffi.new("double[]", lib.SPENT_KINDS)
        lib.sim_spent_s(self._sim, spent)
        return Spent(*spent)
