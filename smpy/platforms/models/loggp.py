"""The network model LogGOPS: costs of a message to two CPUs and two network interfaces, and a latency.

LogP is of Culler et al. 1993, LogGP of Alexandrov, Ionescu, Schauser & Scheiman 1995, LogGOPS of Hoefler, Schneider &
Lumsdaine 2010. `kernels/event/networks/network_loggp.h` says what happens to a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Self

from smpy.platforms.models.network_models import FROM_LINKS, Network, Parameters, SendCosts, Wire, network_model


@network_model("loggp", kernel="loggp")
@dataclass(frozen=True, slots=True)
class LogGP(Network):
    """Costs of a message of n bytes under LogGOPS; a number that is not given comes from the machine's links.

    Parameters
    ----------
    latency_s : float
        L: a message is so long on its way.
    overhead_s, overhead_s_per_byte : float
        o and O: time of the CPU of its sender, o + (n - 1) O; that of its receiver is o + (n - 1) max(O, G).
    gap_s, gap_s_per_byte : float
        g and G: an interface sends, or receives, the next message g + (n - 1) G later.
    eager_bytes : float
        S: a send of more bytes waits for its receive.

    Raises
    ------
    ValueError
        If a number is negative, or above what can be computed with.
    """

    latency_s: float = FROM_LINKS
    overhead_s: float = FROM_LINKS
    gap_s: float = FROM_LINKS
    gap_s_per_byte: float = FROM_LINKS
    overhead_s_per_byte: float = FROM_LINKS
    eager_bytes: float = FROM_LINKS
    keys: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "latency_s": "L",
            "overhead_s": "o",
            "gap_s": "g",
            "gap_s_per_byte": "G",
            "overhead_s_per_byte": "O",
            "eager_bytes": "S",
        }
    )

    def parameters(self) -> Parameters:
        """Parameters of its kind in the kernel, by name."""
        has_none = "overhead" in self.ideal
        return {
            "latency_s": self.latency_s,
            "overhead_s": 0.0 if has_none else self.overhead_s,
            "gap_s": self.gap_s,
            "gap_s_per_byte": self.gap_s_per_byte,
            "overhead_s_per_byte": 0.0 if has_none else self.overhead_s_per_byte,
        }

    def own_sends(self) -> SendCosts:
        """Costs of sends: o, O and S."""
        return SendCosts(self.overhead_s, self.overhead_s_per_byte, self.eager_bytes)

    def on_links(self, wire: Wire, local: Wire, sends: SendCosts) -> Self:  # hosts are alike
        """The model with its missing numbers: L and G of a route, o, O and S of the machine's calls, and g = 0."""
        from_links = {
            "latency_s": wire.latency_s,
            "overhead_s": sends.first_byte_s,
            "gap_s": 0.0,
            "gap_s_per_byte": 1 / wire.bandwidth_bytes_per_s if wire.bandwidth_bytes_per_s else 0.0,
            "overhead_s_per_byte": sends.further_byte_s,
            "eager_bytes": sends.eager_bytes,
        }
        missing = {name: from_links[name] for name in self.lacking()}
        of_route = ", ".join(self.keys[name] for name in ("latency_s", "gap_s_per_byte") if name in missing)
        of_calls = ", ".join(
            self.keys[name] for name in ("overhead_s", "overhead_s_per_byte", "eager_bytes") if name in missing
        )
        sources = [
            f"{of_route} from the links from {wire.name}" if of_route else "",
            f"{of_calls} from the machine's costs of a send" if of_calls else "",
            "g is 0" if "gap_s" in missing else "",
        ]
        about = "; ".join(filter(None, sources))
        return replace(self, **missing, about=about)  # type: ignore[arg-type]  # its own fields
