"""Allgathers among all ranks, whatever hosts they are on."""

from __future__ import annotations

from dataclasses import replace

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait, to_everyone, to_root
from smpy.collectives.patterns.meshes import box, in_box, in_rectangle, rectangle
from smpy.collectives.patterns.powers_of_two import is_power_of_two, powers_of_two_below, subtree
from smpy.collectives.patterns.recursive_doubling import serve_those_without_partner
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, larger, smaller

# ---- every rank sends its block to every other at once ----


algorithm(("iallgather", "iallgatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_everyone)
algorithm(("allgather", "allgatherv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(
    and_wait(to_everyone)
)


@algorithm(
    "allgather", "shifted_linear", simgrid="spreading_simple", source="SimGrid 3.32, allgather-spreading-simple.cpp"
)
def shifted_linear(call: Call) -> Schedule:
    """Start all receives, then all sends, both beginning with the next rank."""
    steps, ranks = Schedule(call), call.everyone
    for distance in steps.loop(1, call.n_ranks):
        steps.irecv(ranks.ahead(distance), call.nbytes)
    for distance in steps.loop(1, call.n_ranks):
        steps.isend(ranks.ahead(distance), call.nbytes)
    steps.wait_all()
    return steps


# ---- along rings, and in pairs of ranks ----


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


# ---- rounds of growing blocks ----


@algorithm("allgather", "recursive_doubling", simgrid="rdb", source="Thakur, Rabenseifner & Gropp 2005")
@algorithm("allgatherv", "recursive_doubling", simgrid="mpich_rdb", source="Thakur, Rabenseifner & Gropp 2005")
def recursive_doubling(call: Call) -> Schedule:
    """Exchange all blocks so far with rank ^ 2^k; a tree then serves the ranks that have no partner in the round."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into
    steps = Schedule(call)

    def bytes_from(first: Value, n: int) -> Value:
        size: Value = into[smaller(first + n, n_ranks)] - into[smaller(first, n_ranks)]
        return size

    for mask in powers_of_two_below(n_ranks):
        mine, its = subtree(rank, mask), subtree(rank ^ mask, mask)
        with steps.when(rank ^ mask < n_ranks):
            steps.exchange(rank ^ mask, bytes_from(mine, mask), rank ^ mask, bytes_from(its, mask))
        serve_those_without_partner(steps, rank, n_ranks, mask, bytes_from(its, n_ranks))
    return steps


@algorithm("allgather", "bruck", simgrid="bruck", source="Bruck, Ho, Kipnis, Upfal & Weathersby 1997")
def bruck(call: Call) -> Schedule:
    """Send all blocks so far to the rank 1, 2, 4, ... behind; in the last round only the blocks that it lacks."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        n_blocks = min(reach, n_ranks - reach)
        steps.exchange((rank - reach) % n_ranks, n_blocks * nbytes, (rank + reach) % n_ranks, n_blocks * nbytes)
        reach *= 2
    return steps


@algorithm("allgatherv", "bruck", simgrid="ompi_bruck", source="Bruck, Ho, Kipnis, Upfal & Weathersby 1997")
def bruck_of_blocks(call: Call) -> Schedule:
    """`bruck` with blocks of different sizes."""
    rank, n_ranks, into = call.rank, call.n_ranks, call.into

    def bytes_from(first: Value, n_blocks: int) -> Value:
        end = first + n_blocks
        size: Value = into[smaller(end, n_ranks)] - into[first] + into[larger(end - n_ranks, 0)]
        return size

    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        n_blocks = min(reach, n_ranks - reach)
        behind, ahead = (rank - reach) % n_ranks, (rank + reach) % n_ranks
        steps.exchange(behind, bytes_from(rank, n_blocks), ahead, bytes_from(ahead, n_blocks))
        reach *= 2
    return steps


@algorithm("allgather", "distance_halving", simgrid="rhv", source="SimGrid 3.32, allgather-rhv.cpp")
def distance_halving(call: Call) -> Schedule:
    """Send the own block to the rank with the bits reversed, then all blocks so far to ranks half as far each round.

    Where the number of ranks is no power of two, SimGrid gives up; a ring is used instead.
    """
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    if not is_power_of_two(n_ranks):
        return ring(call)
    steps, masks = Schedule(call), powers_of_two_below(n_ranks)
    reversed_rank: Value = 0
    for mask in masks:
        reversed_rank = reversed_rank + (rank & mask != 0) * (n_ranks // (2 * mask))
    with steps.when(reversed_rank != rank):
        steps.exchange(reversed_rank, nbytes, reversed_rank, nbytes)
    for known, mask in zip(masks, reversed(masks), strict=True):
        steps.exchange(rank ^ mask, known * nbytes, rank ^ mask, known * nbytes)
    return steps


# ---- along rows and columns ----


@algorithm("allgather", "mesh_2d", simgrid="2dmesh", source="SimGrid 3.32, allgather-2dmesh.cpp")
def mesh_2d(call: Call) -> Schedule:
    """Send the own block along the row, then all blocks of the row along the column."""
    steps, nbytes = Schedule(call), call.nbytes
    _, width = rectangle(call.n_ranks)
    in_rectangle(steps, call, nbytes, width * nbytes)
    return steps


@algorithm("allgather", "mesh_3d", simgrid="3dmesh", source="SimGrid 3.32, allgather-3dmesh.cpp")
def mesh_3d(call: Call) -> Schedule:
    """Send the own block along the row, the row's along the column, the square's to its position in other squares."""
    steps, nbytes = Schedule(call), call.nbytes
    side, _ = box(call.n_ranks)
    in_box(steps, call, nbytes, side * nbytes, side * side * nbytes)
    return steps


# ---- a gather and a broadcast ----


@algorithm("allgather", "gather_bcast", simgrid="GB", source="SimGrid 3.32, allgather-GB.cpp", chooses=True)
def gather_bcast(call: Call) -> Schedule:
    """Gather all blocks at rank 0, then broadcast them, both with the algorithms that the run chooses."""
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)
    call.add_chosen(steps, "gather", nbytes)
    call.add_chosen(steps, "bcast", call.n_ranks * nbytes)
    return steps


@algorithm("allgatherv", "gather_bcast", simgrid="GB", source="SimGrid 3.32, allgatherv-GB.cpp", chooses=True)
def gatherv_bcast(call: Call) -> Schedule:
    """Send all blocks to rank 0 at once, then broadcast them with the algorithm that the run chooses."""
    steps = and_wait(to_root)(replace(call, root=0))
    call.add_chosen(steps, "bcast", call.total_bytes)
    return steps
