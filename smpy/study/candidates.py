"""Machines that can be bought: combinations of a study's axes, with all sizes in between, and their prices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from smpy.errors import UsageError
from smpy.platforms.description import Description
from smpy.study.axes import DRAWN, Axis, Combination, Value
from smpy.study.cost import MachineCost, machine_cost
from smpy.study.definition import Definition
from smpy.study.machines import MachineReader, check_sizes, has_places
from smpy.study.points import Point, points_of

SIZE: Final = "set.host.count"
"""Axis of a grid whose whole numbers between the least and the greatest are sizes, too."""

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
    listed = definition.combinations()
    _check_settings(definition, listed)
    sizes = _of_all_sizes(definition)
    n = _n_machines(sizes)
    if n > _MACHINES_MAX:
        raise UsageError(f"the axes have {n:,} machines; {_MACHINES_MAX:,} are the most: give fewer values or sizes")
    values = {combination.values for combination in listed}
    reader = MachineReader(definition.folder)
    first: Candidate | None = None
    machines: list[Candidate] = []
    n_too_small = 0
    for combination in sizes.combinations():
        is_listed = combination.values in values
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


def points_between(definition: Definition) -> list[Point]:
    """Points of the sizes between those of a study's axes, which run for purchases alone; each is number 0."""
    sizes = _of_all_sizes(definition)
    if sizes is definition or _n_machines(sizes) > _MACHINES_MAX:
        return []
    listed = {combination.values for combination in definition.combinations()}
    points: list[Point] = []
    for combination in sizes.combinations():
        if combination.values not in listed:
            with suppress(UsageError):  # no such machine has this size
                points += points_of(definition, [combination])
    return points


def _check_settings(definition: Definition, listed: Sequence[Combination]) -> None:
    """Refuse machines that are drawn, or whose work differs."""
    if definition.combine in DRAWN:
        raise UsageError(f'combine = "{definition.combine}" draws machines: a purchase compares those of a grid')
    for key in dict.fromkeys(key for combination in listed for key in combination.settings):
        is_work = key.startswith("args.") or key == "seed"
        if is_work and len({repr(combination.settings.get(key)) for combination in listed}) > 1:
            raise UsageError(f"{key!r} changes the work, and a purchase compares machines: keep one value of it")


def _n_machines(sizes: Definition) -> int:
    if sizes.combine == "grid":
        return prod(len(axis.values) for axis in sizes.axes)
    return len(sizes.combinations())


def _of_all_sizes(definition: Definition) -> Definition:
    """The study with the sizes between in its axes; itself if it has none."""
    axes = tuple(map(_with_sizes_between, definition.axes))
    return replace(definition, axes=axes) if definition.combine == "grid" and axes != definition.axes else definition


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
    check_sizes(machine.n_hosts for machine in machines)
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
