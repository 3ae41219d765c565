"""Blocks of collectives, from the totals of bytes that Score-P counts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.importers.collective_sizes import OPERATIONS, CallShape, shape_of

Totals = tuple[list[int], list[int]]


def totals(operation: str, root: int, blocks: list[int], *, in_place: bool) -> Totals:
    """Bytes sent and received by each rank in all, as Score-P's wrappers count them."""
    n, own = len(blocks), not in_place
    whole = sum(blocks)
    sent, received = [], []
    for rank, block in enumerate(blocks):
        others = n - 1 + own
        at_root = others * block if rank == root else 0
        rest = whole - (0 if own else block)
        kept = own or rank != root
        by_operation = {
            "bcast": ((n * block if rank == root else 0), block),
            "scatter": (at_root, block * kept),
            **dict.fromkeys(("gather", "split"), (block * kept, at_root)),
            "reduce": (block * kept, at_root),
            "scatterv": (rest if rank == root else 0, block * kept),
            "gatherv": (block * kept, rest if rank == root else 0),
            "allgatherv": (others * block, rest),
            "reduce_scatter": (rest, others * block),
            "scan": ((n - rank - 1 + own) * block, (rank + own) * block),
            "exscan": ((n - rank - 1) * block, rank * block),
            "barrier": (0, 0),
        }
        of_rank = by_operation.get(operation, (others * block, others * block))
        sent.append(of_rank[0])
        received.append(of_rank[1])
    return sent, received


def shape(operation: str, root: int, blocks: list[int], *, in_place: bool = False) -> CallShape:
    return shape_of(operation, root, *totals(operation, root, blocks, in_place=in_place))


EQUAL = sorted(
    set(OPERATIONS) - {"barrier", "alltoallv", "alltoallw", "gatherv", "scatterv", "allgatherv", "reduce_scatter"}
)


@pytest.mark.parametrize("operation", EQUAL)
@given(n=st.integers(2, 12), block=st.integers(0, 10**6), root=st.integers(0, 11))
def test_a_block_is_that_of_each_rank(operation: str, n: int, block: int, root: int):
    found = shape(operation, root % n, [block] * n)
    assert list(found.blocks) == [block] * n
    assert found.facts["nbytes"] == block
    assert not found.assumed


@pytest.mark.parametrize("operation", ["allreduce", "alltoall", "allgather", "scan", "gather", "reduce"])
@given(n=st.integers(3, 12), block=st.integers(1, 10**6))
def test_a_total_that_the_ranks_do_not_share_evenly_is_of_a_call_in_place(operation: str, n: int, block: int):
    if (n - 1) * block % n:
        assert list(shape(operation, 0, [block] * n, in_place=True).blocks) == [block] * n


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize(("operation", "table"), [("allgatherv", 1), ("reduce_scatter", 0)])
@given(blocks=st.lists(st.integers(0, 10**5), min_size=2, max_size=9))
def test_blocks_of_many_sizes_are_each_ranks_own(operation: str, table: int, in_place: bool, blocks: list[int]):
    found = shape(operation, 0, blocks, in_place=in_place)
    if in_place and sum(block * (len(blocks) - 1) // len(blocks) for block in blocks) == sum(blocks) - min(blocks):
        return  # the totals are those of another call, too
    assert list(found.blocks) == blocks
    offsets = found.tables[0][table]
    assert [after - before for before, after in itertools.pairwise(offsets)] == blocks


@pytest.mark.parametrize(("operation", "table"), [("gatherv", 1), ("scatterv", 0)])
@given(blocks=st.lists(st.integers(0, 10**5), min_size=1, max_size=9), root=st.integers(0, 8))
def test_the_root_alone_has_the_table_of_all_blocks(operation: str, table: int, blocks: list[int], root: int):
    root %= len(blocks)
    found = shape(operation, root, blocks)
    assert list(found.blocks) == blocks
    offsets = found.tables[root][table]
    assert [after - before for before, after in itertools.pairwise(offsets)] == blocks
    assert all(not tables for rank, tables in enumerate(found.tables) if rank != root)


@given(sent=st.lists(st.integers(0, 10**5), min_size=1, max_size=9))
def test_blocks_of_an_alltoallv_are_equal_and_agree_on_both_sides(sent: list[int]):
    n = len(sent)
    found = shape_of("alltoallv", 0, sent, sent)
    blocks = [
        [[after - before for before, after in itertools.pairwise(table)] for table in tables] for tables in found.tables
    ]
    assert [sum(out) for out, _ in blocks] == sent
    assert all(max(out) - min(out) <= 1 for out, _ in blocks)
    assert all(blocks[rank][0][peer] == blocks[peer][1][rank] for rank in range(n) for peer in range(n))
    assert found.assumed
