"""Alltoall along rows and columns."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.meshes import box, in_box, in_rectangle, rectangle
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("alltoall", "mesh_2d", simgrid="2dmesh", source="SimGrid 3.32, alltoall-2dmesh.cpp")
def mesh_2d(call: Call) -> Schedule:
    """Send all blocks to the ranks of the row, then each rank of the column the row's blocks for it."""
    steps, nbytes = Schedule(call), call.nbytes
    _, width = rectangle(call.n_ranks)
    in_rectangle(steps, call, call.n_ranks * nbytes, width * nbytes)
    return steps


@algorithm("alltoall", "mesh_3d", simgrid="3dmesh", source="SimGrid 3.32, alltoall-3dmesh.cpp")
def mesh_3d(call: Call) -> Schedule:
    """Exchange all blocks along rows, then along columns of a square, then between the same positions of squares."""
    steps, nbytes = Schedule(call), call.nbytes
    side, _ = box(call.n_ranks)
    in_box(steps, call, call.n_ranks * nbytes, side * call.n_ranks * nbytes, side * side * nbytes)
    return steps
