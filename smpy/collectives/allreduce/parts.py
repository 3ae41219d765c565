"""Allreduce in which each rank reduces a part of the vector and an allgather spreads the parts; and in halves."""

from __future__ import annotations

from smpy.collectives.allreduce.doubling import rabenseifner
from smpy.collectives.call import Call
from smpy.collectives.patterns.halving import fold_in_halves, parts_of, unfolded
from smpy.collectives.patterns.powers_of_two import is_power_of_two, power_of_two_up_to, powers_of_two_below
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


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
