"""Broadcast in segments along chains and trees."""

from __future__ import annotations

from smpy.collectives.bcast.first_rank import SEGMENT_BYTES, relay_from_first
from smpy.collectives.bcast.hosts_first import hosts_first_chain
from smpy.collectives.call import Call
from smpy.collectives.patterns.segments import (
    End,
    last_size,
    split,
    whole_entries,
)
from smpy.collectives.patterns.trees import binary_children, binary_parent
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, either, larger


@algorithm(
    "bcast",
    "segmented_chain",
    simgrid=("NTSL", "NTSL_Isend"),
    source="SimGrid 3.32, bcast-NTSL.cpp, bcast-NTSL-Isend.cpp",
    chooses=True,
)
def segmented_chain(call: Call) -> Schedule:
    """Send from the root to rank 0, then segments of 8 KiB along the chain 0, 1, 2, ..."""
    steps, rank = Schedule(call), call.rank
    if call.n_ranks > 1:
        targets = [End(rank < call.n_ranks - 1, rank + 1)]
        relay_from_first(steps, call, End(rank > 0, rank - 1), targets, is_started=True)
    return steps


@algorithm("bcast", "segmented_binary_tree", simgrid="NTSB", source="SimGrid 3.32, bcast-NTSB.cpp", chooses=True)
def segmented_binary_tree(call: Call) -> Schedule:
    """`segmented_chain` along a tree in which rank r has the children 2r + 1 and 2r + 2."""
    steps, rank = Schedule(call), call.rank
    if call.n_ranks > 1:
        targets = [End(child < call.n_ranks, child) for child in (2 * rank + 1, 2 * rank + 2)]
        relay_from_first(steps, call, End(rank > 0, (rank - 1) // 2), targets, is_started=True)
    return steps


@algorithm("bcast", "segmented_linear", simgrid="flattree_pipeline", source="SimGrid 3.32, bcast-flattree-pipeline.cpp")
def segmented_linear(call: Call) -> Schedule:
    """Send each other rank all segments of 8 KiB, one after the other.

    A message shorter than one segment goes to all ranks at once.
    """
    steps, root, nbytes = Schedule(call), call.root, call.nbytes
    segments = split(nbytes, SEGMENT_BYTES)
    with steps.when((call.rank != root) & (nbytes > 0)):
        for i in steps.loop(0, segments.n_segments):
            steps.irecv(root, segments.size(i))
    with steps.when((call.rank == root) & (nbytes >= SEGMENT_BYTES)):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                for i in steps.loop(0, segments.n_segments):
                    steps.send(peer, segments.size(i))
    with steps.when((call.rank == root) & (nbytes < SEGMENT_BYTES) & (nbytes > 0)):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                steps.isend(peer, nbytes)
    steps.wait_all()
    return steps


@algorithm(
    "bcast",
    "open_mpi_pipeline",
    simgrid="ompi_pipeline",
    source="Open MPI, pipeline broadcast; SimGrid 3.32, bcast-ompi-pipeline.cpp",
)
def open_mpi_pipeline(call: Call) -> Schedule:
    """A chain from the root, in segments of 128, 64 or 16 KiB, with one receive posted ahead."""
    steps, ranks = Schedule(call), call.from_root
    segments = split(call.nbytes, _pipeline_segment_bytes(call))
    is_last = ranks.index == call.n_ranks - 1
    behind, ahead = ranks.behind(1), ranks.ahead(1)
    n_segments = segments.n_segments
    steps.wait_all()
    with steps.when(ranks.index == 0):
        for i in steps.loop(0, n_segments):
            _pass_on(steps, is_last, ahead, segments.size(i), i)
    with steps.when(ranks.index > 0):
        steps.irecv(behind, segments.size(0))
        for i in steps.loop(1, n_segments):
            steps.irecv(behind, segments.size(i))
            steps.wait_for(_receive_of(i - 1, is_last))
            _pass_on(steps, is_last, ahead, segments.size(i - 1), 2 * i)
        steps.wait_for(_receive_of(n_segments - 1, is_last))
        _pass_on(steps, is_last, ahead, segments.size(n_segments - 1), 2 * n_segments - 1)
    return steps


def _receive_of(i: Value, is_last: Value) -> Value:
    """Number of the i-th receive among started operations: a send follows each later one, except on the last rank."""
    return larger(i, (1 - is_last) * (2 * i - 1))


def _pass_on(steps: Schedule, is_last: Value, ahead: Value, nbytes: Value, number: Value) -> None:
    """Start a send, which has that number among the started operations, and wait for it."""
    with steps.when(is_last == 0):
        steps.isend(ahead, nbytes)
        steps.wait_for(number)


def _pipeline_segment_bytes(call: Call) -> Value:
    """Segment size for a message: 128, 64 or 16 KiB, and 128 KiB again for the smallest messages."""
    n, item_bytes = call.n_ranks, call.item_bytes
    last_128, last_64, last_16 = (
        last_size(lambda size, slope=slope, start=start: n >= slope * size + start)  # type: ignore[misc]
        for slope, start in ((1.6134e-6, 2.1102), (2.3679e-6, 1.1787), (3.2118e-6, 8.7936))
    )
    large, medium, small = (whole_entries(size << 10, item_bytes) for size in (128, 64, 16))
    nbytes = call.nbytes
    is_large, is_medium, is_small = nbytes > last_128, nbytes > last_64, nbytes > last_16
    return either(is_large, large, either(is_medium, medium, either(is_small, small, large)))


@algorithm(
    "bcast",
    "split_binary_tree",
    simgrid="ompi_split_bintree",
    source="Open MPI, split binary tree broadcast; SimGrid 3.32, bcast-ompi-split-bintree.cpp",
    chooses=True,
)
def split_binary_tree(call: Call) -> Schedule:
    """Send half of the message down each side of a binary tree, in segments of 1 or 8 KiB; then pairs swap halves.

    If a half is smaller than a segment, the message goes along a chain instead, host by host.
    """
    nbytes, item_bytes, n_ranks = call.nbytes, call.item_bytes, call.n_ranks
    assert isinstance(nbytes, int)  # a choosing algorithm
    if n_ranks == 1:
        return Schedule(call)
    segment = max(1024 if nbytes < 370_728 else 8192, item_bytes) // item_bytes * item_bytes
    first = (nbytes // item_bytes + 1) // 2 * item_bytes
    if nbytes - first < max(segment, 1):
        return hosts_first_chain(call)
    steps, ranks = Schedule(call), call.from_root
    _down(steps, call, (first, nbytes - first), segment)

    is_right = ranks.index % 2 == 0
    mine = first + is_right * (nbytes - 2 * first)
    its = nbytes - mine
    pair = ranks[(ranks.index + 1 - 2 * is_right) % n_ranks]
    has_pair = ranks.index > 0
    if n_ranks % 2 == 0:
        has_pair = has_pair & (ranks.index < n_ranks - 1)
        with steps.when(ranks.index == 0):
            steps.send(ranks[n_ranks - 1], nbytes - first)
        with steps.when(ranks.index == n_ranks - 1):
            steps.recv(ranks[0], nbytes - first)
    with steps.when(has_pair):
        steps.exchange(pair, mine, pair, its)
    return steps


def _down(steps: Schedule, call: Call, halves: tuple[int, int], segment: int) -> None:
    """Send the first half to odd numbers from the root, the left side of the tree, and the second half to even ones."""
    n_ranks, ranks = call.n_ranks, call.from_root
    index, parts = ranks.index, [split(half, segment) for half in halves]
    with steps.when(index == 0):
        for i in steps.loop(0, parts[0].n_segments):
            for side, part in enumerate(parts[: n_ranks - 1]):
                with steps.when(i < part.n_segments):
                    steps.send(ranks[side + 1], part.size(i))
    parent = ranks[binary_parent(index, n_ranks)]
    children = binary_children(index, n_ranks)
    for side, part in enumerate(parts):
        is_mine = (index > 0) & (index % 2 == 1 - side)
        is_leaf = children[0].rank >= n_ranks
        with steps.when(is_mine & is_leaf):
            for i in steps.loop(0, part.n_segments):
                steps.recv(parent, part.size(i))
        with steps.when(is_mine & (is_leaf == 0)):
            steps.irecv(parent, part.size(0))
            for i in steps.loop(1, part.n_segments + 1):
                with steps.when(i < part.n_segments):
                    steps.irecv(parent, part.size(i))
                steps.wait_oldest()
                for child in children:
                    with steps.when(child.exists):
                        steps.send(ranks[child.rank], part.size(i - 1))
