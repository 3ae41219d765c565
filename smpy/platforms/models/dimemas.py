"""The network model of Dimemas: a latency that the sender spends, then links and buses that a message holds.

Dimemas is of Badia, Labarta, Gimenez & Escale 2003; `kernels/event/networks/network_dimemas.h` says what happens to a
message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Final, Self

from smpy.platforms.models.collective_models import SCHEDULES, collective_model_name
from smpy.platforms.models.network_models import FROM_LINKS, Network, Parameters, SendCosts, Wire, network_model

_MEDIUM: Final = ("latency_s", "bandwidth_bytes_per_s", "buses", "input_links", "output_links")
_IDEAL: Final = {
    "contention": ("buses", "input_links", "output_links"),
    "bandwidth": ("bandwidth_bytes_per_s",),
    "latency": ("latency_s",),
}
_KEYS: Final = {
    "latency_s": "latency",
    "bandwidth_bytes_per_s": "bandwidth",
    "local_latency_s": "local_latency",
    "local_bandwidth_bytes_per_s": "local_bandwidth",
    "eager_bytes": "eager",
}


@network_model("dimemas", kernel="dimemas")
@dataclass(frozen=True, slots=True)
class Dimemas(Network):
    """Costs of messages between hosts and within one; `FROM_LINKS` is a number that the machine's links give.

    Parameters
    ----------
    latency_s, local_latency_s : float
        Time that a send costs its rank before its message travels.
    bandwidth_bytes_per_s, local_bandwidth_bytes_per_s : float
        Bandwidth of a message that travels; 0: its bytes take no time.
    buses, local_buses : int
        Messages that travel at once, in the whole machine and within each host; 0: any number.
    input_links, output_links, local_input_links, local_output_links : int
        Messages that a host receives and sends at once; 0 and 0: any number. Without output links the input links
        serve both ways.
    eager_bytes : float
        A send of more bytes waits for its receive.
    collective_model : int
        Number in `COLLECTIVE_MODELS` of the model that times collectives; `SCHEDULES`: they are their messages.

    Raises
    ------
    ValueError
        If a number is negative, or there are output links alone.
    """

    latency_s: float = FROM_LINKS
    bandwidth_bytes_per_s: float = FROM_LINKS
    buses: int = 0
    input_links: int = 1
    output_links: int = 1
    local_latency_s: float = FROM_LINKS
    local_bandwidth_bytes_per_s: float = FROM_LINKS
    local_buses: int = 0
    local_input_links: int = 1
    local_output_links: int = 1
    eager_bytes: float = FROM_LINKS
    collective_model: int = SCHEDULES
    ideal_parts: ClassVar[tuple[str, ...]] = ("contention", "bandwidth", "latency")
    keys: ClassVar[Mapping[str, str]] = MappingProxyType({"collective_model": "collectives"})

    def __post_init__(self) -> None:
        Network.__post_init__(self)
        if self.collective_model > SCHEDULES:
            raise ValueError(f"collective_model is {self.collective_model}: it can be {SCHEDULES}")
        for where in ("", "local_"):
            if getattr(self, f"{where}output_links") and not getattr(self, f"{where}input_links"):
                raise ValueError(
                    f"{where}input_links is 0: nobody could receive; {where}output_links 0, too, is no limit"
                )

    @property
    def times_collectives_by(self) -> str:
        """Name of the model in records."""
        return "" if self.collective_model == SCHEDULES else f"dimemas {collective_model_name(self.collective_model)}"

    def parameters(self) -> Parameters:
        """Parameters of its kind in the kernel, by name."""
        none = {name for part in self.ideal for name in _IDEAL[part]}
        numbers = {
            f"{where}{name}": 0.0 if name in none else getattr(self, f"{where}{name}")
            for where in ("", "local_")
            for name in _MEDIUM
        }
        return numbers | {"collective_model": self.collective_model}

    def own_sends(self) -> SendCosts:
        """Costs of sends: the latency between hosts; the kernel knows that within one."""
        return SendCosts(0.0 if "latency" in self.ideal else self.latency_s, 0.0, self.eager_bytes, travels_early=True)

    def on_links(self, wire: Wire, local: Wire, sends: SendCosts) -> Self:
        """The model with its missing numbers: latency and bandwidth of two routes, and the calls' eager limit."""
        from_links = {
            "latency_s": wire.latency_s,
            "bandwidth_bytes_per_s": wire.bandwidth_bytes_per_s,
            "local_latency_s": local.latency_s,
            "local_bandwidth_bytes_per_s": local.bandwidth_bytes_per_s,
            "eager_bytes": sends.eager_bytes,
        }
        missing = {name: from_links[name] for name in self.lacking()}
        sources = [
            (("latency_s", "bandwidth_bytes_per_s"), f"from the links from {wire.name}"),
            (("local_latency_s", "local_bandwidth_bytes_per_s"), f"from those from {local.name}"),
            (("eager_bytes",), "from the machine's costs of a send"),
        ]
        parts = []
        for names, source in sources:
            keys = ", ".join(_KEYS[name] for name in names if name in missing)
            parts += [f"{keys} {source}"] if keys else []
        return replace(self, **missing, about="; ".join(parts))  # type: ignore[arg-type]  # its own fields
