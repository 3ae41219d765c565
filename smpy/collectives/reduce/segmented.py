"""Reduce in segments along chains and trees."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns.segments import last_size, split, whole_entries
from smpy.collectives.reduce.linear import basic_linear, linear
from smpy.collectives.reduce.posted_trees import binary, binomial, chains, up
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, either

_SEGMENT_BYTES: Final = 8192


@algorithm("reduce", "segmented_chain", simgrid="NTSL", source="SimGrid 3.32, reduce-NTSL.cpp", chooses=True)
def segmented_chain(call: Call) -> Schedule:
    """Reduce along a chain from the last rank to the root, in segments of 8 KiB; the bytes left over go at once.

    All receives are posted ahead.
    """
    steps, ranks, nbytes = Schedule(call), call.from_root, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    if call.n_ranks == 1:
        return steps
    segment = max(1, _SEGMENT_BYTES // call.item_bytes) * call.item_bytes
    is_first, is_last = ranks.index == 0, ranks.index == call.n_ranks - 1
    if nbytes <= segment:
        with steps.when(is_last == 0):
            steps.recv(ranks.ahead(1), nbytes)
            steps.combine(nbytes)
        with steps.when(is_first == 0):
            steps.send(ranks.behind(1), nbytes)
        return steps
    n_segments, rest = divmod(nbytes, segment)
    with steps.when(is_last == 0):
        for _ in steps.loop(0, n_segments):
            steps.irecv(ranks.ahead(1), segment)
    for _ in steps.loop(0, n_segments):
        with steps.when(is_last == 0):
            steps.wait_oldest()
            steps.combine(segment)
        with steps.when(is_first == 0):
            steps.isend(ranks.behind(1), segment)
    steps.wait_all()
    if rest:
        call.add(steps, _at_once, call.everyone, rest, call.root)
    return steps


def _at_once(call: Call) -> Schedule:
    """SimGrid's default reduction, for the bytes left over."""
    return (linear if call.commutative and not call.is_derived else basic_linear)(call)


@algorithm(
    "reduce",
    "open_mpi_chain",
    simgrid="ompi_chain",
    source="Open MPI, chain reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_chain(call: Call) -> Schedule:
    """Use half as many chains as ranks, in segments of 64 KiB."""
    return up(call, chains(call, call.n_ranks // 2), split(call.nbytes, whole_entries(64 << 10, call.item_bytes)))


@algorithm(
    "reduce",
    "open_mpi_pipeline",
    simgrid="ompi_pipeline",
    source="Open MPI, pipeline reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_pipeline(call: Call) -> Schedule:
    """Use one chain, in segments of 1, 32 or 64 KiB: the larger the message for the number of ranks, the larger."""
    n, nbytes = call.n_ranks, call.nbytes
    last_small = last_size(lambda size: n > 0.0410 / 1024 * size + 9.7128)
    last_medium = last_size(lambda size: n > 0.0033 / 1024 * size + 1.6761)
    small, medium, large = (whole_entries(size << 10, call.item_bytes) for size in (1, 32, 64))
    is_small, is_medium = nbytes <= last_small, nbytes <= last_medium
    segment = either(is_small, small, either(is_medium, medium, large))
    return up(call, chains(call, 1), split(nbytes, segment))


@algorithm(
    "reduce",
    "open_mpi_binary_tree",
    simgrid="ompi_binary",
    source="Open MPI, binary tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_binary_tree(call: Call) -> Schedule:
    """A binary tree, in segments of 32 KiB."""
    return up(call, binary(call), split(call.nbytes, whole_entries(32 << 10, call.item_bytes)))


@algorithm(
    "reduce",
    "open_mpi_binomial_tree",
    simgrid="ompi_binomial",
    source="Open MPI, binomial tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_binomial_tree(call: Call) -> Schedule:
    """A binomial tree; messages of medium size for the number of ranks go in segments of 1 KiB, others whole."""
    n_ranks, nbytes = call.n_ranks, call.nbytes
    last_whole = max(20_479 if n_ranks < 8 else 2047, call.item_bytes)
    last_segmented = last_size(lambda size: n_ranks > 0.6016 / 1024 * size + 1.3496)
    is_segmented = (nbytes > last_whole) & (nbytes <= last_segmented)
    segment = either(is_segmented, whole_entries(1024, call.item_bytes), nbytes)
    return up(call, binomial(call), split(nbytes, segment))
