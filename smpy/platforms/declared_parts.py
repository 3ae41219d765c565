"""The parts of a machine that are declared one by one: hosts, routers, links, routes."""

from __future__ import annotations

from dataclasses import dataclass

from smpy.platforms.builder import PlatformBuilder
from smpy.platforms.links import Hop, Sharing
from smpy.platforms.parts import Part


@dataclass(frozen=True, slots=True)
class Host(Part):
    """A computer.

    Parameters
    ----------
    name : str
        What it is called.
    speed_flop_per_s : float
        Of one core.
    cores : int
        How many cores it has.
    properties : tuple of (str, str)
        Names and values of what is noted of it, such as its power.
    sockets : int
        How many sockets share them, equally.
    """

    name: str
    speed_flop_per_s: float
    cores: int = 1
    properties: tuple[tuple[str, str], ...] = ()
    sockets: int = 1

    @property
    def n_hosts(self) -> int:
        return 1

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.host(self.name, zone or "", self.speed_flop_per_s, self.cores, self.properties, self.sockets)


@dataclass(frozen=True, slots=True)
class Router(Part):
    """A place where routes meet, without computing power."""

    name: str

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.router(self.name, zone or "")


@dataclass(frozen=True, slots=True)
class Link(Part):
    """A link, or the two halves of one, called `<name>_UP` and `<name>_DOWN`."""

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float
    sharing: Sharing = Sharing.SHARED

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.link(self.name, self.bandwidth_bytes_per_s, self.latency_s, self.sharing)


@dataclass(frozen=True, slots=True)
class DeclaredRoute(Part):
    """A route between two hosts or routers of a zone, or between two zones in it by way of their gateways.

    Parameters
    ----------
    source, target : str
        Names of its ends.
    hops : tuple of Hop
        Its links, in travelling order.
    gateways : tuple of str, optional
        Between zones: the host or router of each end by which it leaves and enters.
    is_symmetrical : bool
        Whether it also declares the reverse: the links backwards, the other half of split ones.
    """

    source: str
    target: str
    hops: tuple[Hop, ...]
    gateways: tuple[str, str] | None = None
    is_symmetrical: bool = True

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.route(
            *(zone or "", self.source, self.target, self.hops),
            gateways=self.gateways,
            is_symmetrical=self.is_symmetrical,
        )
