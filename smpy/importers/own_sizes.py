"""Sizes of a collective as its caller passes them, which Extrae notes and prv2dim copies, as totals of all messages."""

from __future__ import annotations

from typing import Final

_OF_A_ROOT: Final = ("bcast", "scatter")
_TO_A_ROOT: Final = ("gather", "split", "reduce")
_AMONG_ALL: Final = ("allreduce", "allgather", "alltoall", "reduce_scatter_block")


def totals_of(operation: str, sent: int, received: int, n: int, rank: int, *, is_root: bool) -> tuple[int, int]:
    """Bytes that a rank sends and receives in all, as `collective_sizes` has them.

    Parameters
    ----------
    operation : str
        Name of a blocking operation.
    sent, received : int
        Sizes of the call: of the message of bcast, reduce, allreduce and scan, of a block of gather, scatter, allgather
        and alltoall, and of the own block of a varying operation, whose other size is the sum of all blocks. One of the
        two may be 0.
    n, rank : int
        Ranks of the communicator; the rank in it.
    is_root : bool
        Whether the rank is the root.
    """
    own = max(sent, received)
    if operation in _OF_A_ROOT:
        return n * own * is_root, own
    if operation in _TO_A_ROOT:
        return own, n * own * is_root
    if operation in _AMONG_ALL:
        return n * own, n * own
    if operation == "allgatherv":
        return n * sent, received
    if operation == "reduce_scatter":
        return sent, n * received
    if operation == "scan":
        return (n - rank) * own, (rank + 1) * own
    if operation == "exscan":
        return (n - rank - 1) * own, rank * own
    return sent, received
