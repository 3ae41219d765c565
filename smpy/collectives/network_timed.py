"""Schedules of collectives that the network times as a whole: all ranks meet, each with its bytes sent and received.

A root's bytes stand for those of all ranks. The sizes are those of the buffers that MPI has for the operation; a bcast
is sent by its root alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.register import Algorithm
from smpy.collectives.schedule import Schedule, Value

_Sizes = Callable[[Call], tuple[Value, Value]]
_SIZES: Final[dict[str, _Sizes]] = {
    "barrier": lambda call: (0, 0),
    "allreduce": lambda call: (call.nbytes, call.nbytes),
    "scan": lambda call: (call.nbytes, call.nbytes),
    "exscan": lambda call: (call.nbytes, call.nbytes),
    "allgather": lambda call: (call.nbytes, call.n_ranks * call.nbytes),
    "alltoall": lambda call: (call.n_ranks * call.nbytes, call.n_ranks * call.nbytes),
    "allgatherv": lambda call: (call.nbytes, call.into[call.n_ranks]),
    "alltoallv": lambda call: (call.out[call.n_ranks], call.into[call.n_ranks]),
    "alltoallw": lambda call: (call.out[call.n_ranks], call.into[call.n_ranks]),
    "reduce_scatter": lambda call: (call.out[call.n_ranks], call.nbytes),
    "reduce_scatter_block": lambda call: (call.n_ranks * call.nbytes, call.nbytes),
}
_ROOT_SIZES: Final[dict[str, _Sizes]] = {
    "bcast": lambda call: (call.nbytes, 0),
    "gather": lambda call: (call.nbytes, call.n_ranks * call.nbytes),
    "scatter": lambda call: (call.n_ranks * call.nbytes, call.nbytes),
    "gatherv": lambda call: (call.nbytes, call.into[call.n_ranks]),
    "scatterv": lambda call: (call.out[call.n_ranks], call.nbytes),
}
TIMED: Final = frozenset(f"{form}{operation}" for operation in (*_SIZES, *_ROOT_SIZES) for form in ("", "i"))
"""Operations that a network may time as a whole, in their blocking and non-blocking forms."""
OF_MESSAGES: Final = {"reduce": "linear", "ireduce": "linear"}
"""Algorithms of operations without a meeting under such a network: the root alone waits, for a message from each."""


@cache
def timed_by_network(operation: str, model: str) -> Algorithm:
    """The algorithm of one of `TIMED` that has the network time it by its model of this name."""
    blocking = operation.removeprefix("i")

    def meeting(call: Call) -> Schedule:
        steps = Schedule(call)
        if blocking in _SIZES:
            steps.meet(*_SIZES[blocking](call))
            return steps
        with steps.when(call.rank == call.root):
            steps.meet(*_ROOT_SIZES[blocking](call))
        with steps.when(call.rank != call.root):
            steps.meet(0, 0)
        return steps

    return Algorithm(operation, model, meeting, source="the network's model")
