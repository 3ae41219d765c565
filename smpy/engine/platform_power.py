"""The power and the states of hosts and links of a platform in the making."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from smpy.engine.kernel import ffi, lib
from smpy.engine.platform_refusals import checked_number
from smpy.errors import PlatformError
from smpy.platforms.models.power import HostPower, host_power, link_power

Properties = tuple[tuple[str, str], ...]


class PlatformPower:
    """Gives hosts and links their power; hosts that have the same states share them.

    Parameters
    ----------
    handle : pointer
        The kernel's platform.

    Attributes
    ----------
    of_others : tuple of (str, str)
        Properties of hosts that are added from now on, if their own say no power and they have one state.
    wire_w : tuple of float or None
        Idle and busy power of each link of the wires of clusters that are added from now on; None: not known.
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._sets: dict[HostPower, int] = {}
        self.of_others: Properties = ()
        self.wire_w: tuple[float, float] | None = None

    def set_hosts(
        self,
        first_host: int,
        n_hosts: int,
        name: str,
        properties: Properties,
        speed_flop_per_s: float,
        state_speeds_flop_per_s: Sequence[float],
        first_state: int,
    ) -> None:
        """Give hosts in a row, the first of them with a name, their states, if they have several or say their power.

        Raises
        ------
        PlatformError
            If states or powers are wrong.
        """
        power = self._of_host(name, properties, speed_flop_per_s, state_speeds_flop_per_s, first_state)
        if power is None:
            return
        if power not in self._sets:
            rows = ffi.new("power_state[]", power.states)
            numbers = len(rows), rows, power.first_state, power.has_power, power.off_w
            added = lib.platform_add_power_states(self._handle, *numbers)
            self._sets[power] = checked_number(added, "the power of hosts")
        at = first_host, n_hosts, self._sets[power]
        checked_number(lib.platform_set_power_states(self._handle, *at), "the power of hosts")

    def _of_host(
        self,
        name: str,
        properties: Properties,
        speed_flop_per_s: float,
        state_speeds_flop_per_s: Sequence[float],
        first_state: int,
    ) -> HostPower | None:
        if not 0 <= first_state < max(1, len(state_speeds_flop_per_s)):
            raise PlatformError(f"host {name!r} begins in state {first_state}, and has {len(state_speeds_flop_per_s)}")
        for speed in state_speeds_flop_per_s:
            if not speed > 0:
                raise PlatformError(f"host {name!r} has a speed of {speed:g} flop/s in a state: it must be above 0")
        known = dict(properties) if len(state_speeds_flop_per_s) > 1 else {**dict(self.of_others), **dict(properties)}
        try:
            return host_power(known, speed_flop_per_s, state_speeds_flop_per_s, first_state)
        except PlatformError as wrong:
            raise PlatformError(f"host {name!r}: {wrong}") from None

    def read_link(self, name: str, properties: Properties) -> tuple[float, float] | None:
        """Idle and busy power of a link, in W, as its properties say it; None: they do not.

        Raises
        ------
        PlatformError
            If a property is wrong.
        """
        try:
            return link_power(dict(properties))
        except PlatformError as wrong:
            raise PlatformError(f"link {name!r}: {wrong}") from None

    def set_link(self, link: int, name: str, power_w: tuple[float, float] | None) -> None:
        """Give a link its power, if it is known."""
        if power_w is not None:
            checked_number(lib.platform_set_link_power(self._handle, link, 1, *power_w), f"the power of link {name!r}")
