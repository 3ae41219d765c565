"""Allgather along rows and columns."""

from __future__ import annotations

from smpy.collectives.call import Call
from smpy.collectives.patterns.meshes import box, in_box, in_rectangle, rectangle
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm("allgather", "mesh_2d", simgrid="2dmesh", source="SimGrid 3.32, allgather-2dmesh.cpp")
def mesh_2d(call: Call) -> Schedule:
    """Send the own block along the row, then all blocks of the row along the column."""
    steps, nbytes = Schedule(call), call.nbytes
    _, width = rectangle(call.n_ranks)
    in_rectangle(steps, call, nbytes, width * nbytes)
    return steps


@algorithm("allgather", "mesh_3d", simgrid="3dmesh", source="SimGrid 3.32, allgather-3dmesh.cpp")
def mesh_3d(call: Call) -> Schedule:
    """Send the own block along the row, the row's along the column, the square's to its position in other squares."""
    steps, nbytes = Schedule(call), call.nbytes
    side, _ = box(call.n_ranks)
    in_box(steps, call, nbytes, side * nbytes, side * side * nbytes)
    return steps
