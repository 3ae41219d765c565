"""Collective algorithms as schedules, and the tables that choose among them.

A folder an operation, a file an algorithm: a file that stands in the folder of an operation is found by itself. An
algorithm from outside smpy registers with the same decorator:

    from smpy.collectives import Call, Schedule, algorithm

    @algorithm("bcast", "chain", source="a textbook")
    def chain(call: Call) -> Schedule:
        ...
"""

from smpy.collectives.call import Call
from smpy.collectives.facts import fact, fact_of_hosts
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule, block_bytes, larger, smaller

__all__ = ["Call", "Schedule", "algorithm", "block_bytes", "fact", "fact_of_hosts", "larger", "smaller"]
