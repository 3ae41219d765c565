"""Computing that is told instead of done."""

from __future__ import annotations

import sys

from smpy.engine.kernel import surface
from smpy.engine.running import current, is_running, mpi_call

__all__ = ["execute", "is_simulated"]


def execute(flop: float) -> None:
    """Let the running rank compute `flop` operations on a core of its simulated host; nothing outside a simulated run.

    Parameters
    ----------
    flop : float
        Floating-point operations.

    Raises
    ------
    ValueError
        If it is negative, infinite or NaN.
    TypeError
        If it is no number at all.
    """
    if surface is None or not surface.compute(flop):
        _execute(flop)


@mpi_call
def _execute(flop: float) -> None:
    if not 0 <= flop <= sys.float_info.max:
        raise ValueError(f"cannot compute {flop} operations: give a finite number of at least 0")
    if is_running():
        current().compute(flop)


def is_simulated() -> bool:
    """Whether the program runs under `smpy run`, and not under a real MPI."""
    return is_running()
