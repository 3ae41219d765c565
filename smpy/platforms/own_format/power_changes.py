"""The changes that --set makes to the power of hosts of any machine: the keys of [power] that are of hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from smpy.platforms.description import Description
from smpy.platforms.models.power import read_states_w
from smpy.platforms.models.prices import OFF_PROPERTY, POWER_PROPERTY
from smpy.platforms.own_format.host_properties import with_host_properties
from smpy.platforms.own_format.prices import read_host_power
from smpy.platforms.own_format.settings import TomlTable
from smpy.units import parse_power_w

_OF_STATE: Final = ("idle", "one_core", "busy")
HOST_POWER_KEYS: Final = (*_OF_STATE, "off")


def with_host_power(machine: Description, power: TomlTable) -> Description:
    """A machine whose hosts have the power of [power]; a key that is missing leaves the hosts' own numbers.

    Raises
    ------
    PlatformError
        If a value is wrong, or hosts have several states, each with a power of its own.
    """
    zone = with_host_properties(machine.zone, lambda known, n_states: _properties(known, n_states, power))
    return replace(machine, zone=zone)


def _properties(known: dict[str, str], n_states: int, power: TomlTable) -> dict[str, str]:
    """The properties of hosts, with their power changed."""
    changed = [key for key in _OF_STATE if power.mentions(key)]
    for key in changed:
        if n_states > 1:
            raise power.error(key, f"hosts have {n_states} states, each with a power of its own: change the machine")
        if POWER_PROPERTY not in known and not power.is_written(key):
            raise power.error(key, "a host says no power, and nothing times a factor is nothing: give its value")
    if changed:
        before = known.get(POWER_PROPERTY, "0:0")
        idle_w, epsilon_w, busy_w = read_states_w(before, 1)[0]
        idle_w, busy_w = read_host_power(power, idle_w, busy_w)
        watts = [idle_w, busy_w]
        if "one_core" in changed or before.count(":") == 2:
            watts.insert(1, power.quantity("one_core", parse_power_w, "250W", epsilon_w))
        known[POWER_PROPERTY] = ":".join(map(repr, watts))
    if power.mentions("off"):
        known[OFF_PROPERTY] = repr(power.quantity("off", parse_power_w, "10W", float(known.get(OFF_PROPERTY, "0"))))
    return known
