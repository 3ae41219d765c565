"""Alltoall with one partner a round."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from smpy.collectives.call import Call
from smpy.collectives.patterns.powers_of_two import is_power_of_two
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, Value, block_bytes

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
