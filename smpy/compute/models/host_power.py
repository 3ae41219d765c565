"""States, power and energy of the running rank's host."""

from __future__ import annotations

from math import nan
from operator import index

from smpy.engine.running import current, is_running, mpi_call

__all__ = ["host_energy_j", "host_power_w", "host_pstate", "set_host_pstate"]


@mpi_call
def set_host_pstate(state: int) -> None:
    """Set the state (DVFS) of the running rank's host now; nothing outside a simulated run.

    All cores of the host go on at the speed of the state, also those of other ranks in the midst of a computation. The
    machine lists the states: several speeds of a host in XML, ``[power] states`` in TOML.

    Parameters
    ----------
    state : int
        State, counted from 0.

    Raises
    ------
    IndexError
        If the host has no such state.
    TypeError
        If it is no whole number.
    """
    try:
        number = index(state)
    except TypeError:
        raise TypeError(f"set_host_pstate: state is of type {type(state).__name__}, not an integer") from None
    if is_running():
        current().set_host_state(number)


@mpi_call
def host_pstate() -> int:
    """State of the running rank's host now; 0 outside a simulated run."""
    return current().host_state() if is_running() else 0


@mpi_call
def host_energy_j() -> float:
    """Joules of the running rank's host so far; NaN if unknown (power, skipped iterations), or outside a simulation."""
    return current().host_energy_j() if is_running() else nan


@mpi_call
def host_power_w() -> float:
    """Power of the running rank's host now, in W; NaN if unknown, or outside a simulated run."""
    return current().host_power_w() if is_running() else nan
