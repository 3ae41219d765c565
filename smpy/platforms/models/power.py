"""Power of hosts in each of their states, and of links, as in SimGrid's properties and our TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from smpy.errors import PlatformError
from smpy.platforms.models.prices import LINK_POWER_PROPERTIES, OFF_PROPERTY, POWER_PROPERTY


class PowerState(NamedTuple):
    """Speed and power of a host in one of its states (DVFS).

    Parameters
    ----------
    speed_flop_per_s : float
        Speed of a core.
    idle_w : float
        Power while no core is loaded.
    epsilon_w : float
        Power of a host that is not idle, extrapolated to no load.
    busy_w : float
        Power with all cores busy. Between, it is linear in the load.
    """

    speed_flop_per_s: float
    idle_w: float
    epsilon_w: float
    busy_w: float


class HostPower(NamedTuple):
    """States of a host, and its power in each.

    Parameters
    ----------
    states : tuple of PowerState
        The states, counted from 0.
    first_state : int
        State in which it begins.
    has_power : bool
        Whether the power of the states is known; else it is written as 0 W.
    off_w : float
        Power of the host when it is off.
    """

    states: tuple[PowerState, ...]
    first_state: int = 0
    has_power: bool = True
    off_w: float = 0.0


def host_power(
    properties: Mapping[str, str], speed_flop_per_s: float, state_speeds_flop_per_s: Sequence[float], first_state: int
) -> HostPower | None:
    """States and power of a host; None if it has one state and no property states its power.

    Parameters
    ----------
    properties : mapping of str to str
        Its properties.
    speed_flop_per_s : float
        Speed of a core in the first state. The others keep their ratios to it.
    state_speeds_flop_per_s : sequence of float
        Speeds of all states; empty: there is one.
    first_state : int
        State in which it begins.

    Raises
    ------
    PlatformError
        If a property is wrong.

    Examples
    --------
    >>> host_power({"wattage_per_state": "100:120:200"}, 1e9, (), 0).states
    (PowerState(speed_flop_per_s=1000000000.0, idle_w=100.0, epsilon_w=120.0, busy_w=200.0),)
    """
    text = properties.get(POWER_PROPERTY)
    speeds = tuple(state_speeds_flop_per_s) or (speed_flop_per_s,)
    if text is None and len(speeds) == 1:
        return None
    watts = ((0.0, 0.0, 0.0),) * len(speeds) if text is None else read_states_w(text, len(speeds))
    ratio = speed_flop_per_s / speeds[first_state]
    states = tuple(PowerState(ratio * speed, *powers) for speed, powers in zip(speeds, watts, strict=True))
    off = properties.get(OFF_PROPERTY)
    return HostPower(states, first_state, text is not None, 0.0 if off is None else read_off_w(off))


def read_states_w(text: str, n_states: int) -> tuple[tuple[float, float, float], ...]:
    """Idle power, epsilon and busy power of each state of "100:120:200, 90:110:150", in W.

    Raises
    ------
    PlatformError
        If it is wrong, or has another number of states.

    Examples
    --------
    >>> read_states_w("100:120:200, 90:150", 2)
    ((100.0, 120.0, 200.0), (90.0, 90.0, 150.0))
    """
    entries = text.split(",")
    if len(entries) != n_states:
        raise _wrong(
            POWER_PROPERTY,
            text,
            f"it has {_counted(len(entries), 'state')}, and the host {_counted(n_states, 'speed')}",
        )
    states = []
    for entry in entries:
        numbers = [_watts(POWER_PROPERTY, text, part) for part in entry.split(":")]
        if len(numbers) not in (2, 3):
            raise _wrong(POWER_PROPERTY, text, f"{entry.strip()!r} is neither Idle:AllCores nor Idle:Epsilon:AllCores")
        if numbers[0] > numbers[-1]:
            raise _wrong(POWER_PROPERTY, text, f"an idle host draws {numbers[0]:g} W, and a busy one {numbers[-1]:g} W")
        states.append((numbers[0], numbers[-2], numbers[-1]))
    return tuple(states)


def read_off_w(text: str) -> float:
    """Power of a host that is off, in W.

    Raises
    ------
    PlatformError
        If it is none.
    """
    return _watts(OFF_PROPERTY, text, text)


def link_power(properties: Mapping[str, str]) -> tuple[float, float] | None:
    """Idle and busy power of a link, in W; None if no property states it.

    Raises
    ------
    PlatformError
        If the property is wrong.

    Examples
    --------
    >>> link_power({"wattage_range": "10:30"})
    (10.0, 30.0)
    """
    for name in LINK_POWER_PROPERTIES:
        if name not in properties:
            continue
        text = properties[name]
        numbers = [_watts(name, text, part) for part in text.split(":")]
        if len(numbers) != 2:
            raise _wrong(name, text, "write it as Idle:Busy, such as 10:30")
        if numbers[0] > numbers[1]:
            raise _wrong(name, text, f"an idle link draws {numbers[0]:g} W, and a busy one {numbers[1]:g} W")
        return numbers[0], numbers[1]
    return None


def _watts(name: str, text: str, part: str) -> float:
    try:
        watts = float(part)
    except ValueError:
        raise _wrong(name, text, f"{part.strip()!r} is no number of watts") from None
    if not 0 <= watts < inf:
        raise _wrong(name, text, f"{part.strip()} W is no power: give one from 0 on")
    return watts


def _wrong(name: str, text: str, message: str) -> PlatformError:
    return PlatformError(f"property {name!r}: {text!r}: {message}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
