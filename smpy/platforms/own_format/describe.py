"""Makes the description of a machine from its settings: the tables [host], [nic], [topology], [network], [mpi].

[kernels] says what computing costs, and [calibration] where such numbers come from. What is not said is the default
cluster's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster, NumberedNames
from smpy.platforms.default_cluster import (
    CABLE_BANDWIDTH_BYTES_PER_S,
    CABLE_LATENCY_S,
    CORE_SPEED_FLOP_PER_S,
    CORES_PER_HOST,
    LOOPBACK_BANDWIDTH_BYTES_PER_S,
    LOOPBACK_LATENCY_S,
    SOCKETS_PER_HOST,
)
from smpy.platforms.description import Description
from smpy.platforms.memory import Cache, Memory
from smpy.platforms.own_format.kernels import read_kernels
from smpy.platforms.own_format.models import read_models
from smpy.platforms.own_format.settings import Settings, Tree, quantity_of
from smpy.platforms.own_format.wanted_hosts import WantedHosts
from smpy.platforms.topologies import topology_named, topology_names
from smpy.units import (
    parse_bandwidth_bytes_per_s,
    parse_power_w,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
)

HOSTS_MAX: Final = 2**31 - 1
RAILS_MAX: Final = 1024
_NAMES: Final = re.compile(r"([^\[\]*]*)(?:\*|\[([0-9,\s-]+)\])([^\[\]*]*)")


def describe(
    tree: Tree, name: str, origin: str, n_ranks: int, ranks_per_host: int = 0, short_keys: Iterable[str] = ()
) -> Description:
    """The machine of a tree of settings.

    Parameters
    ----------
    tree : dict
        Its settings.
    name : str
        What it is called, unless its settings say that.
    origin : str
        Where it is described, for what is missing.
    n_ranks, ranks_per_host : int
        How many ranks will run, and on a host at most (0: as many as it has cores): a machine that does not say how
        many hosts it has is sized to them.
    short_keys : iterable of str
        Keys of other tables that stand among the topology's where it is described, for suggestions.

    Raises
    ------
    PlatformError
        If a setting is unknown or wrong.
    """
    machine = Settings("", tree, origin)
    named = machine.text("name", name)
    machine.text("about", "")
    machine.value("sources")
    properties = (*_power(machine.table("power")), *_price(machine.table("price")))
    hosts = _hosts(machine.table("host"), machine.table("nic"), properties)
    hosts = hosts.for_ranks(n_ranks, ranks_per_host)
    topology = machine.table("topology", tuple(short_keys))
    kind = topology.choice("kind", topology_names("machine"), "fat-tree")
    hosts = hosts.called(topology.text("name", "cluster"))
    zone = topology_named("machine", kind).kind.from_settings(topology, hosts)
    models = read_models(machine.table("network"), machine.table("mpi"))
    kernels, calibration = read_kernels(machine.table("kernels")), machine.table("calibration").kept()
    machine.check_keys()
    return Description(
        *(named, zone, models), fills_hosts=True, origin=origin, kernels=kernels, calibration=calibration
    )


def _hosts(host: Settings, nic: Settings, properties: tuple[tuple[str, str], ...]) -> WantedHosts:
    cores = host.integer("cores", CORES_PER_HOST, most=HOSTS_MAX, unit="cores")
    sockets = host.integer("sockets", 1 if cores % SOCKETS_PER_HOST else SOCKETS_PER_HOST, unit="sockets")
    if cores % sockets:
        raise host.error("sockets", f"{sockets} sockets cannot share {cores} cores equally")
    names = _names(host)
    count: int | None = names.n_names or None
    if not host.says("count", "run"):
        written = host.integer("count", unit="hosts", most=HOSTS_MAX)
        if count is not None and count != written:
            raise host.error("count", f"it is {written}, and names lists {count} hosts")
        count = written
    like = Cluster(
        name="",
        hosts=names,
        cores=cores,
        sockets=sockets,
        memory_bandwidth_bytes_per_s=host.quantity("memory_bandwidth", parse_bandwidth_bytes_per_s, "400GB/s", 0.0),
        core_memory_bandwidth_bytes_per_s=host.quantity(
            "core_memory_bandwidth", parse_bandwidth_bytes_per_s, "25GB/s", 0.0
        ),
        caches=_caches(host),
        properties=properties,
        speed_flop_per_s=host.quantity(
            "speed", parse_speed_flop_per_s, "49.6Gf", CORE_SPEED_FLOP_PER_S, is_positive=True
        ),
        bandwidth_bytes_per_s=nic.quantity(
            "bandwidth", parse_bandwidth_bytes_per_s, "200Gb/s", CABLE_BANDWIDTH_BYTES_PER_S, is_positive=True
        ),
        latency_s=nic.quantity("latency", parse_time_s, "1us", CABLE_LATENCY_S),
        is_split=nic.choice("duplex", ("full", "half"), "full") == "full",
        loopback_bandwidth_bytes_per_s=host.quantity(
            "loopback_bandwidth",
            parse_bandwidth_bytes_per_s,
            "10GB/s",
            LOOPBACK_BANDWIDTH_BYTES_PER_S,
        ),
        loopback_latency_s=host.quantity("loopback_latency", parse_time_s, "0.1us", LOOPBACK_LATENCY_S),
        rails=nic.integer("rails", 1, most=RAILS_MAX),
        limiter_bandwidth_bytes_per_s=nic.quantity("limit", parse_bandwidth_bytes_per_s, "300Gb/s", 0.0),
    )
    _check(like.memory, host, "core_memory_bandwidth")
    return WantedHosts(host, like, names, count)


def _caches(host: Settings) -> tuple[Cache, ...]:
    """The sizes and bandwidths of `{"32KiB" = "100GB/s", "1MiB" = "60GB/s"}`, by rising size."""
    rows = sorted(
        (quantity_of(size, parse_size_bytes, "32KiB"), quantity_of(bandwidth, parse_bandwidth_bytes_per_s, "100GB/s"))
        for size, bandwidth in host.by_size("caches") or ()
    )
    caches = tuple(Cache(*row) for row in rows)
    _check(Memory(caches=caches), host, "caches")
    return caches


def _check(memory: Memory, host: Settings, key: str) -> None:
    try:
        memory.check()
    except PlatformError as wrong:
        raise host.error(key, str(wrong)) from None


def _names(host: Settings) -> NumberedNames:
    """The names that "node-*" or "node-[1-16].site" stand for; without numbers for the former."""
    pattern = host.text("names", "node-*")
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


def _power(settings: Settings) -> Iterator[tuple[str, str]]:
    """What a host draws, under the names that SimGrid gives it."""
    idle_w, busy_w, off_w = (settings.quantity(key, parse_power_w, "200W", 0.0) for key in ("idle", "busy", "off"))
    if busy_w < idle_w:
        raise settings.error("busy", f"a host with all cores busy draws {busy_w:g} W, and an idle one {idle_w:g} W")
    if busy_w:
        yield "wattage_per_state", f"{idle_w!r}:{busy_w!r}"
    if off_w:
        yield "wattage_off", repr(off_w)


def _price(settings: Settings) -> Iterator[tuple[str, str]]:
    """What a host costs to buy, and an hour of it to rent, in any currency."""
    for key in ("host", "host_hour"):
        if price := settings.number(key, 0.0):
            yield f"price_per_{key}", repr(price)
