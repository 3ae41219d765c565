"""Energy of a finished run: Joules of hosts and links from the kernel, those of switches, and their price."""

from __future__ import annotations

from smpy.engine.engine import Engine
from smpy.platforms.description import Description
from smpy.records.energy import Energy, energy_of


def run_energy(
    engine: Engine, machine: Description, makespan_s: float, above_idle_j: float, *, lists_all: bool
) -> Energy:
    """Energy of a run on a machine that says power of some part.

    Parameters
    ----------
    engine : Engine
        Its world, before it is closed.
    machine : Description
        The machine.
    makespan_s : float
        Date at which the run ended.
    above_idle_j : float
        Joules of its ranks, as the profile has them.
    lists_all : bool
        Whether its record lists all hosts and links, however many.
    """
    parts, switch_w = machine.parts_list, machine.prices.switch_w
    return energy_of(
        engine.hosts_energy(),
        engine.links_energy(),
        above_idle_j,
        None if parts is None or switch_w is None else parts.n_switches * switch_w * makespan_s,
        machine.prices.kwh_eur,
        lists_all=lists_all,
    )
