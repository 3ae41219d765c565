"""The energy of a run: Joules of hosts and links, their cost, and sums that users ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.platforms.description import Description

_J_PER_KWH: Final = 3.6e6
_NAMES_MAX: Final = 10_000
_LARGEST: Final = 10
_UNITS: Final = (("kWh", _J_PER_KWH, 0.1 * _J_PER_KWH), ("J", 1.0, 0.0))  # with size and first energy


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of all parts with known power, from the begin of a run to its end.

    Parameters
    ----------
    hosts_j, links_j : mapping of str to float
        Joules of each host and link, by name.
    used_hosts_j : float
        Joules of hosts that computed something; other hosts count as idle, even if they sent messages.
    above_idle_j : float
        Part of the hosts' Joules above their idle power, which the profile charges to ranks.
    switches_j : float or None
        Joules of all switches; None: their power or number is not known.
    kwh_eur : float or None
        Price of a kilowatt-hour; None: not known.
    lists_all : bool
        Whether the record lists all hosts and links; otherwise, of more than 10,000 it lists the ten largest.
    """

    hosts_j: Mapping[str, float]
    links_j: Mapping[str, float]
    used_hosts_j: float
    above_idle_j: float = 0.0
    switches_j: float | None = None
    kwh_eur: float | None = None
    lists_all: bool = False

    @property
    def hosts_total_j(self) -> float:
        return sum(self.hosts_j.values())

    @property
    def idle_hosts_j(self) -> float:
        """Joules of hosts that computed nothing."""
        return self.hosts_total_j - self.used_hosts_j

    @property
    def links_total_j(self) -> float:
        return sum(self.links_j.values())

    @property
    def total_j(self) -> float:
        """Joules of hosts, links and switches together."""
        return self.hosts_total_j + self.links_total_j + (self.switches_j or 0.0)

    @property
    def total_kwh(self) -> float:
        return self.total_j / _J_PER_KWH

    @property
    def cost_eur(self) -> float | None:
        """Price of the energy; None: not known."""
        return None if self.kwh_eur is None else self.total_kwh * self.kwh_eur

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        return {
            "hosts_j": _listed(self.hosts_j, lists_all=self.lists_all),
            "links_j": _listed(self.links_j, lists_all=self.lists_all),
            "hosts_total_j": self.hosts_total_j,
            "used_hosts_j": self.used_hosts_j,
            "idle_hosts_j": self.idle_hosts_j,
            "above_idle_j": self.above_idle_j,
            "links_total_j": self.links_total_j,
            "switches_j": self.switches_j,
            "total_kwh": self.total_kwh,
            "cost_eur": self.cost_eur,
        }

    def render(self) -> str:
        """The energy as a line for people.

        Examples
        --------
        >>> Energy({"a": 5.4e6, "b": 1.08e6}, {"l": 2.52e5}, 5.4e6, kwh_eur=0.28).render()
        '1.87 kWh, 0.52 EUR (hosts 1.80, of them idle 0.30; network 0.07)'
        >>> Energy({"a": 140.0}, {}, 140.0).render()
        '140 J (hosts 140, of them idle 0)'
        """
        unit, factor = next((unit, factor) for unit, factor, least_j in _UNITS if self.total_j >= least_j)

        def amount(joules: float) -> str:
            return f"{joules / factor:.2f}" if factor > 1 else f"{joules:.4g}"

        cost = "" if self.cost_eur is None else f", {_money(self.cost_eur)} EUR"
        parts = (
            [f"hosts {amount(self.hosts_total_j)}, of them idle {amount(self.idle_hosts_j)}"] if self.hosts_j else []
        )
        if self.links_j or self.switches_j is not None:
            parts.append(f"network {amount(self.links_total_j + (self.switches_j or 0.0))}")
        return f"{amount(self.total_j)} {unit}{cost} ({'; '.join(parts)})"


def _money(eur: float) -> str:
    return f"{eur:,.2f}" if eur >= 0.1 else f"{eur:.2g}"


def _listed(joules: Mapping[str, float], *, lists_all: bool) -> dict[str, float]:
    if lists_all or len(joules) <= _NAMES_MAX:
        return dict(joules)
    return dict(nlargest(_LARGEST, joules.items(), key=lambda each: each[1]))


def run_energy(
    engine: Engine, machine: Description, makespan_s: float, above_idle_j: float, *, lists_all: bool = False
) -> Energy | None:
    """Energy of a finished run or replay; None if no part of the machine has a power, or iterations were skipped.

    Parameters
    ----------
    engine : Engine
        World of the run, before it is closed.
    machine : Description
        The machine.
    makespan_s : float
        Date at which the run ended.
    above_idle_j : float
        Joules of its ranks.
    lists_all : bool
        Whether its record lists all hosts and links, however many.
    """
    if not engine.keeps_energy or any(engine.skipped_s()):
        return None
    hosts = list(engine.hosts_energy())
    parts, switch_w = machine.parts_list, machine.prices.switch_w
    return Energy(
        hosts_j={name: joules for name, joules, _ in hosts},
        links_j=dict(engine.links_energy()),
        used_hosts_j=sum(joules for _, joules, is_used in hosts if is_used),
        above_idle_j=above_idle_j,
        switches_j=None if parts is None or switch_w is None else parts.n_switches * switch_w * makespan_s,
        kwh_eur=machine.prices.kwh_eur,
        lists_all=lists_all,
    )
