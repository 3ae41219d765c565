"""A collective call in symbols, for which an algorithm gives one program for all ranks."""

from __future__ import annotations

from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.hosts import Hosts
from smpy.collectives.schedule import NBYTES, RANK, ROOT, EqualBlocks, ScheduleTable

_VARYING: Final = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter", "neighbour"}
_VARYING_BETWEEN_GROUPS: Final = {*_VARYING, "allgather", "alltoall"}
_N_TABLES: Final = 4


def symbolic_call(
    operation: str,
    n_ranks: int,
    *,
    item_bytes: int = 1,
    n_remote: int = 0,
    hosts: Hosts | None = None,
    nbytes: int | None = None,
) -> Call:
    """Return a call in symbols, for the program of every rank; with `nbytes`, all blocks have that size."""
    out, into, targets, sources = (ScheduleTable(k) for k in range(_N_TABLES))
    is_varying = _has_varying_blocks(operation)
    size = NBYTES if nbytes is None or is_varying else nbytes
    blocks = EqualBlocks(size)
    return Call(
        rank=RANK,
        n_ranks=n_ranks,
        root=ROOT,
        nbytes=size,
        out=out if is_varying else blocks,
        into=into if is_varying else blocks,
        item_bytes=item_bytes,
        n_remote=n_remote,
        targets=targets,
        sources=sources,
        hosts=hosts,
    )


def _has_varying_blocks(operation: str) -> bool:
    """Whether ranks pass tables with the offsets of the operation's blocks."""
    name = operation.removeprefix("inter_")
    varying = _VARYING if name == operation else _VARYING_BETWEEN_GROUPS
    return name in varying or name.removeprefix("i") in varying
