"""Allgather along rings, and in pairs of ranks."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import is_power_of_two
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, larger


@algorithm(
    ("allgather", "allgatherv"), "ring", simgrid="ring", source="SimGrid 3.32, allgather-ring.cpp, allgatherv-ring.cpp"
)
def ring(call: Call) -> Schedule:
    """Send the own block to the i-th rank ahead in round i, and receive the block of the i-th behind."""
    rank, n_ranks = call.rank, call.n_ranks
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        ahead, behind = (rank + distance) % n_ranks, (rank - distance) % n_ranks
        steps.exchange(ahead, call.nbytes, behind, block_bytes(call.into, behind))
    return steps


@algorithm("allgather", "logical_ring", simgrid="NTSLR", source="SimGrid 3.32, allgather-NTSLR.cpp; MPICH, ring")
def logical_ring(call: Call) -> Schedule:
    """Send to the next rank and receive from the previous one: first the own block, then the block received last."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps = Schedule(call)
    for _ in steps.loop(1, n_ranks):
        steps.exchange((rank + 1) % n_ranks, nbytes, (rank - 1) % n_ranks, nbytes)
    return steps


@algorithm("allgather", "logical_ring_nonblocking", simgrid="NTSLR_NB", source="SimGrid 3.32, allgather-NTSLR-NB.cpp")
def logical_ring_nonblocking(call: Call) -> Schedule:
    """`logical_ring` with all receives posted beforehand."""
    ranks, nbytes, n_rounds = call.everyone, call.nbytes, call.n_ranks - 1
    steps = Schedule(call)
    steps.wait_all()
    for _ in steps.loop(0, n_rounds):
        steps.irecv(ranks.behind(1), nbytes)
    for i in steps.loop(0, n_rounds):
        steps.isend(ranks.ahead(1), nbytes)
        steps.wait_for(i)
        steps.wait_for(n_rounds + i)
    return steps


@algorithm("allgatherv", "logical_ring", source="MPICH, ring")
def logical_ring_of_blocks(call: Call) -> Schedule:
    """`logical_ring` with blocks of different sizes."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        last, new = (rank - distance + 1) % n_ranks, (rank - distance) % n_ranks
        steps.exchange((rank + 1) % n_ranks, block_bytes(into, last), (rank - 1) % n_ranks, block_bytes(into, new))
    return steps


@algorithm("allgather", "neighbour_exchange", simgrid="ompi_neighborexchange", source="Chen et al. 2005; Open MPI")
def neighbour_exchange(call: Call) -> Schedule:
    """Exchange a block with one neighbour, then two with each neighbour in turn; a ring for an odd number of ranks."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    if n_ranks % 2:
        return ring(call)
    steps = Schedule(call)
    first = (rank + 1 - 2 * (rank % 2)) % n_ranks
    second = (rank - 1 + 2 * (rank % 2)) % n_ranks
    steps.exchange(first, nbytes, first, nbytes)
    for i in range(1, n_ranks // 2):
        neighbour = second if i % 2 else first
        steps.exchange(neighbour, 2 * nbytes, neighbour, 2 * nbytes)
    return steps


@algorithm("allgatherv", "neighbour_exchange", simgrid="ompi_neighborexchange", source="Chen et al. 2005; Open MPI")
def neighbour_exchange_of_blocks(call: Call) -> Schedule:
    """`neighbour_exchange` with blocks of different sizes."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    if n_ranks % 2:
        return ring(call)
    steps, is_odd = Schedule(call), rank % 2
    first, second = (rank + 1 - 2 * is_odd) % n_ranks, (rank - 1 + 2 * is_odd) % n_ranks

    def pair_bytes(i: Value) -> Value:
        """Bytes of the two blocks that arrive in round i, from either side in turn; for i = 0, of the own pair."""
        n_pairs_away = (i + 1) // 2 * (1 - i % 2 * 2) * (1 - is_odd * 2)
        start = (rank - is_odd + 2 * n_pairs_away) % n_ranks
        size: Value = into[start + 2] - into[start]
        return size

    steps.exchange(first, call.nbytes, first, block_bytes(into, first))
    for i in steps.loop(1, n_ranks // 2):
        neighbour = i % 2 * second + (1 - i % 2) * first
        steps.exchange(neighbour, pair_bytes(i - 1), neighbour, pair_bytes(i))
    return steps


@algorithm(
    "allgatherv", "chunked_logical_ring", simgrid="mpich_ring", source="MPICH 3, ring of allgatherv", chooses=True
)
def chunked_logical_ring(call: Call) -> Schedule:
    """A logical ring without empty messages; large blocks that are not all equal go in parts (`parts.ring_parts`)."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    steps, ranks = Schedule(call), call.everyone

    def exchange(to_bytes: Value, source_bytes: Value) -> None:
        with steps.when((to_bytes > 0) & (source_bytes > 0)):
            steps.exchange(ranks.ahead(1), to_bytes, ranks.behind(1), source_bytes)
        with steps.when((to_bytes > 0) & (source_bytes == 0)):
            steps.send(ranks.ahead(1), to_bytes)
        with steps.when((to_bytes == 0) & (source_bytes > 0)):
            steps.recv(ranks.behind(1), source_bytes)

    if not call.in_parts:
        for distance in steps.loop(1, n_ranks):
            last, new = (rank - distance + 1) % n_ranks, (rank - distance) % n_ranks
            exchange(block_bytes(into, last), block_bytes(into, new))
        return steps
    firsts, sizes = call.targets, call.sources
    n, mine, its = firsts[n_ranks], firsts[rank], firsts[ranks.behind(1)]
    n_out, n_into = n - (mine - firsts[ranks.ahead(1)]) % n, n - (its - mine) % n
    for i in steps.loop(0, larger(n_out, n_into)):
        exchange((i < n_out) * sizes[(mine + i) % n], (i < n_into) * sizes[(its + i) % n])
    return steps


@algorithm(
    ("allgather", "allgatherv"), "pair", simgrid="pair", source="SimGrid 3.32, allgather-pair.cpp, allgatherv-pair.cpp"
)
def pair(call: Call) -> Schedule:
    """Exchange blocks with rank XOR i in round i; a ring if the ranks are no power of two, where SimGrid gives up."""
    if not is_power_of_two(call.n_ranks):
        return ring(call)
    rank = call.rank
    steps = Schedule(call)
    for i in steps.loop(1, call.n_ranks):
        steps.exchange(rank ^ i, call.nbytes, rank ^ i, block_bytes(call.into, rank ^ i))
    return steps
