"""The program that times messages: run by `smpy calibrate network` under a real mpiexec, by mpi4py alone.

    mpiexec -n 2 python measure.py network.csv '{"seed": 0}'
    mpiexec -n 8 python measure.py network.csv '{"seed": 0}' pairs

Ranks 0 and 1 play, any others wait. Rank 0 writes each time into the CSV file as soon as it is known, and prints how
many of how many sizes are done. With `pairs`, all ranks exchange messages at once, two and two, and rank 0 adds the
times to the file. It also runs under `smpy run`, which answers as the simulated machine.
"""

from __future__ import annotations

import json
import math
import mmap
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from mpi4py import MPI

HEAD = "# smpy calibrate network "  # both constants equal those of samples.py: this file runs without smpy
COLUMNS = "kind,bytes,repetition,time_s"
ALONE = 3  # exit code of a process without a partner
ROUND_TRIPS_S = 2e-4  # short round trips are timed together for this long
ROUND_TRIPS_MAX = 32
CALLS_MAX = 8  # calls of a short message are timed in groups of this size
CALLS_BYTES = 1 << 14
WINDOW_BYTES = 1 << 22  # messages in flight at once in a stream
WINDOW_MAX = 16
LATE_S = 1e-2  # minimum delay of a receive that shows whether its send waits; longer than another process's turn
LATE_TIMES = 4  # in times of a message
LATE_TRIALS = 5
CLOCK_READINGS = 1000
WARM_BYTES = 1 << 16, 1 << 18, 1 << 20, 1 << 22  # of a rank's own data
SMALL_PAGES_BYTES = 1 << 20  # numpy asks for huge pages from 4 MiB on
HUGE_PAGES_BYTES = 1 << 26  # above every limit from which C libraries ask the system for memory
COLD_COPIES = 8  # of a round; a virtual machine may have to ask for the pages of the first one
PAIRS_BYTES = 1 << 20, 1 << 22  # of a message, while all cores exchange some
PAIRS_EXCHANGES = 8
BLOCKS, BLOCK_BYTES = 2048, 8  # a column of a matrix
STRIDES_BYTES = 32, 256, 2080, 8256  # of matrices from one that inner caches hold to one that none does


class NetworkMeasurementPlan(NamedTuple):
    """Sizes and repetitions."""

    seed: int = 0
    n_sizes: int = 120
    repetitions: int = 7
    largest: int = 1 << 22

    def sizes(self) -> list[int]:
        """Random sizes, log-uniform: one in each of as many equal parts."""
        rng, octaves = random.Random(self.seed), math.log2(self.largest)
        drawn = {round(2 ** (octaves * (part + rng.random()) / self.n_sizes)) for part in range(self.n_sizes)}
        return sorted(drawn | {1, self.largest})


class Pair:
    """Two ranks and their measurements; each method returns the time in seconds on rank 0."""

    def __init__(self, comm: MPI.Comm, plan: NetworkMeasurementPlan) -> None:
        self.comm, self.is_first, self.peer = comm, comm.rank == 0, 1 - comm.rank
        self.out = np.ones(plan.largest, np.uint8)
        self.into = np.zeros(plan.largest * 2, np.uint8)
        self.token = np.zeros(1, np.uint8)
        readings = [MPI.Wtime() for _ in range(CLOCK_READINGS)]
        self.clock_s = float(np.median(np.diff(readings)))

    def time_s(self, call: Callable[[], Any]) -> float:
        """Time of a call, less the time of reading the clock."""
        began_s = MPI.Wtime()
        call()
        passed_s: float = MPI.Wtime() - began_s
        return max(passed_s - self.clock_s, 0.0)

    def wait(self, time_s: float) -> None:
        """Wait without MPI or sleep: a core is slow after a sleep."""
        until_s = MPI.Wtime() + time_s
        while MPI.Wtime() < until_s:
            pass

    def pingpong(self, size: int, n_trips: int) -> float:
        """Half a round trip; the peer already waits when the first message arrives."""
        out, into, comm, peer = self.out[:size], self.into[:size], self.comm, self.peer

        def trips() -> None:
            for _ in range(n_trips):
                comm.Send(out, peer)
                comm.Recv(into, peer)

        if self.is_first:
            comm.Recv(self.token, peer)
            return self.time_s(trips) / (2 * n_trips)
        comm.Send(self.token, peer)
        for _ in range(n_trips):
            comm.Recv(into, peer)
            comm.Send(out, peer)
        return 0.0

    def send(self, size: int, late_s: float, n_calls: int = 1) -> float:
        """Time per Send, over several with receives that are posted late."""
        out, into, comm, peer = self.out[:size], self.into[:size], self.comm, self.peer

        def sends() -> None:
            for _ in range(n_calls):
                comm.Send(out, peer)

        if self.is_first:
            comm.Recv(self.token, peer)
            return self.time_s(sends) / n_calls
        comm.Send(self.token, peer)
        self.wait(late_s)
        for _ in range(n_calls):
            comm.Recv(into, peer)
        return 0.0

    def isend(self, size: int, n_calls: int) -> float:
        """Time per Isend, over several with posted receives."""
        out, into, comm, peer = self.out[:size], self.into[:size], self.comm, self.peer
        requests: list[MPI.Request] = []

        def isends() -> None:
            for _ in range(n_calls):
                requests.append(comm.Isend(out, peer))

        if self.is_first:
            comm.Recv(self.token, peer)
            time_s = self.time_s(isends) / n_calls
        else:
            time_s = 0.0
            requests = [comm.Irecv(into, peer) for _ in range(n_calls)]
            comm.Send(self.token, peer)
        MPI.Request.Waitall(requests)
        return time_s

    def recv(self, size: int, after_s: float, n_calls: int) -> float:
        """Time per Wait, over several receives that were posted before their messages, some time after the sends."""
        out, into, comm, peer = self.out[:size], self.into[:size], self.comm, self.peer

        def waits() -> None:
            for request in requests:
                request.Wait()

        if self.is_first:
            comm.Recv(self.token, peer)  # the peer has arrived
            requests = [comm.Irecv(into, peer) for _ in range(n_calls)]
            comm.Send(self.token, peer)
            self.wait(after_s)
            return self.time_s(waits) / n_calls
        comm.Send(self.token, peer)
        comm.Recv(self.token, peer)
        for _ in range(n_calls):
            comm.Send(out, peer)
        return 0.0

    def stream(self, size: int) -> float:
        """Time per message, over several in one direction; the last one is answered."""
        n_messages = max(1, min(WINDOW_MAX, WINDOW_BYTES // size))
        out, into = self.out[:size], self.into[:size]
        requests: list[MPI.Request] = []

        def window() -> None:
            if self.is_first:
                requests.extend(self.comm.Isend(out, self.peer) for _ in range(n_messages))
                MPI.Request.Waitall(requests)
                self.comm.Recv(self.token, self.peer)
            else:
                MPI.Request.Waitall(requests)
                self.comm.Send(self.token, self.peer)

        if self.is_first:
            self.comm.Recv(self.token, self.peer)
        else:
            requests.extend(self.comm.Irecv(into, self.peer) for _ in range(n_messages))
            self.comm.Send(self.token, self.peer)
        return self.time_s(window) / n_messages


class Record:
    """The CSV file, which rank 0 writes."""

    def __init__(self, file: IO[str] | None, about: dict[str, Any] | None) -> None:
        self.file = file
        if about is not None:
            self.add_text(f"{HEAD}{json.dumps(about)}\n{COLUMNS}\n")

    def add(self, kind: str, size: int, repetition: int, time_s: float) -> None:
        self.add_text(f"{kind},{size},{repetition},{time_s:.9e}\n")

    def add_text(self, text: str) -> None:
        if self.file is not None:
            self.file.write(text)
            self.file.flush()


def eager_limit(pair: Pair, plan: NetworkMeasurementPlan, record: Record) -> int:
    """Largest size whose Send does not wait for its receive, by bisection; -1 if every Send waits."""

    def waits(size: int) -> bool:
        once_s = min(pair.pingpong(size, 1) for _ in range(LATE_TRIALS))
        late_s = pair.comm.bcast(max(LATE_S, LATE_TIMES * once_s))
        times_s = [pair.send(size, late_s) for _ in range(LATE_TRIALS)]
        answer = bool(pair.comm.bcast(float(np.median(times_s)) > late_s / 2))
        for trial, time_s in enumerate(times_s):
            record.add("waits" if answer else "returns", size, trial, time_s)
        return answer

    low, high = -1, plan.largest + 1
    for size in (0, plan.largest):
        if waits(size):
            high = min(high, size)
        else:
            low = max(low, size)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if waits(middle) else (middle, high)
    return low


def visit(pair: Pair, size: int, repetition: int, limit: int, record: Record) -> None:
    """All times of a size."""
    once_s = pair.pingpong(size, 1)  # also warms up
    n_trips = max(1, min(ROUND_TRIPS_MAX, int(ROUND_TRIPS_S / max(2 * once_s, 1e-9))))
    n_trips, once_s = pair.comm.bcast((n_trips, once_s))
    record.add("pingpong", size, repetition, pair.pingpong(size, n_trips))
    n_calls = max(1, min(CALLS_MAX, CALLS_BYTES // max(size, 1)))
    surely_s = 3 * n_calls * once_s + 20e-6
    if size <= limit:
        record.add("send", size, repetition, pair.send(size, surely_s, n_calls))
        record.add("recv", size, repetition, pair.recv(size, surely_s, n_calls))
    record.add("isend", size, repetition, pair.isend(size, n_calls))
    record.add("stream", size, repetition, pair.stream(size))


class OwnData:
    """Work of rank 0 on its own data, while rank 1 waits: copies, reductions, page faults, blocks of a datatype."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.comm = pair, MPI.COMM_SELF
        self.out = np.ones(HUGE_PAGES_BYTES, np.uint8)
        self.into = np.ones(HUGE_PAGES_BYTES, np.uint8)
        self.packed = np.ones(BLOCKS * BLOCK_BYTES, np.uint8)

    def copy_s(self, size: int, into: np.ndarray) -> float:
        """Time in which a rank gives itself a block that it has just written."""
        self.out[:size] += 1
        return self.pair.time_s(lambda: self.comm.Alltoall(self.out[:size], into[:size]))

    def reduction_s(self, size: int) -> float:
        """Time of a sum."""
        operand, result = self.out[:size].view(np.float64), self.into[:size].view(np.float64)
        return self.pair.time_s(lambda: MPI.SUM.Reduce_local(operand, result))

    def block_s(self, stride: int) -> tuple[int, float]:
        """Memory from the first to the last block of a column that was just written, and the time of a block."""
        span_bytes = (BLOCKS - 1) * stride + BLOCK_BYTES
        column, memory = MPI.BYTE.Create_vector(BLOCKS, BLOCK_BYTES, stride).Commit(), self.into[:span_bytes]
        memory += 1
        pack_s = self.pair.time_s(lambda: column.Pack(memory, self.packed, 0, self.comm))
        unpack_s = self.pair.time_s(lambda: column.Unpack(self.packed, 0, memory, self.comm))
        column.Free()
        return span_bytes, (pack_s + unpack_s) / 2 / BLOCKS

    def measure(self, repetition: int, record: Record) -> None:
        """One round."""
        for size in (*WARM_BYTES, HUGE_PAGES_BYTES):
            self.copy_s(size, self.into)  # takes the memory into the caches that hold it
            record.add("copy", size, repetition, self.copy_s(size, self.into))
        for size in WARM_BYTES:
            record.add("reduce", size, repetition, self.reduction_s(size))
        for _ in range(COLD_COPIES):
            with mmap.mmap(-1, SMALL_PAGES_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
                untouched = np.frombuffer(memory, np.uint8)
                record.add("cold", SMALL_PAGES_BYTES, repetition, self.copy_s(SMALL_PAGES_BYTES, untouched))
                del untouched
        np.full(HUGE_PAGES_BYTES, 0, np.uint8)  # pages that the host of a virtual machine has taken away come back
        untouched = np.empty(HUGE_PAGES_BYTES, np.uint8)
        record.add("cold", HUGE_PAGES_BYTES, repetition, self.copy_s(HUGE_PAGES_BYTES, untouched))
        del untouched
        for stride in STRIDES_BYTES:
            span_bytes, block_s = self.block_s(stride)
            record.add("blocks", span_bytes, repetition, block_s)


def measure_pairs(world: MPI.Comm, plan: NetworkMeasurementPlan, record: Record) -> None:
    """Time in which all ranks exchange messages with their partners, and the bytes of all of these."""
    partner = world.rank ^ 1
    for repetition in range(plan.repetitions):
        for size in PAIRS_BYTES:
            out, into = np.ones(size, np.uint8), np.ones(size, np.uint8)
            world.Barrier()
            began_s = MPI.Wtime()
            for _ in range(PAIRS_EXCHANGES):
                world.Sendrecv(out, partner, recvbuf=into, source=partner)
            passed_s = world.allreduce(MPI.Wtime() - began_s, MPI.MAX)
            if world.rank == 0:
                record.add("pairs", size * world.size, repetition, passed_s / PAIRS_EXCHANGES)


def main() -> int:
    """Measure, and return the exit code."""
    world = MPI.COMM_WORLD
    if world.size < 2:
        sys.stderr.write("this process is the only one of its MPI_COMM_WORLD\n")
        return ALONE
    plan = NetworkMeasurementPlan(**json.loads(sys.argv[2])) if len(sys.argv) > 2 else NetworkMeasurementPlan()
    if len(sys.argv) > 3:  # the word "pairs"
        with open(sys.argv[1] if world.rank == 0 else "/dev/null", "a", encoding="utf-8") as file:
            measure_pairs(world, plan, Record(file, None))
        return 0
    hosts = world.gather(MPI.Get_processor_name())
    comm = world.Split(0 if world.rank < 2 else MPI.UNDEFINED)
    if comm != MPI.COMM_NULL:
        about = {
            "plan": plan._asdict(),
            "hosts": (hosts or [])[:2],
            "library": MPI.Get_library_version().splitlines()[0].strip("\0"),
        }
        with Path(sys.argv[1]).open("w", encoding="utf-8") if comm.rank == 0 else open("/dev/null") as file:
            record = Record(file if comm.rank == 0 else None, about)
            pair, sizes = Pair(comm, plan), plan.sizes()
            limit = eager_limit(pair, plan, record)
            order, done = random.Random(plan.seed + 1), 0
            own_data = OwnData(pair) if comm.rank == 0 else None
            for repetition in range(plan.repetitions):
                if own_data is not None:
                    own_data.measure(repetition, record)
                comm.Barrier()
                for size in order.sample(sizes, len(sizes)):
                    visit(pair, size, repetition, limit, record)
                    done += 1
                    if comm.rank == 0:
                        sys.stdout.write(f"{done} {plan.repetitions * len(sizes)}\n")
                        sys.stdout.flush()
    world.Barrier()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, MemoryError) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)  # the peer waits for a message
