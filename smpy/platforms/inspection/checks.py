"""Checks for odd numbers in a machine: valid ones that are rarely intended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from smpy.platforms.inspection.inspection import HostKind, LoopbackKind, Overview
from smpy.units import format_bytes, format_speed, format_time

SLOWEST_LINK_BYTES_PER_S: Final = 1e5  # a telephone line is slower
FASTEST_LINK_BYTES_PER_S: Final = 200e9  # twice that of 800 Gb/s Ethernet and InfiniBand XDR
ETHERNET_BITS_PER_S: Final = (1e9, 10e9, 25e9, 40e9, 100e9, 200e9, 400e9, 800e9)
ETHERNET_LATENCY_S: Final = (5e-6, 1e-3)  # of a local network; a link of as many bytes a second has a lower one
LONGEST_LATENCY_S: Final = 0.5  # a satellite link has half of this
SHORTEST_LATENCY_S: Final = 1e-9  # latency of 20 cm of cable
SLOWEST_CORE_FLOP_PER_S: Final = 1e8
FASTEST_CORE_FLOP_PER_S: Final = 1e12  # a core with two units of 512 bits has a quarter of this
CORES_MAX: Final = 2048


@dataclass(frozen=True, slots=True)
class MachineWarning:
    """An odd number of a machine: its part, and the value that was probably intended."""

    what: str
    text: str


def findings(machine: Overview) -> tuple[MachineWarning, ...]:
    """Odd numbers of a machine: hosts first, then loopbacks, links and routes.

    Parameters
    ----------
    machine : Overview
        Its numbers.
    """
    machine_warnings: list[MachineWarning] = []
    for host in machine.hosts:
        texts = [*_of_host(host.cores, host.speed_flop_per_s), *_of_calibration(host, machine.calibrated_cores)]
        machine_warnings += [MachineWarning(f"host {host.names[0]}", text) for text in texts]
    machine_warnings += [_slow(loopback) for loopback in machine.loopbacks if _is_slow(loopback)]
    memories = {loopback.shared_bandwidth_bytes_per_s for loopback in machine.loopbacks}
    cables = [link.bandwidth_bytes_per_s for link in machine.links]
    bundles = {n * one for n in machine.bundles_cables for one in cables if one <= FASTEST_LINK_BYTES_PER_S}
    for link in machine.links:
        what = f"link {link.example}" + (f" and {link.n_links - 1:,} like it" if link.n_links > 1 else "")
        is_cable = link.sharing != "FATPIPE" and link.bandwidth_bytes_per_s not in bundles | memories
        texts = _of_link(link.bandwidth_bytes_per_s, link.latency_s, is_cable=is_cable)
        machine_warnings += [MachineWarning(what, text) for text in texts]
    if machine.reach is not None and machine.reach.without_route is not None:
        reach, (source, target) = machine.reach, machine.reach.without_route
        machine_warnings.append(
            MachineWarning(
                f"host {source}",
                f"has no route to {target}, as {reach.n_without_route:,} of {reach.n_pairs:,} pairs: a message between "
                "them would end the run; declare routes between all hosts",
            )
        )
    return tuple(machine_warnings)


def _of_host(cores: int, speed_flop_per_s: float) -> list[str]:
    speed = format_speed(speed_flop_per_s)
    texts = []
    if speed_flop_per_s < SLOWEST_CORE_FLOP_PER_S:
        texts.append(f"a core of {speed} is slower than any of today's: was Gf meant?")
    if speed_flop_per_s > FASTEST_CORE_FLOP_PER_S:
        texts.append(f"a core of {speed} is faster than any: is it the speed of all cores of the host?")
    if cores > CORES_MAX:
        texts.append(f"{cores:,} cores are more than a host has: is it the number of all hosts' cores?")
    return texts


def _of_calibration(host: HostKind, calibrated_cores: int) -> list[str]:
    if not 0 < calibrated_cores < host.cores:
        return []
    bandwidth = host.memory.bandwidth_bytes_per_s
    memory = f" (its memory has {format_bytes(bandwidth)}/s)" if bandwidth else ""
    text = (
        f"it has {host.cores:,} cores, its calibration is of {calibrated_cores}: memory, caches and clock shared by "
        f"{host.cores:,} cores were not measured{memory}: calibrate on such a host, or give the "
        f"host.memory_bandwidth of all its cores, and calibration.cores = {host.cores}"
    )
    return [text]


def _is_slow(loopback: LoopbackKind) -> bool:
    return loopback.bandwidth_bytes_per_s < loopback.network_bandwidth_bytes_per_s


def _slow(loopback: LoopbackKind) -> MachineWarning:
    more = f" and {loopback.n_hosts - 1:,} like it" if loopback.n_hosts > 1 else ""
    inside, outside = loopback.bandwidth_bytes_per_s, loopback.network_bandwidth_bytes_per_s
    return MachineWarning(
        f"host {loopback.host}{more}",
        f"a message inside the host gets {format_bytes(inside)}/s, and one to {loopback.next_host} "
        f"{format_bytes(outside)}/s: is the loopback, or the memory that it goes through, meant to be slower than the "
        "network?",
    )


def _of_link(bandwidth_bytes_per_s: float, latency_s: float, *, is_cable: bool) -> list[str]:
    bandwidth, latency = f"{format_bytes(bandwidth_bytes_per_s)}/s", format_time(latency_s)
    in_bits = f"{format_bytes(bandwidth_bytes_per_s)[:-1]}b/s"
    shortest_s, longest_s = ETHERNET_LATENCY_S
    texts = []
    if bandwidth_bytes_per_s < SLOWEST_LINK_BYTES_PER_S:
        texts.append(f"{bandwidth} is very slow: is its unit missing, or its prefix?")
    elif is_cable and bandwidth_bytes_per_s > FASTEST_LINK_BYTES_PER_S:
        texts.append(f"{bandwidth} is faster than any cable: were bits meant ({in_bits})?")
    elif is_cable and bandwidth_bytes_per_s in ETHERNET_BITS_PER_S and shortest_s <= latency_s < longest_s:
        texts.append(f"{bandwidth} with {latency} of latency: was it Ethernet of {in_bits}, written in bytes?")
    if latency_s > LONGEST_LATENCY_S:
        texts.append(f"a latency of {latency} is longer than that of any link: were ms or us meant?")
    elif 0 < latency_s < SHORTEST_LATENCY_S:
        texts.append(f"a latency of {latency_s:g} s is shorter than that of any link: was it meant in other units?")
    return texts
