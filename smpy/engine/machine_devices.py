"""Devices of a machine's hosts, as the kernel knows them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.kernel import ffi, lib
from smpy.platforms.host_names import merge_names
from smpy.platforms.models.devices import BITS, Device

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

_SHOWN_MAX: Final = 4


def tell_devices(sim: Any, platform: Platform, hosts: Iterable[int]) -> list[Device]:
    """Tell a world the devices of hosts that have none there yet; return the kind of each, in order of its number."""
    devices: list[Device] = []
    numbers: list[int] = []
    for alike, kinds in platform.devices():
        numbers = numbers or sorted(set(hosts))
        of_host = [(kind, _numbers(kind)) for kind in kinds for _ in range(kind.count)]
        for host in numbers[bisect_left(numbers, alike.start) : bisect_left(numbers, alike.stop)]:
            for kind, its in of_host:
                if lib.sim_device_new(sim, host, its) < 0:
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


def without_device(platform: Platform, rank: int, host: int) -> str:
    """Sentence on a rank whose host has no device, and on the hosts that have some."""
    names = [platform.host_names[each] for hosts, _ in platform.devices() for each in hosts]
    shown = merge_names(names)
    listed = ", ".join(shown[:_SHOWN_MAX]) + (", ..." if len(shown) > _SHOWN_MAX else "")
    others = (
        f"{len(names):,} of {platform.n_hosts:,} hosts have some ({listed}): place the rank on one of them"
        if names
        else f"no host of {platform.name} has one: describe it in the machine's file ([[host.gpu]])"
    )
    return f"rank {rank} runs on {platform.host_names[host]}, which has no device; {others}"


def without_speed(platform: Platform, rank: int, host: int, device: Device, bits: int = 0) -> str:
    """Sentence on a rank whose device has no speed for numbers of so many bits; 0: it is not known how many."""
    known = ", ".join(f"speed_{each}" for each in BITS if device.speed_flop_per_s(each))
    numbers = f"numbers of {bits} bits: give the machine speed_{bits}" if bits else "such numbers: give it their speed"
    name = platform.host_names[host]
    return f"rank {rank} runs on {name}, whose device does not compute with {numbers} (it has {known})"
