"""Reductions on each host, and then between hosts."""

from __future__ import annotations

from typing import Final

from smpy.collectives.bcast.two_levels import SEGMENT_BYTES
from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns import knomial_tree as knomial
from smpy.collectives.patterns.han import ON_HOSTS, root_levels
from smpy.collectives.patterns.linear import hand_over, reduce_to_root_in_order
from smpy.collectives.patterns.powers_of_two import power_of_two_up_to
from smpy.collectives.patterns.two_levels import among_leaders, on_hosts
from smpy.collectives.reduce.one_level import balanced_rabenseifner, up, up_in_order
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

# ---- as in MVAPICH2 ----


_SHORT_BYTES: Final = 2048
_LINEAR: Final = "ompi_basic_linear"
_LONG_BYTES: Final = 1 << 17  # of each rank of a host


@algorithm(
    "reduce",
    "knomial_tree",
    simgrid="mvapich2_knomial",
    source="MVAPICH2, k-nomial reduce; SimGrid 3.32, reduce-mvapich-knomial.cpp",
    in_order="in_order_binomial_tree",
)
def knomial_tree(call: Call) -> Schedule:
    """A k-nomial tree of radix 4; all children are received at once, the nearest first."""
    steps = Schedule(call)
    knomial.reduce(steps, call.from_root, call.nbytes)
    return steps


@algorithm(
    "reduce",
    "mvapich2_two_level",
    simgrid="mvapich2_two_level",
    source="MVAPICH2, two-level reduce; SimGrid 3.32, reduce-mvapich-two-level.cpp",
    chooses=True,
)
def mvapich2_two_level(call: Call) -> Schedule:
    """Reduce on each host at its first rank, from these at the first rank of the root's host, then send to the root.

    MPICH's rule chooses both reductions; the parts "local" and "leaders" override it. A linear reduction of a long
    vector on a host is replaced by a k-nomial tree. On a single host, a short vector is reduced at rank 0 in order
    and sent to the root; a long one takes a k-nomial tree. A reduction that must keep the order of ranks, where this
    would lose it, takes the in-order binomial tree.
    """
    steps, nbytes, root = Schedule(call), call.nbytes, call.root
    by, choose = call.parts.get("local", "smpi-mpich"), call.choose
    assert isinstance(nbytes, int)
    assert choose is not None

    def on_host(part: Call) -> Schedule:
        is_long = by == _LINEAR and nbytes >= part.n_ranks * _LONG_BYTES
        return choose("reduce", part, "knomial_tree" if is_long else by)

    search_hosts(steps, call)
    assert call.hosts is not None  # a choosing algorithm, of all ranks
    is_ordered = call.hosts.n_hosts > 1 and call.hosts.is_blocked
    if not call.commutative and not is_ordered:
        call.add(steps, up_in_order, call.everyone, nbytes, root)
        return steps
    if call.hosts.n_hosts == 1 and nbytes > _SHORT_BYTES:
        call.add(steps, knomial_tree, call.everyone, nbytes, root)
        return steps
    if call.hosts.n_hosts == 1:
        reduce_to_root_in_order(steps, call, 0, nbytes)
    else:
        call.add(steps, on_host, call.local, nbytes)
        among_leaders(steps, call, "reduce", nbytes, call.leaders_of_root.index, default="smpi-mpich")
    leaders = call.leaders_of_root
    hand_over(steps, call, leaders[leaders.index], root, nbytes)
    return steps


# ---- Open MPI 5's han: in segments, with libnbc between hosts ----


def nonblocking_reduce(call: Call) -> Schedule:
    """Libnbc's reduction of at most one segment: Rabenseifner's, or a binomial tree if there are few entries."""
    nbytes = call.nbytes
    assert isinstance(nbytes, int)  # a part of a choosing algorithm
    has_entries = nbytes // call.item_bytes >= power_of_two_up_to(call.n_ranks)
    return balanced_rabenseifner(call) if call.n_ranks > 2 and has_entries else up(call)


def segments_of(nbytes: int, item_bytes: int) -> tuple[int, int, int]:
    """Bytes of a segment of whole entries, number of segments before the last one, and bytes of the last one."""
    segment = max(SEGMENT_BYTES // item_bytes, 1) * item_bytes
    n_full = max(nbytes - 1, 0) // segment
    return segment, n_full, nbytes - n_full * segment


@algorithm("reduce", "han", source="Open MPI 5.0, coll_han_reduce.c, libnbc/nbc_ireduce.c", chooses=True)
def han(call: Call) -> Schedule:
    """Reduce segments of 64 KiB on each host at the rank with the root's number there, then between these at the root.

    A segment goes between hosts while the next one is reduced on each host. Where hosts have unequal numbers of ranks,
    Open MPI's decisions for one level choose the whole algorithm.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    levels = root_levels(steps, call, "reduce", nbytes)
    if levels is None:
        return steps
    local, (index, beside, root_host) = call.local, levels
    segment, n_full, last = segments_of(nbytes, call.item_bytes)

    def on_hosts(segment_bytes: int) -> None:
        call.add_chosen(steps, "reduce", segment_bytes, ranks=local, root=index, table=ON_HOSTS)

    def overlap(next_bytes: int) -> None:
        with steps.when(local.index == index), steps.fork(1):
            call.add(steps, nonblocking_reduce, beside, segment, root_host)
        on_hosts(next_bytes)
        steps.join()

    on_hosts(segment if n_full else last)
    for _ in steps.loop(1, n_full):
        overlap(segment)
    if n_full:
        overlap(last)
    with steps.when(local.index == index):
        call.add(steps, nonblocking_reduce, beside, last, root_host)
    return steps


# ---- by tables that a row names; for commutative operations ----


@algorithm("reduce", "two_level", source="MPICH, ch4_coll_impl.h, composition alpha", chooses=True)
def two_level(call: Call) -> Schedule:
    """Reduce on each host, then among the first ranks to rank 0, which sends the result to the root.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes = Schedule(call), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    on_hosts(steps, call, "reduce", nbytes)
    among_leaders(steps, call, "reduce", nbytes)
    hand_over(steps, call, 0, call.root, nbytes)
    return steps


@algorithm("reduce", "two_level_host_of_root_last", source="MPICH, ch4_coll_impl.h, composition beta", chooses=True)
def two_level_host_of_root_last(call: Call) -> Schedule:
    """Reduce on each host except the root's, then among first ranks at the root's host, and last on the root's host.

    Parts: the tables "leaders" and "local"; by default, the run's.
    """
    steps, nbytes, host = Schedule(call), call.nbytes, call.leaders.index
    assert isinstance(nbytes, int)  # a choosing algorithm
    host_of_root = call.leaders_of_root.index
    with steps.when(host != host_of_root):
        on_hosts(steps, call, "reduce", nbytes)
    among_leaders(steps, call, "reduce", nbytes, host_of_root)
    with steps.when(host == host_of_root):
        on_hosts(steps, call, "reduce", nbytes, call.local_of_root.index)
    return steps
