"""Calls that ask for the date, and that let simulated time pass."""

from __future__ import annotations

from math import isnan
from operator import index
from threading import get_ident
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from smpy.engine import thread_ranks
from smpy.engine.kernel import ffi, lib
from smpy.engine.loop import Loop, check
from smpy.errors import UsageError

if TYPE_CHECKING:
    from smpy.platforms.models.memory import Memory

NoiseKind: TypeAlias = Literal["normal", "pareto", "ticks"]
_NOISES: Final = {"normal": lib.NOISE_NORMAL, "pareto": lib.NOISE_PARETO, "ticks": lib.NOISE_TICKS}


class TimeCalls(Loop):
    """The calls that ask for the running rank's date, compute, sleep and mark regions."""

    def clock_s(self) -> float:
        """The caller's date, in seconds; in another thread the clock of `smpy.engine.thread_ranks`."""
        if get_ident() != self._thread:
            known_s = float(lib.sim_clock_s(self._sim, self.first_timeline(thread_ranks.rank())))
            return thread_ranks.date_s(self.now_s if isnan(known_s) else known_s)
        date_s = float(lib.sim_clock_s(self._sim, self.timeline))
        if isnan(date_s):
            self.block("Wtime")
            return self.now_s
        return date_s

    def reached_s(self) -> float:
        """The running rank's date, in seconds; the world's date where the rank's depends on other ranks."""
        date_s = float(lib.sim_clock_s(self._sim, self.timeline))
        return self.now_s if isnan(date_s) else date_s

    def wtime(self) -> float:
        """MPI_Wtime: the running rank's date; asking costs simulated time, as polling does."""
        date_s = self.clock_s()
        if get_ident() == self._thread:
            self.n_looks += 1
            self.looker = self.rank
            lib.sim_append_overhead(self._sim, self.timeline, self._wtime_s)
            self._keep_pace()
        return date_s

    def earliest_clock_s(self) -> float:
        """The earliest date that the running rank can have, found without giving way; asking costs as much as `wtime`.

        Computing that the clock has not charged yet is part of it, and stays uncharged.
        """
        if get_ident() != self._thread:
            return self.clock_s()
        clock = self.clock
        mark_s = -1.0 if clock is None else clock.pause()
        date_s = float(lib.sim_earliest_clock_s(self._sim, self.timeline))
        lib.sim_extend_overhead(self._sim, self.timeline, self._wtime_s)
        if clock is not None:
            date_s += clock.charge_s(mark_s)
            clock.resume(mark_s)
        return date_s

    def note_idle_look(self) -> None:
        """Count a look of the running timeline, in vain, at a variable that others assign."""
        self.n_idle_looks += 1
        self.idle_looker = self.rank, self.timeline

    def sleep(self, seconds: float) -> None:
        """Let simulated time pass for the running rank without loading its core."""
        lib.sim_append_sleep(self._sim, self.timeline, seconds)
        self._keep_pace()

    def spend_overhead(self, seconds: float) -> None:
        """Have the running rank spend time inside MPI."""
        lib.sim_append_overhead(self._sim, self.timeline, seconds)
        self._keep_pace()

    # ---- bytes of the rank's messages, beside their transfer, where the machine says what they cost ----

    def spend_on_write(self, address: int, nbytes: int) -> None:
        """Have the running rank take the page faults of a stretch of memory that it is about to write."""
        self._spend(lib.sim_data_work_s(self._sim, self.timeline, ffi.cast("char *", address), nbytes, 0))

    def spend_on_blocks(self, n_blocks: int) -> None:
        """Have the running rank gather or scatter contiguous blocks of a datatype that leaves gaps."""
        self._spend(lib.sim_data_work_s(self._sim, self.timeline, ffi.NULL, 0, n_blocks))

    def spend_on_copy(self, nbytes: int) -> None:
        """Have the running rank copy bytes from its own memory to its own memory."""
        self._spend(lib.sim_own_copy_s(self._sim, self.timeline, nbytes))

    def spend_on_reduction(self, nbytes: int) -> None:
        """Have the running rank reduce an operand."""
        self._spend(lib.sim_reduction_s(self._sim, self.timeline, nbytes))

    def _spend(self, seconds: float) -> None:
        if seconds > 0:
            self.spend_overhead(seconds)

    # ---- computing ----

    def add_noise(self, kind: NoiseKind, size: float, period_s: float, *, seed: int) -> None:
        """Have computing take longer or shorter from now on, by draws; called before the run.

        `size` is a share, or the seconds that a tick takes.
        """
        check(lib.sim_use_noise(self._sim, _NOISES[kind], size, period_s, seed))
        self.has_noise = True

    def compute(
        self,
        flop: float,
        memory_bytes: float = 0.0,
        kernel: str | None = None,
        n_calls: int = 1,
        n_threads: int = 1,
    ) -> None:
        """Execute `flop` operations on a core of the running rank's host, and at once move bytes of its main memory.

        The operations are those of `n_calls` calls of a kernel, where one is named ("": the program itself); else of
        the call that the program has made. Several threads execute as many operations each, on a core each, and move
        the bytes together.
        """
        if memory_bytes:
            self.know_memory()
        if kernel is None:
            lib.sim_append_threads(self._sim, self.timeline, n_threads, flop, memory_bytes)
        else:
            number = self.call_numbers.setdefault(kernel, len(self.call_numbers))
            if kernel:
                self.kernel_names.add(kernel)
            lib.sim_append_compute_of(self._sim, self.timeline, number, n_calls, n_threads, flop, memory_bytes)
        self._keep_pace()

    def add_parallel_burst(self, flop: float, n_threads: int) -> None:
        """Append measured computing of the program in several threads, of so many operations each; never blocks."""
        check(lib.sim_append_compute_of(self._sim, self.timeline, 0, 0, n_threads, flop, 0.0))

    def threads_of(self, threads: int | None) -> int:
        """Number of threads that a call asks for; None: one on each of the running rank's cores.

        Raises
        ------
        UsageError
            If the rank has fewer cores.
        ValueError
            If it is less than one.
        TypeError
            If it is no whole number.
        """
        if threads is None:
            return self.cpus_per_task
        number = index(threads)
        if number < 1:
            raise ValueError(f"cannot compute in {number} threads: say at least 1")
        if number > self.cpus_per_task:
            cores = f"{self.cpus_per_task} core{'s' * (self.cpus_per_task != 1)}"
            raise UsageError(
                f"{number} threads are more than the {cores} of a rank: say at most {self.cpus_per_task}, or run with "
                f"--cpus-per-task {number}"
            )
        return number

    def mark_region(self, name: str, *, is_begin: bool) -> None:
        """The running rank enters a region of its program, or leaves it; a trace says when."""
        number = self.region_numbers.setdefault(name, len(self.region_numbers))
        check(lib.sim_append_region(self._sim, self.timeline, number, is_begin))
        self._keep_pace()

    def add_to_path(self, number: int, amount: float, variance: float = 0.0) -> None:
        """Add to one of the sums over the critical path to the running rank's date, and to that of variances."""
        check(lib.sim_append_to_path(self._sim, self.timeline, number, amount, variance))

    def know_memory(self) -> None:
        """Tell the kernel the memory of the running rank's host, before computing that moves bytes of it."""
        memory = self.memory()
        limits = memory.bandwidth_bytes_per_s, memory.core_bandwidth_bytes_per_s
        check(lib.sim_host_memory(self._sim, self._host_of_rank[self.rank], *limits))

    def memory(self) -> Memory:
        """Memory of the running rank's host."""
        return self.platform.memory(self._host_of_rank[self.rank])

    def speed_flop_per_s(self) -> float:
        """Speed of a core of the running rank's host."""
        return float(lib.sim_speed_flop_per_s(self._sim, self.timeline))
