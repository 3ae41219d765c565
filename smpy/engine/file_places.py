"""Places of files on the hosts of a machine: the disk, or disks, that hold a path."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpy.engine.kernel import ffi, lib
from smpy.errors import PlatformError, meant

if TYPE_CHECKING:
    from smpy.engine.host_runs import HostRuns
    from smpy.platforms.models.storage import Disk, Storage

_FAR: Final = 1 << 62  # a stripe that holds all bytes


class MountedDisk(NamedTuple):
    """Disk of a host, as one host sees it.

    Parameters
    ----------
    mount : str
        Mount point there.
    disk : Disk
        The disk.
    host : int
        Number of the host that has it.
    """

    mount: str
    disk: Disk
    host: int


class FilePlaces:
    """Disks and file servers of a machine, and the places of files that each host has on them.

    Parameters
    ----------
    disks : mapping of int to tuple of Disk
        SimGrid's disks by the number of their host.
    storage : Storage or None
        Storage of all files of all hosts, beside such disks.
    properties : HostRuns of tuples
        Properties of hosts, among which disks of other hosts may be.
    host_names : sequence of str
        By number.

    Raises
    ------
    PlatformError
        If a file server, or the host of a disk, is no host.
    """

    def __init__(
        self,
        disks: Mapping[int, tuple[Disk, ...]],
        storage: Storage | None,
        properties: HostRuns[tuple[tuple[str, str], ...]],
        host_names: Sequence[str],
    ) -> None:
        self.storage: Final = storage
        self._disks: Final = disks
        self._properties: Final = properties
        self.servers: Final = _numbers(storage, host_names)
        self._numbers: Final = {host_names[host]: host for host in disks}

    @property
    def are_known(self) -> bool:
        """Whether accesses to files take time on any host."""
        return self.storage is not None or bool(self._disks)

    def mounted(self, host: int) -> tuple[MountedDisk, ...]:
        """SimGrid's disks that a host sees, by name; a disk of another host hides its own one of the same name.

        Raises
        ------
        PlatformError
            If the host sees a disk that no host has.
        """
        from smpy.platforms.models.storage import REMOTE_DISK  # most runs need not import it

        seen = {disk.name: MountedDisk(disk.mount, disk, host) for disk in self._disks.get(host, ())}
        remote = dict(self._properties.of(host)).get(REMOTE_DISK) if self._disks else None
        if remote:
            mount, _, there = remote.partition(":")
            name, _, other = there.partition(":")
            number = self._numbers.get(other, -1)
            disk = next((disk for disk in self._disks.get(number, ()) if disk.name == name), None)
            if disk is None:
                raise PlatformError(f"property {REMOTE_DISK!r}: {remote!r} names no disk: write MOUNT:DISK:HOST")
            seen[name] = MountedDisk(mount, disk, number)
        return tuple(seen[name] for name in sorted(seen))


def _numbers(storage: Storage | None, host_names: Sequence[str]) -> tuple[int, ...]:
    """Numbers of the hosts that serve files."""
    if storage is None or not storage.servers:
        return ()
    known = {name: number for number, name in enumerate(host_names)}
    for name in storage.servers:
        if name not in known:
            error = PlatformError(f"{storage.origin or 'storage'}: unknown host {name!r}{meant(name, known)}")
            error.is_located = True
            raise error
    return tuple(known[name] for name in storage.servers)


class WorldPlaces:
    """Places of one world's hosts; the kernel learns those of a host when its first file is opened.

    Parameters
    ----------
    sim : cffi ``sim *``
        The kernel's world.
    places : FilePlaces
        Places of files on its machine.
    """

    def __init__(self, sim: Any, places: FilePlaces) -> None:
        self._sim: Final = sim
        self._places: Final = places
        self._mounted: Final[dict[int, tuple[MountedDisk, ...]]] = {}
        self._numbers: Final[dict[tuple[int, str], int]] = {}
        self._remarked: Final[set[int]] = set()
        if places.storage is None:
            lib.sim_disks_round(sim)

    def tell(self, host: int) -> None:
        """Pass the places of a host to the kernel, once."""
        if host in self._remarked:
            return
        self._remarked.add(host)
        storage = self._places.storage
        if storage is None:
            for one in self.mounted(host):
                disk = one.disk
                number = self._disk(one.host, disk.name, disk.read_bytes_per_s, disk.write_bytes_per_s, 0.0)
                self._place(host, [number], _FAR, streams=False)
            return
        hosts = self._places.servers or (host,)
        speeds = storage.read_bytes_per_s, storage.write_bytes_per_s, storage.latency_s
        numbers = [self._disk(each, "", *speeds) for each in hosts]
        self._place(host, numbers, storage.stripe_bytes, streams=True)

    def mounted(self, host: int) -> tuple[MountedDisk, ...]:
        """SimGrid's disks that a host sees, in the order of its places."""
        if host not in self._mounted:
            self._mounted[host] = self._places.mounted(host)
        return self._mounted[host]

    def mount_of(self, host: int, path: str) -> tuple[int, MountedDisk] | None:
        """Place of a file on SimGrid's disks, and its disk; None if it is on no disk that the host sees."""
        disks = self.mounted(host)
        if not os.path.isabs(path):
            return (0, disks[0]) if disks else None
        fitting = [at for at, one in enumerate(disks) if path.startswith(one.mount)]
        if not fitting:
            return None
        longest = max(fitting, key=lambda at: len(disks[at].mount))
        return longest, disks[longest]

    def _disk(self, host: int, name: str, read_bytes_per_s: float, write_bytes_per_s: float, latency_s: float) -> int:
        if (host, name) not in self._numbers:
            number = lib.sim_disk_new(self._sim, host, read_bytes_per_s, write_bytes_per_s, latency_s)
            self._numbers[host, name] = _number_or_error(number)
        return self._numbers[host, name]

    def _place(self, host: int, disks: list[int], stripe_bytes: int, *, streams: bool) -> None:
        numbers = ffi.new("int[]", disks)
        _number_or_error(lib.sim_place_new(self._sim, host, len(disks), numbers, stripe_bytes, streams))


def _number_or_error(number: int) -> int:
    if number < 0:
        raise MemoryError("no memory for the disks of the machine")
    return number
