"""Reduce-scatter performed twice."""

from __future__ import annotations

from dataclasses import replace

from smpy.collectives.call import Call
from smpy.collectives.reduce_scatter.halving import halving, recursive_doubling
from smpy.collectives.register import algorithm
from smpy.collectives.schedule import Schedule


@algorithm(
    ("reduce_scatter", "reduce_scatter_block"),
    "noncommutative_twice",
    source="SimGrid 3.32, smpi_mvapich2_selector.cpp, for operations that may not be reordered",
)
def noncommutative_twice(call: Call) -> Schedule:
    """Halve the vector, then perform recursive doubling on the same vector; the second result remains."""
    steps = halving(call)
    steps.extend(recursive_doubling(replace(call, n_loops=steps.n_loops)))
    return steps
