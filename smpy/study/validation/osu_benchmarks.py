"""The OSU micro-benchmarks that can be simulated: their names, their loops of MPI calls, and the times they print [1]_.

A rank calls `measure_s`, under `smpy run` and under a real `mpiexec`.

References
----------
.. [1] The Ohio State University, OSU Micro-Benchmarks, README: the benchmarks and what each prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, Literal, TypeAlias

from smpy.engine import running

Scope = Literal["pair", "pairs", "all"]
Repetition: TypeAlias = Callable[[], float]
"""Performs one repetition: a rank's time of it, in seconds."""
Memory = Literal["cpu", "gpu"]
"""Memory of a rank's messages: its host's, or its device's."""

_TAG, _ACKNOWLEDGEMENT = 1, 2


@dataclass(frozen=True, slots=True)
class OsuBenchmark:
    """A benchmark.

    Parameters
    ----------
    name : str
        Its program, such as "osu_bw".
    scope : {"pair", "pairs", "all"}
        Ranks that take part: two, pairs (rank i of the first half and rank i of the second), or all.
    is_rate : bool
        Whether it prints MB/s, rather than microseconds.
    prepare : callable
        Makes buffers in a memory for a communicator, a size and a window, and returns the repetition. The mean of its
        times over the ranks is the time that the benchmark prints, or the time of a message at the rate that it prints.
    """

    name: str
    scope: Scope
    is_rate: bool
    prepare: Callable[[Any, int, int, Memory], Repetition]


def measure_s(
    name: str,
    sizes_bytes: Sequence[int],
    window: int,
    n_repetitions: int,
    memories: tuple[Memory, Memory] = ("cpu", "cpu"),
) -> list[float]:
    """Perform a benchmark: seconds by size, the same on all ranks, the median of repetitions after a warm-up.

    Parameters
    ----------
    name : str
        A benchmark of `BENCHMARKS`.
    sizes_bytes : sequence of int
        Sizes of messages; of a collective's block, as the benchmark counts it.
    window : int
        Messages that are under way at once, where it measures a rate.
    n_repetitions : int
        Number of repetitions of each size.
    memories : tuple of Memory
        Memory of the messages of the first half of the ranks, and of the second.
    """
    from mpi4py import MPI

    world, times_s = MPI.COMM_WORLD, []
    memory = memories[world.rank >= world.size // 2]
    for size in sizes_bytes:
        repetition = BENCHMARKS[name].prepare(world, size, window, memory)
        repetitions_s = []
        for _ in range(n_repetitions + 1):
            world.Barrier()
            repetitions_s.append(world.allreduce(repetition()) / world.size)
        times_s.append(median(repetitions_s[1:]))
    return times_s


# ---- messages ----


def _buffer(count: int, dtype: str = "B", memory: Memory = "cpu") -> Any:
    """Array whose content does not matter."""
    if running.is_running():
        from smpy.compute.folded import folded

        return folded(count, dtype, device=memory)
    import numpy as np

    return np.ones(count, dtype)


def _peer(world: Any) -> int:
    """The rank with which a rank is paired."""
    half = world.size // 2
    return int(world.rank + half if world.rank < half else world.rank - half)


def _second_s(action: Callable[[], object]) -> float:
    """Time of the second one of two actions: the first one brings pairs into step."""
    from mpi4py import MPI

    action()
    begin_s = MPI.Wtime()
    action()
    return float(MPI.Wtime() - begin_s)


def _latency(world: Any, size: int, window: int, memory: Memory) -> Repetition:
    """Half a round trip, as the first rank of each pair sees it."""
    buffer, peer, is_first = _buffer(size, memory=memory), _peer(world), world.rank < world.size // 2

    def round_trip() -> None:
        if is_first:
            world.Send(buffer, peer, _TAG)
            world.Recv(buffer, peer, _TAG)
        else:
            world.Recv(buffer, peer, _TAG)
            world.Send(buffer, peer, _TAG)

    def repetition() -> float:
        spent_s = _second_s(round_trip)
        return spent_s if is_first else 0.0  # twice half a round trip, on one of two ranks

    return repetition


def _windows(world: Any, size: int, window: int, memory: Memory, *, is_both_ways: bool, n_messages: int) -> Repetition:
    """Time from a window's first message to its acknowledgement in the slowest pair, by the number of messages."""
    from mpi4py import MPI

    send, receive, acknowledgement = (_buffer(count, memory=memory) for count in (size, size, 4))
    peer, is_first = _peer(world), world.rank < world.size // 2

    def perform_window() -> None:
        requests = []
        if is_both_ways or not is_first:
            requests += [world.Irecv(receive, peer, _TAG) for _ in range(window)]
        if is_both_ways or is_first:
            requests += [world.Isend(send, peer, _TAG) for _ in range(window)]
        MPI.Request.Waitall(requests)
        if is_first:
            world.Recv(acknowledgement, peer, _ACKNOWLEDGEMENT)
        else:
            world.Send(acknowledgement, peer, _ACKNOWLEDGEMENT)

    def repetition() -> float:
        spent_s = _second_s(perform_window)
        return float(world.allreduce(spent_s if is_first else 0.0, MPI.MAX)) / n_messages

    return repetition


def _bandwidth(world: Any, size: int, window: int, memory: Memory) -> Repetition:
    return _windows(world, size, window, memory, is_both_ways=False, n_messages=window)


def _both_ways(world: Any, size: int, window: int, memory: Memory) -> Repetition:
    return _windows(world, size, window, memory, is_both_ways=True, n_messages=2 * window)


def _pairs_bandwidth(world: Any, size: int, window: int, memory: Memory) -> Repetition:
    return _windows(world, size, window, memory, is_both_ways=False, n_messages=window * (world.size // 2))


# ---- collectives ----


def _collective(
    prepare: Callable[[Any, int], Callable[[], object]],
) -> Callable[[Any, int, int, Memory], Repetition]:
    """Time of a collective, from a function that makes its buffers and returns the call."""

    def prepared(world: Any, size: int, window: int, memory: Memory) -> Repetition:
        from mpi4py import MPI

        call = prepare(world, size)

        def repetition() -> float:
            begin_s = MPI.Wtime()
            call()
            return float(MPI.Wtime() - begin_s)

        return repetition

    return prepared


def _bcast(world: Any, size: int) -> Callable[[], object]:
    buffer = _buffer(size)
    return lambda: world.Bcast(buffer)


def _allreduce(world: Any, size: int) -> Callable[[], object]:
    send, receive = _floats(size), _floats(size)
    return lambda: world.Allreduce(send, receive)


def _reduce(world: Any, size: int) -> Callable[[], object]:
    send, receive = _floats(size), _floats(size)
    return lambda: world.Reduce(send, receive)


def _floats(size: int) -> Any:
    return _buffer(max(1, size // 4), "f")


def _reduce_scatter(world: Any, size: int) -> Callable[[], object]:
    n_ranks, send = world.size, _floats(size)
    counts = [len(send) // n_ranks + (rank < len(send) % n_ranks) for rank in range(n_ranks)]
    receive = _buffer(counts[world.rank], "f")
    return lambda: world.Reduce_scatter(send, receive, counts)


def _allgather(world: Any, size: int) -> Callable[[], object]:
    send, receive = _buffer(size), _buffer(size * world.size)
    return lambda: world.Allgather(send, receive)


def _alltoall(world: Any, size: int) -> Callable[[], object]:
    send, receive = _buffer(size * world.size), _buffer(size * world.size)
    return lambda: world.Alltoall(send, receive)


def _gather(world: Any, size: int) -> Callable[[], object]:
    send, receive = _buffer(size), _buffer(size * world.size) if world.rank == 0 else None
    return lambda: world.Gather(send, receive)


def _scatter(world: Any, size: int) -> Callable[[], object]:
    send, receive = _buffer(size * world.size) if world.rank == 0 else None, _buffer(size)
    return lambda: world.Scatter(send, receive)


def _barrier(world: Any, size: int) -> Callable[[], object]:
    barrier: Callable[[], object] = world.Barrier
    return barrier


BENCHMARKS: Final = {
    benchmark.name: benchmark
    for benchmark in (
        OsuBenchmark("osu_latency", "pair", is_rate=False, prepare=_latency),
        OsuBenchmark("osu_bw", "pair", is_rate=True, prepare=_bandwidth),
        OsuBenchmark("osu_bibw", "pair", is_rate=True, prepare=_both_ways),
        OsuBenchmark("osu_multi_lat", "pairs", is_rate=False, prepare=_latency),
        OsuBenchmark("osu_mbw_mr", "pairs", is_rate=True, prepare=_pairs_bandwidth),
        OsuBenchmark("osu_bcast", "all", is_rate=False, prepare=_collective(_bcast)),
        OsuBenchmark("osu_allreduce", "all", is_rate=False, prepare=_collective(_allreduce)),
        OsuBenchmark("osu_reduce", "all", is_rate=False, prepare=_collective(_reduce)),
        OsuBenchmark("osu_reduce_scatter", "all", is_rate=False, prepare=_collective(_reduce_scatter)),
        OsuBenchmark("osu_allgather", "all", is_rate=False, prepare=_collective(_allgather)),
        OsuBenchmark("osu_alltoall", "all", is_rate=False, prepare=_collective(_alltoall)),
        OsuBenchmark("osu_gather", "all", is_rate=False, prepare=_collective(_gather)),
        OsuBenchmark("osu_scatter", "all", is_rate=False, prepare=_collective(_scatter)),
        OsuBenchmark("osu_barrier", "all", is_rate=False, prepare=_collective(_barrier)),
    )
}
"""Benchmarks by name."""
