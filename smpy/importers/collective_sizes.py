"""Blocks of a collective call, from the bytes that each rank sent and received in all.

Totals are as Score-P counts them: a rank's own block is among both, unless it works in place; a bcast sends a block to
each rank; a reduction counts like the collective that moves its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final

from smpy.collectives.parts import PART_BYTES, ring_parts

Tables = Sequence[Sequence[int]]

_ENTRY_BYTES: Final = 8  # of a reduction: traces do not tell the datatype


@dataclass(frozen=True, slots=True)
class CallShape:
    """A collective call as a replay performs it.

    Attributes
    ----------
    blocks : sequence of int
        Bytes of the message, or of the own block, of each rank.
    facts : dict
        Arguments of `TraceBuilder.collective`.
    tables : sequence of tables
        Offsets of blocks for each rank; empty: there are none.
    assumed : str
        Sentence about sizes that the totals do not tell; empty: they tell all.
    """

    blocks: Sequence[int]
    facts: dict[str, Any] = field(default_factory=dict)
    tables: Sequence[Tables] = ()
    assumed: str = ""


def shape_of(operation: str, root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    """Shape of a call.

    Parameters
    ----------
    operation : str
        Name of a blocking operation in `smpy.collectives.register`.
    root : int
        The root, if there is one.
    sent, received : sequence of int
        Bytes in all, of each rank of the communicator.
    """
    return _SHAPES[operation](root, sent, received)


def _barrier(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return CallShape([0] * len(sent))


def _from_root(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _equal(_of_others(root, received, sent), len(sent))


def _to_root(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _equal(_of_others(root, sent, received), len(sent))


def _reduce(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _reduced(_of_others(root, sent, received), len(sent))


def _of_others(root: int, theirs: Sequence[int], of_root: Sequence[int]) -> int:
    """Block of a rank that is not the root; a root alone has one block for itself."""
    return theirs[1 if root == 0 else 0] if len(theirs) > 1 else of_root[0]


def _among_all(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _equal(_share(received[0], len(sent)), len(sent))


def _allreduce(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _reduced(_share(received[0], len(sent)), len(sent))


def _reduce_scatter_block(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    n, block = len(sent), _share(received[0], len(sent))
    return CallShape([block] * n, {"nbytes": block, **_entries(n * block)})


def _scan(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    n = len(sent)
    has_own = sent[-1] > 0  # the last rank sends to nobody else
    return _reduced(sent[0] // (n if has_own else max(n - 1, 1)), n)


def _equal(block: int, n: int) -> CallShape:
    return CallShape([block] * n, {"nbytes": block})


def _reduced(nbytes: int, n: int) -> CallShape:
    return CallShape([nbytes] * n, {"nbytes": nbytes, **_entries(nbytes)})


def _entries(nbytes: int) -> dict[str, int]:
    item_bytes = next(size for size in (_ENTRY_BYTES, 4, 2, 1) if nbytes % size == 0)
    return {"item_bytes": item_bytes, "n_entries": nbytes // item_bytes}


def _share(total: int, n: int) -> int:
    """Block of each of n ranks; a total that n does not divide is without the rank's own block."""
    return total // n if total % n == 0 or total % (n - 1) else total // (n - 1)


def _gatherv(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _varying_of_root(root, sent, lambda offsets: ((), offsets))


def _scatterv(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    return _varying_of_root(root, received, lambda offsets: (offsets,))


def _varying_of_root(root: int, blocks: Sequence[int], tables_of: Callable[[list[int]], Tables]) -> CallShape:
    tables: list[Tables] = [()] * len(blocks)
    tables[root] = tables_of(_offsets(blocks))
    return CallShape(blocks, {"nbytes": blocks[0]}, tables)


def _allgatherv(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    blocks = _own_blocks(sent, received)
    offsets = _offsets(blocks)
    parts = ring_parts(tuple(blocks), 1) if offsets[-1] > PART_BYTES else None
    facts = {
        "nbytes": blocks[0],
        "n_entries": offsets[-1],
        "total_bytes": offsets[-1],
        "in_parts": parts is not None,
    }
    return CallShape(blocks, facts, [((), offsets, *(parts or ()))] * len(blocks))


def _reduce_scatter(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    blocks = _own_blocks(received, sent)
    offsets = _offsets(blocks)
    facts = {
        "nbytes": blocks[0],
        "total_bytes": offsets[-1],
        "are_equal": len(set(blocks)) == 1,
        **_entries(offsets[-1]),
    }
    return CallShape(blocks, facts, [(offsets,)] * len(blocks))


def _own_blocks(many_times: Sequence[int], totals: Sequence[int]) -> list[int]:
    """Own block of each rank, from n times the block, or n - 1 times in place, and from all blocks together."""
    n = len(totals)
    blocks = [total // n for total in many_times]
    if sum(blocks) == max(totals):
        return blocks
    in_place = [total // max(n - 1, 1) for total in many_times]
    return in_place if sum(in_place) - in_place[0] == totals[0] else blocks


def _alltoallv(root: int, sent: Sequence[int], received: Sequence[int]) -> CallShape:
    n = len(sent)
    blocks = [[total // n + (peer < total % n) for peer in range(n)] for total in sent]
    tables = [(_offsets(blocks[rank]), _offsets([row[rank] for row in blocks])) for rank in range(n)]
    return CallShape([0] * n, {}, tables, "blocks of an alltoallv are taken to be equal: the trace has their total")


def _offsets(blocks: Sequence[int]) -> list[int]:
    return list(accumulate(blocks, initial=0))


_SHAPES: Final[dict[str, Callable[[int, Sequence[int], Sequence[int]], CallShape]]] = {
    "barrier": _barrier,
    "bcast": _from_root,
    "scatter": _from_root,
    "gather": _to_root,
    "split": _to_root,
    "reduce": _reduce,
    "allgather": _among_all,
    "alltoall": _among_all,
    "allreduce": _allreduce,
    "reduce_scatter_block": _reduce_scatter_block,
    "scan": _scan,
    "exscan": _scan,
    "gatherv": _gatherv,
    "scatterv": _scatterv,
    "allgatherv": _allgatherv,
    "reduce_scatter": _reduce_scatter,
    "alltoallv": _alltoallv,
    "alltoallw": _alltoallv,
}
OPERATIONS: Final = tuple(_SHAPES)
"""Operations that can be imported."""

OF_ROOT: Final = ("bcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
"""Operations with a root."""
