"""Reduce on each host and then between hosts, and along k-nomial trees, as in MVAPICH2."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns import knomial_tree as knomial
from smpy.collectives.patterns.linear import hand_over, reduce_to_root_in_order
from smpy.collectives.patterns.two_levels import among_leaders
from smpy.collectives.reduce.trees import up_in_order
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule

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
