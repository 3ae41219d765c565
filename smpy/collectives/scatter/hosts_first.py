"""Scatter among hosts, then on each host."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns.linear import and_wait, from_root, hand_over
from smpy.collectives.patterns.two_levels import on_hosts
from smpy.collectives.register import Maker, algorithm
from smpy.collectives.scatter.linear import basic_linear
from smpy.collectives.scatter.trees import down
from smpy.collectives.schedule import Schedule


@algorithm(
    "scatter",
    "two_level_linear",
    simgrid="mvapich2_two_level_direct",
    source="MVAPICH2, two-level direct scatter",
    chooses=True,
)
def two_level_linear(call: Call) -> Schedule:
    """Send all blocks to the first rank of the root's host, then to first ranks one by one, then along trees on hosts.

    Where hosts have different numbers of ranks, the first ranks get their blocks all at once. If there is only one
    host, the root itself sends to all. Part: "local", instead of the trees.
    """
    return _two_level(call, basic_linear)


@algorithm(
    "scatter",
    "two_level_tree",
    simgrid="mvapich2_two_level_binomial",
    source="MVAPICH2, two-level binomial scatter",
    chooses=True,
)
def two_level_tree(call: Call) -> Schedule:
    """`two_level_linear` with a binomial tree among hosts of equal numbers of ranks."""
    return _two_level(call, down)


def _two_level(call: Call, among_hosts: Maker) -> Schedule:
    steps, hosts, nbytes = Schedule(call), call.known_hosts(), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    search_hosts(steps, call)
    with steps.when(nbytes != 0):
        if hosts.n_hosts == 1:
            call.add(steps, basic_linear, call.everyone, nbytes, call.root)
            return steps
        root_host = call.leaders_of_root.index
        leader = call.leaders[root_host]
        hand_over(steps, call, call.root, leader, call.n_ranks * nbytes)
        with steps.when(call.local.index == 0):
            host_bytes = call.local.size * nbytes
            if hosts.is_uniform:
                call.add(steps, among_hosts, call.leaders, host_bytes, root_host)
            else:
                blocks = call.blocks_of_hosts(nbytes)
                call.add(steps, and_wait(from_root), call.leaders, host_bytes, root_host, blocks)
        on_hosts(steps, call, "scatter", nbytes, default="binomial_tree")
    return steps
