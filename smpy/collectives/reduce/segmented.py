"""Reduce in segments along chains and trees, with one receive posted ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import to_root, to_root_in_order
from smpy.collectives.patterns.powers_of_two import powers_of_two_below
from smpy.collectives.patterns.segments import Segments, last_size, split, whole_entries
from smpy.collectives.patterns.trees import binary_child, binary_parent
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, larger

_SEGMENT_BYTES: Final = 8192
_FANOUT_MAX: Final = 32


@algorithm("reduce", "segmented_chain", simgrid="NTSL", source="SimGrid 3.32, reduce-NTSL.cpp", chooses=True)
def segmented_chain(call: Call) -> Schedule:
    """From the last rank behind the root on to the root, in segments of 8 KiB; the bytes left over to the root at once.

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
        with steps.when(is_first == 0):
            steps.isend(ranks.behind(1), segment)
    steps.wait_all()
    if rest:
        call.add(steps, _at_once, call.everyone, rest, call.root)
    return steps


def _at_once(call: Call) -> Schedule:
    """SimGrid's default reduction."""
    if call.commutative and not call.is_derived:
        steps = to_root(call)
        steps.wait_all()
        return steps
    steps = Schedule(call)
    to_root_in_order(steps, call, call.root, call.nbytes)
    return steps


class _Tree(NamedTuple):
    """A rank's place in a tree: its parent, number of children, and each child. The root has no parent."""

    is_root: Value
    parent: Value
    n_children: Value
    child: Callable[[Value], Value]


def _up(call: Call, tree: _Tree, segments: Segments) -> Schedule:
    """Each segment from all children in order, the next receive posted before the wait for one; then to the parent."""
    steps = Schedule(call)
    if call.n_ranks == 1:
        return steps
    last = segments.n_segments - 1
    with steps.when(tree.n_children > 0):
        for i in steps.loop(0, segments.n_segments):
            for k in steps.loop(0, tree.n_children):
                steps.irecv(tree.child(k), segments.size(i))
                with steps.when((i > 0) | (k > 0)):
                    steps.wait_oldest()
                with steps.when((i > 0) & (k == 0) & (tree.is_root == 0)):
                    steps.send(tree.parent, segments.size(i - 1))
        steps.wait_oldest()
        with steps.when(tree.is_root == 0):
            steps.send(tree.parent, segments.size(last))
    with steps.when(tree.n_children == 0):
        for i in steps.loop(0, segments.n_segments):
            steps.send(tree.parent, segments.size(i))
    return steps


def _chains(call: Call, n_chains: int) -> _Tree:
    """Chains of ranks after the root; the first ones are longer by one if they cannot be equal."""
    ranks, n_others = call.from_root, call.n_ranks - 1
    n_chains = max(1, min(n_chains, _FANOUT_MAX, n_others))
    length, n_longer = max(1, -(-n_others // n_chains)), n_others % n_chains or n_chains
    index = ranks.index
    in_longer, beyond = index - 1, index - 1 - n_longer * length
    is_longer = beyond < 0
    short = max(1, length - 1)
    is_head = (is_longer & (in_longer % length == 0)) | ((is_longer == 0) & (beyond % short == 0))
    is_end = (is_longer & (in_longer % length == length - 1)) | ((is_longer == 0) & (beyond % short == short - 1))
    is_root = index == 0
    parent = ranks[(index - 1) * (is_head == 0) * (is_root == 0)]

    def child(number: Value) -> Value:
        head = 1 + number * length - larger(0, number - n_longer)
        return ranks[is_root * head + (is_root == 0) * (index + 1)]

    return _Tree(is_root, parent, is_root * n_chains + (is_root == 0) * (is_end == 0), child)


@algorithm(
    "reduce",
    "open_mpi_chain",
    simgrid="ompi_chain",
    source="Open MPI, chain reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_chain(call: Call) -> Schedule:
    """Half as many chains as ranks, in segments of 64 KiB."""
    return _up(call, _chains(call, call.n_ranks // 2), split(call.nbytes, whole_entries(64 << 10, call.item_bytes)))


@algorithm(
    "reduce",
    "open_mpi_pipeline",
    simgrid="ompi_pipeline",
    source="Open MPI, pipeline reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_pipeline(call: Call) -> Schedule:
    """One chain; segments of 1 KiB for messages that are small for the number of ranks, then 32 KiB, then 64 KiB."""
    n, nbytes = call.n_ranks, call.nbytes
    last_small = last_size(lambda size: n > 0.0410 / 1024 * size + 9.7128)
    last_medium = last_size(lambda size: n > 0.0033 / 1024 * size + 1.6761)
    small, medium, large = (whole_entries(size << 10, call.item_bytes) for size in (1, 32, 64))
    is_small, is_medium = nbytes <= last_small, nbytes <= last_medium
    segment = is_small * small + (is_small == 0) * (is_medium * medium + (is_medium == 0) * large)
    return _up(call, _chains(call, 1), split(nbytes, segment))


@algorithm(
    "reduce",
    "open_mpi_binary_tree",
    simgrid="ompi_binary",
    source="Open MPI, binary tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_binary_tree(call: Call) -> Schedule:
    """A binary tree, in segments of 32 KiB."""
    return _up(call, _binary(call), split(call.nbytes, whole_entries(32 << 10, call.item_bytes)))


def _binary(call: Call) -> _Tree:
    """Open MPI's binary tree."""
    ranks, n_ranks = call.from_root, call.n_ranks
    children = [binary_child(ranks.index, n_ranks, number) for number in (0, 1)]
    return _Tree(
        ranks.index == 0,
        ranks[binary_parent(ranks.index, n_ranks)],
        sum((child < n_ranks) * 1 for child in children),
        lambda number: ranks[children[0] + number * (children[1] - children[0])],
    )


@algorithm("reduce", "chain", source="Open MPI 4 and 5, chain and pipeline reduce without segments")
def chain(call: Call) -> Schedule:
    """From each rank to the one before, the whole vector."""
    return _up(call, _chains(call, 1), split(call.nbytes, call.nbytes))


@algorithm("reduce", "binary_tree", source="Open MPI 4 and 5, binary tree reduce without segments")
def binary_tree(call: Call) -> Schedule:
    """A binary tree, the whole vector."""
    return _up(call, _binary(call), split(call.nbytes, call.nbytes))


@algorithm("reduce", "posted_binomial_tree", source="Open MPI 4 and 5, binomial tree reduce without segments")
def posted_binomial_tree(call: Call) -> Schedule:
    """A binomial tree, the whole vector; the next child's is posted before the wait for one."""
    return _up(call, _binomial(call), split(call.nbytes, call.nbytes))


@algorithm(
    "reduce",
    "open_mpi_binomial_tree",
    simgrid="ompi_binomial",
    source="Open MPI, binomial tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_binomial_tree(call: Call) -> Schedule:
    """A binomial tree; in segments of 1 KiB where the message is small for the number of ranks, and not very small."""
    n_ranks, nbytes = call.n_ranks, call.nbytes
    last_whole = max(20_479 if n_ranks < 8 else 2047, call.item_bytes)
    last_segmented = last_size(lambda size: n_ranks > 0.6016 / 1024 * size + 1.3496)
    is_segmented = (nbytes > last_whole) & (nbytes <= last_segmented)
    segment = is_segmented * whole_entries(1024, call.item_bytes) + (is_segmented == 0) * nbytes
    return _up(call, _binomial(call), split(nbytes, segment))


def _binomial(call: Call) -> _Tree:
    """The binomial tree, with the nearest children first."""
    ranks, n_ranks = call.from_root, call.n_ranks
    index, powers = ranks.index, powers_of_two_below(call.n_ranks)
    parent: Value = index
    for power in reversed(powers):  # the smallest power of two in it counts
        is_lowest = index % (2 * power) == power
        parent = parent - is_lowest * power
    n_children: Value = sum(((index % (2 * power) == 0) & (index + power < n_ranks)) * 1 for power in powers)
    return _Tree(index == 0, ranks[parent], n_children, lambda number: ranks[index + (1 << number)])


@algorithm(
    "reduce",
    "open_mpi_in_order_binary_tree",
    simgrid="ompi_in_order_binary",
    source="Open MPI, in-order binary tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_in_order_binary_tree(call: Call) -> Schedule:
    """A binary tree of the last rank, whose subtrees are ranks in order; the last rank sends the result to the root."""
    steps, last = Schedule(call), call.n_ranks - 1
    _in_order(steps, call, 0, call.n_ranks, ())
    with steps.when((call.rank == last) & (call.root != last)):
        steps.send(call.root, call.nbytes)
    with steps.when((call.rank == call.root) & (call.root != last)):
        steps.recv(last, call.nbytes)
    return steps


def _in_order(steps: Schedule, call: Call, first: int, size: int, parent: Sequence[int]) -> None:
    """The subtree of `size` ranks from `first` on: its last rank is its root, whose children are roots of the rest."""
    root, n_right = first + size - 1, size // 2
    children = [root - 1] * (size > 1) + [first + n_right - 1] * (size > 2)
    with steps.when(call.rank == root):
        for number, child in enumerate(children):
            steps.irecv(child, call.nbytes)
            if number:
                steps.wait_oldest()
        steps.wait_all()
        for rank in parent:
            steps.send(rank, call.nbytes)
    if size > 2:
        with steps.when((call.rank >= first) & (call.rank < first + n_right)):
            _in_order(steps, call, first, n_right, (root,))
    if size > 1:
        n_left = size - 1 - (n_right if size > 2 else 0)
        with steps.when((call.rank >= root - n_left) & (call.rank < root)):
            _in_order(steps, call, root - n_left, n_left, (root,))
