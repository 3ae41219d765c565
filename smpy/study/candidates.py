"""Machines that can be bought: combinations of a study's axes, with all sizes in between, and their prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from smpy.errors import UsageError
from smpy.platforms.description import Description
from smpy.study.axes import DRAWN, Axis, Value
from smpy.study.cost import MachineCost, machine_cost
from smpy.study.definition import Definition
from smpy.study.machines import MachineReader, has_places
from smpy.study.points import Point, points_of

SIZE: Final = "set.host.count"
"""Axis whose whole numbers between the least and the greatest are sizes, too."""

_MACHINES_MAX: Final = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A machine that can be bought.

    Attributes
    ----------
    values : tuple of Value
        Values of the axes.
    cost : MachineCost
        Its parts, prices and power.
    points : tuple of Point
        Runs of all programs on it.
    """

    values: tuple[Value, ...]
    cost: MachineCost
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Machines of a study.

    Attributes
    ----------
    first : Candidate
        The first machine of the axes.
    machines : tuple of Candidate
        All machines on which each rank of each program has cores of its own.
    n_too_small : int
        Number of machines without room for the ranks.
    """

    first: Candidate
    machines: tuple[Candidate, ...]
    n_too_small: int


def candidates(definition: Definition) -> Candidates:
    """Machines of a study, with all sizes in between.

    Raises
    ------
    UsageError
        If axes are no axes of machines, a machine cannot be read, or a price is missing.
    """
    _check_axes(definition)
    listed = {combination.values for combination in definition.combinations()}
    all_sizes = replace(definition, axes=tuple(map(_with_sizes_between, definition.axes)))
    n = prod(len(axis.values) for axis in all_sizes.axes) if definition.combine == "grid" else len(listed)
    if n > _MACHINES_MAX:
        raise UsageError(f"the axes have {n:,} machines; {_MACHINES_MAX:,} are the most: give fewer values or sizes")
    reader = MachineReader(definition.folder)
    first: Candidate | None = None
    machines: list[Candidate] = []
    n_too_small = 0
    for combination in all_sizes.combinations():
        is_listed = combination.values in listed
        try:
            points = points_of(definition, [combination])
            its_machines = [reader.machine(point.run) for point in points]
        except UsageError:
            if is_listed:
                raise
            continue  # no such machine has this size
        candidate = Candidate(combination.values, _cost(its_machines, definition), tuple(points))
        has_room = all(has_places(point.run, machine) for point, machine in zip(points, its_machines, strict=True))
        first = candidate if first is None and is_listed else first
        n_too_small += not has_room
        machines += [candidate] if has_room else []
    if first is None:
        raise UsageError("the study has no machines: give it [axes] or [[points]]")
    return Candidates(first, tuple(machines), n_too_small)


def _check_axes(definition: Definition) -> None:
    if definition.combine in DRAWN:
        raise UsageError(f'combine = "{definition.combine}" draws machines: a purchase compares those of a grid')
    for name in definition.setting_names:
        if name.startswith("args.") or name == "seed":
            raise UsageError(f"axis {name!r} changes the work, and a purchase compares machines: keep one value of it")


def _with_sizes_between(axis: Axis) -> Axis:
    if axis.name != SIZE:
        return axis
    sizes = [value for value in axis.values if isinstance(value, int)]
    if len(sizes) < len(axis.values):
        return axis
    values = range(min(sizes), max(sizes) + 1)
    return Axis(SIZE, tuple(values), [{SIZE: value} for value in values])


def _cost(machines: Sequence[Description], definition: Definition) -> MachineCost:
    """Cost of a machine, which is the same for all programs."""
    if len({machine.n_hosts for machine in machines}) > 1:
        raise UsageError(f"a machine has another size for each program: say how many hosts it has ({SIZE})")
    cost = machine_cost(machines[0], definition.prices)
    if math.isnan(cost.price_eur):
        raise UsageError(f"{_missing(cost)}: add it to the machine, or to the study's prices (docs/your-machine.md)")
    return cost


def _missing(cost: MachineCost) -> str:
    """The first price that is missing."""
    if math.isnan(cost.n_switches):
        return "the parts of this topology have no formula, and so no price"
    if math.isnan(cost.hosts_eur):
        rented = "" if math.isnan(cost.hosts_hour_eur) else ", which are rented by the hour"
        return f"there is no price.host_eur of hosts{rented}"
    return f"there is no price.{'switch_port_eur of switches' if math.isnan(cost.switches_eur) else 'cable_eur'}"
