"""Reductions among all ranks, whatever hosts they are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns.halving import fold_in_halves, folded, halves, parts_of, unfolded
from smpy.collectives.patterns.linear import hand_over, reduce_to_root_in_order, to_root
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to, powers_of_two_below
from smpy.collectives.patterns.segments import Segments, last_size, split, whole_entries
from smpy.collectives.patterns.trees import binary_children, binary_parent
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, either, larger, smaller

# ---- all ranks send to the root itself ----


algorithm("ireduce", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_root)


@algorithm("reduce", "linear", source="SimGrid 3.32, smpi_default_selector.cpp")
def linear(call: Call) -> Schedule:
    """Send all vectors at once to the root, which reduces them."""
    steps = to_root(call)
    steps.wait_all()
    with steps.when(call.rank == call.root):
        steps.combine((call.n_ranks - 1) * call.nbytes)
    return steps


@algorithm("reduce", "basic_linear", simgrid=("ompi_basic_linear", "flat_tree"), source="Open MPI, basic linear reduce")
def basic_linear(call: Call) -> Schedule:
    """Receive at the root from the last rank to the first, one by one: the order for non-commutative operations."""
    steps = Schedule(call)
    reduce_to_root_in_order(steps, call, call.root, call.nbytes)
    return steps


# ---- along trees ----


@algorithm(
    "reduce",
    "binomial_tree",
    simgrid="binomial",
    source="SimGrid 3.32, reduce-binomial.cpp; MPICH",
    in_order="in_order_binomial_tree",
)
def up(call: Call) -> Schedule:
    """Receive from the ranks 1, 2, 4, ... ahead, up to the lowest set bit; then send to the rank without that bit."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.from_root, call.nbytes)
    return steps


@algorithm("reduce", "in_order_binomial_tree", source="MPICH 4, binomial reduce of non-commutative operations")
def up_in_order(call: Call) -> Schedule:
    """Reduce along the tree of rank 0, whose subtrees keep operands in rank order, then send to the root."""
    steps = Schedule(call)
    binomial_tree.reduce(steps, call.everyone, call.nbytes)
    hand_over(steps, call, 0, call.root, call.nbytes)
    return steps


@algorithm(
    "reduce",
    "open_mpi_in_order_binary_tree",
    simgrid="ompi_in_order_binary",
    source="Open MPI, in-order binary tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_in_order_binary_tree(call: Call) -> Schedule:
    """Reduce along a binary tree of consecutive ranks; its root, the last rank, sends the result to the root."""
    steps, last = Schedule(call), call.n_ranks - 1
    _in_order(steps, call, 0, call.n_ranks, ())
    hand_over(steps, call, last, call.root, call.nbytes)
    return steps


def _in_order(steps: Schedule, call: Call, first: int, size: int, parent: Sequence[int]) -> None:
    """Reduce `size` ranks from `first` on at the last of them; its children are the last ranks of two halves."""
    root, n_right = first + size - 1, size // 2
    children = [root - 1] * (size > 1) + [first + n_right - 1] * (size > 2)
    with steps.when(call.rank == root):
        for number, child in enumerate(children):
            steps.irecv(child, call.nbytes)
            if number:
                steps.wait_oldest()
                steps.combine(call.nbytes)
        steps.wait_all()
        if children:
            steps.combine(call.nbytes)
        for rank in parent:
            steps.send(rank, call.nbytes)
    if size > 2:
        with steps.when((call.rank >= first) & (call.rank < first + n_right)):
            _in_order(steps, call, first, n_right, (root,))
    if size > 1:
        n_left = size - 1 - (n_right if size > 2 else 0)
        with steps.when((call.rank >= root - n_left) & (call.rank < root)):
            _in_order(steps, call, root - n_left, n_left, (root,))


# ---- by halving the vector ----


@algorithm(
    "reduce",
    "rabenseifner",
    simgrid="scatter_gather",
    source="Rabenseifner 2004; SimGrid 3.32, reduce-scatter-gather.cpp",
    in_order="in_order_binomial_tree",
)
def rabenseifner(call: Call) -> Schedule:
    """Halve the vector, then gather to the root along the same partners; the last part has the remainder.

    A vector with fewer entries than ranks is padded to one entry per rank.
    """
    nbytes = larger(call.nbytes, (call.nbytes > 0) * call.n_ranks * call.item_bytes)
    return _halve_and_gather(replace(call, nbytes=nbytes), is_balanced=False)


@algorithm("reduce", "balanced_rabenseifner", source="Rabenseifner 2004; MPICH 4, reduce_scatter_gather")
def balanced_rabenseifner(call: Call) -> Schedule:
    """`rabenseifner` with parts whose sizes differ by at most one entry."""
    return _halve_and_gather(call, is_balanced=True)


def _halve_and_gather(call: Call, *, is_balanced: bool) -> Schedule:
    """Halve and gather; odd ranks of the first pairs first hand their vector over to the rank before.

    If the root is one of these odd ranks, it replaces rank 0 in the gather and takes its part of the result.
    """
    rank, n_ranks, root, nbytes = call.rank, call.n_ranks, call.root, call.nbytes
    steps, power = Schedule(call), power_of_two_up_to(n_ranks)
    if n_ranks == 1:
        return steps
    n_pairs = n_ranks - power
    halves_of = partial(halves, power=power, nbytes=nbytes, item_bytes=call.item_bytes, is_balanced=is_balanced)

    def number_of(rank: Value) -> Value:
        return rank - smaller((rank + 1) // 2, n_pairs)

    def rank_of(number: Value) -> Value:
        return number + smaller(number, n_pairs)

    def stands_aside(rank: Value) -> Value:
        return (rank < 2 * n_pairs) & (rank % 2 != 0)

    number = number_of(rank)
    with steps.when(stands_aside(rank)):
        steps.send(rank - 1, nbytes)
    with steps.when((rank < 2 * n_pairs) & (rank % 2 == 0)):
        steps.recv(rank + 1, nbytes)
        steps.combine(nbytes)
    with steps.when(stands_aside(rank) == 0):
        for mask, mine_bytes, its_bytes in halves_of(number):
            steps.exchange(rank_of(number ^ mask), its_bytes, rank_of(number ^ mask), mine_bytes)
            steps.combine(mine_bytes)

    replaces = stands_aside(root)  # whether the root replaces rank 0 in the gather
    _, part_bytes, _ = halves_of(0)[-1]
    with steps.when(replaces & (rank == 0)):
        steps.send(root, part_bytes)
    with steps.when(replaces & (rank == root)):
        steps.recv(0, part_bytes)
    root_number = number_of(root) * (replaces == 0)
    number = number * (rank != root) + root_number * (rank == root)
    is_replaced = stands_aside(rank) | (replaces & (rank == 0))
    with steps.when((rank == root) | (is_replaced == 0)):
        for mask, mine_bytes, its_bytes in reversed(halves_of(number)):
            partner = rank_of(number ^ mask) + (number ^ mask == 0) * replaces * root
            with steps.when(number // (2 * mask) == root_number // (2 * mask)):  # the others have already sent all
                with steps.when(number & mask != root_number & mask):
                    steps.send(partner, mine_bytes)
                with steps.when(number & mask == root_number & mask):
                    steps.recv(partner, its_bytes)
    return steps


@algorithm(
    "reduce",
    "rabenseifner_1997",
    simgrid="rab",
    source="Rabenseifner 1997; SimGrid 3.32, reduce-rab.cpp",
    in_order="in_order_binomial_tree",
)
def rabenseifner_1997(call: Call) -> Schedule:
    """Halve the vector entry by entry, then gather to the root in pairs, from the smallest parts on.

    Each rank of the first pairs reduces a half, and only the even one continues. A root that is an odd one replaces
    rank 0. Ranks whose part the root already has continue in pairs, too.
    """
    rank, n_ranks, root, item_bytes = call.rank, call.n_ranks, call.root, call.item_bytes
    steps = Schedule(call)
    if n_ranks == 1:
        return steps
    power = power_of_two_up_to(n_ranks)
    n_pairs = n_ranks - power
    number, takes_part = fold_in_halves(steps, call)
    parts = parts_of(number, power, call.nbytes, item_bytes)
    with steps.when(takes_part):
        for mask, mine, its in parts:
            partner = unfolded(number ^ mask, n_pairs)
            steps.exchange(partner, its, partner, mine)
            steps.combine(mine)

    replaces = (root < 2 * n_pairs) & (root % 2 != 0)
    _, part_bytes, _ = parts_of(0, power, call.nbytes, item_bytes)[-1]
    with steps.when(replaces & (rank == 0)):
        steps.send(root, part_bytes)
    with steps.when(replaces & (rank == root)):
        steps.recv(0, part_bytes)
    root_number = (replaces == 0) * folded(root, n_pairs)
    is_root = rank == root
    number = either(is_root, root_number, number)
    with steps.when(is_root | (takes_part & ((replaces & (rank == 0)) == 0))):
        for mask, mine, its in reversed(parts_of(number, power, call.nbytes, item_bytes)):
            other = number ^ mask
            is_to_root = other == root_number
            partner = either(is_to_root, root, unfolded(other, n_pairs))
            differs = (number & mask) != (root_number & mask)
            with steps.when(differs):
                steps.send(partner, mine)
            with steps.when(differs == 0):
                steps.recv(partner, its)
    return steps


# ---- in segments up trees, as Open MPI does: the next receive is posted before the wait for one ----


_FANOUT_MAX: Final = 32


class Tree(NamedTuple):
    """Position of a rank in a tree: its parent, number of children, and each child. The root has no parent."""

    is_root: Value
    parent: Value
    n_children: Value
    child: Callable[[Value], Value]


def posted_up(call: Call, tree: Tree, segments: Segments) -> Schedule:
    """Receive and reduce each segment of all children in order, then send it on; each wait follows the next receive."""
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
                    steps.combine(segments.size(i - (k == 0)))
                with steps.when((i > 0) & (k == 0) & (tree.is_root == 0)):
                    steps.send(tree.parent, segments.size(i - 1))
        steps.wait_oldest()
        steps.combine(segments.size(last))
        with steps.when(tree.is_root == 0):
            steps.send(tree.parent, segments.size(last))
    with steps.when(tree.n_children == 0):
        for i in steps.loop(0, segments.n_segments):
            steps.send(tree.parent, segments.size(i))
    return steps


def chains(call: Call, n_chains: int) -> Tree:
    """Chains of ranks after the root; if they cannot be equal, the first ones are one rank longer."""
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
        return ranks[either(is_root, head, index + 1)]

    return Tree(is_root, parent, either(is_root, n_chains, is_end == 0), child)


def binary(call: Call) -> Tree:
    """Open MPI's binary tree."""
    ranks, n_ranks = call.from_root, call.n_ranks
    first, second = binary_children(ranks.index, n_ranks)
    return Tree(
        ranks.index == 0,
        ranks[binary_parent(ranks.index, n_ranks)],
        first.exists * 1 + second.exists * 1,
        lambda number: ranks[first.rank + number * (second.rank - first.rank)],
    )


def binomial(call: Call) -> Tree:
    """The binomial tree, with the nearest children first."""
    ranks, n_ranks = call.from_root, call.n_ranks
    index, powers = ranks.index, powers_of_two_below(call.n_ranks)
    parent: Value = index
    for power in reversed(powers):  # the lowest set bit
        is_lowest = index % (2 * power) == power
        parent = parent - is_lowest * power
    n_children: Value = sum(((index % (2 * power) == 0) & (index + power < n_ranks)) * 1 for power in powers)
    return Tree(index == 0, ranks[parent], n_children, lambda number: ranks[index + (1 << number)])


# ---- in segments along chains and trees ----


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
    return posted_up(
        call, chains(call, call.n_ranks // 2), split(call.nbytes, whole_entries(64 << 10, call.item_bytes))
    )


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
    return posted_up(call, chains(call, 1), split(nbytes, segment))


@algorithm(
    "reduce",
    "open_mpi_binary_tree",
    simgrid="ompi_binary",
    source="Open MPI, binary tree reduce; SimGrid 3.32, reduce-ompi.cpp",
)
def open_mpi_binary_tree(call: Call) -> Schedule:
    """A binary tree, in segments of 32 KiB."""
    return posted_up(call, binary(call), split(call.nbytes, whole_entries(32 << 10, call.item_bytes)))


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
    return posted_up(call, binomial(call), split(nbytes, segment))


# ---- the whole vector along trees, as Open MPI's decisions use them: without segments ----


@algorithm("reduce", "chain", source="Open MPI 4 and 5, chain and pipeline reduce without segments")
def chain(call: Call) -> Schedule:
    """Reduce the whole vector along a chain, from each rank to the one before."""
    return posted_up(call, chains(call, 1), split(call.nbytes, call.nbytes))


@algorithm("reduce", "binary_tree", source="Open MPI 4 and 5, binary tree reduce without segments")
def binary_tree(call: Call) -> Schedule:
    """Reduce the whole vector along a binary tree."""
    return posted_up(call, binary(call), split(call.nbytes, call.nbytes))


@algorithm("reduce", "posted_binomial_tree", source="Open MPI 4 and 5, binomial tree reduce without segments")
def posted_binomial_tree(call: Call) -> Schedule:
    """Reduce the whole vector along a binomial tree; the next child's receive is posted before each wait."""
    return posted_up(call, binomial(call), split(call.nbytes, call.nbytes))
