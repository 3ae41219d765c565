"""Rings and pairwise exchanges: p - 1 rounds in which every rank sends once and receives once."""

from __future__ import annotations

from smpy.collectives.schedule import EqualBlocks, Offsets, Schedule, Value, block_bytes, larger, smaller


def ring_alltoallv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """In round i to the i-th rank ahead, from the i-th behind."""
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(out, ahead), behind, block_bytes(into, behind))
    return steps


def ring_alltoall(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """In round i to the i-th rank ahead, from the i-th behind."""
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        steps.exchange((rank + distance) % n_ranks, nbytes, (rank - distance) % n_ranks, nbytes)
    return steps


ring_allgather = ring_alltoall


def ring_allgatherv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """In round i its own block to the i-th rank ahead, and the block of the i-th behind."""
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, nbytes, behind, block_bytes(into, behind))
    return steps


def pair_alltoallv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """In round i with rank XOR i; a ring when the number of ranks is no power of two."""
    if not is_power_of_two(n_ranks):
        return ring_alltoallv(rank, n_ranks, root, nbytes, out, into)
    steps = Schedule(rank)
    for i in steps.loop(1, n_ranks):
        steps.exchange(rank ^ i, block_bytes(out, rank ^ i), rank ^ i, block_bytes(into, rank ^ i))
    return steps


def pair_alltoall(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """In round i with rank XOR i; a ring when the number of ranks is no power of two, where SimGrid gives up."""
    if not is_power_of_two(n_ranks):
        return ring_alltoall(rank, n_ranks, root, nbytes)
    steps = Schedule(rank)
    for i in steps.loop(1, n_ranks):
        steps.exchange(rank ^ i, nbytes, rank ^ i, nbytes)
    return steps


pair_allgather = pair_alltoall


def pair_allgatherv(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """In round i with rank XOR i; a ring when the number of ranks is no power of two."""
    if not is_power_of_two(n_ranks):
        return ring_allgatherv(rank, n_ranks, root, nbytes, out, into)
    steps = Schedule(rank)
    for i in steps.loop(1, n_ranks):
        steps.exchange(rank ^ i, nbytes, rank ^ i, block_bytes(into, rank ^ i))
    return steps


def pair_reduce_scatter(rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets) -> Schedule:
    """In round i the block of the i-th rank ahead to it, its own from the i-th behind (MPICH's pairwise exchange)."""
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, block_bytes(out, ahead), behind, nbytes)
    return steps


def logical_ring_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """Always to the next rank and from the previous one: first its own block, then what came last."""
    steps = Schedule(rank)
    for _ in steps.loop(1, n_ranks):
        steps.exchange((rank + 1) % n_ranks, nbytes, (rank - 1) % n_ranks, nbytes)
    return steps


def logical_ring_allgatherv(
    rank: Value, n_ranks: int, root: Value, nbytes: Value, out: Offsets, into: Offsets
) -> Schedule:
    """The same with blocks of many sizes."""
    steps = Schedule(rank)
    for distance in steps.loop(1, n_ranks):
        last, new = (rank - distance + 1) % n_ranks, (rank - distance) % n_ranks
        steps.exchange((rank + 1) % n_ranks, block_bytes(into, last), (rank - 1) % n_ranks, block_bytes(into, new))
    return steps


def neighbour_exchange_allgather(rank: Value, n_ranks: int, root: Value, nbytes: Value) -> Schedule:
    """A block with one neighbour, then two with the other and the first in turn (Chen et al. 2005); a ring when odd."""
    if n_ranks % 2:
        return ring_allgather(rank, n_ranks, root, nbytes)
    steps = Schedule(rank)
    first = (rank + 1 - 2 * (rank % 2)) % n_ranks
    second = (rank - 1 + 2 * (rank % 2)) % n_ranks
    steps.exchange(first, nbytes, first, nbytes)
    for i in range(1, n_ranks // 2):
        neighbour = second if i % 2 else first
        steps.exchange(neighbour, 2 * nbytes, neighbour, 2 * nbytes)
    return steps


def add_scattered_ring(steps: Schedule, rank: Value, n_ranks: int, root: Value, nbytes: Value) -> None:
    """The ring that completes a broadcast whose parts have been scattered, part k to the k-th rank after the root."""
    part = (nbytes + n_ranks - 1) // n_ranks
    parts = EqualBlocks(part)

    def size(k: Value) -> Value:
        return larger(0, smaller(part, nbytes - parts[k]))

    for distance in steps.loop(1, n_ranks):
        mine, its = (rank - root - distance + 1) % n_ranks, (rank - root - distance) % n_ranks
        steps.exchange((rank + 1) % n_ranks, size(mine), (rank - 1) % n_ranks, size(its))


def is_power_of_two(n: int) -> bool:
    """Whether `n` is 1, 2, 4, ..."""
    return n & (n - 1) == 0
