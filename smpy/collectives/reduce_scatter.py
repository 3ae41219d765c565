"""Algorithms of MPI_Reduce_scatter and MPI_Reduce_scatter_block."""

from __future__ import annotations

from dataclasses import replace

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import reduce_to_first, reduce_to_root_in_order
from smpy.collectives.patterns.powers_of_two import (
    expanded,
    is_power_of_two,
    power_of_two_up_to,
    powers_of_two_below,
    reduced_to_power_of_two,
    subtree,
)
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, smaller

# ---- every rank reduces its own block ----


@algorithm(("ireduce_scatter", "ireduce_scatter_block"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Receive the own block of all other vectors and reduce it."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, block_bytes(call.out, peer))
            steps.irecv(peer, call.nbytes)
    return steps


# ---- one partner a round ----


@algorithm(("reduce_scatter", "reduce_scatter_block"), "pair", simgrid="mpich_pair", source="MPICH, pairwise exchange")
def pair(call: Call) -> Schedule:
    """Send the i-th rank ahead its block in round i, and receive the own block from the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(call.out, ahead), behind, call.nbytes)
        steps.combine(call.nbytes)
    return steps


# ---- halving, and recursive doubling ----


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "halving",
    simgrid="mpich_noncomm",
    source="Bernaschi, Iannello & Lauria 2003; MPICH, noncommutative",
)
def halving(call: Call) -> Schedule:
    """Exchange half of the vector, a quarter, ... with operands kept in rank order; for 2, 4, 8, ... ranks.

    On other numbers of ranks: recursive doubling.
    """
    rank, n_ranks = call.rank, call.n_ranks
    if not is_power_of_two(n_ranks):
        return recursive_doubling(call)
    steps = Schedule(call)
    for mask in powers_of_two_below(n_ranks):
        part_bytes = call.out[n_ranks] // n_ranks * (n_ranks // (2 * mask))
        steps.exchange(rank ^ mask, part_bytes, rank ^ mask, part_bytes)
        steps.combine(part_bytes)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"), "recursive_halving", source="Thakur, Rabenseifner & Gropp 2005; MPICH"
)
def recursive_halving(call: Call) -> Schedule:
    """Send the half of the vector that the partner's half of ranks needs, then a quarter, ...; for commutative ones."""
    steps, ranks, out = Schedule(call), call.everyone, call.out
    n_ranks, power = call.n_ranks, power_of_two_up_to(call.n_ranks)
    n_pairs = n_ranks - power

    def blocks_bytes(first: Value, n: int) -> Value:
        """Bytes of the blocks of `n` numbers from `first` on, including the blocks of ranks folded into them."""
        start, end = (number + smaller(number, n_pairs) for number in (first, first + n))
        size: Value = out[end] - out[start]
        return size

    with reduced_to_power_of_two(steps, ranks, out[n_ranks], block_bytes(out, call.rank // 2 * 2)) as number:
        for mask in reversed(powers_of_two_below(power)):
            partner = expanded(ranks, number ^ mask)
            mine, its = subtree(number, mask), subtree(number ^ mask, mask)
            steps.exchange(partner, blocks_bytes(its, mask), partner, blocks_bytes(mine, mask))
            steps.combine(blocks_bytes(mine, mask))
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "recursive_doubling",
    simgrid="mpich_rdb",
    source="MPICH, recursive doubling",
)
def recursive_doubling(call: Call) -> Schedule:
    """Send each partner all blocks that the own subtree does not need."""
    rank, n_ranks, out = call.rank, call.n_ranks, call.out
    steps = Schedule(call)
    for mask in powers_of_two_below(n_ranks):
        mine, its = subtree(rank, mask), subtree(rank ^ mask, mask)
        mine_bytes, its_bytes = (
            out[n_ranks] - out[smaller(first + mask, n_ranks)] + out[smaller(first, n_ranks)] for first in (mine, its)
        )
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, mine_bytes, rank ^ mask, its_bytes)
        serve_those_without_partner(steps, rank, n_ranks, mask, out[smaller(its, n_ranks)])
        with steps.when(its < n_ranks):  # all ranks whose partner's subtree has ranks have received its operand
            steps.combine(its_bytes)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "noncommutative_twice",
    source="SimGrid 3.32, smpi_mvapich2_selector.cpp, for operations that may not be reordered",
)
def noncommutative_twice(call: Call) -> Schedule:
    """Halve the vector, then perform recursive doubling on the same vector; the second result remains."""
    steps = halving(call)
    steps.extend(recursive_doubling(replace(call, n_loops=steps.n_loops)))
    return steps


# ---- a reduction to rank 0, which sends all others their blocks ----


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"), "reduce_then_scatterv", source="SimGrid 3.32, smpi_default_selector.cpp"
)
def reduce_then_scatterv(call: Call) -> Schedule:
    """Send all vectors to rank 0 at once, which then sends all others their blocks."""
    steps = Schedule(call)
    reduce_to_first(steps, call.everyone, call.out[call.n_ranks])
    _scatterv(steps, call)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "basic_reduce_then_scatterv",
    source="SimGrid 3.32, smpi_default_selector.cpp",
)
def basic_reduce_then_scatterv(call: Call) -> Schedule:
    """`reduce_then_scatterv` with a reduction in rank order."""
    steps = Schedule(call)
    reduce_to_root_in_order(steps, call, 0, call.out[call.n_ranks])
    _scatterv(steps, call)
    return steps


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "chosen_reduce_then_scatterv",
    source="Open MPI 4 and 5, non-overlapping reduce_scatter and basic linear reduce_scatter_block",
    chooses=True,
)
def chosen_reduce_then_scatterv(call: Call) -> Schedule:
    """Reduce to rank 0 by the run's algorithm, then send all others their blocks."""
    steps, whole = Schedule(call), call.out[call.n_ranks]
    call.add_chosen(steps, "reduce", whole if isinstance(whole, int) else call.total_bytes)
    _scatterv(steps, call)
    return steps


def _scatterv(steps: Schedule, call: Call) -> None:
    with steps.when(call.rank != 0):
        steps.irecv(0, call.nbytes)
    with steps.when(call.rank == 0):
        for peer in steps.loop(1, call.n_ranks):
            steps.isend(peer, block_bytes(call.out, peer))
    steps.wait_all()


# ---- Open MPI's ----


_OPERATIONS = ("reduce_scatter", "reduce_scatter_block")


def _blocks_bytes(call: Call, first: Value, n: int) -> Value:
    """Bytes of the blocks of `n` ranks that take part, from number `first` on, and of the ranks folded into them."""
    n_pairs = call.n_ranks - power_of_two_up_to(call.n_ranks)
    start, end = (number + smaller(number, n_pairs) for number in (first, first + n))
    size: Value = call.out[end] - call.out[start]
    return size


@algorithm(
    _OPERATIONS,
    "open_mpi_recursive_halving",
    simgrid="ompi_basic_recursivehalving",
    source="Open MPI, recursive halving; SimGrid 3.32, reduce_scatter-ompi.cpp",
    in_order="recursive_doubling",
)
def open_mpi_recursive_halving(call: Call) -> Schedule:
    """Halve the vector as MPICH does, with a receive posted before each blocking send; empty messages are not sent."""
    steps, out, n_ranks, rank = Schedule(call), call.out, call.n_ranks, call.rank
    power = power_of_two_up_to(n_ranks)
    is_paired = rank < 2 * (n_ranks - power)
    number = rank - smaller((rank + 1) // 2, n_ranks - power)
    pair_bytes = block_bytes(out, rank // 2 * 2)
    with steps.when(out[n_ranks] > 0):
        with steps.when(is_paired & (rank % 2 == 0)):
            steps.send(rank + 1, out[n_ranks])
        with steps.when(is_paired & (rank % 2 != 0)):
            steps.recv(rank - 1, out[n_ranks])
            steps.combine(out[n_ranks])
        with steps.when((is_paired & (rank % 2 == 0)) == 0):
            for mask in reversed(powers_of_two_below(power)):
                partner = expanded(call.everyone, number ^ mask)
                mine, its = (_blocks_bytes(call, subtree(each, mask), mask) for each in (number, number ^ mask))
                with steps.when(mine > 0):
                    steps.irecv(partner, mine)
                with steps.when(its > 0):
                    steps.send(partner, its)
                with steps.when(mine > 0):
                    steps.wait_oldest()
                    steps.combine(mine)
        with steps.when(is_paired & (rank % 2 == 0) & (pair_bytes > 0)):
            steps.recv(rank + 1, pair_bytes)
        with steps.when(is_paired & (rank % 2 != 0) & (pair_bytes > 0)):
            steps.send(rank - 1, pair_bytes)
    return steps


@algorithm(
    _OPERATIONS,
    "open_mpi_ring",
    simgrid="ompi_ring",
    source="Open MPI, ring reduce-scatter; SimGrid 3.32, reduce_scatter-ompi.cpp",
    in_order="recursive_doubling",
)
def open_mpi_ring(call: Call) -> Schedule:
    """Pass the blocks round once, each starting at the rank after its own; one receive is posted ahead."""
    steps, rank, n_ranks = Schedule(call), call.rank, call.n_ranks
    if n_ranks == 1:
        return steps
    ahead, behind = (rank + 1) % n_ranks, (rank - 1) % n_ranks

    def size(number: Value) -> Value:
        return block_bytes(call.out, number % n_ranks)

    steps.irecv(behind, size(rank - 2))
    steps.send(ahead, size(rank - 1))
    for k in steps.loop(2, n_ranks):
        steps.irecv(behind, size(rank - 1 - k))
        steps.wait_oldest()
        steps.combine(size(rank - k))
        steps.send(ahead, size(rank - k))
    steps.wait_oldest()
    steps.combine(size(rank))
    return steps


@algorithm(
    _OPERATIONS,
    "butterfly",
    simgrid="ompi_butterfly",
    source="Traff 2005; Open MPI, butterfly reduce-scatter; SimGrid 3.32, reduce_scatter-ompi.cpp",
)
def butterfly(call: Call) -> Schedule:
    """Halve the vector, the nearest partner first, which keeps the order of ranks; then send blocks to their ranks.

    Number r ends with the block whose number has the bits of r in reverse order. The first blocks are those of pairs.
    """
    steps, ranks, rank, n_ranks = Schedule(call), call.everyone, call.rank, call.n_ranks
    power = power_of_two_up_to(n_ranks)
    n_pairs = n_ranks - power
    if n_ranks == 1:
        return steps
    is_paired, is_even = rank < 2 * n_pairs, rank % 2 == 0
    number = rank - smaller((rank + 1) // 2, n_pairs)
    with steps.when(is_paired & is_even):
        steps.send(rank + 1, call.out[n_ranks])
        steps.recv(expanded(ranks, _mirrored(rank // 2, power)), call.nbytes)
    with steps.when(is_paired & (is_even == 0)):
        steps.recv(rank - 1, call.out[n_ranks])
        steps.combine(call.out[n_ranks])
    with steps.when((is_paired & is_even) == 0):
        first: Value = 0
        for mask in powers_of_two_below(power):
            n_blocks = power // (2 * mask)
            is_upper = (number // mask) % 2
            mine, its = first + is_upper * n_blocks, first + (1 - is_upper) * n_blocks
            partner, mine_bytes = expanded(ranks, number ^ mask), _blocks_bytes(call, mine, n_blocks)
            steps.exchange(partner, _blocks_bytes(call, its, n_blocks), partner, mine_bytes)
            steps.combine(mine_bytes)
            first = mine
        block = _mirrored(number, power)
        peer = expanded(ranks, block)
        with steps.when(block < n_pairs):
            steps.send(peer - 1, block_bytes(call.out, peer - 1))
        with steps.when(block != number):
            steps.exchange(peer, block_bytes(call.out, peer), peer, call.nbytes)
    return steps


def _mirrored(number: Value, power: int) -> Value:
    """The number with its bits in reverse order, below the power of two `power`."""
    mirrored: Value = 0
    for mask in powers_of_two_below(power):
        mirrored = mirrored + (number // mask) % 2 * (power // (2 * mask))
    return mirrored
