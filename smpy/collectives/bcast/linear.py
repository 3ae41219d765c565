"""Broadcast in which the root sends to all others at once."""

from __future__ import annotations

from smpy.collectives.patterns.linear import and_wait, from_root
from smpy.collectives.register import algorithm

algorithm("ibcast", "linear", source="SimGrid 3.32, smpi_nbc_impl.cpp")(from_root)
algorithm("bcast", "linear", simgrid="flattree", source="SimGrid 3.32, bcast-flattree.cpp")(and_wait(from_root))
