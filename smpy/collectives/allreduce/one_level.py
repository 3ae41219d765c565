"""Allreduces among all ranks, whatever hosts they are on."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns import binomial_tree
from smpy.collectives.patterns.halving import fold_in_halves, halves, parts_of, unfolded
from smpy.collectives.patterns.linear import reduce_to_first, reduce_to_root_in_order, to_everyone
from smpy.collectives.patterns.powers_of_two import (
    expanded,
    is_power_of_two,
    power_of_two_up_to,
    powers_of_two_below,
    reduced_to_power_of_two,
)
from smpy.collectives.patterns.recursive_doubling import exchange_vectors
from smpy.collectives.patterns.segments import whole_entries
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value

# ---- every rank sends its vector to every other ----


algorithm("iallreduce", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_everyone)


# ---- recursive doubling, and halving and doubling ----


@algorithm("allreduce", "recursive_doubling", simgrid="rdb", source="Thakur, Rabenseifner & Gropp 2005")
def recursive_doubling(call: Call) -> Schedule:
    """Exchange the whole vector with each partner."""
    steps = Schedule(call)
    exchange_vectors(steps, call.everyone, call.nbytes)
    return steps


@algorithm(
    "allreduce",
    "rabenseifner",
    simgrid="rab_rdb",
    source="Rabenseifner 2004; SimGrid 3.32, allreduce-rab-rdb.cpp",
    in_order="recursive_doubling",
)
def rabenseifner(call: Call) -> Schedule:
    """Halve the vector, then double back along the same partners; the last part has the remainder."""
    return _halve_and_double(call, is_balanced=False)


@algorithm("allreduce", "balanced_rabenseifner", source="Rabenseifner 2004; MPICH 4, reduce_scatter_allgather")
def balanced_rabenseifner(call: Call) -> Schedule:
    """`rabenseifner` with parts whose sizes differ by at most one entry."""
    return _halve_and_double(call, is_balanced=True)


def _halve_and_double(call: Call, *, is_balanced: bool) -> Schedule:
    steps, ranks, nbytes = Schedule(call), call.everyone, call.nbytes
    power = power_of_two_up_to(call.n_ranks)
    with reduced_to_power_of_two(steps, ranks, nbytes) as number:
        rounds = [
            (expanded(ranks, number ^ mask), mine_bytes, its_bytes)
            for mask, mine_bytes, its_bytes in halves(number, power, nbytes, call.item_bytes, is_balanced=is_balanced)
        ]
        for partner, mine_bytes, its_bytes in rounds:
            steps.exchange(partner, its_bytes, partner, mine_bytes)
            steps.combine(mine_bytes)
        for partner, mine_bytes, its_bytes in reversed(rounds):
            steps.exchange(partner, mine_bytes, partner, its_bytes)
    return steps


# ---- each rank reduces a part of the vector, and an allgather spreads the parts ----


@algorithm(
    "allreduce",
    "halving_allgather",
    simgrid="rab1",
    source="SimGrid 3.32, allreduce-rab1.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def halving_allgather(call: Call) -> Schedule:
    """Halve the vector, padded to equal parts, then use the run's allgather; for 2, 4, 8, ... ranks.

    On other numbers of ranks: Rabenseifner's algorithm.
    """
    steps, rank, n_ranks = Schedule(call), call.rank, call.n_ranks
    if not is_power_of_two(n_ranks):
        return rabenseifner(call)
    part = _part_bytes(call)
    for mask in reversed(powers_of_two_below(n_ranks)):
        steps.exchange(rank ^ mask, mask * part, rank ^ mask, mask * part)
        steps.combine(mask * part)
    call.add_chosen(steps, "allgather", part)
    return steps


@algorithm(
    "allreduce",
    "alltoall_allgather",
    simgrid="rab2",
    source="SimGrid 3.32, allreduce-rab2.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def alltoall_allgather(call: Call) -> Schedule:
    """Bring each rank its padded part of all vectors by the run's alltoall, and spread results by its allgather.

    With fewer entries than ranks, each part has as many entries as there are ranks, as in SimGrid.
    """
    steps, n_ranks = Schedule(call), call.n_ranks
    assert isinstance(call.nbytes, int)  # a choosing algorithm
    n_entries = call.nbytes // call.item_bytes
    part = n_ranks * call.item_bytes if 0 < n_entries < n_ranks else _part_bytes(call)
    call.add_chosen(steps, "alltoall", part)
    steps.combine((n_ranks - 1) * part)
    call.add_chosen(steps, "allgather", part)
    return steps


def _part_bytes(call: Call) -> int:
    """Bytes of a part of the vector: one entry more than the quotient if entries are left over."""
    assert isinstance(call.nbytes, int)  # a choosing algorithm
    n_entries, rest = divmod(call.nbytes // call.item_bytes, call.n_ranks)
    return (n_entries + (rest > 0)) * call.item_bytes


@algorithm(
    "allreduce",
    "rabenseifner_1997",
    simgrid="rab",
    source="Rabenseifner 1997; SimGrid 3.32, reduce-rab.cpp",
    in_order="recursive_doubling",
)
def rabenseifner_1997(call: Call) -> Schedule:
    """Halve the vector entry by entry, then double back along the same partners.

    Each rank of the first pairs reduces a half. Only the even rank of a pair continues; it sends the odd one the
    result.
    """
    rank, nbytes, power = call.rank, call.nbytes, power_of_two_up_to(call.n_ranks)
    steps, n_pairs = Schedule(call), call.n_ranks - power
    number, takes_part = fold_in_halves(steps, call)
    parts = parts_of(number, power, nbytes, call.item_bytes)
    with steps.when(takes_part):
        for mask, mine, its in parts:
            partner = unfolded(number ^ mask, n_pairs)
            steps.exchange(partner, its, partner, mine)
            steps.combine(mine)
        for mask, mine, its in reversed(parts):
            partner = unfolded(number ^ mask, n_pairs)
            steps.exchange(partner, mine, partner, its)
    with steps.when((rank < 2 * n_pairs) & (rank % 2 == 0)):
        steps.send(rank + 1, nbytes)
    with steps.when((rank < 2 * n_pairs) & (rank % 2 != 0)):
        steps.recv(rank - 1, nbytes)
    return steps


# ---- along rings ----


_SEGMENT_BYTES: Final = 1 << 20


@algorithm(
    "allreduce",
    "ring",
    simgrid="lr",
    source="Patarasuk & Yuan 2009; SimGrid 3.32, allreduce-lr.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def ring(call: Call) -> Schedule:
    """Send the parts round twice, to be reduced and to be spread; the run's choice handles the entries left over.

    The parts have equal numbers of entries. With fewer entries than ranks: the run's reduction and broadcast.
    """
    steps = Schedule(call)
    part, rest = _parts(call)
    if part == 0:
        return chosen_reduce_bcast(call)
    _two_rounds(steps, call, part)
    if rest:
        assert isinstance(rest, int)  # a choosing algorithm
        call.add_chosen(steps, "allreduce", rest)
    return steps


@algorithm(
    "allreduce",
    "segmented_ring",
    simgrid="ompi_ring_segmented",
    source="Open MPI, segmented ring; SimGrid 3.32, allreduce-ompi-ring-segmented.cpp",
    chooses=True,
    in_order="recursive_doubling",
)
def segmented_ring(call: Call) -> Schedule:
    """Reduce parts round the ring in segments of about 1 MiB, one receive posted ahead; then spread them whole.

    If a part is smaller than a segment, a plain ring is used.
    """
    steps, n_ranks, item_bytes, nbytes = Schedule(call), call.n_ranks, call.item_bytes, call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    if n_ranks == 1 or nbytes == 0:
        return steps
    n_entries = nbytes // item_bytes
    n_in_segment = min(whole_entries(_SEGMENT_BYTES, item_bytes) // item_bytes, n_entries)
    if n_entries < n_ranks * n_in_segment:
        return ring(call)
    n_phases, rest = divmod(n_entries, n_ranks * n_in_segment)
    n_phases += rest >= n_ranks and rest > n_ranks * n_in_segment // 2
    n_in_part, n_longer = divmod(n_entries, n_ranks)

    def part(number: Value) -> Value:
        return n_in_part + (number % n_ranks < n_longer)

    def segment(number: Value, phase: Value) -> Value:
        n = part(number)
        return (n // n_phases + (phase < n % n_phases)) * item_bytes

    ahead, behind = (call.rank + 1) % n_ranks, (call.rank - 1) % n_ranks
    for phase in steps.loop(0, n_phases):
        steps.irecv(behind, segment(call.rank - 1, phase))
        steps.send(ahead, segment(call.rank, phase))
        for k in steps.loop(2, n_ranks):
            steps.irecv(behind, segment(call.rank - k, phase))
            steps.wait_oldest()
            steps.combine(segment(call.rank - k + 1, phase))
            steps.send(ahead, segment(call.rank - k + 1, phase))
        steps.wait_oldest()
        steps.combine(segment(call.rank + 1, phase))
    for k in steps.loop(0, n_ranks - 1):
        steps.exchange(ahead, part(call.rank + 1 - k) * item_bytes, behind, part(call.rank - k) * item_bytes)
    return steps


@algorithm(
    "allreduce", "open_mpi_ring", source="Open MPI, ring allreduce; SimGrid 3.32, allreduce-ompi-ring-segmented.cpp"
)
def open_mpi_ring(call: Call) -> Schedule:
    """A ring, for datatypes that must be reduced in rank order.

    Open MPI's table chooses again for the entries left over: recursive doubling for some sizes on fewer than 4 ranks,
    otherwise a ring. A ring with fewer entries than ranks is a reduction to rank 0 and a broadcast.
    """
    steps = Schedule(call)
    part, rest = _parts(call)
    _two_rounds(steps, call, part)
    doubles = (part > 0) & (call.n_ranks < 4) & (((rest >= 8) & (rest < 4096)) | ((rest >= 8192) & (rest < 16384)))
    with steps.when(doubles):
        exchange_vectors(steps, call.everyone, rest)
    with steps.when((rest > 0) & (doubles == 0)):
        add_basic_reduce_bcast(steps, call, rest)
    return steps


def _parts(call: Call) -> tuple[Value, Value]:
    """Bytes of each rank's part, in whole entries, and bytes left over."""
    part = call.nbytes // call.item_bytes // call.n_ranks * call.item_bytes
    return part, call.nbytes - call.n_ranks * part


def _two_rounds(steps: Schedule, call: Call, part: Value) -> None:
    rank, n_ranks = call.rank, call.n_ranks
    with steps.when(part > 0):
        for reduces in (True, False):
            for _ in steps.loop(0, n_ranks - 1):
                steps.exchange((rank + 1) % n_ranks, part, (rank - 1) % n_ranks, part)
                if reduces:
                    steps.combine(part)


# ---- a reduction to rank 0 and a broadcast ----


@algorithm("allreduce", "reduce_bcast", source="SimGrid 3.32, smpi_default_selector.cpp")
def reduce_bcast(call: Call) -> Schedule:
    """Send all vectors to rank 0 at once, which reduces them and broadcasts along a binomial tree."""
    steps = Schedule(call)
    add_reduce_bcast(steps, call, call.nbytes)
    return steps


@algorithm(
    "allreduce",
    "chosen_reduce_bcast",
    simgrid="redbcast",
    source="SimGrid 3.32, allreduce-redbcast.cpp",
    chooses=True,
)
def chosen_reduce_bcast(call: Call) -> Schedule:
    """Reduce to rank 0, then broadcast, both with the algorithms that the run chooses."""
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    call.add_chosen(steps, "reduce", nbytes)
    call.add_chosen(steps, "bcast", nbytes)
    return steps


@algorithm("allreduce", "basic_reduce_bcast", source="Open MPI, nonoverlapping allreduce")
def basic_reduce_bcast(call: Call) -> Schedule:
    """Reduce at rank 0 in rank order, receiving from the last rank to the first, then broadcast along a tree."""
    steps = Schedule(call)
    add_basic_reduce_bcast(steps, call, call.nbytes)
    return steps


def add_reduce_bcast(steps: Schedule, call: Call, nbytes: Value) -> None:
    """The steps of `reduce_bcast` for a vector of `nbytes`."""
    reduce_to_first(steps, call.everyone, nbytes)
    binomial_tree.broadcast(steps, call.everyone, nbytes)


def add_basic_reduce_bcast(steps: Schedule, call: Call, nbytes: Value) -> None:
    """The steps of `basic_reduce_bcast` for a vector of `nbytes`."""
    reduce_to_root_in_order(steps, call, 0, nbytes)
    binomial_tree.broadcast(steps, call.everyone, nbytes)


@algorithm("allreduce", "linear_reduce_bcast", source="Open MPI 4 and 5, basic linear allreduce")
def linear_reduce_bcast(call: Call) -> Schedule:
    """Reduce at rank 0 in rank order, receiving from the last rank to the first, then send to all at once."""
    steps, nbytes = Schedule(call), call.nbytes
    reduce_to_root_in_order(steps, call, 0, nbytes)
    with steps.when(call.rank == 0):
        for peer in steps.loop(1, call.n_ranks):
            steps.isend(peer, nbytes)
        steps.wait_all()
    with steps.when(call.rank != 0):
        steps.recv(0, nbytes)
    return steps
