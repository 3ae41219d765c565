"""Parts, prices and power of a machine, in lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from smpy.platforms.parts_list import PartsList
    from smpy.study.cost import MachineCost

_KINDS_MAX: Final = 4


def parts_text(parts: PartsList | None) -> str:
    """Hosts, switches and cables in one line."""
    if parts is None:
        return "not known: this topology has no formula for them"
    return ", ".join(
        [
            count_text(parts.n_hosts, "host"),
            count_text(parts.n_switches, "switch", "switches") + _ports_text(parts),
            count_text(parts.n_cables, "cable"),
        ]
    )


def cost_facts(cost: MachineCost) -> list[tuple[str, str]]:
    """Names and texts of a machine's known price, rent and power."""
    facts = []
    prices_eur = {"hosts": cost.hosts_eur, "switches": cost.switches_eur, "cables": cost.cables_eur}
    if any(eur > 0 for eur in prices_eur.values()):
        parts = ", ".join(f"{name} {_eur(eur)}" for name, eur in prices_eur.items())
        facts.append(("price", f"{_eur(cost.price_eur)}: {parts}"))
    if cost.hosts_hour_eur > 0:
        facts.append(("rent", f"{cost.hosts_hour_eur:,.2f} EUR an hour"))
    if cost.hosts_busy_w > 0 or cost.switches_w > 0:
        idle, busy, switches = map(_kw, (cost.hosts_idle_w, cost.hosts_busy_w, cost.switches_w))
        facts.append(("power", f"hosts {idle} idle, {busy} busy; switches {switches}"))
    return facts


def _ports_text(parts: PartsList) -> str:
    """Number of ports of each kind of switch, if known."""
    known = [kind for kind in parts.switches if kind.ports is not None]
    if len(known) == len(parts.switches) == 1:
        return f" of {count_text(known[0].ports or 0, 'port')}"
    kinds = [f"{kind.count:,} of {count_text(kind.ports or 0, 'port')}" for kind in known]
    return f" ({', '.join([*kinds[:_KINDS_MAX], *['...'] * (len(kinds) > _KINDS_MAX)])})" if kinds else ""


def count_text(count: float, one: str, many: str = "") -> str:
    """A number of parts, and their name."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _eur(eur: float) -> str:
    return "not known" if math.isnan(eur) else f"{eur:,.0f} EUR"


def _kw(power_w: float) -> str:
    return "not known" if math.isnan(power_w) else f"{power_w / 1000:,.4g} kW"
