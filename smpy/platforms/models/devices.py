"""Accelerators of hosts: speeds by type of number, memory, and the links to the host and to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Self

from smpy.errors import PlatformError, meant
from smpy.units import LARGEST, SMALLEST

DEVICES_PROPERTY: Final = "gpu"
"""Property of a host: its kinds of devices, a JSON list of objects with the fields of `Device`."""

BITS: Final = (64, 32, 16)
"""Types of floating-point numbers by their bits, as the kernel numbers them."""

_DEVICES_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of device that hosts have.

    Parameters
    ----------
    count : int
        Number of such devices on a host.
    speed_64_flop_per_s, speed_32_flop_per_s, speed_16_flop_per_s : float
        Speeds with numbers of 64, 32 and 16 bits; 0: it does not compute with them.
    memory_bytes : float
        Size of its memory; 0: unlimited.
    memory_bandwidth_bytes_per_s : float
        Bandwidth of its memory; 0: moving bytes takes no time.
    link_bandwidth_bytes_per_s, link_latency_s : float
        Link between its memory and that of the host, in each direction.
    peer_bandwidth_bytes_per_s, peer_latency_s : float
        Link to the other devices of the host, in each direction; 0: they are reached over both links to the host.
    direct : bool
        Whether the adapter, and other devices of the host, take its memory without a copy in that of the host.
    """

    count: int = 1
    speed_64_flop_per_s: float = 0.0
    speed_32_flop_per_s: float = 0.0
    speed_16_flop_per_s: float = 0.0
    memory_bytes: float = 0.0
    memory_bandwidth_bytes_per_s: float = 0.0
    link_bandwidth_bytes_per_s: float = 0.0
    link_latency_s: float = 0.0
    peer_bandwidth_bytes_per_s: float = 0.0
    peer_latency_s: float = 0.0
    direct: bool = False

    def speed_flop_per_s(self, bits: int) -> float:
        """Speed with numbers of this many bits; 0: none."""
        return float(getattr(self, f"speed_{bits}_flop_per_s"))

    def alone_s(self, flop: float, moved_bytes: float, bits: int) -> float:
        """Time of a kernel that has the device alone: a roofline. The device computes with such numbers."""
        core_s = flop / self.speed_flop_per_s(bits) if flop else 0.0
        bandwidth = self.memory_bandwidth_bytes_per_s
        return max(core_s, moved_bytes / bandwidth if bandwidth else 0.0)

    def check(self) -> None:
        """Refuse impossible numbers.

        Raises
        ------
        PlatformError
            If one is out of range, or there is no speed or no link.
        """
        if not 1 <= self.count <= _DEVICES_MAX:
            raise PlatformError(f"a host has {self.count} devices of a kind: give 1 to {_DEVICES_MAX}")
        for name in _TYPES:
            number = getattr(self, name)
            if number and not SMALLEST <= number <= LARGEST:
                raise PlatformError(f"a device has {name} = {number!r}: give 0, or {SMALLEST:g} to {LARGEST:g}")
        if not any(map(self.speed_flop_per_s, BITS)):
            raise PlatformError("a device has no speed: give speed_64, speed_32 or speed_16")
        if not self.link_bandwidth_bytes_per_s:
            raise PlatformError("a device has no link to its host: give link_bandwidth")

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """The device of a JSON object.

        Raises
        ------
        PlatformError
            If it is none.
        """
        if not isinstance(record, dict):
            raise PlatformError(f"{record!r} describes no device: it is no object")
        for name, value in record.items():
            if name not in _TYPES:
                raise PlatformError(f"a device has no {name!r}{meant(str(name), _TYPES)}")
            kind = _TYPES[name]
            is_of_kind = isinstance(value, int | float if kind is float else kind)
            if not is_of_kind or isinstance(value, bool) != (kind is bool):
                raise PlatformError(f"a device has {name} = {value!r}, which is no {kind.__name__}")
        device = cls(**record)
        device.check()
        return device


_TYPES: Final = {field.name: {"int": int, "bool": bool}.get(str(field.type), float) for field in fields(Device)}
FIELDS: Final = {re.sub("(_flop_per_s|_bytes_per_s|_bytes|_s)$", "", name): name for name in _TYPES}
"""Field of each key of a device: machine files leave the unit to the value."""
ALL_SPEEDS: Final = "speed"
"""Key of the speeds with all types of numbers, which a factor changes."""


def devices_text(devices: Iterable[Device]) -> str:
    """Property of these kinds of devices.

    Examples
    --------
    >>> devices_text([Device(2, speed_64_flop_per_s=1e13, link_bandwidth_bytes_per_s=32e9)])
    '[{"count":2,"speed_64_flop_per_s":10000000000000.0,"link_bandwidth_bytes_per_s":32000000000.0}]'
    """
    import json  # few machines have devices

    usual = asdict(Device(0))
    records = ({key: value for key, value in asdict(each).items() if value != usual[key]} for each in devices)
    return json.dumps(list(records), separators=(",", ":"))


def read_devices(text: str) -> tuple[Device, ...]:
    """Kinds of devices in a property.

    Raises
    ------
    PlatformError
        If it cannot be read.

    Examples
    --------
    >>> text = '[{"count": 4, "speed_32_flop_per_s": 2e13, "link_bandwidth_bytes_per_s": 3.2e10}]'
    >>> [(device.count, device.speed_flop_per_s(32)) for device in read_devices(text)]
    [(4, 20000000000000.0)]
    """
    import json  # few machines have devices

    try:
        records = json.loads(text)
    except (ValueError, RecursionError):
        records = None
    if not isinstance(records, list):
        raise PlatformError(f"property {DEVICES_PROPERTY!r}: {text!r} is no list of devices")
    try:
        return tuple(map(Device.from_record, records))
    except PlatformError as wrong:
        raise PlatformError(f"property {DEVICES_PROPERTY!r}: {wrong}") from None


def scaled(device: Device, *, speed: float = 1.0, memory: float = 1.0, link: float = 1.0) -> Device:
    """A device whose speeds, memory and links are faster by factors."""
    factors = {
        **dict.fromkeys((f"speed_{bits}_flop_per_s" for bits in BITS), speed),
        "memory_bandwidth_bytes_per_s": memory,
        **dict.fromkeys(("link_bandwidth_bytes_per_s", "peer_bandwidth_bytes_per_s"), link),
        **dict.fromkeys(("link_latency_s", "peer_latency_s"), 1 / link),
    }
    return replace(device, **{name: getattr(device, name) * factor for name, factor in factors.items()})


def changed_devices(texts: Iterable[str], key: str, number: float, *, is_factor: bool) -> dict[str, str]:
    """Properties after a change of a key of `FIELDS`, or of `ALL_SPEEDS`, in all their devices; by those before.

    Raises
    ------
    PlatformError
        If there are no devices, or none can have the number; for a flag it is 1 or 0.
    """
    after = {text: [_changed(each, key, number, is_factor=is_factor) for each in read_devices(text)] for text in texts}
    if not after:
        raise PlatformError("no host that it names has a device: give it one, [[host.gpu]] in the machine's file")
    if is_factor and number != 1 and all(read_devices(text) == tuple(devices) for text, devices in after.items()):
        raise PlatformError("no device has this number, so a factor changes nothing: give its value")
    return {text: devices_text(devices) for text, devices in after.items()}


def _changed(device: Device, key: str, number: float, *, is_factor: bool) -> Device:
    if key == ALL_SPEEDS and not is_factor:
        raise PlatformError("speeds are by type: multiply all, as in x2, or give speed_64, speed_32 or speed_16")
    values = {}
    for name in [f"speed_{bits}_flop_per_s" for bits in BITS] if key == ALL_SPEEDS else [FIELDS[key]]:
        before, kind = getattr(device, name), _TYPES[name]
        after = before * number if is_factor else number
        if kind is bool and (is_factor or after not in (0, 1)):
            raise PlatformError("it cannot be multiplied: give true or false")
        if kind is int and not float(after).is_integer():
            raise PlatformError(f"it makes {after:g} of {before:g}, which is no whole number")
        values[name] = kind(after)
    changed = replace(device, **values)
    changed.check()
    return changed
