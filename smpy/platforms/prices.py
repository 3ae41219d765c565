"""What the parts of a machine cost and draw; nothing that is simulated depends on it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

HOST_PROPERTIES: Final = {
    "host_eur": "price_per_host",
    "host_hour_eur": "price_per_host_hour",
}  # a host's property that says what a field of `Prices` says of all hosts
POWER_PROPERTY: Final = "wattage_per_state"  # SimGrid's: idle, perhaps with one core busy, with all cores busy
COST_PROPERTIES: Final = frozenset({*HOST_PROPERTIES.values(), POWER_PROPERTY, "wattage_off"})
"""The properties of hosts that tell what these cost and draw."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What is known of prices and power; None: nothing.

    Parameters
    ----------
    host_eur, host_hour_eur : float or None
        Of a host to buy, and of an hour of it to rent; they stand above what the properties of single hosts say.
    switch_eur, switch_port_eur : float or None
        Of a switch, and of each of its ports that has a cable; where only one is known, it is the whole price.
    cable_eur, switch_cable_eur : float or None
        Of a cable, and of one between two switches if that is another price.
    kwh_eur : float or None
        Of a kilowatt-hour.
    lifetime_years : float or None
        In which the price of the machine is written off.
    host_idle_w, host_busy_w : float or None
        Of a host, with all cores idle and with all of them busy; they stand above the properties of single hosts.
    switch_w : float or None
        Of a switch.
    """

    host_eur: float | None = None
    host_hour_eur: float | None = None
    switch_eur: float | None = None
    switch_port_eur: float | None = None
    cable_eur: float | None = None
    switch_cable_eur: float | None = None
    kwh_eur: float | None = None
    lifetime_years: float | None = None
    host_idle_w: float | None = None
    host_busy_w: float | None = None
    switch_w: float | None = None

    def above(self, others: Prices) -> Prices:
        """These, and of others what these do not say.

        Examples
        --------
        >>> Prices(cable_eur=100).above(Prices(cable_eur=1, kwh_eur=0.2)) == Prices(cable_eur=100, kwh_eur=0.2)
        True
        """
        own = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return replace(others, **own)


NO_PRICES: Final = Prices()
