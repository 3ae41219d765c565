"""Prices and power of the parts of a machine; simulated times do not depend on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Final

HOST_PROPERTIES: Final = {
    "host_eur": "price_per_host",
    "host_hour_eur": "price_per_host_hour",
}  # property of a host that corresponds to a field of `Prices`, which holds for all hosts
POWER_PROPERTY: Final = "wattage_per_state"  # SimGrid's, per state: idle, optionally epsilon, and all cores busy
OFF_PROPERTY: Final = "wattage_off"
LINK_POWER_PROPERTIES: Final = ("wattage_range", "watt_range")  # SimGrid's, of a link: idle and busy; the old name last
COST_PROPERTIES: Final = frozenset({*HOST_PROPERTIES.values(), POWER_PROPERTY, OFF_PROPERTY, *LINK_POWER_PROPERTIES})
"""Properties of hosts and links that state their price and power."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Known prices and power; None if unknown.

    Parameters
    ----------
    host_eur, host_hour_eur : float or None
        Prices of a host, and of an hour of it rented; they override the properties of single hosts.
    nic_eur : float or None
        Price of each port of hosts' adapters that has a cable; None: it is part of the price of hosts.
    switch_eur : float or tuple of (int, float) or None
        Price of a switch; or numbers of ports, rising, and prices of switches with so many: each switch is the smallest
        one that has the ports it uses.
    switch_port_eur : float or None
        Price of each port of a switch that has a cable; if only this or `switch_eur` is known, it is the whole price.
    cable_eur, switch_cable_eur : float or None
        Prices of a cable, and of one between two switches if that differs.
    kwh_eur : float or None
        Price of a kilowatt-hour.
    lifetime_years : float or None
        Years in which the price of the machine is written off.
    host_idle_w, host_busy_w : float or None
        Power of a host with one state whose properties say none: with all cores idle, and with all of them busy.
    switch_w : float or None
        Power of a switch.
    link_idle_w, link_busy_w : float or None
        Power of each link of a cluster's wires, without traffic and with all its bandwidth in use. A full-duplex wire
        is two links.
    """

    host_eur: float | None = None
    host_hour_eur: float | None = None
    nic_eur: float | None = None
    switch_eur: float | tuple[tuple[int, float], ...] | None = None
    switch_port_eur: float | None = None
    cable_eur: float | None = None
    switch_cable_eur: float | None = None
    kwh_eur: float | None = None
    lifetime_years: float | None = None
    host_idle_w: float | None = None
    host_busy_w: float | None = None
    switch_w: float | None = None
    link_idle_w: float | None = None
    link_busy_w: float | None = None

    @property
    def link_w(self) -> tuple[float, float] | None:
        """Idle and busy power of a link, in W; None if unknown."""
        return None if self.link_idle_w is None or self.link_busy_w is None else (self.link_idle_w, self.link_busy_w)

    @property
    def host_power(self) -> tuple[tuple[str, str], ...]:
        """Property that states the power of a host in its only state; empty if unknown."""
        if self.host_idle_w is None or self.host_busy_w is None:
            return ()
        return ((POWER_PROPERTY, f"{self.host_idle_w!r}:{self.host_busy_w!r}"),)

    def with_defaults(self, others: Prices) -> Prices:
        """These prices; a missing one is taken from `others`.

        Examples
        --------
        >>> Prices(cable_eur=100).with_defaults(Prices(cable_eur=1, kwh_eur=0.2)) == Prices(cable_eur=100, kwh_eur=0.2)
        True
        """
        own = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return replace(others, **own)

    def unless_noted(self, names: Collection[str]) -> Prices:
        """These prices for a machine some of whose hosts have properties of these names, which then stand for all."""
        dropped = [field for field, name in HOST_PROPERTIES.items() if name in names]
        dropped += ["host_idle_w", "host_busy_w"] if POWER_PROPERTY in names else []
        return replace(self, **dict.fromkeys(dropped))

    @property
    def power_settings(self) -> dict[str, str]:
        """Keys and values of `--set` that give this power to a machine that does not say it."""
        watts = {"idle": self.host_idle_w, "busy": self.host_busy_w, "switch": self.switch_w}
        texts = {key: f"{power!r}W" for key, power in watts.items() if power is not None}
        if self.link_w is not None:
            texts["link"] = "{!r}W:{!r}W".format(*self.link_w)
        return {f"power.{key}?": text for key, text in texts.items()}


NO_PRICES: Final = Prices()
