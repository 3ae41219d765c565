"""The Python face of one simulated world: ranks as greenlets, the hub's loop, and the calls a surface makes for a rank.

Laws of the loop:

1. The hub starts ranks, in rank order; a rank never starts another (it would nest on its stack).
2. A rank leaves the processor only in `block`, and comes back when the kernel has executed its timeline: one switch a
   block, straight to the next rank, none when the answer is its own.
3. A rank's body catches everything, so that only its end returns to the hub.
4. What follows from a transfer (errands) and what ranks left to be said (notes) is done before anyone resumes.
5. A signal sets a flag and the hub raises; the user's code never sees it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isnan
from threading import get_ident
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from smpy.engine.kernel import ffi, lib, surface
from smpy.engine.messages import BUFFERED, CANCELLED, NO_MESSAGE, STANDARD, Load, Message, WaitingRank
from smpy.errors import DeadlockError, Interrupted, SmpyError

if TYPE_CHECKING:
    from smpy.compute.clock import Clock
    from smpy.platforms.model import NetworkModel
    from smpy.platforms.platform import Platform

_INTERRUPTED = -100
_MOST_TABLES = 4
_OTHER_THREAD = (
    "called by a thread that the program started; a rank has one thread here (MPI.Query_thread() is THREAD_FUNNELED): "
    "make the call in the main thread, and hand the work over with queue.Queue"
)

_TROUBLE = {
    lib.SIM_OUT_OF_MEMORY: "out of memory: run fewer ranks, or fold the large arrays (smpy.folded)",
    lib.SIM_BAD_RANK: "a message for a rank outside its communicator",
    lib.SIM_BAD_SCHEDULE: "a collective's schedule is malformed, or reads beside the tables it was given",
}


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _message_of(request: Any) -> Message:
    if request.is_cancelled:
        return CANCELLED
    if request.is_send:
        return NO_MESSAGE
    return Message(request.matched_source, request.matched_tag, request.matched_bytes, request.bytes)


def _rank_tables(tables: Sequence[Sequence[int]]) -> tuple[Any, object]:
    """What the kernel copies the tables from, and what must live until it has."""
    if not tables:
        return ffi.NULL, None
    if len(tables) > _MOST_TABLES:
        raise ValueError(f"{len(tables)} tables: a schedule reads at most {_MOST_TABLES}")
    given = ffi.new("rank_tables *")
    alive = [ffi.from_buffer("int64_t[]", t if isinstance(t, array) else array("q", t)) for t in tables]
    given.n = len(tables)
    for k, numbers in enumerate(alive):
        given.table[k], given.n_entries[k] = numbers, len(numbers)
    return given, alive


class Engine:
    """One simulated world.

    Parameters
    ----------
    platform : Platform
        The machine.
    model : NetworkModel
        How messages travel on it.
    host_of_rank : sequence of int
        Host number of each rank.
    """

    def __init__(self, platform: Platform, model: NetworkModel, host_of_rank: Sequence[int]) -> None:
        self.n_ranks = len(host_of_rank)
        self.platform = platform
        self.clock: Clock | None = None
        self.has_folded = False
        self._host_of_rank = array("i", host_of_rank)
        self._model = model.to_c()
        sim = lib.sim_new(platform.handle, self._model, self.n_ranks, ffi.from_buffer("int[]", self._host_of_rank))
        if sim == ffi.NULL:
            raise SmpyError(f"no memory for {self.n_ranks} ranks: run fewer")
        self._sim = ffi.gc(sim, lib.sim_free)
        self._hub: greenlet = getcurrent()
        self._thread = get_ident()
        self._greenlets: list[greenlet | None] = [None] * self.n_ranks
        self._calls: list[str] = [""] * self.n_ranks
        self._errands: dict[int, Load] = {}
        self._said: dict[int, Any] = {}
        self._n_tokens = 0
        self._body: Callable[[int], None] = lambda rank: None
        self._is_interrupted = False

    # ---- the loop ----

    @property
    def now_s(self) -> float:
        """Where simulated time stands."""
        return float(lib.sim_now_s(self._sim))

    @property
    def rank(self) -> int:
        """World rank of the running rank."""
        return int(lib.sim_running(self._sim))

    def spawn(self, body: Callable[[int], None]) -> None:
        """Give every rank its body; it is called with the rank and must catch whatever it raises."""
        self._body = body

    def run(self, on_air: Callable[[], None]) -> object:
        """Run until every rank has ended.

        Parameters
        ----------
        on_air : callable
            Called between stretches of at most about 50 ms of the kernel's work.

        Returns
        -------
        object
            None, or what a rank handed to `stop`.

        Raises
        ------
        DeadlockError
            If no rank can run and none will wake.
        Interrupted
            After `interrupt`.
        """
        self._hub = getcurrent()
        self._thread = get_ident()
        if surface is None:
            return self._loop(on_air)
        surface.attach(_address(self._sim), _address(lib.sim_kernel_calls()), self)
        self._next, self.block = surface.step, surface.block  # type: ignore[method-assign]
        self.collective = surface.collective  # type: ignore[method-assign]
        try:
            return self._loop(on_air)
        finally:
            surface.detach()

    def _loop(self, on_air: Callable[[], None]) -> object:
        said: int | None = None
        while not self._is_interrupted:
            word = self._next() if said is None else said
            said = None
            if word >= 0:
                said = self._resume(word)
            elif word == lib.SIM_AIR:
                on_air()
            elif word == lib.SIM_DONE:
                return None
            elif word == lib.SIM_STOPPED:
                return self._said.pop(lib.sim_stop_id(self._sim))
            elif word == lib.SIM_STUCK:
                raise DeadlockError(f"at {self.now_s:.9g} s no rank can run and none will wake")
            elif word == lib.SIM_BROKEN:
                raise SmpyError(f"at {self.now_s:.9g} s: {self._trouble()}")
        raise Interrupted(f"interrupted at {self.now_s:.9g} s of simulated time")

    def _trouble(self) -> str:
        error = lib.sim_error(self._sim)
        if error != lib.SIM_NO_ROUTE:
            return _TROUBLE[error]
        source, target = (self.platform.host_names[lib.sim_unreached_host(self._sim, end)] for end in (0, 1))
        return (
            f"{source} and {target} talk to each other, and the platform has no route between these hosts: declare one"
        )

    def _resume(self, rank: int) -> int | None:
        body = self._greenlets[rank]
        if body is None:
            body = self._greenlets[rank] = greenlet(self._live, self._hub)
            return body.switch(rank)  # type: ignore[no-any-return]
        return body.switch()  # type: ignore[no-any-return]

    def _live(self, rank: int) -> None:
        self._body(rank)
        lib.sim_append_end(self._sim, rank)
        self._greenlets[rank] = None

    def _next(self) -> int:
        word = lib.sim_next(self._sim)
        self._run_errands()
        self._run_notes()
        return int(word)

    def block(self, call: str) -> None:
        """Give way until the kernel has executed everything the running rank appended."""
        if get_ident() != self._thread:
            raise RuntimeError(f"{call}: {_OTHER_THREAD}")
        rank = self.rank
        self._calls[rank] = call
        word = self._next()
        if word == rank:
            return
        other = self._greenlets[word] if word >= 0 else None
        if other is not None:
            other.switch()
        else:
            self._hub.switch(word)

    def interrupt(self) -> None:
        """From a signal handler: leave the user's code at once; `run` raises `Interrupted`."""
        self._is_interrupted = True
        lib.sim_interrupt(self._sim)
        if getcurrent() is not self._hub:
            self._hub.switch(_INTERRUPTED)

    def _run_errands(self) -> None:
        listed = ffi.new("const errand **")
        n = lib.sim_errands(self._sim, listed)
        if not n:
            return
        for i in range(n):
            job = listed[0][i]
            load = self._errands.pop(job.token, None)
            if load is not None and load.take is not None and not job.is_cancelled:
                load.take(memoryview(ffi.buffer(job.data, job.bytes)) if job.data else memoryview(b""))
        lib.sim_errands_done(self._sim)

    def _run_notes(self) -> None:
        listed = ffi.new("const int64_t **")
        n = lib.sim_notes(self._sim, listed)
        if not n:
            return
        ids = list(listed[0][0:n])
        lib.sim_notes_done(self._sim)
        for key in ids:
            self._said.pop(key)()

    def _token(self) -> int:
        self._n_tokens += 1
        return self._n_tokens

    # ---- what a rank leaves for its simulated date ----

    def note(self, what: Callable[[], None]) -> None:
        """Call `what` when simulated time reaches the running rank's tail, notes of all ranks in simulated order."""
        key = self._token()
        self._said[key] = what
        lib.sim_append_note(self._sim, self.rank, key)
        self._keep_pace()

    def stop(self, what: object) -> None:
        """End the run when simulated time reaches the running rank's tail; `run` then returns `what`."""
        key = self._token()
        self._said[key] = what
        lib.sim_append_stop(self._sim, self.rank, key)

    def _keep_pace(self) -> None:
        if lib.sim_is_far_ahead(self._sim, self.rank):
            self.block("")

    # ---- time ----

    def clock_s(self) -> float:
        """The running rank's date, in seconds."""
        date_s = float(lib.sim_clock_s(self._sim, self.rank))
        if isnan(date_s):
            self.block("Wtime")
            return self.now_s
        return date_s

    def wtime(self) -> float:
        """MPI_Wtime: the running rank's date; asking costs simulated time, as polling does."""
        date_s = self.clock_s()
        self.sleep(self._model.wtime_s)
        return date_s

    def sleep(self, seconds: float) -> None:
        """Let simulated time pass for the running rank without loading its core."""
        lib.sim_append_sleep(self._sim, self.rank, seconds)
        self._keep_pace()

    def compute(self, flop: float) -> None:
        """Execute `flop` operations on a core of the running rank's host."""
        lib.sim_append_compute(self._sim, self.rank, flop)
        self._keep_pace()

    def speed_flop_per_s(self) -> float:
        """Speed of a core of the running rank's host."""
        return float(lib.sim_speed_flop_per_s(self._sim, self.rank))

    # ---- point-to-point ----

    def _post(self, number: int, load: Load) -> bool:
        """Attach the payload; whether the request is a detached send, complete for its rank."""
        if number < 0:
            raise SmpyError(_TROUBLE[number])
        request = lib.sim_request(self._sim, number)
        parcel, is_detached = request.load, bool(request.is_detached)
        parcel.bytes = load.nbytes
        if load.take is not None:
            parcel.kind = lib.PARCEL_PYTHON
        elif load.address and load.nbytes:
            parcel.data = ffi.cast("char *", load.address)
            parcel.kind = lib.PARCEL_BORROWED
            if is_detached:
                parcel.data = lib.parcel_copy(self._sim, parcel.data, load.nbytes)
                if parcel.data == ffi.NULL:
                    raise MemoryError(f"no memory for a message of {load.nbytes} bytes")
                parcel.kind = lib.PARCEL_OWNED
        else:
            self.has_folded |= load.nbytes > 0 and not load.address and load.keep is not None
        if not is_detached and (load.take is not None or load.keep is not None):
            parcel.token = self._token()
            self._errands[parcel.token] = load
        self._keep_pace()
        return is_detached

    def send(self, comm: int, dest: int, tag: int, load: Load, mode: int = STANDARD, call: str = "Send") -> None:
        """Blocking send; the buffer may be reused on return."""
        number = lib.sim_append_send(self._sim, self.rank, comm, dest, tag, load.nbytes, mode, 1)
        if not self._post(number, load):
            self.wait(number, call)
        elif mode == BUFFERED:
            self.release(number)

    def isend(
        self, comm: int, dest: int, tag: int, load: Load, mode: int = STANDARD, *, is_blocking: bool = False
    ) -> int:
        """Start a send: its request number, 0 when it is complete already.

        That of a buffered send is never 0, and complete when the message has been delivered. `is_blocking`: it takes
        the time that a blocking send takes to start.
        """
        number = int(lib.sim_append_send(self._sim, self.rank, comm, dest, tag, load.nbytes, mode, is_blocking))
        return 0 if self._post(number, load) and mode != BUFFERED else number

    def irecv(self, comm: int, source: int, tag: int, load: Load) -> int:
        """Start a receive: its request number."""
        number = lib.sim_append_recv(self._sim, self.rank, comm, source, tag, load.nbytes)
        self._post(number, load)
        return int(number)

    def recv(self, comm: int, source: int, tag: int, load: Load, call: str = "Recv") -> Message:
        """Receive a message."""
        return self.wait(self.irecv(comm, source, tag, load), call)

    def _collect(self, number: int) -> Message:
        if number <= 0:
            return NO_MESSAGE
        message = _message_of(lib.sim_request(self._sim, number))
        lib.sim_release(self._sim, number)
        return message

    def wait(self, request: int, call: str = "Wait") -> Message:
        """Wait for one request and release it."""
        if request <= 0:
            return NO_MESSAGE
        lib.sim_append_wait(self._sim, self.rank, request)
        self.block(call)
        return self._collect(request)

    def wait_all(self, requests: Sequence[int], call: str = "Waitall") -> list[Message]:
        """Wait for all of them and release them; numbers of 0 are complete."""
        numbers = array("i", requests)
        if any(number > 0 for number in numbers):
            lib.sim_append_wait_all(self._sim, self.rank, len(numbers), ffi.from_buffer("int[]", numbers))
            self.block(call)
        return [self._collect(number) for number in numbers]

    def wait_any(self, requests: Sequence[int], call: str = "Waitany") -> tuple[int, Message]:
        """Wait for one of them and release it: its index and message. 0 is complete, negative ones are skipped."""
        numbers = array("i", requests)
        lib.sim_append_wait_any(self._sim, self.rank, len(numbers), ffi.from_buffer("int[]", numbers))
        self.block(call)
        index = int(lib.sim_answer(self._sim, self.rank))
        return index, self._collect(numbers[index])

    def test(self, request: int, call: str = "Test") -> Message | None:
        """Poll one request; it is released when complete. A poll takes simulated time."""
        lib.sim_append_test(self._sim, self.rank, request)
        self.block(call)
        return self._collect(request) if lib.sim_answer(self._sim, self.rank) else None

    def test_any(self, requests: Sequence[int], call: str = "Testany") -> tuple[int, Message] | None:
        """Poll several requests: index and message of the first that is complete, or None."""
        numbers = array("i", requests)
        lib.sim_append_test_any(self._sim, self.rank, len(numbers), ffi.from_buffer("int[]", numbers))
        self.block(call)
        index = int(lib.sim_answer(self._sim, self.rank))
        return None if index < 0 else (index, self._collect(numbers[index]))

    def peek(self, request: int, call: str = "Get_status") -> Message | None:
        """Look whether a request is complete, without releasing it; it takes the time that a look of `iprobe` takes."""
        if request <= 0:
            return NO_MESSAGE
        lib.sim_append_peek(self._sim, self.rank, request)
        self.block(call)
        return _message_of(lib.sim_request(self._sim, request)) if lib.sim_answer(self._sim, self.rank) else None

    def cancel(self, request: int) -> None:
        """Take a request back: unless it has matched by then, it ends there and its message says so."""
        lib.sim_append_cancel(self._sim, self.rank, request)
        self._keep_pace()

    def is_done(self, request: int) -> bool:
        """Whether a request is complete at this date; a program cannot ask so freely."""
        return request <= 0 or bool(lib.sim_request(self._sim, request).is_done)

    def release(self, request: int, keep: object = None) -> None:
        """Let an operation go on by itself: nobody will wait for it. `keep` is kept alive until it has ended."""
        if request <= 0:
            return
        if keep is not None and not self.is_done(request):
            parcel = lib.sim_request(self._sim, request).load
            load = self._errands.get(parcel.token) or Load(0)
            parcel.token = parcel.token or self._token()
            self._errands[parcel.token] = replace(load, keep=(load.keep, keep))
        lib.sim_release(self._sim, request)

    def _probed(self) -> Message:
        found = lib.sim_probed(self._sim, self.rank)
        return Message(found.peer, found.tag, found.bytes, found.bytes)

    def iprobe(self, comm: int, source: int, tag: int) -> Message | None:
        """Look for a message that could be received; a look takes simulated time."""
        lib.sim_append_iprobe(self._sim, self.rank, comm, source, tag)
        self.block("Iprobe")
        return self._probed() if lib.sim_answer(self._sim, self.rank) else None

    def probe(self, comm: int, source: int, tag: int) -> Message:
        """Wait until a message could be received."""
        lib.sim_append_probe(self._sim, self.rank, comm, source, tag)
        self.block("Probe")
        return self._probed()

    def improbe(self, comm: int, source: int, tag: int) -> tuple[int, Message] | None:
        """Look for a message, and hold it: a number for `imrecv`, which alone can receive it then, and what it is."""
        lib.sim_append_improbe(self._sim, self.rank, comm, source, tag)
        self.block("Improbe")
        held = int(lib.sim_answer(self._sim, self.rank))
        return (held, self._probed()) if held else None

    def mprobe(self, comm: int, source: int, tag: int) -> tuple[int, Message]:
        """Wait for a message, and hold it."""
        lib.sim_append_mprobe(self._sim, self.rank, comm, source, tag)
        self.block("Mprobe")
        return int(lib.sim_answer(self._sim, self.rank)), self._probed()

    def imrecv(self, held: int, load: Load) -> int:
        """Start to receive the message that a probe holds: the request number."""
        number = lib.sim_append_mrecv(self._sim, self.rank, held, load.nbytes)
        self._post(number, load)
        return int(number)

    # ---- collectives and communicators ----

    def new_schedule(self, words: Iterable[int]) -> int:
        """Hand a collective's program to the kernel: its number."""
        code = array("q", words)
        number = int(lib.sim_schedule_new(self._sim, len(code), ffi.from_buffer("int64_t[]", code)))
        if number < 0:
            raise SmpyError(_TROUBLE[number])
        return number

    def collective(
        self, comm: int, schedule: int, root: int, nbytes: int, call: str, tables: Sequence[Sequence[int]] = ()
    ) -> None:
        """Take part in a collective and wait until this rank is through with it.

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
        self._collective(comm, schedule, root, nbytes, call, tables)

    def _collective(
        self, comm: int, schedule: int, root: int, nbytes: int, call: str, tables: Sequence[Sequence[int]] = ()
    ) -> None:
        given, _alive = _rank_tables(tables)
        code = lib.sim_append_collective(self._sim, self.rank, comm, schedule, root, nbytes, given)
        if code < 0:
            raise SmpyError(_TROUBLE[code])
        self.block(call)

    def start_collective(
        self, comm: int, schedule: int, root: int, nbytes: int, tables: Sequence[Sequence[int]] = (), gate: int = 0
    ) -> int:
        """Start a collective and go on: the number of a request that is complete when all the schedule started is.

        A schedule that is started waits for nothing. With a `gate`, the request is not complete before all its ranks
        have started.
        """
        given, _alive = _rank_tables(tables)
        number = int(lib.sim_append_start(self._sim, self.rank, comm, schedule, root, nbytes, given, gate))
        if number < 0:
            raise SmpyError(_TROUBLE[number])
        self._keep_pace()
        return number

    def new_gate(self, n_ranks: int) -> int:
        """A gate for `start_collective` that opens when `n_ranks` ranks have come: its number."""
        number = int(lib.sim_gate_new(self._sim, n_ranks))
        if number < 0:
            raise SmpyError(_TROUBLE[number])
        return number

    def comm_new(self, world_ranks: Sequence[int]) -> int:
        """Make a communicator of these world ranks: its number."""
        ranks = array("i", world_ranks)
        number = int(lib.sim_comm_new(self._sim, len(ranks), ffi.from_buffer("int[]", ranks)))
        if number < 0:
            raise SmpyError(_TROUBLE[number])
        return number

    def comm_new_inter(self, side0_world_ranks: Sequence[int], side1_world_ranks: Sequence[int]) -> tuple[int, int]:
        """Make an intercommunicator: the number its ranks use on each side.

        Ranks, sizes and world ranks of such a number are those of its own side; messages go to and come from the other.
        """
        ranks = [array("i", side) for side in (side0_world_ranks, side1_world_ranks)]
        sides = [(len(side), ffi.from_buffer("int[]", side)) for side in ranks]
        number = int(lib.sim_comm_new_inter(self._sim, *sides[0], *sides[1]))
        if number < 0:
            raise SmpyError(_TROUBLE[number])
        return number, int(lib.sim_comm_other(self._sim, number))

    def comm_free(self, comm: int) -> None:
        """Forget a communicator, or its side of one, that all its ranks have freed."""
        lib.sim_comm_free(self._sim, comm)

    def comm_size(self, comm: int) -> int:
        """Number of ranks in a communicator."""
        return int(lib.sim_comm_size(self._sim, comm))

    def comm_peers(self, comm: int) -> int:
        """Number of ranks that a message may be sent to: those of the other side, if there is one."""
        return int(lib.sim_comm_peers(self._sim, comm))

    def comm_rank(self, comm: int) -> int:
        """Rank of the running rank in a communicator, -1 when it is not a member."""
        return int(lib.sim_comm_rank(self._sim, comm, self.rank))

    def world_ranks(self, comm: int) -> list[int]:
        """World rank of each rank of a communicator."""
        return [lib.sim_comm_world_rank(self._sim, comm, r) for r in range(self.comm_size(comm))]

    # ---- asking ----

    def host_name(self, rank: int) -> str:
        """Name of the simulated host a world rank runs on."""
        return self.platform.host_names[self._host_of_rank[rank]]

    def frame_of(self, rank: int) -> Any:
        """The innermost Python frame of a rank that waits, or None."""
        body = self._greenlets[rank]
        return None if body is None else body.gr_frame

    def waiting(self) -> list[WaitingRank]:
        """Every rank that has not ended, and what it waits for."""
        found = []
        out = ffi.new("waiting *")
        for rank in range(self.n_ranks):
            lib.sim_waiting(self._sim, rank, out)
            if out.kind != lib.WAIT_NOTHING:
                found.append(
                    WaitingRank(
                        rank, out.kind, out.comm, out.peer, out.tag, out.bytes, out.n_requests, self._calls[rank]
                    )
                )
        return found

    def statistics(self) -> Any:
        """Counts of what happened so far: messages, bytes, events, solves, parcels_bytes."""
        out = ffi.new("statistics *")
        lib.sim_statistics(self._sim, out)
        return out

    def finish_s(self) -> array[float]:
        """Date at which each rank ended, NaN for those that have not."""
        return array("d", ffi.buffer(lib.sim_finish_s(self._sim), 8 * self.n_ranks)[:])

    def compute_s(self) -> array[float]:
        """Simulated time each rank has computed, in seconds."""
        return array("d", ffi.buffer(lib.sim_compute_s(self._sim), 8 * self.n_ranks)[:])
