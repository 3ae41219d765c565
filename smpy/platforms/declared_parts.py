"""Parts of a machine that are declared one by one: hosts, routers, links, routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from smpy.platforms.links import Coordinates, Hop, Sharing
from smpy.platforms.parts import Computer, Part
from smpy.platforms.parts_list import CableParts, HostParts, PartsList, SwitchParts
from smpy.platforms.profiles import Changing, Profile

if TYPE_CHECKING:
    from smpy.engine.platform_builder import PlatformBuilder
    from smpy.platforms.models.storage import Disk


@dataclass(frozen=True, slots=True)
class Host(Computer):
    """A computer.

    Parameters
    ----------
    name : str
        Its name.
    speed_flop_per_s : float
        Speed of one core.
    cores : int
        Number of its cores.
    properties : tuple of (str, str)
        Names and values of notes on it, such as its power.
    sockets : int
        Number of sockets, which share the cores equally.
    state_speeds_flop_per_s : tuple of float
        Speeds of a core in each state (DVFS), if it has several; they keep their ratios to `speed_flop_per_s`, the
        speed in the first one.
    first_state : int
        State in which it begins.
    speed_profile, state_profile : Profile, optional
        Factors of its speed; when it is on. A run fails in which a rank lives on a host that goes off.
    coordinates : tuple of float, optional
        Its coordinates in a Vivaldi zone.
    disks : tuple of Disk
        Its disks; a file with a relative path lies on the first one.
    """

    name: str
    speed_flop_per_s: float
    cores: int = 1
    properties: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    sockets: int = field(default=1, kw_only=True)
    state_speeds_flop_per_s: tuple[float, ...] = field(default=(), kw_only=True)
    first_state: int = field(default=0, kw_only=True)
    speed_profile: Profile | None = field(default=None, kw_only=True)
    state_profile: Profile | None = field(default=None, kw_only=True)
    coordinates: Coordinates | None = field(default=None, kw_only=True)
    disks: tuple[Disk, ...] = field(default=(), kw_only=True)

    @property
    def n_hosts(self) -> int:
        return 1

    @property
    def parts_list(self) -> PartsList:
        return PartsList((HostParts(1, self.cores, self.properties),))

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.host(
            *(self.name, zone or "", self.speed_flop_per_s, self.cores, self.properties, self.sockets),
            coordinates=self.coordinates,
            memory=self.memory,
            disks=self.disks,
            state_speeds_flop_per_s=self.state_speeds_flop_per_s,
            first_state=self.first_state,
        )
        for what, profile in ((Changing.SPEED, self.speed_profile), (Changing.HOST_IS_ON, self.state_profile)):
            if profile is not None:
                builder.profile(what, self.name, profile)


@dataclass(frozen=True, slots=True)
class Router(Part):
    """Junction of routes, without computing power."""

    name: str
    coordinates: Coordinates | None = None

    @property
    def parts_list(self) -> PartsList:
        return PartsList(switches=(SwitchParts(1),))

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.router(self.name, zone or "", self.coordinates)


@dataclass(frozen=True, slots=True)
class Link(Part):
    """A link, or the two halves of a split link, called `<name>_UP` and `<name>_DOWN`.

    Parameters
    ----------
    name : str
        Its name in routes.
    bandwidth_bytes_per_s, latency_s : float
        Bandwidth and latency of the link, or of each half.
    sharing : Sharing
        The way in which flows share it.
    properties : tuple of (str, str)
        Names and values of notes on its power, of each half alike.
    bandwidth_profile, latency_profile, state_profile : Profile, optional
        Its bandwidth and latency, instead, from dates on; when it is on. A run fails in which a message needs a link
        that is off.
    """

    name: str
    bandwidth_bytes_per_s: float
    latency_s: float
    sharing: Sharing = Sharing.SHARED
    properties: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    bandwidth_profile: Profile | None = field(default=None, kw_only=True)
    latency_profile: Profile | None = field(default=None, kw_only=True)
    state_profile: Profile | None = field(default=None, kw_only=True)

    @property
    def parts_list(self) -> PartsList:
        """One cable; none for a fatpipe, which flows do not share: a loopback, or a backbone that never fills."""
        is_cable = self.sharing is not Sharing.FATPIPE
        return PartsList(cables=(CableParts(1, None, self.bandwidth_bytes_per_s),) if is_cable else ())

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.link(self.name, self.bandwidth_bytes_per_s, self.latency_s, self.sharing, self.properties)
        for what, profile in (
            (Changing.BANDWIDTH, self.bandwidth_profile),
            (Changing.LATENCY, self.latency_profile),
            (Changing.LINK_IS_ON, self.state_profile),
        ):
            if profile is not None:
                builder.profile(what, self.name, profile)


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


@dataclass(frozen=True, slots=True)
class ProfileConnection(Part):
    """A host or link that follows a profile.

    Parameters
    ----------
    what : Changing
        Quantity that follows: speed, bandwidth, latency, or whether it is on.
    name : str
        The host or link, of a cluster too; both halves of a split link follow.
    profile : Profile
        Dates, and the values from then on.
    """

    what: Changing
    name: str
    profile: Profile

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.profile(self.what, self.name, self.profile)


@dataclass(frozen=True, slots=True)
class BypassRoute(Part):
    """Links that replace a route, in this direction only.

    Parameters
    ----------
    source, target : str
        Names of two hosts or routers of a zone; or, with gateways, of two zones at any depth inside it.
    hops : tuple of Hop
        The links, in travelling order.
    gateways : tuple of str, optional
        Between zones: the host or router of each end by which it leaves and enters.
    """

    source: str
    target: str
    hops: tuple[Hop, ...]
    gateways: tuple[str, str] | None = None

    def build(self, builder: PlatformBuilder, zone: str | None) -> None:
        builder.bypass(zone or "", self.source, self.target, self.hops, self.gateways)
