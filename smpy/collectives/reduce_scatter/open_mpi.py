"""Reduce-scatters of Open MPI: by halving, along a ring, and in a butterfly."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import (
    expanded,
    power_of_two_up_to,
    powers_of_two_below,
    subtree,
)
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, smaller

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
