"""Gather on each host, then among hosts."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.gather.linear import basic_linear
from smpy.collectives.host_search import search_hosts
from smpy.collectives.patterns.linear import and_wait, hand_over, to_root
from smpy.collectives.patterns.two_levels import on_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("gather", "two_level", simgrid="mvapich2_two_level", source="MVAPICH2, two-level gather", chooses=True)
def two_level(call: Call) -> Schedule:
    """Gather along trees to the first rank of each host, from these to that of the root's host, then to the root.

    Part: "local", instead of the trees. The first ranks of hosts send one by one, or all at once where hosts have
    different numbers of ranks. SimGrid gives up there, and where the root is not the first rank of its host.
    """
    steps, hosts, nbytes = Schedule(call), call.known_hosts(), call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    search_hosts(steps, call)
    root_host = call.leaders_of_root.index
    leader = call.leaders[root_host]
    with steps.when(nbytes != 0):
        on_hosts(steps, call, "gather", nbytes, default="binomial_tree")
        with steps.when(call.local.index == 0):
            host_bytes = call.local.size * nbytes
            if hosts.is_uniform:
                call.add(steps, basic_linear, call.leaders, host_bytes, root_host)
            else:
                blocks = call.blocks_of_hosts(nbytes)
                call.add(steps, and_wait(to_root), call.leaders, host_bytes, root_host, blocks)
        hand_over(steps, call, leader, call.root, call.n_ranks * nbytes)
    return steps
