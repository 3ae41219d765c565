"""Reads the tables [[host.gpu]], and applies what --set says of devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from smpy.errors import PlatformError, UsageError, meant
from smpy.platforms.description import Description
from smpy.platforms.models.devices import DEVICES_PROPERTY, Device, devices_text, read_devices
from smpy.platforms.own_format.settings import TomlTable
from smpy.units import (
    exact_bandwidth,
    exact_size,
    exact_speed,
    exact_time,
    parse_bandwidth_bytes_per_s,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
)

Parse = Callable[[str], float]

_QUANTITIES: Final[Mapping[str, tuple[str, Parse, str, Callable[[float], str]]]] = {
    "speed_64": ("speed_64_flop_per_s", parse_speed_flop_per_s, "9.7Tf", exact_speed),
    "speed_32": ("speed_32_flop_per_s", parse_speed_flop_per_s, "19.5Tf", exact_speed),
    "speed_16": ("speed_16_flop_per_s", parse_speed_flop_per_s, "78Tf", exact_speed),
    "memory": ("memory_bytes", parse_size_bytes, "40GB", exact_size),
    "memory_bandwidth": ("memory_bandwidth_bytes_per_s", parse_bandwidth_bytes_per_s, "1.5TB/s", exact_bandwidth),
    "link_bandwidth": ("link_bandwidth_bytes_per_s", parse_bandwidth_bytes_per_s, "32GB/s", exact_bandwidth),
    "link_latency": ("link_latency_s", parse_time_s, "1us", exact_time),
    "peer_bandwidth": ("peer_bandwidth_bytes_per_s", parse_bandwidth_bytes_per_s, "300GB/s", exact_bandwidth),
    "peer_latency": ("peer_latency_s", parse_time_s, "1us", exact_time),
}
"""Field, reader, example and writer of each key with a unit."""

KEYS: Final = ("count", *_QUANTITIES, "direct")
_TABLE: Final = "host.gpu"


def read_host_devices(host: TomlTable, usual: str) -> str:
    """Property of the devices that the tables [[host.gpu]] describe, "" for an empty list; `usual` without tables."""
    tables = host.list_of_tables("gpu")
    if tables is None:
        return usual
    return devices_text([_device(table, Device()) for table in tables]) if tables else ""


def device_tables(text: str) -> list[dict[str, object]]:
    """Tables from which `read_host_devices` reads the devices of a property."""
    return list(map(_table, read_devices(text)))


def _table(device: Device) -> dict[str, object]:
    table: dict[str, object] = {"count": device.count}
    for key, (field, _, _, exact) in _QUANTITIES.items():
        if number := getattr(device, field):
            table[key] = exact(number)
    return table | ({"direct": True} if device.direct else {})


def _device(table: TomlTable, usual: Device) -> Device:
    """A device whose missing keys take the values of `usual`."""
    numbers = {}
    for key, (field, parse, example, _) in _QUANTITIES.items():
        number = getattr(usual, field)
        is_left_out = number == 0 and table.mentions(key) and not table.is_written(key)  # 0, whatever the factor
        numbers[field] = 0.0 if is_left_out else table.quantity(key, parse, example, number)
    device = Device(table.integer("count", usual.count), **numbers, direct=table.flag("direct", usual.direct))
    table.check_keys()
    try:
        device.check()
    except PlatformError as wrong:
        raise table.error(next(filter(table.is_written, KEYS), "count"), str(wrong)) from None
    return device


def is_device_key(key: str) -> bool:
    """Whether a key of --set is one of all devices of a machine: `host.gpu.speed_64`."""
    return key.rpartition(".")[0] == _TABLE


def with_devices(machine: Description, gpu: TomlTable) -> Description:
    """A machine whose devices have what [host.gpu] says; a key that is missing leaves their own numbers.

    Raises
    ------
    UsageError
        If a key is none of a device, or no host has one.
    PlatformError
        If a value is wrong.
    """
    for key, setting in gpu.values():
        if key not in KEYS:
            raise UsageError(f"--set {setting.key}: a device has no {key!r}{meant(key, KEYS)}")
    zone = _changed(machine.zone, gpu)
    if zone == machine.zone and _has_devices(machine.zone):
        scaled = next((setting for _, setting in gpu.values() if setting.value is None and setting.factor != 1), None)
        if scaled is not None:
            raise scaled.error("no device has this number, so a factor changes nothing: give its value")
    elif zone == machine.zone:
        raise UsageError(
            f"--set {_TABLE}: no host of {machine.name} has a device: give it one, [[{_TABLE}]] in its file"
        )
    return replace(machine, zone=zone)


def _changed(part: Any, gpu: TomlTable) -> Any:
    if type(part) is tuple:
        return tuple(_changed(inside, gpu) for inside in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    new = {field.name: _changed(getattr(part, field.name), gpu) for field in fields(part)}
    if new.keys() >= {"properties", "state_speeds_flop_per_s"}:  # links have other properties
        known = dict(new["properties"])
        if DEVICES_PROPERTY in known:
            devices = read_devices(known[DEVICES_PROPERTY])
            known[DEVICES_PROPERTY] = devices_text(_device(gpu, device) for device in devices)
            new["properties"] = tuple(known.items())
    changed: Any = replace(part, **new)
    return changed


def _has_devices(part: Any) -> bool:
    if type(part) is tuple:
        return any(map(_has_devices, part))
    if not is_dataclass(part) or isinstance(part, type):
        return False
    properties = getattr(part, "properties", ())
    if DEVICES_PROPERTY in dict(properties):
        return True
    return any(_has_devices(getattr(part, field.name)) for field in fields(part))
