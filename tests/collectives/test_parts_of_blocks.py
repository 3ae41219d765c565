"""Parts of large blocks in an allgatherv's ring."""

from __future__ import annotations

import pytest

from smpy.collectives.parts import PART_BYTES, ring_parts
from tests.collectives.schedule_world import calls_of, known_at_the_end, offsets, received, sent

COUNTS = [(5, 0, 12, 1), (10, 9, 30, 9, 10), (0, 40, 0), (7, 30), (3, 3, 3, 3, 3, 31)]


def parts_of(counts: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Parts of blocks of so many eighths of 256 KiB."""
    parts = ring_parts(counts, PART_BYTES // 8)
    assert parts is not None
    return list(parts[0]), list(parts[1])


@pytest.mark.parametrize("counts", COUNTS)
def test_parts_make_up_the_blocks_from_the_last_to_the_first_and_none_is_above_the_limit(
    counts: tuple[int, ...],
) -> None:
    firsts, sizes = parts_of(counts)
    ends = [len(sizes) if rank == 0 else firsts[rank - 1] for rank in range(len(counts))]
    assert [sum(sizes[first:end]) for first, end in zip(firsts, ends, strict=False)] == [
        count * PART_BYTES // 8 for count in counts
    ]
    assert max(sizes) <= max(PART_BYTES, min(counts) * PART_BYTES // 8)
    assert firsts[-1] == len(sizes)


@pytest.mark.parametrize("counts", [(4, 8, 0), (9, 9, 9), (0, 0)])
def test_small_or_equal_blocks_have_no_parts(counts: tuple[int, ...]) -> None:
    assert ring_parts(counts, PART_BYTES // 8) is None


@pytest.mark.parametrize("counts", COUNTS)
def test_all_parts_come_to_every_rank_in_the_ring(counts: tuple[int, ...]) -> None:
    sizes = [count * PART_BYTES // 8 for count in counts]
    tables = ([0], offsets(sizes), *parts_of(counts))
    n_ranks = len(counts)
    calls = calls_of("allgatherv:chunked_logical_ring", n_ranks, 0, sizes.__getitem__, tables=lambda rank: tables)
    assert sent(calls) == received(calls)
    with_content = {rank for rank in range(n_ranks) if counts[rank]}
    assert all(known >= with_content for known in known_at_the_end(calls))
    for rank, own in enumerate(calls):
        assert sum(step.bytes_in for step in own) == sum(sizes) - sizes[rank]
