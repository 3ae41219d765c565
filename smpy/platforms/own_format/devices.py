"""Reads the tables [[host.gpu]], and applies the changes of devices by --set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from smpy.errors import PlatformError, UsageError, meant
from smpy.platforms.description import Description
from smpy.platforms.models.devices import (
    ALL_SPEEDS,
    DEVICES_PROPERTY,
    FIELDS,
    Device,
    changed_devices,
    devices_text,
    read_devices,
)
from smpy.platforms.own_format.host_properties import with_host_properties
from smpy.platforms.own_format.settings import TomlTable, TomlValue
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

_QUANTITIES: Final[Mapping[str, tuple[Parse, str, Callable[[float], str]]]] = {
    "speed_64": (parse_speed_flop_per_s, "9.7Tf", exact_speed),
    "speed_32": (parse_speed_flop_per_s, "19.5Tf", exact_speed),
    "speed_16": (parse_speed_flop_per_s, "78Tf", exact_speed),
    "memory": (parse_size_bytes, "40GB", exact_size),
    "memory_bandwidth": (parse_bandwidth_bytes_per_s, "1.5TB/s", exact_bandwidth),
    "link_bandwidth": (parse_bandwidth_bytes_per_s, "32GB/s", exact_bandwidth),
    "link_latency": (parse_time_s, "1us", exact_time),
    "peer_bandwidth": (parse_bandwidth_bytes_per_s, "300GB/s", exact_bandwidth),
    "peer_latency": (parse_time_s, "1us", exact_time),
}
"""Reader, example and writer of each key with a unit."""

_TABLE: Final = "host.gpu"


def read_host_devices(host: TomlTable, usual: str) -> str:
    """Property of the devices that the tables [[host.gpu]] describe, "" for an empty list; `usual` without tables."""
    tables = host.list_of_tables("gpu")
    if tables is None:
        return usual
    return devices_text(map(_device, tables)) if tables else ""


def device_tables(text: str) -> list[dict[str, object]]:
    """Tables from which `read_host_devices` reads the devices of a property."""
    return list(map(_table, read_devices(text)))


def _table(device: Device) -> dict[str, object]:
    table: dict[str, object] = {"count": device.count}
    for key, (_, _, exact) in _QUANTITIES.items():
        if number := getattr(device, FIELDS[key]):
            table[key] = exact(number)
    return table | ({"direct": True} if device.direct else {})


def _device(table: TomlTable) -> Device:
    numbers = {FIELDS[key]: _read(table, key) for key in FIELDS if table.mentions(key)}
    table.check_keys()
    device = Device(**numbers)
    try:
        device.check()
    except PlatformError as wrong:
        raise table.error(next(filter(table.is_written, FIELDS), "count"), str(wrong)) from None
    return device


def _read(table: TomlTable, key: str) -> Any:
    if key == "count":
        return table.integer(key)
    if key == "direct":
        return table.flag(key, default=False)
    parse, example, _ = _QUANTITIES[key]
    return table.quantity(key, parse, example)


def is_device_key(key: str) -> bool:
    """Whether a key of --set is one of all devices of a machine: `host.gpu.speed_64`."""
    return key.rpartition(".")[0] == _TABLE


def device_number(key: str, setting: TomlValue) -> float:
    """Number that a setting gives a key of devices: its factor, its value, 1 or 0 for true or false.

    Raises
    ------
    PlatformError
        If the value cannot be read.
    """
    if setting.value is None or key == ALL_SPEEDS:
        return setting.factor
    return float(_read(TomlTable(_TABLE, {key: setting}, setting.origin), key))


def with_devices(machine: Description, gpu: TomlTable) -> Description:
    """A machine whose devices have the numbers of [host.gpu]; a key that is missing leaves their own numbers.

    Raises
    ------
    UsageError
        If a key is none of a device, or no host has one.
    PlatformError
        If a value is wrong.
    """
    zone = machine.zone
    for key, setting in gpu.values():
        if key not in (*FIELDS, ALL_SPEEDS):
            raise UsageError(f"--set {setting.key}: a device has no {key!r}{meant(key, FIELDS)}")
        number, texts = device_number(key, setting), set[str]()
        with_host_properties(zone, partial(_with_text, texts.add))
        try:
            after = changed_devices(texts, key, number, is_factor=setting.value is None)
        except PlatformError as wrong:
            raise setting.error(str(wrong)) from None
        zone = with_host_properties(zone, partial(_with_text, after.get))
    return replace(machine, zone=zone)


def _with_text(change: Callable[[str], str | None], known: dict[str, str], n_states: int) -> dict[str, str]:
    del n_states
    text = known.get(DEVICES_PROPERTY)
    return known if text is None else known | {DEVICES_PROPERTY: change(text) or text}
