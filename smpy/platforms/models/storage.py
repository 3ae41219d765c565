"""Storage of a machine: the disks of hosts, as SimGrid's files have them, and the storage of our own formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

REMOTE_DISK: Final = "remote_disk"
"""Property of a host: ``MOUNT:DISK:HOST``, a disk of another host and its mount point."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk of a host.

    Parameters
    ----------
    name : str
        Its name on the host.
    read_bytes_per_s, write_bytes_per_s : float
        Bandwidths that all operations of a kind share; together they have the greater one.
    mount : str
        Mount point: a file lies on the disk whose mount point is the longest that its path begins with.
    content : tuple of (str, int)
        Paths behind the mount point, and sizes in bytes, of the files that lie on it at first.
    """

    name: str
    read_bytes_per_s: float
    write_bytes_per_s: float
    mount: str = "/"
    content: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Storage:
    """Storage of all files of a machine: a disk of each host, or hosts that serve files through the network.

    Parameters
    ----------
    read_bytes_per_s, write_bytes_per_s : float
        Bandwidths of a disk, or of a server, that all its operations of a kind share; together they have the greater
        one.
    latency_s : float
        Time before each operation of a disk or a server.
    servers : tuple of str
        Names of the hosts that serve files; none: each host has a disk of its own.
    stripe_bytes : int
        Length of the stripes in which a file lies on the servers, in turn.
    origin : str
        Place in the file that describes it, for messages.
    """

    read_bytes_per_s: float
    write_bytes_per_s: float
    latency_s: float = 0.0
    servers: tuple[str, ...] = ()
    stripe_bytes: int = 1 << 20
    origin: str = field(default="", kw_only=True, compare=False, repr=False)
