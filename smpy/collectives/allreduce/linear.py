"""Every rank sends its vector to every other."""

from __future__ import annotations

from smpy.collectives.patterns.linear import to_everyone
from smpy.collectives.register import algorithm

algorithm("iallreduce", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(to_everyone)
