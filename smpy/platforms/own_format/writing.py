"""Writes a machine as TOML, as far as TOML can express it: reading the text gives the same machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, Final

from smpy.errors import PlatformError
from smpy.platforms.cluster import Cluster, HostGroup, JoinedNames, ListedNames, NumberedNames
from smpy.platforms.description import Description
from smpy.platforms.models.devices import DEVICES_PROPERTY
from smpy.platforms.models.machine_models import OVERHEADS, CallCosts, Models, NetworkModel, Overhead, Polling, Step
from smpy.platforms.models.memory import Memory
from smpy.platforms.models.network_models import FROM_LINKS, Network, parameters_of
from smpy.platforms.models.prices import HOST_PROPERTIES, POWER_PROPERTY
from smpy.platforms.own_format.describe import describe
from smpy.platforms.own_format.devices import device_tables
from smpy.platforms.own_format.kernels import kernel_tables
from smpy.platforms.own_format.prices import price_tables
from smpy.platforms.own_format.storage import storage_table
from smpy.platforms.own_format.threads import thread_tables
from smpy.platforms.own_format.toml_reader import read_toml
from smpy.platforms.own_format.wanted_hosts import RunSize
from smpy.platforms.parts import Zone
from smpy.platforms.topologies.full import FullZone
from smpy.platforms.topologies.graph import Graph
from smpy.units import exact_bandwidth, exact_size, exact_speed, exact_time

Tables = dict[str, dict[str, object]]


def write_toml(machine: Description) -> str:
    """Content of a TOML file that describes the same machine.

    Parameters
    ----------
    machine : Description
        The machine.

    Raises
    ------
    PlatformError
        If our TOML cannot say all of it; the message names what.
    """
    zone = topology_of(machine)
    settings = zone.to_settings()
    if settings is None:
        raise _unsayable(machine, f"{type(zone).__name__} {getattr(zone, 'name', '')!r}, {_PLAIN}", zone.origin)
    if machine.connections:
        raise _unsayable(machine, "profiles that hosts or links follow")
    if machine.part_changes:
        raise _unsayable(machine, "changes of single links or hosts")
    cluster: Cluster = zone.cluster  # type: ignore[attr-defined]  # every topology of ours has one
    tables: Tables = {
        **_hosts(machine, cluster),
        "topology": {**settings, "name": cluster.name},
    }
    for name, table in price_tables(machine.prices).items():
        tables[name] = tables.get(name, {}) | table
    models = machine.models
    bare: Tables = {
        "network": {"model": models.network.name},
        "mpi": {"costs": "default" if models.calls.rendezvous_overheads else "smpi"},
    }
    try:
        base = _read(_text(machine.name, tables | bare)).models
        tables["network"] = bare["network"] | dict(_network(models.network, base.network))
        tables["mpi"] = bare["mpi"] | dict(_mpi(models, base))
        tables |= {each.name: dict(_network(each, type(each)())) for each in models.described}
        tables |= kernel_tables(machine.kernels)
        tables |= thread_tables(machine.threads)
        if machine.storage is not None:
            tables["storage"] = storage_table(machine.storage)
        if machine.calibration:
            tables["calibration"] = dict(machine.calibration)
        text = _text(machine.name, tables, machine.fills_hosts)
        again = _read(text)
    except PlatformError as wrong:
        raise _unsayable(machine, str(wrong).partition(": ")[2]) from None
    except UnicodeEncodeError:  # names may come from any bytes of a shell
        raise _unsayable(machine, "a name that is no text") from None
    mine, its = ((one.models, one.kernels, one.prices, one.storage, one.threads) for one in (machine, again))
    lost = next(_differences((zone, *mine), (again.zone, *its)), None)
    if lost is not None:
        raise _unsayable(machine, lost)
    return text


_PLAIN = (
    "which has parts and routes of its own: it can say flat clusters, fat trees, tori, dragonflies, HyperX and graphs"
)


def topology_of(machine: Description) -> Zone:
    """The outermost zone, or the only zone inside it."""
    zone = machine.zone
    while isinstance(zone, FullZone) and len(zone.parts) == 1 and isinstance(zone.parts[0], Zone):
        zone = zone.parts[0]
    return zone


def _unsayable(machine: Description, what: str, origin: str = "") -> PlatformError:
    where = origin or machine.origin or machine.name
    return PlatformError(f"{where}: our TOML cannot say this machine: {what}")


def _read(text: str) -> Description:
    return describe(read_toml(Path("it"), text.encode()), "it", "it", RunSize(1))


def _differences(one: Any, other: Any, name: str = "") -> Iterator[str]:
    """Fields of a value that differ from those of another one, as "name = value"."""
    if one == other:
        return
    if type(one) is type(other) and is_dataclass(one):
        for field in fields(one):
            if field.compare:
                yield from _differences(getattr(one, field.name), getattr(other, field.name), field.name)
    elif type(one) is tuple and type(other) is tuple and len(one) == len(other):
        for mine, its in zip(one, other, strict=True):
            yield from _differences(mine, its, name)
    else:
        yield f"{name} = {one!r}"


# ---- tables ----


def _hosts(machine: Description, cluster: Cluster) -> Tables:
    """Tables of hosts and their wires."""
    loopback = cluster.loopback_bandwidth_bytes_per_s
    host: dict[str, object] = {
        **({} if loopback is None else {"loopback_bandwidth": exact_bandwidth(loopback)}),
        "loopback_latency": exact_time(cluster.loopback_latency_s),
        **({} if cluster.messages_share_memory else {"messages_share_memory": False}),
    }
    nic: dict[str, object] = {
        "bandwidth": exact_bandwidth(cluster.bandwidth_bytes_per_s),
        "latency": exact_time(cluster.latency_s),
        "duplex": "full" if cluster.is_split else "half",
        **_unless_zero("limit", cluster.limiter_bandwidth_bytes_per_s),
        **({"rails": cluster.rails} if cluster.rails > 1 else {}),
    }
    if not cluster.groups:
        power, price, properties = _noted(cluster.properties, _speeds(cluster.host_groups[0]))
        listed = {} if isinstance(topology_of(machine), Graph) else _names(machine, cluster.hosts)
        alike = listed | _group(cluster.host_groups[0]) | host | properties
        return {"host": alike, "nic": nic, **({"power": power} if power else {}), **({"price": price} if price else {})}
    tables: Tables = {"host": host, "nic": nic}
    names = cluster.hosts.parts if isinstance(cluster.hosts, JoinedNames) else (cluster.hosts,)
    if len(names) != len(cluster.groups):
        raise _unsayable(machine, "groups of hosts whose names are not those of groups")
    for number, (hosts, group) in enumerate(zip(names, cluster.groups, strict=True)):
        power, price, properties = _noted(group.properties, _speeds(group))
        wires = {"bandwidth": exact_bandwidth(group.bandwidth_bytes_per_s), "latency": exact_time(group.latency_s)}
        tables[f"group.g{number}"] = {
            **(_names(machine, hosts) | _group(group) | {"nic": wires} | properties),
            **({"power": power} if power else {}),
            **({"price": price} if price else {}),
        }
    return tables


def _names(machine: Description, hosts: NumberedNames | ListedNames | JoinedNames) -> dict[str, object]:
    if isinstance(hosts, ListedNames) and hosts.n_names == 1:
        return {"names": hosts.names[0]}
    if not isinstance(hosts, NumberedNames):
        raise _unsayable(machine, "names of hosts that are listed one by one")
    numbers = ",".join(str(part.start) if len(part) == 1 else f"{part.start}-{part.stop - 1}" for part in hosts.ranges)
    return {"names": f"{hosts.prefix}[{numbers}]{hosts.suffix}"}


def _group(group: HostGroup) -> dict[str, object]:
    """TOML keys of a group of hosts: cores, sockets, speed and memory."""
    numbers = {"cores": group.cores, "sockets": group.sockets, "speed": exact_speed(group.speed_flop_per_s)}
    return numbers | _memory(group.memory)


def _speeds(group: HostGroup) -> tuple[float, ...]:
    return group.state_speeds_flop_per_s or (group.speed_flop_per_s,)


def _states(text: str, speeds_flop_per_s: tuple[float, ...]) -> list[dict[str, object]]:
    """States of [power], if reading the text gives them back."""
    rows: list[dict[str, object]] = []
    for entry, speed in zip(text.split(","), speeds_flop_per_s, strict=False):
        numbers = _numbers(entry)
        if len(numbers) != 3 or min(numbers) < 0 or numbers[0] > numbers[2]:
            return []
        watts = zip(_THREE, (f"{number!r}W" for number in numbers), strict=True)
        rows.append({"speed": exact_speed(speed), **dict(watts)})
    return rows if len(rows) == len(speeds_flop_per_s) == text.count(",") + 1 else []


def _noted(
    properties: tuple[tuple[str, str], ...], speeds_flop_per_s: tuple[float, ...]
) -> tuple[dict[str, object], ...]:
    """Tables [power] and [price], and keys of [host] for the properties that these do not cover."""
    left = list(properties)
    power: dict[str, object] = {}
    price: dict[str, object] = {}
    has_states = len(speeds_flop_per_s) > 1 and left and left[0][0] == POWER_PROPERTY
    if has_states and (states := _states(left[0][1], speeds_flop_per_s)):
        power["states"] = states
        left.pop(0)
    for name, two_or_one in _NOTED.items():
        numbers = _numbers(left[0][1]) if left and left[0][0] == name else ()
        keys = _THREE if name == POWER_PROPERTY and len(numbers) == len(_THREE) else two_or_one
        if len(numbers) == len(keys) and min(numbers) >= 0 and max(numbers) > 0 and numbers[0] <= numbers[-1]:
            left.pop(0)
            texts = ((key, number) for key, number in zip(keys, numbers, strict=True))
            if name.startswith("price"):
                price.update(texts)
            else:
                power.update((key, f"{number!r}W") for key, number in texts)
    others: dict[str, object] = {}
    if left and left[0][0] == DEVICES_PROPERTY:
        others["gpu"] = device_tables(left.pop(0)[1])
    return power, price, others | ({"properties": dict(left)} if left else {})


_THREE: Final = ("idle", "one_core", "busy")
_NOTED: Final = {
    POWER_PROPERTY: ("idle", "busy"),
    "wattage_off": ("off",),
    **{property_name: (key,) for key, property_name in HOST_PROPERTIES.items()},
}


def _numbers(text: str) -> tuple[float, ...]:
    """Numbers of "1.0:2.0", if written as we write them."""
    try:
        numbers = tuple(map(float, text.split(":")))
    except ValueError:
        return ()
    return numbers if ":".join(map(repr, numbers)) == text else ()


def _memory(memory: Memory) -> dict[str, object]:
    caches = {
        exact_size(cache.size_bytes): exact_bandwidth(cache.core_bandwidth_bytes_per_s) for cache in memory.caches
    }
    random_access = {
        exact_size(point.working_set_bytes): exact_bandwidth(point.core_bytes_per_s) for point in memory.random_access
    }
    cache_cores = {exact_size(level.size_bytes): level.n_cores for level in memory.cache_levels}
    return {
        **_unless_zero("memory_bandwidth", memory.bandwidth_bytes_per_s),
        **_unless_zero("core_memory_bandwidth", memory.core_bandwidth_bytes_per_s),
        **({"caches": caches} if caches else {}),
        **({"random_access": random_access} if random_access else {}),
        **({"cache_cores": cache_cores} if cache_cores else {}),
        **_unless_zero("messages_bandwidth", memory.measured_messages_bytes_per_s),
    }


def _unless_zero(key: str, bandwidth_bytes_per_s: float) -> dict[str, object]:
    return {key: exact_bandwidth(bandwidth_bytes_per_s)} if bandwidth_bytes_per_s else {}


def _network(network: Network, base: Network) -> Iterator[tuple[str, object]]:
    """Keys and values of a network that differ from the named model `base`."""
    if not (isinstance(network, NetworkModel) and isinstance(base, NetworkModel)):
        for parameter in parameters_of(type(network)):
            number = getattr(network, parameter.field)
            if number not in (parameter.default, FROM_LINKS):
                yield parameter.key, parameter.unit.write(number)
        return
    for key in ("latency_factor", "bandwidth_factor"):
        steps: tuple[Step, ...] = getattr(network, key)
        if steps != getattr(base, key):
            yield key, {exact_size(step.above_bytes): step.value for step in steps} or 1
    for key, field in (("weight", "weight_bytes"), ("tcp_window", "tcp_gamma_bytes"), ("envelope", "envelope_bytes")):
        if getattr(network, field) != getattr(base, field):
            yield key, exact_size(getattr(network, field))
    if network.crosstraffic != base.crosstraffic:
        yield "crosstraffic", network.crosstraffic


def _mpi(models: Models, base: Models) -> Iterator[tuple[str, object]]:
    """Keys and values of [mpi] that differ from the named costs `base`."""
    calls, base_calls = models.calls, base.calls
    if calls.detached_below_bytes != base_calls.detached_below_bytes:
        yield "eager_limit", exact_size(calls.detached_below_bytes - 1)
    yield from _overheads(calls, base_calls)
    for key, mine, its in (
        ("wtime", calls.wtime_s, base_calls.wtime_s),
        ("spawn", calls.spawn_s, base_calls.spawn_s),
        ("page_fault", calls.page_fault_s, base_calls.page_fault_s),
        ("huge_page_fault", calls.huge_page_fault_s, base_calls.huge_page_fault_s),
        ("test", models.polling.test_s, base.polling.test_s),
        ("iprobe", models.polling.iprobe_s, base.polling.iprobe_s),
    ):
        if mine != its:
            yield key, exact_time(mine)
    for key, mine, its in (("reduction_bandwidth", calls.reduction_byte_s, base_calls.reduction_byte_s),):
        if mine != its:
            yield key, exact_bandwidth(1 / mine if mine else 0.0)
    if models.polling.polls_grow != base.polling.polls_grow or models.polling.polls_notice != base.polling.polls_notice:
        yield "polls", _polls(models.polling)
    if models.collectives.file:
        yield "collectives", models.collectives.file
    elif models.collectives.table != base.collectives.table:
        yield "collectives", models.collectives.table
    if models.collectives.algorithms:
        yield "algorithms", dict(models.collectives.algorithms)


def _overheads(calls: CallCosts, base: CallCosts) -> Iterator[tuple[str, object]]:
    for key in OVERHEADS:
        rows: tuple[Overhead, ...] = getattr(calls, key)
        if rows != getattr(base, key):
            name, text = _OVERHEAD_TEXTS.get(key, (key, _times))
            yield name, {exact_size(row.above_bytes): text(row) for row in rows}


def _times(row: Overhead) -> object:
    return [exact_time(row.constant_s), exact_time(row.per_byte_s)]


_OVERHEAD_TEXTS: Final[dict[str, tuple[str, Callable[[Overhead], object]]]] = {
    "own_copy": ("own_copy_bandwidth", lambda row: exact_bandwidth(1 / row.per_byte_s if row.per_byte_s else 0.0)),
    "block": ("block", lambda row: exact_time(row.constant_s)),
}


def _polls(polling: Polling) -> str:
    return "constant" if not polling.polls_grow else "notice" if polling.polls_notice else "grow"


# ---- TOML ----


def _text(name: str, tables: Mapping[str, Mapping[str, object]], fills_hosts: bool = True) -> str:
    lines = [f"name = {_value(name)}", *([] if fills_hosts else ["fills_hosts = false"])]
    for table, settings in tables.items():
        lines += ["", f"[{table}]", *(f"{_key(key)} = {_value(value)}" for key, value in settings.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _value(value: object) -> str:
    if isinstance(value, dict):
        inner = (f"{json.dumps(key, ensure_ascii=False)} = {_value(inner)}" for key, inner in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"  {_value(row)},\n" for row in value) + "]"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, date | time):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
