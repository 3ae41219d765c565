"""Allgather in which every rank sends its block to every other at once."""

from __future__ import annotations

from smpy.collectives.patterns.linear import and_wait, to_everyone
from smpy.collectives.register import algorithm

algorithm(("iallgather", "iallgatherv"), "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_everyone)
algorithm(("allgather", "allgatherv"), "linear", source="SimGrid 3.32, smpi_default_selector.cpp")(
    and_wait(to_everyone)
)
