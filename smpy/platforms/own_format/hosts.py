"""Reads the hosts of a machine: the tables [host], [nic], [power], [price], and [group.NAME] for some of them.

A group has the keys that differ for its hosts: keys of [host] in [group.NAME] itself, those of the other tables in
[group.NAME.nic] and so on.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster, HostGroup, JoinedNames, ListedNames, NumberedNames
from smpy.platforms.default_cluster import (
    CABLE_BANDWIDTH_BYTES_PER_S,
    CABLE_LATENCY_S,
    CORE_SPEED_FLOP_PER_S,
    CORES_PER_HOST,
    LOOPBACK_LATENCY_S,
    SOCKETS_PER_HOST,
)
from smpy.platforms.models.busy_speed import BUSY_SPEED_PROPERTY, busy_shares, busy_speed_text
from smpy.platforms.models.devices import DEVICES_PROPERTY
from smpy.platforms.models.memory import Cache, CacheLevel, Memory, RandomAccess
from smpy.platforms.models.power import PowerState
from smpy.platforms.models.prices import HOST_PROPERTIES, POWER_PROPERTY
from smpy.platforms.own_format.devices import read_host_devices
from smpy.platforms.own_format.prices import read_host_power, read_power_states
from smpy.platforms.own_format.settings import TomlTable, integer_of, number_of, quantity_of
from smpy.platforms.own_format.wanted_hosts import WantedHosts
from smpy.units import (
    exact_speed,
    parse_bandwidth_bytes_per_s,
    parse_power_w,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
)

HOSTS_MAX: Final = 2**31 - 1
RAILS_MAX: Final = 1024
_NAMES: Final = re.compile(r"([^\[\]*]*)(?:\*|\[([0-9,\s-]+)\])([^\[\]*]*)")


class _Noted(NamedTuple):
    """Power, price, hourly rent, devices and free-form properties of a group of hosts."""

    idle_w: float = 0.0
    one_core_w: float | None = None
    busy_w: float = 0.0
    states: tuple[PowerState, ...] = ()
    off_w: float = 0.0
    host_eur: float = 0.0
    host_hour_eur: float = 0.0
    devices: str = ""
    busy_speed: str = ""
    others: tuple[tuple[str, str], ...] = ()


def read_hosts(machine: TomlTable) -> WantedHosts:
    """Hosts that a machine requests.

    Raises
    ------
    PlatformError
        If a setting is wrong.
    """
    host, nic = machine.table("host"), machine.table("nic")
    plain = HostGroup(
        n_hosts=1,
        cores=CORES_PER_HOST,
        sockets=SOCKETS_PER_HOST,
        speed_flop_per_s=CORE_SPEED_FLOP_PER_S,
        bandwidth_bytes_per_s=CABLE_BANDWIDTH_BYTES_PER_S,
        latency_s=CABLE_LATENCY_S,
    )
    noted = _noted(machine, host, _Noted())
    usual = _group(host, nic, plain, noted)
    groups = [group for _, group in machine.table("group").tables()]
    names: NumberedNames | JoinedNames
    if groups:
        for key in ("count", "names"):
            if host.is_written(key):
                raise host.error(key, "each group of hosts says its own: remove it here")
        named_groups = [_grouped(group, usual, noted) for group in groups]
        names, alike = JoinedNames(tuple(names for names, _ in named_groups)), tuple(group for _, group in named_groups)
        count: int | None = names.n_names
    else:
        names, alike = _names(host, "node-*"), ()
        count = names.n_names or None
        if not host.says("count", "run"):
            count = _count(host, names)
    first = alike[0] if alike else usual
    loopback = host.quantity("loopback_bandwidth", parse_bandwidth_bytes_per_s, "10GB/s", 0.0)
    like = Cluster(
        name="",
        hosts=names,
        cores=first.cores,
        sockets=first.sockets,
        memory_bandwidth_bytes_per_s=first.memory_bandwidth_bytes_per_s,
        core_memory_bandwidth_bytes_per_s=first.core_memory_bandwidth_bytes_per_s,
        caches=first.caches,
        random_access=first.random_access,
        cache_levels=first.cache_levels,
        messages_bandwidth_bytes_per_s=first.messages_bandwidth_bytes_per_s,
        properties=first.properties,
        state_speeds_flop_per_s=first.state_speeds_flop_per_s,
        speed_flop_per_s=first.speed_flop_per_s,
        bandwidth_bytes_per_s=usual.bandwidth_bytes_per_s,
        latency_s=usual.latency_s,
        is_split=nic.choice("duplex", ("full", "half"), "full") == "full",
        loopback_bandwidth_bytes_per_s=loopback if host.is_written("loopback_bandwidth") else None,
        messages_share_memory=host.flag("messages_share_memory", True),
        loopback_latency_s=host.quantity("loopback_latency", parse_time_s, "0.1us", LOOPBACK_LATENCY_S),
        rails=nic.integer("rails", 1, most=RAILS_MAX),
        limiter_bandwidth_bytes_per_s=nic.quantity("limit", parse_bandwidth_bytes_per_s, "300Gb/s", 0.0),
        groups=alike,
    )
    return WantedHosts(host, like, names, count)


def _grouped(settings: TomlTable, usual: HostGroup, noted: _Noted) -> tuple[NumberedNames | ListedNames, HostGroup]:
    """Hosts of a group, and their names; a name without a number belongs to the group's only host."""
    name = settings.text("names", f"{settings.name.rpartition('.')[2]}-*")
    names: NumberedNames | ListedNames = (
        ListedNames((name,)) if re.fullmatch(r"[^\[\]*]+", name) else _names(settings, name)
    )
    count = names.n_names
    if not count or settings.is_written("count"):
        count = _count(settings, names)
    if isinstance(names, NumberedNames):
        names = NumberedNames(names.prefix, names.ranges or (range(count),), names.suffix)
    group = _group(settings, settings.table("nic"), usual, _noted(settings, settings, noted))
    return names, replace(group, n_hosts=count)


def _group(host: TomlTable, nic: TomlTable, usual: HostGroup, noted: _Noted) -> HostGroup:
    """Create a group of hosts; missing keys take the values of `usual`."""
    cores = host.integer("cores", usual.cores, most=HOSTS_MAX, unit="cores")
    sockets = host.integer("sockets", 1 if cores % usual.sockets else usual.sockets, unit="sockets")
    if cores % sockets:
        raise host.error("sockets", f"{sockets} sockets cannot share {cores} cores equally: change both")
    speeds = tuple(state.speed_flop_per_s for state in noted.states)
    usual_flop_per_s = speeds[0] if speeds else usual.speed_flop_per_s
    speed_flop_per_s = host.quantity("speed", parse_speed_flop_per_s, "49.6Gf", usual_flop_per_s, is_positive=True)
    if speeds and speed_flop_per_s != speeds[0]:
        raise host.error("speed", f"power.states begins with {exact_speed(speeds[0])}: remove it here")
    group = HostGroup(
        n_hosts=1,
        cores=cores,
        sockets=sockets,
        speed_flop_per_s=speed_flop_per_s,
        memory_bandwidth_bytes_per_s=host.quantity(
            "memory_bandwidth", parse_bandwidth_bytes_per_s, "400GB/s", usual.memory_bandwidth_bytes_per_s
        ),
        core_memory_bandwidth_bytes_per_s=host.quantity(
            "core_memory_bandwidth", parse_bandwidth_bytes_per_s, "25GB/s", usual.core_memory_bandwidth_bytes_per_s
        ),
        caches=_caches(host, usual.caches),
        random_access=_random_access(host, usual.random_access),
        cache_levels=_cache_levels(host, usual.cache_levels),
        messages_bandwidth_bytes_per_s=host.quantity(
            "messages_bandwidth", parse_bandwidth_bytes_per_s, "20GB/s", usual.messages_bandwidth_bytes_per_s
        ),
        bandwidth_bytes_per_s=nic.quantity(
            "bandwidth", parse_bandwidth_bytes_per_s, "200Gb/s", usual.bandwidth_bytes_per_s, is_positive=True
        ),
        latency_s=nic.quantity("latency", parse_time_s, "1us", usual.latency_s),
        properties=_properties(noted),
        state_speeds_flop_per_s=speeds if len(speeds) > 1 else (),
    )
    _check(group.memory, host, "core_memory_bandwidth")
    return group


def _count(host: TomlTable, names: NumberedNames | ListedNames) -> int:
    """Stated number of hosts; numbered or listed names, if any, must agree with it."""
    written = host.integer("count", unit="hosts", most=HOSTS_MAX)
    if names.n_names and names.n_names != written:
        raise host.error("count", f"it is {written}, and names lists {names.n_names} hosts")
    return written


def _caches(host: TomlTable, usual: tuple[Cache, ...]) -> tuple[Cache, ...]:
    """Sizes and bandwidths of `{"32KiB" = "100GB/s", "1MiB" = "60GB/s"}`, by ascending size."""
    rates = _rates_by_size(host, "caches")
    if rates is None:
        return usual
    caches = tuple(Cache(*rate) for rate in rates)
    _check(Memory(caches=caches), host, "caches")
    return caches


def _random_access(host: TomlTable, usual: tuple[RandomAccess, ...]) -> tuple[RandomAccess, ...]:
    """Working sets and rates of `{"32KiB" = "6GB/s", "1GiB" = "500MB/s"}`, by ascending working set."""
    rates = _rates_by_size(host, "random_access")
    if rates is None:
        return usual
    points = tuple(RandomAccess(*rate) for rate in rates)
    _check(Memory(random_access=points), host, "random_access")
    return points


def _cache_levels(host: TomlTable, usual: tuple[CacheLevel, ...]) -> tuple[CacheLevel, ...]:
    """Sizes of `{"1MiB" = 1, "32MiB" = 8}` and the cores that share each, by ascending size."""
    written = host.by_size("cache_cores")
    if written is None:
        return usual
    levels = tuple(
        CacheLevel(*level)
        for level in sorted(
            (quantity_of(size, parse_size_bytes, "32MiB"), integer_of(n, "cores")) for size, n in written
        )
    )
    _check(Memory(cache_levels=levels), host, "cache_cores")
    return levels


def _rates_by_size(host: TomlTable, key: str) -> list[tuple[float, float]] | None:
    """Sizes and bandwidths of a key, by ascending size; None if it is not written."""
    written = host.by_size(key)
    if written is None:
        return None
    return sorted(
        (quantity_of(size, parse_size_bytes, "32KiB"), quantity_of(rate, parse_bandwidth_bytes_per_s, "100GB/s"))
        for size, rate in written
    )


def _busy_speed(host: TomlTable, usual: str) -> str:
    """Property of `{"2" = 0.97, "8" = 0.8}`: busy cores, and the part of a core's speed that is left."""
    written = host.by_size("busy_speed")
    if written is None:
        return usual
    points = sorted((number_of(n_cores), number_of(share)) for n_cores, share in written)
    text = busy_speed_text(points)
    try:
        busy_shares(text)
    except PlatformError as wrong:
        raise host.error("busy_speed", str(wrong)) from None
    return text


def _check(memory: Memory, host: TomlTable, key: str) -> None:
    try:
        memory.check()
    except PlatformError as wrong:
        raise host.error(key, str(wrong)) from None


def _names(host: TomlTable, usual: str) -> NumberedNames:
    """Names that "node-*" or "node-[1-16].site" stand for; without numbers for the former."""
    pattern = host.text("names", usual)
    match = _NAMES.fullmatch(pattern)
    if match is None:
        raise host.error("names", f'{pattern!r} is no pattern of names: write "node-*" or "node-[1-16,20]"')
    ranges = []
    for part in match[2].split(",") if match[2] else ():
        bounds = re.fullmatch(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", part, re.ASCII)
        if bounds is None or int(bounds[2] or bounds[1]) < int(bounds[1]):
            raise host.error("names", f"{part!r} is neither a number nor a range such as 1-16")
        if any(len(bound) > 1 and bound[0] == "0" for bound in bounds.groups("0")):
            raise host.error("names", f"{part!r}: numbers with zeros before them are not supported: write 1-16")
        ranges.append(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return NumberedNames(match[1], tuple(ranges), match[3])


# ---- power, prices and notes ----


def _noted(around: TomlTable, host: TomlTable, usual: _Noted) -> _Noted:
    """Read [power], [price] and the properties of [host]; missing keys take the values of `usual`."""
    power, price = around.table("power"), around.table("price")
    states = read_power_states(power)
    idle_w, busy_w = read_host_power(power, usual.idle_w, usual.busy_w)
    one_core_w = power.quantity("one_core", parse_power_w, "250W", usual.one_core_w or 0.0)
    says_one = power.is_written("idle") or power.is_written("busy") or power.is_written("one_core")
    return _Noted(
        idle_w=idle_w,
        one_core_w=one_core_w if power.is_written("one_core") else usual.one_core_w,
        busy_w=busy_w,
        states=states or (() if says_one else usual.states),
        off_w=power.quantity("off", parse_power_w, "200W", usual.off_w),
        host_eur=price.number("host_eur", usual.host_eur),
        host_hour_eur=price.number("host_hour_eur", usual.host_hour_eur),
        devices=read_host_devices(host, usual.devices),
        busy_speed=_busy_speed(host, usual.busy_speed),
        others=tuple((dict(usual.others) | dict(host.table("properties").texts())).items()),
    )


def _properties(noted: _Noted) -> tuple[tuple[str, str], ...]:
    """Properties under SimGrid's names, where it has one."""
    properties = []
    if noted.states:
        rows = (f"{state.idle_w!r}:{state.epsilon_w!r}:{state.busy_w!r}" for state in noted.states)
        properties.append((POWER_PROPERTY, ",".join(rows)))
    elif noted.busy_w:
        between = "" if noted.one_core_w is None else f"{noted.one_core_w!r}:"
        properties.append((POWER_PROPERTY, f"{noted.idle_w!r}:{between}{noted.busy_w!r}"))
    if noted.off_w:
        properties.append(("wattage_off", repr(noted.off_w)))
    for key, property_name in HOST_PROPERTIES.items():
        if number := getattr(noted, key):
            properties.append((property_name, repr(number)))
    if noted.devices:
        properties.append((DEVICES_PROPERTY, noted.devices))
    if noted.busy_speed:
        properties.append((BUSY_SPEED_PROPERTY, noted.busy_speed))
    return (*properties, *noted.others)
