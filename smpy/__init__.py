"""Runs an mpi4py program on a simulated cluster and tells how long it would have taken.

What a program may import: `execute` (compute so many operations) and `folded` (an array without backing). Both also
work under a real MPI, where the first does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smpy.compute.execute import execute
    from smpy.compute.folded import folded

__all__ = ["execute", "folded"]


def __getattr__(name: str) -> Any:  # numpy is imported by the programs that fold, not by every run
    if name == "execute":
        from smpy.compute.execute import execute

        return execute
    if name == "folded":
        from smpy.compute.folded import folded

        return folded
    raise AttributeError(f"module 'smpy' has no attribute {name!r}")
