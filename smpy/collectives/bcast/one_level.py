"""Broadcasts among all ranks, whatever hosts they are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns import knomial_tree as knomial
from smpy.collectives.patterns.linear import and_wait, from_root, hand_over
from smpy.collectives.patterns.powers_of_two import powers_of_two_below, subtree
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.patterns.segments import End, last_size, relay, relay_whole, split, whole_entries
from smpy.collectives.patterns.trees import binary_children, binary_parent, power_of_two_up_to_value
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, either, larger, smaller

# ---- the root sends to all others at once ----


algorithm("ibcast", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(from_root)
algorithm("bcast", "linear", simgrid="flattree", source="SimGrid 3.32, bcast-flattree.cpp")(and_wait(from_root))


# ---- along a tree ----


@algorithm("bcast", "binomial_tree", simgrid="binomial_tree", source="SimGrid 3.32, bcast-binomial-tree.cpp; MPICH")
def down(call: Call) -> Schedule:
    """Receive from the rank that differs in the lowest set bit, then serve those below it, the farthest first."""
    steps = Schedule(call)
    binomial_tree.broadcast(steps, call.from_root, call.nbytes)
    return steps


# ---- a scatter of parts along a tree, then an allgather; part k belongs to the k-th rank after the root ----


@algorithm(
    "bcast",
    "scatter_recursive_doubling_allgather",
    simgrid="scatter_rdb_allgather",
    source="Thakur, Rabenseifner & Gropp 2005; MPICH",
)
def scatter_recursive_doubling_allgather(call: Call) -> Schedule:
    """Scatter parts along a binomial tree, then use recursive doubling.

    On other than 2, 4, 8, ... ranks those without a partner get its parts along binomial trees.
    """
    steps, ranks = Schedule(call), call.from_root
    _scatter_parts(steps, call)
    for mask in powers_of_two_below(call.n_ranks):
        number = ranks.index ^ mask
        partner = ranks[number]
        mine, its = (_parts_bytes(call, subtree(first, mask), mask) for first in (ranks.index, number))
        with steps.when(number < call.n_ranks):
            steps.exchange(partner, mine, partner, its)
        serve_those_without_partner(steps, ranks.index, call.n_ranks, mask, its, ranks=ranks)
    return steps


@algorithm("bcast", "scatter_ring_allgather", simgrid="scatter_LR_allgather", source="van de Geijn 1994; MPICH")
def scatter_ring_allgather(call: Call) -> Schedule:
    """Scatter parts along a binomial tree, then pass all parts round a ring."""
    steps = Schedule(call)
    _scatter_parts(steps, call)
    _pass_parts_round(steps, call)
    return steps


def _parts_bytes(call: Call, first: Value, n: int) -> Value:
    """Bytes of n parts from `first` on."""
    part = (call.nbytes + call.n_ranks - 1) // call.n_ranks
    return larger(0, smaller(call.nbytes - first * part, n * part))


def _scatter_parts(steps: Schedule, call: Call, mask: int = 1) -> None:
    """Receive the parts of the own subtree, then send on those of the children; for ranks with no bit below `mask`."""
    ranks = call.from_root
    if mask >= ranks.size_max:
        return
    mine_bytes, its_bytes = (_parts_bytes(call, first, mask) for first in (ranks.index, ranks.index + mask))
    with steps.when((ranks.index & mask != 0) & (mine_bytes > 0)):
        steps.recv(ranks.behind(mask), mine_bytes)
    with steps.when(ranks.index & mask == 0):
        _scatter_parts(steps, call, 2 * mask)
        with steps.when((ranks.index + mask < ranks.size) & (its_bytes > 0)):
            steps.send(ranks.ahead(mask), its_bytes)


def _pass_parts_round(steps: Schedule, call: Call) -> None:
    """Pass all parts round a ring."""
    rank, n_ranks, root = call.rank, call.n_ranks, call.root
    part = (call.nbytes + n_ranks - 1) // n_ranks

    def size(k: Value) -> Value:
        return larger(0, smaller(part, call.nbytes - k * part))

    for distance in steps.loop(1, n_ranks):
        mine, its = (rank - root - distance + 1) % n_ranks, (rank - root - distance) % n_ranks
        steps.exchange((rank + 1) % n_ranks, size(mine), (rank - 1) % n_ranks, size(its))


# ---- through rank 0, along a tree whose root is rank 0 ----


FIRST_RANK_SEGMENT_BYTES: Final = 8192


def relay_from_first(steps: Schedule, call: Call, source: End, targets: Sequence[End], *, is_started: bool) -> None:
    """Send from the root to rank 0, and on in segments along the tree; the run's broadcast takes the bytes left over.

    The root receives its own message again, as in SimGrid. Sends are started and completed later, or each is waited
    for.
    """
    nbytes = call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    hand_over(steps, call, call.root, 0, nbytes)
    if nbytes <= FIRST_RANK_SEGMENT_BYTES:
        relay_whole(steps, source, targets, nbytes)
        return
    relay(steps, source, targets, FIRST_RANK_SEGMENT_BYTES, nbytes // FIRST_RANK_SEGMENT_BYTES, is_started=is_started)
    if nbytes % FIRST_RANK_SEGMENT_BYTES:
        call.add_chosen(steps, "bcast", nbytes % FIRST_RANK_SEGMENT_BYTES, root=call.root)


# ---- in segments along chains and trees ----


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
    segments = split(nbytes, FIRST_RANK_SEGMENT_BYTES)
    with steps.when((call.rank != root) & (nbytes > 0)):
        for i in steps.loop(0, segments.n_segments):
            steps.irecv(root, segments.size(i))
    with steps.when((call.rank == root) & (nbytes >= FIRST_RANK_SEGMENT_BYTES)):
        for peer in steps.loop(0, call.n_ranks):
            with steps.when(peer != root):
                for i in steps.loop(0, segments.n_segments):
                    steps.send(peer, segments.size(i))
    with steps.when((call.rank == root) & (nbytes < FIRST_RANK_SEGMENT_BYTES) & (nbytes > 0)):
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


# ---- the whole message along trees, as Open MPI's decisions use them: without segments ----


def _down(call: Call, parent: Value, children: Sequence[End]) -> Schedule:
    """Receive from the parent, if there is one, then send to all children at once; ranks count from the root."""
    steps, ranks = Schedule(call), call.from_root
    with steps.when(ranks.index > 0):
        steps.recv(ranks[parent], call.nbytes)
    for child in children:
        with steps.when(child.exists):
            steps.isend(ranks[child.rank], call.nbytes)
    steps.wait_all()
    return steps


@algorithm("bcast", "chain", source="Open MPI 4 and 5, chain and pipeline broadcast without segments")
def chain(call: Call) -> Schedule:
    """Send from each rank to the next one."""
    index = call.from_root.index
    return _down(call, index - 1, [End(index + 1 < call.n_ranks, index + 1)])


@algorithm("bcast", "binary_tree", source="Open MPI 4 and 5, binary tree broadcast without segments")
def binary_tree(call: Call) -> Schedule:
    """Send along Open MPI's binary tree."""
    index, n_ranks = call.from_root.index, call.n_ranks
    return _down(call, binary_parent(index, n_ranks), binary_children(index, n_ranks))


@algorithm("bcast", "doubling_tree", source="Open MPI 4 and 5, binomial tree broadcast without segments")
def doubling_tree(call: Call) -> Schedule:
    """Send along a binomial tree: the ranks that have the message double each round."""
    index, n_ranks = call.from_root.index, call.n_ranks
    parent = index - power_of_two_up_to_value(index + (index == 0), n_ranks)
    children = [
        End((power > index) & (index + power < n_ranks), index + power) for power in powers_of_two_below(n_ranks)
    ]
    return _down(call, parent, children)


@algorithm("bcast", "radix_4_tree", source="Open MPI 4.1 and 5, k-nomial tree broadcast without segments")
def radix_4_tree(call: Call) -> Schedule:
    """Send along a binomial-like tree to base 4, the farthest children first."""
    index, n_ranks = call.from_root.index, call.n_ranks
    distances = knomial.powers_below(n_ranks)
    parent: Value = 0
    for distance in reversed(distances):  # the lowest non-zero digit
        is_lowest = (index % distance == 0) & (index % (knomial.RADIX * distance) != 0)
        parent = parent + is_lowest * knomial.parent(index, distance)
    children = [
        End((index % (knomial.RADIX * distance) == 0) & (index + digit * distance < n_ranks), index + digit * distance)
        for distance in reversed(distances)
        for digit in range(1, knomial.RADIX)
    ]
    return _down(call, parent, children)
