"""Algorithms of MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from smpy.collectives.allgather.one_level import recursive_doubling as allgather_doubling
from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import and_wait
from smpy.collectives.patterns.meshes import box, in_box, in_rectangle, rectangle
from smpy.collectives.patterns.powers_of_two import is_power_of_two
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes, larger, smaller

# ---- all receives, then all sends ----


@algorithm("ialltoall", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start(call: Call) -> Schedule:
    """Start all receives, from the next rank on; then all sends, from the previous rank backwards."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps = Schedule(call)
    for distance in steps.loop(1, n_ranks):
        steps.irecv((rank + distance) % n_ranks, nbytes)
    for distance in steps.loop(1, n_ranks):
        steps.isend((rank - distance) % n_ranks, nbytes)
    return steps


algorithm("alltoall", "linear", simgrid="basic_linear", source="Open MPI, linear alltoall")(and_wait(start))


@algorithm(("ialltoallv", "ialltoallw"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")
def start_blocks(call: Call) -> Schedule:
    """Start all receives, then all sends, from rank 0 on; empty blocks are sent, too."""
    steps = Schedule(call)
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.irecv(peer, block_bytes(call.into, peer))
    for peer in steps.loop(0, call.n_ranks):
        with steps.when(peer != call.rank):
            steps.isend(peer, block_bytes(call.out, peer))
    return steps


algorithm("alltoallw", "linear", source="SimGrid 3.32, smpi_coll.cpp")(and_wait(start_blocks))
algorithm("alltoallv", "linear", simgrid="ompi_basic_linear", source="Open MPI, linear alltoallv")(
    and_wait(start_blocks)
)


# ---- one partner a round ----


_of_both = partial(algorithm, ("alltoall", "alltoallv"), source="SimGrid 3.32, folders alltoall, alltoallv")
_Partners = Callable[[Call, Value], tuple[Value, Value]]
"""The target and the source of a rank in round 1, 2, ..., n - 1."""


def _around(call: Call, distance: Value) -> tuple[Value, Value]:
    return (call.rank + distance) % call.n_ranks, (call.rank - distance) % call.n_ranks


def _in_pairs(call: Call, distance: Value) -> tuple[Value, Value]:
    """The partner of a rank in each round; a ring if the number of ranks is no power of two, where SimGrid gives up."""
    if not is_power_of_two(call.n_ranks):
        return _around(call, distance)
    return call.rank ^ distance, call.rank ^ distance


def _exchange(steps: Schedule, call: Call, partners: tuple[Value, Value]) -> None:
    to, source = partners
    steps.exchange(to, block_bytes(call.out, to), source, block_bytes(call.into, source))


def _plainly(call: Call, partners: _Partners) -> Schedule:
    steps = Schedule(call)
    for distance in steps.loop(1, call.n_ranks):
        _exchange(steps, call, partners(call, distance))
    return steps


@algorithm("alltoall", "ring", simgrid="ring", source="SimGrid 3.32, alltoall-ring.cpp")
def ring(call: Call) -> Schedule:
    """Send to the i-th rank ahead and receive from the i-th behind in round i."""
    return _plainly(call, _around)


@algorithm("alltoall", "pair", simgrid="pair", source="SimGrid 3.32, alltoall-pair.cpp; MPICH, pairwise exchange")
@algorithm("alltoallv", "pair", simgrid=("pair", "ring"), source="SimGrid 3.32, alltoallv-pair.cpp, alltoallv-ring.cpp")
def pair(call: Call) -> Schedule:
    """Exchange with rank XOR i in round i; a ring if the number of ranks is no power of two, where SimGrid gives up."""
    return _plainly(call, _in_pairs)


def _with_a_word_between(call: Call, partners: _Partners) -> Schedule:
    """Send a byte to the source of each further round before it, which says that this rank is ready to receive."""
    steps = Schedule(call)
    for distance in steps.loop(1, call.n_ranks):
        _exchange(steps, call, partners(call, distance))
        with steps.when(distance + 1 < call.n_ranks):
            to, source = partners(call, distance + 1)
            steps.exchange(source, 1, to, 1)
    return steps


def _with_a_barrier_each(call: Call, partners: _Partners) -> Schedule:
    """Enter the run's barrier before each round; the rank's round with itself counts as one."""
    steps = Schedule(call)
    call.add_chosen(steps, "barrier", 0)
    for distance in steps.loop(1, call.n_ranks):
        call.add_chosen(steps, "barrier", 0)
        _exchange(steps, call, partners(call, distance))
    return steps


def _with_one_barrier(call: Call, partners: _Partners) -> Schedule:
    """The barrier that the run chooses, then all rounds."""
    steps = Schedule(call)
    call.add_chosen(steps, "barrier", 0)
    steps.extend(_plainly(call, partners))
    return steps


@_of_both("ring_with_light_barrier", simgrid="ring_light_barrier")
def ring_with_light_barrier(call: Call) -> Schedule:
    """A ring whose partners of the next round exchange a byte before it."""
    return _with_a_word_between(call, _around)


@_of_both("pair_with_light_barrier", simgrid="pair_light_barrier")
def pair_with_light_barrier(call: Call) -> Schedule:
    """Pairs who exchange a byte before their round."""
    return _with_a_word_between(call, _in_pairs)


@_of_both("ring_with_barriers", simgrid="ring_mpi_barrier", chooses=True)
def ring_with_barriers(call: Call) -> Schedule:
    """A ring with a barrier before each round."""
    return _with_a_barrier_each(call, _around)


@_of_both("pair_with_barriers", simgrid="pair_mpi_barrier", chooses=True)
def pair_with_barriers(call: Call) -> Schedule:
    """Pairs with a barrier before each round."""
    return _with_a_barrier_each(call, _in_pairs)


@_of_both("ring_after_barrier", simgrid="ring_one_barrier", chooses=True)
def ring_after_barrier(call: Call) -> Schedule:
    """A barrier, then a ring."""
    return _with_one_barrier(call, _around)


@_of_both("pair_after_barrier", simgrid="pair_one_barrier", chooses=True)
def pair_after_barrier(call: Call) -> Schedule:
    """A barrier, then pairs."""
    return _with_one_barrier(call, _in_pairs)


# ---- several partners at a time ----


BATCH: Final = 32  # MPIR_CVAR_ALLTOALL_THROTTLE
SMALL_BATCH: Final = 4  # MV2_ALLTOALL_THROTTLE_FACTOR


@algorithm(("alltoall", "alltoallv", "alltoallw"), "scattered", source="MPICH, scattered")
def scattered(call: Call) -> Schedule:
    """Exchange with 32 ranks at a time: receive from the next, send to the previous, and wait for all."""
    steps = Schedule(call)
    _in_batches(steps, call, BATCH, first=1)
    return steps


@algorithm("alltoallv", "scattered_by_4", simgrid="bruck", source="SimGrid 3.32, alltoallv-bruck.cpp")
def scattered_by_4(call: Call) -> Schedule:
    """`scattered` with 4 ranks at a time."""
    steps = Schedule(call)
    _in_batches(steps, call, SMALL_BATCH, first=1)
    return steps


@algorithm("alltoall", "scattered_by_4", simgrid="mvapich2_scatter_dest", source="MVAPICH2, scattered destinations")
def scattered_by_4_with_self(call: Call) -> Schedule:
    """Exchange with 4 ranks at a time; the first batch includes the rank itself. Empty blocks are not sent."""
    steps = Schedule(call)
    with steps.when(call.nbytes > 0):
        _in_batches(steps, call, SMALL_BATCH, first=0)
    return steps


def _in_batches(steps: Schedule, call: Call, n_batch: int, first: int) -> None:
    """Exchange with partners at the distances from `first` on, in batches that begin at multiples of `n_batch`."""
    rank, n_ranks = call.rank, call.n_ranks
    for batch in steps.loop(0, -(-n_ranks // n_batch)):
        start, end = larger(batch * n_batch, first), smaller((batch + 1) * n_batch, n_ranks)
        for distance in steps.loop(start, end):
            ahead = (rank + distance) % n_ranks
            steps.irecv(ahead, block_bytes(call.into, ahead))
        for distance in steps.loop(start, end):
            behind = (rank - distance) % n_ranks
            steps.isend(behind, block_bytes(call.out, behind))
        steps.wait_all()


# ---- rounds of growing distance ----


@algorithm("alltoall", "bruck", simgrid="bruck", source="Bruck, Ho, Kipnis, Upfal & Weathersby 1997")
def bruck(call: Call) -> Schedule:
    """Send the rank 1, 2, 4, ... ahead all blocks whose distance to their target has that bit."""
    rank, n_ranks, nbytes = call.rank, call.n_ranks, call.nbytes
    steps, reach = Schedule(call), 1
    while reach < n_ranks:
        n_blocks = sum(1 for distance in range(1, n_ranks) if distance & reach)
        steps.exchange((rank + reach) % n_ranks, n_blocks * nbytes, (rank - reach) % n_ranks, n_blocks * nbytes)
        reach *= 2
    return steps


@algorithm("alltoall", "recursive_doubling", simgrid="rdb", source="SimGrid 3.32, alltoall-rdb.cpp")
def recursive_doubling(call: Call) -> Schedule:
    """Bring all blocks of all ranks to every rank by recursive doubling."""
    steps = Schedule(call)
    call.add(steps, allgather_doubling, call.everyone, call.n_ranks * call.nbytes)
    return steps


# ---- along rows and columns ----


@algorithm("alltoall", "mesh_2d", simgrid="2dmesh", source="SimGrid 3.32, alltoall-2dmesh.cpp")
def mesh_2d(call: Call) -> Schedule:
    """Send all blocks to the ranks of the row, then each rank of the column the row's blocks for it."""
    steps, nbytes = Schedule(call), call.nbytes
    _, width = rectangle(call.n_ranks)
    in_rectangle(steps, call, call.n_ranks * nbytes, width * nbytes)
    return steps


@algorithm("alltoall", "mesh_3d", simgrid="3dmesh", source="SimGrid 3.32, alltoall-3dmesh.cpp")
def mesh_3d(call: Call) -> Schedule:
    """Exchange all blocks along rows, then along columns of a square, then between the same positions of squares."""
    steps, nbytes = Schedule(call), call.nbytes
    side, _ = box(call.n_ranks)
    in_box(steps, call, call.n_ranks * nbytes, side * call.n_ranks * nbytes, side * side * nbytes)
    return steps
