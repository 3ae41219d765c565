"""Comparing the algorithms of a collective takes seconds."""

from __future__ import annotations

import time

import pytest

from smpy.study.collective_comparison import compare_collective

pytestmark = pytest.mark.bench

LIMIT_S = 20.0


def test_every_alltoall_at_14_sizes_on_64_ranks_takes_seconds() -> None:
    began_s = time.process_time()
    found = compare_collective("alltoall", 64, [8 << k for k in range(14)])
    taken_s = time.process_time() - began_s
    print(f"{len(found.times_s)} algorithms, {len(found.sizes_bytes)} sizes: {taken_s:.1f} s")
    assert taken_s < LIMIT_S
