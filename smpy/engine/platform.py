"""A machine in the kernel: hosts, the links between them, and the behaviour of messages on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from smpy.engine.file_places import FilePlaces
from smpy.engine.host_runs import HostRuns
from smpy.engine.kernel import ffi, lib
from smpy.errors import PlatformError, UsageError, meant
from smpy.platforms.link_names import LinkNames
from smpy.platforms.links import Sharing
from smpy.platforms.models.busy_speed import BUSY_SPEED_PROPERTY, busy_shares
from smpy.platforms.models.devices import DEVICES_PROPERTY, Device, read_devices, scaled
from smpy.platforms.models.machine_models import CallCosts, Models
from smpy.platforms.models.memory import Memory
from smpy.platforms.profiles import Changing

QUANTITIES: Final = {
    Changing.SPEED: lib.PROFILE_SPEED,
    Changing.HOST_IS_ON: lib.PROFILE_HOST_IS_ON,
    Changing.BANDWIDTH: lib.PROFILE_BANDWIDTH,
    Changing.LATENCY: lib.PROFILE_LATENCY,
    Changing.LINK_IS_ON: lib.PROFILE_LINK_IS_ON,
}
"""Numbers of the quantities that follow profiles, in the kernel."""
_EVERY: Final = -1


class Route(NamedTuple):
    """Links from one host to another, in travelling order."""

    link_names: tuple[str, ...]
    latency_s: float


class Platform:
    """Machine to run ranks on; made by `Description.build` or a `PlatformBuilder`.

    Attributes
    ----------
    name : str
        Name of the machine: its file, or a description.
    handle : cffi ``platform *``
        The kernel's own, freed with this object; any number of worlds may share it.
    host_names : list of str
        By host number.
    models : Models
        Costs of messages and calls, from the platform's description.
    fills_hosts : bool
        Whether ranks without a hostfile fill a host until each of its cores has one, rather than go to each host in
        turn.
    sha256 : str or None
        Hash of the content of its file, if it has one.
    file_places : FilePlaces
        Disks on which files of each host lie.
    """

    def __init__(
        self,
        name: str,
        handle: Any,
        host_names: list[str],
        link_names: LinkNames,
        models: Models,
        *,
        properties: HostRuns[tuple[tuple[str, str], ...]],
        memory: HostRuns[Memory],
        file_places: FilePlaces,
        sockets: Sequence[int],
        fills_hosts: bool = False,
        sha256: str | None = None,
    ) -> None:
        self.name: Final = name
        self.handle: Final = handle
        self.host_names: Final = host_names
        self.models: Final = models
        self.fills_hosts: Final = fills_hosts
        self.sha256: Final = sha256
        self._link_names: Final = link_names
        self._properties: Final = properties
        self._memory: Final = memory
        self.file_places: Final = file_places
        self._sockets: Final = sockets
        self._device_factors = 1.0, 1.0

    @property
    def n_hosts(self) -> int:
        return len(self.host_names)

    @property
    def n_links(self) -> int:
        return len(self._link_names)

    @property
    def n_cores(self) -> int:
        """Number of cores of all hosts together."""
        return sum(self.cores(host) for host in range(self.n_hosts))

    def speed_flop_per_s(self, host: int) -> float:
        """Speed of one core of a host."""
        self._check_host(host)
        return float(lib.platform_speed_flop_per_s(self.handle, host))

    def cores(self, host: int) -> int:
        self._check_host(host)
        return int(lib.platform_cores(self.handle, host))

    def properties(self, host: int) -> dict[str, str]:
        """Properties of a host by name; the last value of a name counts.

        Examples
        --------
        >>> from smpy.platforms import Description, FullZone, Host
        >>> desk = Host("desk", 1e9, properties=(("price", "900"),))
        >>> Description("mine", FullZone("office", (desk,))).build().properties(0)
        {'price': '900'}
        """
        self._check_host(host)
        return dict(self._properties.of(host))

    def memory(self, host: int) -> Memory:
        """Memory bandwidths of a host and of its cores, 0 if unknown, and its caches.

        Examples
        --------
        >>> from smpy.platforms import read_machine
        >>> machine = read_machine("flat memory_bandwidth=400GB/s host.caches=1MiB:60GB/s", 1).build()
        >>> machine.memory(0).bandwidth_bytes_per_s
        400000000000.0
        >>> machine.memory(0).caches
        (Cache(size_bytes=1048576.0, core_bandwidth_bytes_per_s=60000000000.0),)
        """
        self._check_host(host)
        return self._memory.of(host)

    def busy_speeds(self) -> Iterator[tuple[range, tuple[float, ...]]]:
        """Consecutive hosts, and the part of their speed that cores have while 1, 2, ... are busy, where it is known.

        Raises
        ------
        PlatformError
            If one cannot be read.
        """
        for hosts, noted in self._properties.runs(self.n_hosts):
            text = dict(noted).get(BUSY_SPEED_PROPERTY) if noted else None
            if text is not None:
                yield hosts, busy_shares(text)

    def devices(self) -> Iterator[tuple[range, tuple[Device, ...]]]:
        """Consecutive hosts, and the kinds of devices that each has, where they have some.

        Raises
        ------
        PlatformError
            If they cannot be read.
        """
        compute, link = self._device_factors
        for hosts, noted in self._properties.runs(self.n_hosts):
            text = dict(noted).get(DEVICES_PROPERTY) if noted else None
            if text is None:
                continue
            try:
                kinds = read_devices(text)
            except PlatformError as wrong:
                raise PlatformError(f"host {self.host_names[hosts[0]]!r}: {wrong}") from None
            yield hosts, tuple(scaled(kind, speed=compute, memory=compute, link=link) for kind in kinds)

    def sockets(self, host: int) -> int:
        """Number of sockets of a host, which share its cores equally."""
        self._check_host(host)
        return self._sockets[host]

    def own_calls(self, models: Models) -> dict[CallCosts, list[int]]:
        """Costs of calls on hosts whose properties override overheads, and these hosts.

        Raises
        ------
        PlatformError
            If one cannot be read.
        """
        hosts_of: dict[CallCosts, list[int]] = {}
        with_properties = [(hosts, dict(noted)) for hosts, noted in self._properties.runs(self.n_hosts) if noted]
        if not with_properties:
            return hosts_of
        from smpy.platforms.simgrid.options import OVERHEAD_PROPERTIES, with_options

        for hosts, properties in with_properties:
            own = {key: properties[key] for key in OVERHEAD_PROPERTIES if key in properties}
            if own:
                try:
                    calls = with_options(models, own.items()).calls
                except UsageError as wrong:
                    raise PlatformError(f"host {self.host_names[hosts[0]]!r}: {wrong}") from None
                hosts_of.setdefault(calls, []).extend(hosts)
        return hosts_of

    def host_number(self, name: str) -> int:
        """Number of the host of this name.

        Raises
        ------
        PlatformError
            If there is none; the message suggests one that may have been meant.
        """
        try:
            return self._numbers[name]
        except KeyError:
            raise PlatformError(f"unknown host {name!r}{self._suggestion(name)}") from None

    def route(self, source: int, target: int) -> Route:
        """Route between two hosts, given by their numbers.

        Raises
        ------
        PlatformError
            If the platform has no route between them.
        """
        links, latency_s = self.route_links(source, target)
        return Route(tuple(map(self._link_names.name, links)), latency_s)

    def route_links(self, source: int, target: int) -> tuple[list[int], float]:
        """Numbers of the links from one host to another, and the latency of the route.

        Raises
        ------
        PlatformError
            If the platform has no route between them.
        """
        self._check_host(source)
        self._check_host(target)
        latency_s = ffi.new("double *")
        room = 64
        while True:
            links = ffi.new("int[]", room)
            count = lib.platform_route_links(self.handle, source, target, room, links, latency_s)
            if count < 0:
                raise PlatformError(
                    f"{self.name}: no route from host {self.host_names[source]!r} to {self.host_names[target]!r}: "
                    "declare one, or place no rank on one of them"
                )
            if count <= room:
                return list(links[0:count]), latency_s[0]
            room = count

    def route_length(self, source: int, target: int) -> tuple[int, float]:
        """Number of links of a route, and its latency; -1 links if there is no route."""
        self._check_host(source)
        self._check_host(target)
        latency_s = ffi.new("double *")
        return max(lib.platform_route_links(self.handle, source, target, 0, ffi.NULL, latency_s), -1), latency_s[0]

    def link(self, link: int) -> tuple[float, float, Sharing]:
        """Bandwidth in bytes/s, latency in seconds, and sharing of a link, given by its number in the kernel."""
        if not 0 <= link < self.n_links:
            raise IndexError(f"link {link} of {self.n_links}")
        is_fatpipe = lib.platform_link_policy(self.handle, link) == lib.LINK_FATPIPE
        return (
            float(lib.platform_link_bandwidth_bytes_per_s(self.handle, link)),
            float(lib.platform_link_latency_s(self.handle, link)),
            Sharing.FATPIPE if is_fatpipe else Sharing.SHARED,
        )

    def is_shared(self, link: int) -> bool:
        """Whether flows share the bandwidth of a link; each flow has all of a fatpipe."""
        return bool(lib.platform_link_policy(self.handle, link) != lib.LINK_FATPIPE)

    def all_hosts(self) -> Iterator[tuple[int, int, float, Memory]]:
        """Sockets, cores, speed and memory of every host, by number; fast on a large machine."""
        hosts = range(self.n_hosts)
        cores = map(partial(lib.platform_cores, self.handle), hosts)
        speeds = map(partial(lib.platform_speed_flop_per_s, self.handle), hosts)
        memories = (memory for run, memory in self._memory.runs(self.n_hosts) for _ in run)
        return zip(self._sockets, cores, speeds, memories, strict=True)

    def all_links(self) -> Iterator[tuple[float, float, bool]]:
        """Bandwidth and latency of every link, by number, and whether it is a fatpipe; fast on a large machine."""
        links = range(self.n_links)
        bandwidths = map(partial(lib.platform_link_bandwidth_bytes_per_s, self.handle), links)
        latencies = map(partial(lib.platform_link_latency_s, self.handle), links)
        policies = map(partial(lib.platform_link_policy, self.handle), links)
        return zip(bandwidths, latencies, map(lib.LINK_FATPIPE.__eq__, policies), strict=True)

    def scale_links(self, *, bandwidth: float = 1.0, latency: float = 1.0, link: int | None = None) -> None:
        """Multiply the bandwidth and latency of a link, or of all, before a world uses the platform."""
        lib.platform_scale_link(self.handle, _EVERY if link is None else link, bandwidth, latency)

    def scale_devices(self, *, compute: float = 1.0, link: float = 1.0) -> None:
        """Have all devices compute, and their links carry, faster by factors, before a world uses the platform."""
        self._device_factors = self._device_factors[0] * compute, self._device_factors[1] * link

    def drop_profiles(self, what: Changing) -> None:
        """Remove the profiles of a quantity, before a world uses the platform."""
        lib.platform_drop_profiles(self.handle, QUANTITIES[what])

    def link_name(self, link: int) -> str:
        """Name of a link, given by its number in the kernel."""
        if not 0 <= link < self.n_links:
            raise IndexError(f"link {link} of {self.n_links}")
        return self._link_names.name(link)

    def link_label(self, link: int) -> str:
        """Nodes that a link joins, such as "leaf 3 to spine 1"; its name, if they are not known."""
        name, ends = self.link_name(link), self._link_names.ends(link)
        return name if ends is None else ends.label

    def __repr__(self) -> str:
        return f"<Platform {self.name}: {self.n_hosts} hosts, {self.n_links} links>"

    def _check_host(self, host: int) -> None:
        if not 0 <= host < self.n_hosts:
            raise IndexError(f"host {host} of {self.n_hosts}")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: host for host, name in enumerate(self.host_names)}

    def _suggestion(self, name: str) -> str:
        if close := meant(name, self.host_names):
            return close
        shown = ", ".join(self.host_names[:4]) + (", ..." if self.n_hosts > 4 else "")
        return f": {self.name} has {self.n_hosts} hosts ({shown})"
