"""Computing that is told instead of done."""

from __future__ import annotations

from smpy.engine.running import current, is_running, mpi_call


@mpi_call
def execute(flop: float) -> None:
    """Let the running rank compute `flop` operations on a core of its simulated host; nothing outside a simulated run.

    Parameters
    ----------
    flop : float
        Floating-point operations.

    Raises
    ------
    ValueError
        If it is negative or not a number.
    """
    if not flop >= 0:
        raise ValueError(f"cannot compute {flop} operations: give a number of at least 0")
    if is_running():
        current().compute(flop)
