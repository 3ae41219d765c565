"""Accelerators of hosts: speeds by type of number, memory, and the links to the host and to each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from math import inf
from typing import Any, Final, Self

from smpy.errors import PlatformError, meant

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
        for field in fields(self):
            if field.type == "float" and not 0 <= getattr(self, field.name) < inf:
                raise PlatformError(f"a device has {field.name} = {getattr(self, field.name):g}: it must be at least 0")
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
        types = {field.name: {"int": int, "bool": bool}.get(str(field.type), float) for field in fields(cls)}
        for name, value in record.items():
            if name not in types:
                raise PlatformError(f"a device has no {name!r}{meant(str(name), types)}")
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (isinstance(value, types[name]) or (types[name] is float and is_number)):
                raise PlatformError(f"a device has {name} = {value!r}, which is no {types[name].__name__}")
            if types[name] is int and isinstance(value, bool):
                raise PlatformError(f"a device has {name} = {value!r}, which is no int")
        device = cls(**record)
        device.check()
        return device


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


def scaled(device: Device, compute: float = 1.0, link: float = 1.0) -> Device:
    """A device that computes, and whose links carry, faster by factors."""
    factors = {
        **dict.fromkeys((f"speed_{bits}_flop_per_s" for bits in BITS), compute),
        "memory_bandwidth_bytes_per_s": compute,
        **dict.fromkeys(("link_bandwidth_bytes_per_s", "peer_bandwidth_bytes_per_s"), link),
        **dict.fromkeys(("link_latency_s", "peer_latency_s"), 1 / link),
    }
    return replace(device, **{name: getattr(device, name) * factor for name, factor in factors.items()})
