"""Costs of a machine and of a run on it: parts times prices, power times time."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from smpy.errors import PlatformError
from smpy.platforms.description import Description
from smpy.platforms.models.prices import HOST_PROPERTIES, NO_PRICES, POWER_PROPERTY, Prices
from smpy.platforms.parts_list import CableParts, HostParts, PartsList, SwitchParts
from smpy.records.recorded_machine import names_machine, recorded_machine

if TYPE_CHECKING:
    from smpy.records.trace import Trace

_S_PER_HOUR: Final = 3600.0
_HOURS_PER_YEAR: Final = 8766.0  # of 365.25 days
_J_PER_KWH: Final = 3.6e6


@dataclass(frozen=True, slots=True)
class MachineCost:
    """Parts, prices and power of a machine; NaN: not known.

    Attributes
    ----------
    n_hosts, n_cores, n_switches, n_cables : float
        Numbers of hosts, cores, switches and cables.
    hosts_eur, switches_eur, cables_eur : float
        Prices of all of them; those of hosts with the ports of their adapters, if these have a price of their own.
    hosts_hour_eur : float
        Price of an hour of all hosts, if they are rented.
    hosts_idle_w, hosts_busy_w, switches_w : float
        Power of all hosts with all cores idle, and with all of them busy; power of all switches.
    links_busy_w : float
        Power of all cables of the network, each as two full links.
    kwh_eur : float
        Price of a kilowatt-hour.
    lifetime_years : float
        Years in which the price is written off.
    """

    n_hosts: float
    n_cores: float
    n_switches: float
    n_cables: float
    hosts_eur: float
    switches_eur: float
    cables_eur: float
    hosts_hour_eur: float
    hosts_idle_w: float
    hosts_busy_w: float
    switches_w: float
    links_busy_w: float
    kwh_eur: float
    lifetime_years: float

    @property
    def price_eur(self) -> float:
        """Price of the whole machine."""
        return self.hosts_eur + self.switches_eur + self.cables_eur

    @property
    def busy_w(self) -> float:
        """Power of the whole machine with all cores and links busy; links of unknown power draw none."""
        return self.hosts_busy_w + self.switches_w + (0.0 if math.isnan(self.links_busy_w) else self.links_busy_w)

    def energy_kwh(self, makespan_s: float, hosts_j: float, links_j: float = 0.0, share: float = 1.0) -> float:
        """Energy of hosts, links and switches during a run, in kWh.

        Parameters
        ----------
        makespan_s : float
            Duration of the run.
        hosts_j, links_j : float
            Joules of the run's hosts, and of all links, which it has counted.
        share : float
            Part of links and switches that counts.
        """
        return (hosts_j + share * (links_j + self.switches_w * makespan_s)) / _J_PER_KWH

    def run_eur(self, makespan_s: float, energy_kwh: float, share: float = 1.0) -> float:
        """Cost of a run.

        Price of the energy, plus the part of the machine's price that is written off meanwhile; for rented hosts, their
        rent alone.

        Parameters
        ----------
        makespan_s : float
            Duration of the run.
        energy_kwh : float
            Its energy.
        share : float
            Part of the machine that the run pays for; 1: it has the whole machine to itself.
        """
        hours = share * makespan_s / _S_PER_HOUR
        if not math.isnan(self.hosts_hour_eur):
            return hours * self.hosts_hour_eur
        written_off_eur = self.price_eur * hours / (_HOURS_PER_YEAR * self.lifetime_years)
        return energy_kwh * self.kwh_eur + written_off_eur

    def to_json(self) -> dict[str, float | None]:
        """All amounts and the price of the whole machine; None: not known."""
        amounts = {**asdict(self), "price_eur": self.price_eur}
        return {name: None if math.isnan(amount) else amount for name, amount in amounts.items()}

    def columns(
        self, makespan_s: float, hosts_j: float | None = None, links_j: float | None = None, share: float = 1.0
    ) -> dict[str, float]:
        """Columns of a study's table with the machine's parts, the price that the run pays for, and the run's costs.

        Parameters
        ----------
        makespan_s : float
            Duration of the run.
        hosts_j, links_j : float or None
            Joules of the run's hosts, and of all links, that it has counted; None: their power is not known.
        share : float
            Part of the machine that the run pays for; 1: it has the whole machine to itself.
        """
        energy_kwh = self.energy_kwh(makespan_s, math.nan if hosts_j is None else hosts_j, links_j or 0.0, share)
        return {
            "hosts": self.n_hosts,
            "switches": self.n_switches,
            "cables": self.n_cables,
            "price_eur": self.price_eur * share,
            "energy_kwh": energy_kwh,
            "energy_eur": energy_kwh * self.kwh_eur,
            "edp": energy_kwh * _J_PER_KWH * makespan_s,
            "run_eur": self.run_eur(makespan_s, energy_kwh, share),
        }


def machine_cost(machine: Description, prices: Prices = NO_PRICES) -> MachineCost:
    """Make the cost of a machine: its parts, prices and power.

    Parameters
    ----------
    machine : Description
        The machine.
    prices : Prices
        Prices in place of numbers that the machine lacks. It lacks a number if none of its hosts has the property.

    Raises
    ------
    PlatformError
        If a host's property for a price or a power has no valid value.

    Examples
    --------
    >>> from smpy.platforms import read_machine
    >>> machine = read_machine("fat-tree children=16,32 parents=1,4 price.host_eur=9000", 1)
    >>> cost = machine_cost(machine, Prices(host_eur=1, switch_port_eur=500, cable_eur=100))
    >>> cost.n_switches, cost.hosts_eur, cost.switches_eur, cost.cables_eur, cost.price_eur
    (36, 4608000.0, 384000.0, 64000.0, 5056000.0)
    """
    parts = machine.parts_list
    return _unknown(machine.n_hosts) if parts is None else _cost(parts, machine.prices, prices)


def parts_record(machine: Description) -> str:
    """Input of `cost_of_record` for a machine, as JSON."""
    parts = machine.parts_list
    record = {
        "n_hosts": machine.n_hosts,
        "parts": None if parts is None else asdict(parts),
        "prices": {key: number for key, number in asdict(machine.prices).items() if number is not None},
    }
    return json.dumps(record, separators=(",", ":"))


def cost_of_record(record: str, prices: Prices = NO_PRICES) -> MachineCost:
    """Cost of a machine from its `parts_record` alone; `prices` as in `machine_cost`."""
    known = json.loads(record)
    parts = known["parts"]
    if parts is None:
        return _unknown(known["n_hosts"])
    hosts = ((kind["count"], kind["cores"], tuple(map(tuple, kind["properties"]))) for kind in parts["hosts"])
    listed = PartsList(
        tuple(HostParts(*kind) for kind in hosts),
        tuple(SwitchParts(**kind) for kind in parts["switches"]),
        tuple(CableParts(**kind) for kind in parts["cables"]),
    )
    own = known["prices"]
    if isinstance(sizes_eur := own.get("switch_eur"), list):
        own["switch_eur"] = tuple((ports, eur) for ports, eur in sizes_eur)
    return _cost(listed, Prices(**own), prices)


def recorded_run_eur(trace: Trace) -> float | None:
    """Cost of a run that has the whole of its machine to itself; None: not known.

    Parameters
    ----------
    trace : Trace
        Trace of the run, with its machine.

    Raises
    ------
    DamagedFileError
        If the machine is missing, or is not that of the run.
    """
    energy = trace.info.get("energy")
    if not names_machine(trace) or not trace.has_dates:
        return None
    hosts_j, links_j = (energy["hosts_total_j"], energy["links_total_j"]) if energy else (None, None)
    run_eur = machine_cost(recorded_machine(trace)).columns(trace.makespan_s, hosts_j, links_j)["run_eur"]
    return None if math.isnan(run_eur) else run_eur


@cache
def is_parts_record(text: str) -> bool:
    """Whether `cost_of_record` can read a text, which may come from an untrusted file."""
    try:
        math.fsum(cost_of_record(text).columns(1.0).values())
    except PlatformError:  # a bad price in the machine: reported where the cost is computed
        pass
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return False
    return True


def _unknown(n_hosts: int) -> MachineCost:
    return MachineCost(n_hosts, *[math.nan] * 13)


def _cost(parts: PartsList, own: Prices, others: Prices) -> MachineCost:
    prices = own.with_defaults(others.unless_noted(parts.property_names))
    powers_w = [(kind.count, *_power_w(kind, prices)) for kind in parts.hosts]
    return MachineCost(
        n_hosts=parts.n_hosts,
        n_cores=parts.n_cores,
        n_switches=parts.n_switches,
        n_cables=parts.n_cables,
        hosts_eur=_hosts_eur(parts, prices, "host_eur") + _adapters_eur(parts, prices),
        switches_eur=_switches_eur(parts, prices),
        cables_eur=math.fsum(_times(kind.count, _cable_eur(kind, prices)) for kind in parts.cables),
        hosts_hour_eur=_hosts_eur(parts, prices, "host_hour_eur"),
        hosts_idle_w=math.fsum(count * idle_w for count, idle_w, _ in powers_w),
        hosts_busy_w=math.fsum(count * busy_w for count, _, busy_w in powers_w),
        switches_w=_times(parts.n_switches, prices.switch_w),
        links_busy_w=_times(2 * parts.n_cables, prices.link_busy_w),
        kwh_eur=_known(prices.kwh_eur),
        lifetime_years=_known(prices.lifetime_years),
    )


def _hosts_eur(parts: PartsList, prices: Prices, field: str) -> float:
    of_all: float | None = getattr(prices, field)
    name = HOST_PROPERTIES[field]
    return math.fsum(_times(kind.count, _noted(kind, name) if of_all is None else of_all) for kind in parts.hosts)


def _adapters_eur(parts: PartsList, prices: Prices) -> float:
    """Price of the hosts' ends of cables: one a host at a switch, six a host of a torus of three dimensions."""
    if prices.nic_eur is None:
        return 0.0
    ends = (2 * kind.count - kind.count * _known(kind.switch_ends) for kind in parts.cables)
    return prices.nic_eur * math.fsum(ends)


def _noted(kind: HostParts, name: str) -> float | None:
    text = dict(kind.properties).get(name)
    return None if text is None else _number(text, name)


def _power_w(kind: HostParts, prices: Prices) -> tuple[float, float]:
    """Power of a host in W with all cores idle, and with all of them busy."""
    text = dict(kind.properties).get(POWER_PROPERTY)
    if text is None:
        return _known(prices.host_idle_w), _known(prices.host_busy_w)
    numbers = [_number(part, POWER_PROPERTY) for part in text.partition(",")[0].split(":")]  # at full speed
    return numbers[0], numbers[-1]


def _number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise PlatformError(f"property {name!r} of a host: {text!r} has no number that it can be: give one from 0 on")
    return number


def _switches_eur(parts: PartsList, prices: Prices) -> float:
    if not parts.n_switches or (prices.switch_eur is None and prices.switch_port_eur is None):
        return _times(parts.n_switches, None)
    ports_eur = 0.0 if prices.switch_port_eur is None else prices.switch_port_eur * _known(parts.n_ports)
    if isinstance(prices.switch_eur, tuple):
        return math.fsum(kind.count * _switch_eur(kind, prices.switch_eur) for kind in parts.switches) + ports_eur
    return parts.n_switches * (prices.switch_eur or 0.0) + ports_eur


def _switch_eur(kind: SwitchParts, sizes_eur: Sequence[tuple[int, float]]) -> float:
    """Price of the smallest switch with the ports that one of this kind uses."""
    if kind.ports is None:
        return math.nan
    for ports, eur in sizes_eur:
        if kind.ports <= ports:
            return eur
    raise PlatformError(
        f"price.switch_eur: the largest switch that has a price has {sizes_eur[-1][0]} ports, and {kind.count:,} "
        f"switches of the machine use {kind.ports}: give the price of such a switch"
    )


def _cable_eur(kind: CableParts, prices: Prices) -> float | None:
    joins_switches = kind.switch_ends is not None and kind.switch_ends > 1
    return prices.switch_cable_eur if joins_switches and prices.switch_cable_eur is not None else prices.cable_eur


def _times(count: int, each: float | None) -> float:
    """Total of `count` parts that cost `each`: 0 for no parts, else NaN if the price is not known."""
    return count * _known(each) if count else 0.0


def _known(number: float | None) -> float:
    return math.nan if number is None else number
