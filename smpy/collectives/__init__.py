"""Collective algorithms as schedules, and the tables that choose among them.

An operation is a module, or a folder: one module for algorithms on one level of ranks, one for those on hosts and
between them. Algorithms from outside smpy register with the same decorator:

    from smpy.collectives import Call, Schedule, algorithm

    @algorithm("bcast", "whole_chain", source="a textbook")
    def whole_chain(call: Call) -> Schedule:
        ranks, steps = call.from_root, Schedule(call)
        with steps.when(ranks.index > 0):
            steps.recv(ranks.behind(1), call.nbytes)
        with steps.when(ranks.index < call.n_ranks - 1):
            steps.send(ranks.ahead(1), call.nbytes)
        return steps

`Call` has the arguments of an algorithm. Patterns that several operations share are in `patterns`; patterns over
`Ranks` take all ranks (`call.everyone`, `call.from_root`), the ranks of a host (`call.local`) or one a host
(`call.leaders`).
"""

from smpy.collectives.call import Call
from smpy.collectives.facts import Query, fact, fact_of_hosts
from smpy.collectives.hosts import Hosts
from smpy.collectives.ranks import Ranks
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes, larger, smaller

__all__ = [
    "Call",
    "Hosts",
    "Query",
    "Ranks",
    "Schedule",
    "algorithm",
    "block_bytes",
    "fact",
    "fact_of_hosts",
    "larger",
    "smaller",
]
