"""Bytes of a message that have a content, when some of the memory of its entries has none."""

from __future__ import annotations

import resource
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import smpy
from smpy.mpi import MPI
from smpy.mpi.data import packing
from smpy.mpi.data.packing import packed_ranges
from tests.mpi.conftest import run_world
from tests.mpi.data.reference_typemaps import datatype, recipes, reference

SPAN = 60
TERABYTE = 1 << 40


@settings(max_examples=300)
@given(
    recipes(), st.integers(1, 3), st.integers(-SPAN, SPAN), st.lists(st.integers(-SPAN, SPAN), unique=True, max_size=12)
)
def test_ranges_of_memory_become_those_of_the_bytes_as_they_travel(
    recipe: Any, count: int, start: int, ends: list[int]
):
    expected, layout = reference(recipe), datatype(recipe)._layout
    ends = sorted(ends)
    ranges = list(zip(ends[::2], ends[1::2], strict=False))
    private = {byte for first, last in ranges for byte in range(first, last)}
    places = [start + entry * expected.extent + place for entry in range(count) for place in expected.places]
    found = packed_ranges(layout.typemap, ranges, start, count)
    assert [i for first, last in found for i in range(first, last)] == [
        i for i, at in enumerate(places) if at in private
    ]
    assert all(first < last for first, last in found)
    assert all(one[1] < other[0] for one, other in pairwise(found))


def test_many_stretches_are_looked_at_in_batches(monkeypatch):
    wide = MPI.INT.Create_indexed([1 + i % 3 for i in range(500)], [5 * i for i in range(500)]).Commit()
    ranges = [(at, at + 13) for at in range(0, 10_000, 17)]
    at_once = packed_ranges(wide._layout.typemap, ranges, 8, 2)
    monkeypatch.setattr(packing, "_BATCH", 7)
    assert packed_ranges(wide._layout.typemap, ranges, 8, 2) == at_once


def test_entries_far_apart_in_partly_shared_memory_cost_no_memory_between_them():
    """Columns of a matrix whose rows are gigabytes long, and absolute addresses."""

    def main(rank):
        world = MPI.COMM_WORLD
        row = TERABYTE // 4
        matrix = smpy.partial_shared_array(4 * row, np.uint8, private=[(0, 8), (row, row + 4), (3 * row, 3 * row + 8)])
        column = MPI.BYTE.Create_hvector(4, 8, row).Commit()
        matrix[:8] = matrix[row : row + 4] = matrix[3 * row : 3 * row + 8] = rank
        own = np.full(4, rank)
        apart = MPI.Datatype.Create_struct([1, 1], [MPI.Get_address(own), MPI.Get_address(own) + 24], [MPI.LONG] * 2)
        apart.Commit()
        if rank == 0:
            matrix[:8], own[:] = 7, 9
            world.Send([matrix, 1, column], 1)
            world.Send([MPI.BOTTOM, 1, apart], 1)
        else:
            world.Recv([matrix, 1, column], 0)
            world.Recv([MPI.BOTTOM, 1, apart], 0)
        return [
            matrix[:8].tolist(),
            matrix[row : row + 4].tolist(),
            matrix[3 * row : 3 * row + 8].tolist(),
            own.tolist(),
        ]

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert run_world(2, main).returned[1] == [[7] * 8, [0] * 4, [0] * 8, [9, 1, 1, 9]]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes
