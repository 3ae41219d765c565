"""The loop of one simulated world: ranks as greenlets, the hub that starts them, the switch between them.

Laws of the loop:

1. The hub starts ranks, in rank order; a rank never starts another (it would nest on its stack).
2. A rank leaves the processor only in `block`, and comes back when the kernel has executed its timeline: one switch a
   block, straight to the next rank, none when the answer is its own.
3. A rank's body catches everything, so that only its end returns to the hub.
4. Deliveries, which follow from transfers, and notes that ranks have left are performed before anyone resumes.
5. A signal sets a flag and the hub raises; the user's code never sees it.
6. Only the thread that turns the loop appends to timelines; what other threads ask of the kernel, they read.
7. A rank comes back in the greenlet in which it left, which may be one that its program has made.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, RLock, current_thread, get_ident
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from greenlet import getcurrent, greenlet

from smpy.engine import thread_ranks
from smpy.engine.clocks import Bursts, ComputingClock
from smpy.engine.folded_memory import TABLE
from smpy.engine.kernel import ffi, lib
from smpy.engine.machine_devices import tell_devices, without_device, without_speed
from smpy.engine.messages import Load, PartialBytes, Ranges
from smpy.engine.model import kernel_calls, kernel_model
from smpy.engine.outcomes import CalledInThread
from smpy.engine.surface import surface
from smpy.errors import DeadlockError, Interrupted, MachineFailure, NoDeviceError, SmpyError, UsageError

if TYPE_CHECKING:
    from smpy.engine.launching import Launcher
    from smpy.engine.platform import Platform
    from smpy.engine.thread_body import ThreadBody
    from smpy.platforms.models.devices import Device
    from smpy.platforms.models.machine_models import Models

_INTERRUPTED = -100
_NO_THREAD = 0
_N_WAKES = 100
_WAKE_INTERVAL_S = 0.01

OUT_OF_MEMORY: Final = "out of memory: run fewer ranks, or fold the large arrays (smpy.folded)"
TROUBLE: Final = {
    lib.SIM_OUT_OF_MEMORY: OUT_OF_MEMORY,
    lib.SIM_BAD_RANK: "a message for a rank outside its communicator",
    lib.SIM_BAD_REQUEST: "a request that is over, or that another rank has started: each rank completes its own",
    lib.SIM_BAD_SCHEDULE: "a collective's schedule is malformed, or reads or makes a number that is out of range",
    lib.SIM_BAD_SIZE: "a number of bytes or seconds that is below 0 or too large",
    lib.SIM_NO_DEVICE: "work for a device on a host that has none",
    lib.SIM_NO_DEVICE_SPEED: "a kernel with numbers that the device of its rank does not compute with",
    lib.SIM_BAD_THREADS: "computing in more threads than a rank has cores: give ranks more of them (--cpus-per-task)",
}
"""Meanings of the kernel's error codes."""

PATH_VARIANCE: Final[int] = lib.PATH_VARIANCE
"""Index of the sum of variances, the last one, among the sums over a critical path."""
LOOP_SUMS: Final = range(PATH_VARIANCE - 5, PATH_VARIANCE - 1)
"""Indices of the sums of skipped loops' half widths, by name; several names share the last one."""
_OF_DEVICES = (lib.SIM_NO_DEVICE, lib.SIM_NO_DEVICE_SPEED)
_LOSSES = (lib.SIM_HOST_OFF, lib.SIM_HOST_STOPPED, lib.SIM_LINK_OFF)


def check(code: int) -> None:
    """Raise ``SmpyError`` when the kernel has refused a call."""
    if code < 0:
        raise SmpyError(TROUBLE[code])


def _line_of_program() -> tuple[str, int]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(thread_ranks.PASSED_OVER):
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _ranges(carried: Any) -> Ranges:
    return [(carried.at[i].start, carried.at[i].end) for i in range(carried.n)]


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


class Loop:
    """One simulated world.

    Parameters
    ----------
    platform : Platform
        The machine.
    models : Models
        Times of messages and calls on it.
    host_of_rank : sequence of int
        Host number of each rank.

    Attributes
    ----------
    wake : callable
        Called in a thread that breaks the run off: has `leave_if_broken_off` called in the one that turns the loop.
    world_storage : dict of type to object
        State that layers above keep for this world, each in one object of a class of its own (`running.per_world`).
    start_s : float
        Seconds that a rank takes to start MPI.
    spawn_s : float
        Seconds that a rank which others start takes before its program begins.
    ends_with_barrier : bool
        Whether ending MPI is a barrier of all ranks.
    charges_data : bool
        Whether the machine says what a rank takes for its own data (`smpy.engine.time_calls`).
    call_numbers : dict of str to int
        Names of the calls that the program has made, and how the kernel's accounts name them; "": the program itself.
    call_recorder : object
        The compiled surface, or this: hears of calls as they begin and end, by `begin_call` and `end_call`; knows lines
        by `line_at`.
    kernel_names : set of str
        Names among these calls that are kernels of computing.
    region_numbers : dict of str to int
        Names of regions that ranks have entered, and how the kernel names them.
    has_noise : bool
        Whether noise is drawn for any computing.
    has_skipped : bool
        Whether ranks have skipped iterations.
    is_traced : bool
        Whether the kernel writes a trace.
    n_looks, looker : int
        Number of times that ranks have read the clock, and the last rank that did, or -1.
    n_idle_looks : int
        Number of times that loops have looked in vain for what others assign.
    idle_looker : (int, int)
        Rank and timeline of the last of these looks, or -1.
    cpus_per_task : int
        Cores of its host that each rank has.
    n_ranks, n_first_ranks : int
        Number of ranks, and of those that the run began with.
    has_added_ranks : bool
        Whether ranks were added to those that the run began with: COMM_WORLD is not the same for all.
    has_threads : bool
        Whether ranks have had further timelines, for their threads.
    ended_threads : dict of int to str
        Names of threads that have ended, by timeline, if there is a trace.
    parked : dict of int to callable
        Tells what a timeline that is parked without end waits for.
    devices : list of Device
        Kind of each device of hosts that have had ranks, by its number in the kernel.
    last_of_stream : dict of (int, int) to int
        Request of the last operation in each stream of each rank, while nobody has waited for it; 0: a thread has.
    used_device_bytes : dict of int to int
        Memory that arrays take on each device whose memory is limited.
    launcher : Launcher or None
        Starts programs on further ranks; None: there can be none.
    guard : callable or None
        Makes every MPI call, as ``guard(method, *args, **kwargs)``; None: they are made as they are.
    """

    def __init__(self, platform: Platform, models: Models, host_of_rank: Sequence[int]) -> None:
        self.n_ranks = self.n_first_ranks = len(host_of_rank)
        self.cpus_per_task = 1
        self.platform = platform
        self.clock: ComputingClock | None = None
        self.bursts: Bursts | None = None
        self.has_folded = False
        self.has_skipped = False
        self.is_strict = False
        self.kernels_above_peak: dict[str, tuple[float, float]] = {}
        self._host_of_rank = array("i", host_of_rank)
        self._model = kernel_model(models)
        self._wtime_s = models.calls.wtime_s
        self.n_looks, self.looker = 0, -1
        self.n_idle_looks, self.idle_looker = 0, (-1, -1)
        sim = lib.sim_new(
            platform.handle, self._model.model, self.n_ranks, ffi.from_buffer("int[]", self._host_of_rank)
        )
        if sim == ffi.NULL:
            raise SmpyError(f"no memory for {self.n_ranks} ranks: run fewer")
        self._sim = ffi.gc(sim, lib.sim_free)
        lib.sim_use_folded_table(sim, TABLE)
        keeps_energy = lib.sim_keep_energy(sim)
        check(min(keeps_energy, 0))
        self.keeps_energy = keeps_energy > 0
        for calls, hosts in platform.own_calls(models).items():
            own = kernel_calls(replace(models, calls=calls))
            check(lib.sim_host_costs(self._sim, len(hosts), hosts, own))
        for alike, shares in platform.busy_speeds():
            check(lib.sim_host_busy_speed(self._sim, alike.start, len(alike), len(shares), shares))
        self.devices: list[Device] = tell_devices(self._sim, platform, host_of_rank)
        self.last_of_stream: dict[tuple[int, int], int] = {}
        self.used_device_bytes: dict[int, int] = {}
        self.start_s = models.calls.init_s
        self.spawn_s = models.calls.spawn_s
        self.ends_with_barrier = models.calls.finalize_barrier
        all_calls = (models.paid_calls, *platform.own_calls(models))
        self.charges_data = any(calls.charges_data for calls in all_calls)
        self._hub: greenlet = getcurrent()
        self._thread = get_ident()
        self._greenlets: list[greenlet | None] = [None] * self.n_ranks
        self._waits_in: list[str] = [""] * self.n_ranks
        self._added_worlds: list[int] = []
        self._first_of_added: list[int] = []
        self.has_added_ranks = False
        self.has_threads = False
        self._bodies: dict[int, ThreadBody] = {}
        self.ended_threads: dict[int, str] = {}
        self.parked: dict[int, Callable[[], str]] = {}
        self.launcher: Launcher | None = None
        self.call_numbers: dict[str, int] = {"": 0}
        self.kernel_names = {"execute"}
        self.region_numbers: dict[str, int] = {}
        self.is_traced = False
        self.has_noise = False
        self.call_recorder: Any = surface or self
        self._line_numbers: dict[tuple[str, int], int] = {("", 0): 0}
        self._deliveries: dict[int, Load] = {}
        self._notes_by_id: dict[int, Any] = {}
        self._n_tokens = 0
        self._body: Callable[[int], None] = lambda rank: None
        self._is_interrupted = False
        self._broken_off: object = None
        self._has_returned = Event()
        self._communicators = RLock()
        self.wake: Callable[[], None] = lambda: None
        self.world_storage: dict[type, Any] = {}
        self.guard: Callable[..., Any] | None = None

    def give_cores(self, cpus_per_task: int) -> None:
        """Give each rank this number of its host's cores; called before the run."""
        self.cpus_per_task = cpus_per_task
        lib.sim_cores_per_rank(self._sim, cpus_per_task)

    def suspended(self) -> list[greenlet]:
        """Ranks that have begun and not ended."""
        return [body for body in self._greenlets if body is not None]

    def has_ended(self, timeline: int) -> bool:
        """Whether the code of a timeline has come to its end, or has not begun."""
        return self._greenlets[timeline] is None

    def close(self) -> None:
        """Free all memory; the world answers no queries afterwards."""
        ffi.release(self._sim)
        self._sim = None
        self._deliveries.clear()
        self._notes_by_id.clear()
        self.world_storage.clear()

    # ---- the loop ----

    @property
    def now_s(self) -> float:
        """Present simulated time, in seconds."""
        return float(lib.sim_now_s(self._sim))

    @property
    def rank(self) -> int:
        """World rank of the running rank; in another thread, that of the thread's rank."""
        return int(lib.sim_running_rank(self._sim)) if get_ident() == self._thread else thread_ranks.rank()

    @property
    def timeline(self) -> int:
        """Running timeline, for a call that appends to it; other threads have none, and are ended here."""
        if get_ident() != self._thread:
            self._refuse()
        return int(lib.sim_running(self._sim))

    @property
    def running_timeline(self) -> int:
        """The timeline that runs, or -1."""
        return int(lib.sim_running(self._sim))

    def first_timeline(self, rank: int) -> int:
        """The timeline in which a rank's own program runs."""
        return rank if rank < self.n_first_ranks else self._first_of_added[rank - self.n_first_ranks]

    def must_be_here(self) -> None:
        """Check the thread of a call that changes the world outside the timeline; other threads are ended here."""
        if get_ident() != self._thread:
            self._refuse()

    def is_here(self) -> bool:
        """Whether the caller is the thread, and process, that turns the loop."""
        return get_ident() == self._thread

    def is_in_hub(self) -> bool:
        """Whether the loop itself is running, and no rank."""
        return getcurrent() is self._hub

    def spawn(self, body: Callable[[int], None]) -> None:
        """Set the body of every rank; it is called with the rank and must catch every exception."""
        self._body = body

    def run(self, on_yield: Callable[[], None]) -> object:
        """Run until every rank has ended.

        Parameters
        ----------
        on_yield : callable
            Called between stretches of at most about 50 ms of the kernel's work.

        Returns
        -------
        object
            None, what a rank handed to `stop`, or one of its threads to `break_off`.

        Raises
        ------
        DeadlockError
            If no rank can run and none will wake.
        Interrupted
            After `interrupt`.
        """
        self._hub = getcurrent()
        self._thread = get_ident()
        if surface is not None:
            surface.attach(_address(self._sim), _address(lib.sim_kernel_calls()), self)
        try:
            return self._loop(on_yield)
        finally:
            self._has_returned.set()
            if surface is not None:
                surface.detach()

    def _loop(self, on_yield: Callable[[], None]) -> object:
        answer: int | None = None
        while not self._is_interrupted:
            word = self._next() if answer is None else answer
            answer = None
            if word >= 0:
                answer = self._resume(word)
            elif word == lib.SIM_YIELD:
                on_yield()
            elif word == lib.SIM_DONE:
                return None
            elif word == lib.SIM_STOPPED:
                return self._notes_by_id.pop(lib.sim_stop_id(self._sim))
            elif word == lib.SIM_STUCK:
                raise DeadlockError(f"at {self.now_s:.9g} s no rank can run and none will wake")
            elif word == lib.SIM_BROKEN:
                raise self._breakage()
        if self._broken_off is not None:
            return self._broken_off
        raise Interrupted(f"interrupted at {self.now_s:.9g} s of simulated time")

    def _breakage(self) -> SmpyError:
        """Error to raise when the kernel cannot continue."""
        code = lib.sim_error(self._sim)
        error = MachineFailure if code in _LOSSES else NoDeviceError if code in _OF_DEVICES else SmpyError
        return error(f"at {self.now_s:.9g} s: {self._trouble()}")

    def _trouble(self) -> str:
        error = lib.sim_error(self._sim)
        if error in _LOSSES:
            return self._loss(error)
        if error in _OF_DEVICES:
            return self._lack(error)
        if error == lib.SIM_FIXED_LINKS:
            network = ffi.string(lib.sim_network_name(self._sim)).decode()
            return f"links of this platform follow profiles, and the network {network!r} cannot: take another one"
        if error != lib.SIM_NO_ROUTE:
            return TROUBLE[error]
        source, target = (self.platform.host_names[lib.sim_unreached_host(self._sim, end)] for end in (0, 1))
        return (
            f"{source} and {target} talk to each other, and the platform has no route between these hosts: declare one"
        )

    def _lack(self, error: int) -> str:
        """Message that names the rank whose device lacks what it needs."""
        lost = ffi.new("loss_report *")
        lib.sim_lost(self._sim, lost)
        rank, host = lost.rank, self._host_of_rank[lost.rank]
        if error == lib.SIM_NO_DEVICE:
            return without_device(self.platform, rank, host)
        return without_speed(self.platform, rank, host, self.devices[lib.sim_device_of(self._sim, rank)])

    def _loss(self, error: int) -> str:
        """Message that names the host or link that was off, and the rank or message that needed it."""
        lost = ffi.new("loss_report *")
        lib.sim_lost(self._sim, lost)
        hosts = self.platform.host_names
        if error == lib.SIM_HOST_STOPPED:
            host = f"the speed of host {hosts[lost.host]!r} stays 0, as its profile says"
            return f"{host}, and rank {lost.rank} computes there: give it a later value, or place no rank there"
        remedy = "its state profile in the platform says when it is on"
        if lost.host >= 0:
            return f"host {hosts[lost.host]!r} is off, and rank {lost.rank} lives on it: {remedy}"
        ends = [f"host {hosts[host]!r}" for host in (lost.source_host, lost.target_host)]
        if lost.request > 0:
            request = lib.sim_request(self._sim, lost.request)
            target = lib.sim_comm_world_rank(self._sim, lib.sim_comm_other(self._sim, request.comm), request.peer)
            ends = [f"rank {rank} on {end}" for rank, end in zip((request.rank, target), ends, strict=True)]
        return (
            f"link {self.platform.link_name(lost.link)!r} is off, and the message of {lost.bytes:,} bytes from "
            f"{ends[0]} to {ends[1]} needs it: {remedy}"
        )

    def _resume(self, timeline: int) -> int | None:
        body = self._greenlets[timeline]
        if body is None:
            body = self._greenlets[timeline] = greenlet(self._live, self._hub)
            return body.switch(timeline)  # type: ignore[no-any-return]
        return body.switch()  # type: ignore[no-any-return]

    def _live(self, timeline: int) -> None:
        added = self._bodies.get(timeline)
        if added is None:
            self._body(int(lib.sim_rank_of(self._sim, timeline)))
        else:
            added()
            if self.is_traced:
                self.ended_threads[timeline] = added.name
            del self._bodies[timeline]
        lib.sim_append_end(self._sim, timeline)
        self._greenlets[timeline] = None

    def _next(self) -> int:
        word = lib.sim_next(self._sim)
        self._run_deliveries()
        lib.sim_deliveries_done(self._sim)
        self._run_notes()
        return int(word)

    def block(self, call: str) -> None:
        """Let others run until the kernel has executed everything that the running rank appended."""
        timeline = self.timeline
        self._waits_in[timeline] = call
        self._greenlets[timeline] = getcurrent()
        word = self._next()
        if word == timeline:
            return
        other = self._greenlets[word] if word >= 0 else None
        if other is not None:
            other.switch()
        else:
            self._hub.switch(word)
        if lib.sim_running(self._sim) != timeline:
            rank = lib.sim_rank_of(self._sim, timeline)
            raise RuntimeError(f"a greenlet that waits in MPI, of rank {rank}, was switched to by rank {self.rank}")

    if not TYPE_CHECKING and surface is not None:
        _next, block = surface.step, surface.block  # the same, compiled, of the world that is attached

    def interrupt(self) -> None:
        """Interrupt the user's code at once, from a signal handler; `run` raises `Interrupted`."""
        self._is_interrupted = True
        lib.sim_interrupt(self._sim)
        if getcurrent() is not self._hub:
            self._hub.switch(_INTERRUPTED)

    def _run_deliveries(self, first: int = 0, end: int | None = None) -> None:
        """Hand over arrived messages: all deliveries, or those from `first` to the one before `end`."""
        listed = ffi.new("const delivery **")
        n = lib.sim_deliveries(self._sim, listed)
        for i in range(first, n if end is None else end):
            job = listed[0][i]
            load = self._deliveries.pop(job.token, None)
            if load is not None and load.take is not None and not job.is_cancelled:
                packed = memoryview(ffi.buffer(job.data, job.bytes)) if job.data else memoryview(b"")
                load.take(PartialBytes(packed, _ranges(job.carried)) if job.carried else packed)

    def _run_notes(self) -> None:
        listed = ffi.new("const int64_t **")
        n = lib.sim_notes(self._sim, listed)
        if not n:
            return
        ids = list(listed[0][0:n])
        lib.sim_notes_done(self._sim)
        for key in ids:
            self._notes_by_id.pop(key)()

    def _token(self) -> int:
        self._n_tokens += 1
        return self._n_tokens

    # ---- call sites, where the compiled surface does not record them ----

    def begin_call(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """Begin the running rank's call of this name; return whether it began and `end_call` must follow."""
        timeline = lib.sim_running(self._sim) if self.is_here() else -1
        if timeline < 0:
            return False
        call = self.call_numbers.setdefault(name, len(self.call_numbers))
        comm = -1 if not arguments or isinstance(arguments[0], type) else getattr(arguments[0], "_kernel_comm", -1)
        line = self._line_numbers.setdefault(_line_of_program(), len(self._line_numbers))
        lib.sim_begin_call(self._sim, timeline, call, line, comm)
        return True

    def end_call(self) -> None:
        """End the call that has begun."""
        lib.sim_end_call(self._sim, lib.sim_running(self._sim))

    def line_at(self, number: int) -> tuple[str, int]:
        """File and line of a number."""
        return next(place for place, known in self._line_numbers.items() if known == number)

    # ---- threads and child processes ----

    def leave(self, rank: int) -> None:
        """Leave the run in a child process: it continues only in the parent, and this thread belongs to a rank."""
        thread_ranks.belong_to(rank)
        self._thread = _NO_THREAD
        if surface is not None:
            surface.detach()

    def _refuse(self) -> NoReturn:
        call, frame = thread_ranks.called_from()
        rank = thread_ranks.rank()
        if self._thread == _NO_THREAD:
            raise UsageError(
                f"{call}: a child process that rank {rank} has started cannot call MPI; "
                "let it hand the data to the rank, through a multiprocessing.Queue or a pipe"
            )
        self.break_off(CalledInThread(rank, call, current_thread().name, frame))

    def break_off(self, outcome: object) -> NoReturn:
        """End the calling thread, which a rank started, and the run, which then returns `outcome`."""
        if not self._is_interrupted:
            self._broken_off = outcome
        self._is_interrupted = True
        lib.sim_interrupt(self._sim)
        for _ in range(_N_WAKES):  # a signal that arrives just before a thread begins to wait does not end the wait
            self.wake()
            if self._has_returned.wait(_WAKE_INTERVAL_S):
                break
        raise SystemExit  # threads ignore it silently

    def give_up(self, why: SmpyError) -> NoReturn:
        """End the run at once, in the middle of a rank's call; `run` then returns `why`."""
        self._broken_off = why
        self.interrupt()
        raise why  # no rank runs here

    def end_with(self, why: SmpyError) -> None:
        """End the run as soon as a rank calls the kernel; `run` then returns `why`. For notes, which cannot be left."""
        self._broken_off = why
        self._is_interrupted = True
        lib.sim_interrupt(self._sim)

    def leave_if_broken_off(self) -> None:
        """Interrupt the user's code if a thread asked for it; called from a signal handler, for `wake`."""
        if self._broken_off is not None:
            self.interrupt()

    # ---- actions at a rank's simulated date ----

    def note(self, action: Callable[[], None]) -> None:
        """Call `action` when simulated time reaches the running rank's tail, notes of all ranks in simulated order."""
        self.append_note(action)
        self._keep_pace()

    def append_note(self, action: Callable[[], None]) -> None:
        """Do as `note` does, however far the running rank is ahead."""
        key = self._token()
        self._notes_by_id[key] = action
        lib.sim_append_marker(self._sim, self.timeline, key)

    def stop(self, outcome: object) -> None:
        """End the run when simulated time reaches the running rank's tail; `run` then returns `outcome`."""
        key = self._token()
        self._notes_by_id[key] = outcome
        lib.sim_append_stop(self._sim, self.timeline, key)

    def _keep_pace(self) -> None:
        if lib.sim_is_far_ahead(self._sim, self.timeline):
            self.block("")
