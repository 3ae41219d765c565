"""MPI's names of the actions of a run, and the bytes that a rank moves in a collective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

_SEND_MODES: Final = ("", "s", "b", "")
_NAMES: Final = {
    "recv": "Recv",
    "irecv": "Irecv",
    "irecv_held": "Imrecv",
    "wait": "Wait",
    "wait_all": "Waitall",
    "wait_any": "Waitany",
    "test": "Test",
    "test_any": "Testany",
    "get_status": "Request_get_status",
    "iprobe": "Iprobe",
    "improbe": "Improbe",
    "probe": "Probe",
    "mprobe": "Mprobe",
    "cancel": "Cancel",
    "rget": "Rget",
    "lock": "Win_lock",
    "unlock": "Win_unlock",
    "complete": "Win_flush",
}
_ACCESSES: Final = {0: "Put", 1: "Get", 2: "Accumulate", 3: "Rput", 5: "Raccumulate"}
_OTHER_NAMES: Final = {"split": "Comm_split", "neighbour": "Neighbor_alltoallv", "ineighbour": "Ineighbor_alltoallv"}

OF_ROOT: Final = ("bcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
"""Collectives with a root."""


def name_of(action: str, detail: int, operation: str, *, is_over: bool) -> str:
    """Name of MPI's function without its prefix, such as "Send"; "" for what is none, and for reads of the clock.

    Parameters
    ----------
    action : str
        Name of the action.
    detail : int
        Its column of `actions`.
    operation : str
        Operation of a collective; "" for one that does nothing.
    is_over : bool
        Whether the call completed a request: a send of a call that did not is a started one.
    """
    if action in ("send", "isend"):
        name = f"{_SEND_MODES[detail]}send"
        return (name if is_over else f"i{name}").capitalize()
    if action in ("collective", "start"):
        return _OTHER_NAMES.get(operation, operation.removeprefix("inter_").capitalize())
    if action == "access":
        return _ACCESSES.get(detail, "Accumulate")
    if action in ("file_access", "file_iaccess"):
        return f"File_{'i' * (action == 'file_iaccess')}{'write' if detail % 2 else 'read'}"
    return _NAMES.get(action, "")


def bytes_of(
    operation: str, own: int, tables: Mapping[int, Sequence[int]], n_ranks: int, rank: int, root: int
) -> tuple[int, int]:
    """Bytes that a rank sends and receives in a collective in all, as Score-P counts them.

    A rank's own block is among both; a bcast sends a block to each rank; a reduction counts like the collective that
    moves its operands.

    Parameters
    ----------
    operation : str
        The operation, without an `i` before it.
    own : int
        Bytes of the message, or of the rank's block.
    tables : mapping
        Tables of offsets.
    n_ranks, rank, root : int
        Size of the communicator; the rank and the root in it.
    """
    n = n_ranks
    totals = {number: table[-1] for number, table in tables.items() if table}
    is_root = rank == root
    sizes: Mapping[str, tuple[int, int]] = {
        "bcast": (n * own * is_root, own),
        "scatter": (n * own * is_root, own),
        "scatterv": (totals.get(0, 0), own),
        "gather": (own, n * own * is_root),
        "split": (own, n * own * is_root),
        "gatherv": (own, totals.get(1, 0)),
        "reduce": (own, n * own * is_root),
        "allreduce": (n * own, n * own),
        "allgather": (n * own, n * own),
        "alltoall": (n * own, n * own),
        "allgatherv": (n * own, totals.get(1, 0)),
        "alltoallv": (totals.get(0, 0), totals.get(1, 0)),
        "alltoallw": (totals.get(0, 0), totals.get(1, 0)),
        "reduce_scatter": (totals.get(0, 0), n * own),
        "reduce_scatter_block": (n * own, n * own),
        "scan": ((n - rank) * own, (rank + 1) * own),
        "exscan": ((n - rank - 1) * own, rank * own),
    }
    return sizes.get(operation, (0, 0))


def sizes_of(operation: str, own: int, tables: Mapping[int, Sequence[int]], *, is_root: bool) -> tuple[int, int]:
    """Bytes sent and received in a collective as Extrae notes them: the sizes that the caller passes.

    Parameters
    ----------
    operation : str
        The operation, without an `i` before it.
    own : int
        Bytes of the message, or of the rank's block.
    tables : mapping
        Tables of offsets.
    is_root : bool
        Whether the rank is the root.
    """
    totals = {number: table[-1] for number, table in tables.items() if table}
    sizes: Mapping[str, tuple[int, int]] = {
        "bcast": (own * is_root, own * (not is_root)),
        "scatter": (own * is_root, own),
        "scatterv": (totals.get(0, 0), own),
        "gather": (own, own * is_root),
        "gatherv": (own, totals.get(1, 0)),
        "reduce": (own, own * is_root),
        "allgatherv": (own, totals.get(1, 0)),
        "alltoallv": (totals.get(0, 0), totals.get(1, 0)),
        "alltoallw": (totals.get(0, 0), totals.get(1, 0)),
        "reduce_scatter": (totals.get(0, 0), own),
        "barrier": (0, 0),
    }
    return sizes.get(operation, (own, own))
