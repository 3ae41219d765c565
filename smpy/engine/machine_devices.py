"""Devices of a machine's hosts, as the kernel knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smpy.engine.kernel import ffi, lib
from smpy.platforms.models.devices import BITS, Device

if TYPE_CHECKING:
    from smpy.engine.platform import Platform


def tell_devices(sim: Any, platform: Platform) -> list[Device]:
    """Tell a world the devices of all hosts; return the kind of each, by its number in the kernel."""
    devices: list[Device] = []
    for hosts, kinds in platform.devices():
        of_host = [(kind, _numbers(kind)) for kind in kinds for _ in range(kind.count)]
        for host in hosts:
            for kind, numbers in of_host:
                if lib.sim_device_new(sim, host, numbers) < 0:
                    raise MemoryError("no memory for the devices of the machine")
                devices.append(kind)
    return devices


def _numbers(kind: Device) -> Any:
    numbers = ffi.new("device_numbers *")
    numbers.flop_per_s = [kind.speed_flop_per_s(bits) for bits in BITS]
    numbers.memory_bytes_per_s = kind.memory_bandwidth_bytes_per_s
    numbers.link_bytes_per_s, numbers.link_latency_s = kind.link_bandwidth_bytes_per_s, kind.link_latency_s
    numbers.peer_bytes_per_s, numbers.peer_latency_s = kind.peer_bandwidth_bytes_per_s, kind.peer_latency_s
    numbers.is_direct = kind.direct
    return numbers
