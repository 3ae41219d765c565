"""Collective algorithms from outside smpy: copy one to write your own.

Each is a function of a call, under a decorator; a run chooses it by its name. A package makes them known by an entry
point, in its pyproject.toml:

    [project.entry-points."smpy.algorithms"]
    mine = "algorithms"
"""

from __future__ import annotations

from smpy.collectives import Call, Schedule, algorithm
from smpy.collectives.patterns import binomial_tree


@algorithm("bcast", "alphabet_chain", source="an example")
def alphabet_chain(call: Call) -> Schedule:
    """Broadcast from the root to the next rank, from there to the next, and so on."""
    ranks, steps = call.from_root, Schedule(call)
    with steps.when(ranks.index > 0):
        steps.recv(ranks.behind(1), call.nbytes)
    with steps.when(ranks.index < call.n_ranks - 1):
        steps.send(ranks.ahead(1), call.nbytes)
    return steps


@algorithm("allreduce", "hosts_first", source="an example", knows_hosts=True)
def hosts_first(call: Call) -> Schedule:
    """Reduce on each host, then among their first ranks; the result goes back the same way."""
    steps, local, leaders = Schedule(call), call.local, call.leaders
    binomial_tree.reduce(steps, local, call.nbytes)
    with steps.when(local.index == 0):
        binomial_tree.reduce(steps, leaders, call.nbytes)
        binomial_tree.broadcast(steps, leaders, call.nbytes)
    binomial_tree.broadcast(steps, local, call.nbytes)
    return steps
