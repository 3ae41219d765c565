"""Reads the disks of hosts as SimGrid's file system describes them: their mount points and files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError, meant
from smpy.input_files import read_text
from smpy.platforms.models.storage import REMOTE_DISK, Disk
from smpy.platforms.simgrid.elements import Element
from smpy.units import parse_bandwidth_bytes_per_s


class DiskReader:
    """Reads the disks of one file's hosts, and checks disks that hosts use remotely."""

    def __init__(self) -> None:
        self._disks: Final[dict[str, tuple[Disk, ...]]] = {}
        self._remote: Final[list[Element]] = []

    def of_host(self, element: Element) -> tuple[Disk, ...]:
        """Disks in the element of a host."""
        self._remote.extend(child for child in element.children if child.attributes.get("id") == REMOTE_DISK)
        disks = tuple([_disk(child) for child in element.children if child.tag == "disk"])
        names = [disk.name for disk in disks]
        for name in names:
            if names.count(name) > 1:
                raise element.error(f"it has two disks {name!r}: give each a name of its own")
        if disks:
            self._disks[element.text("id")] = disks
        return disks

    def check_remote(self) -> None:
        """Refuse references to disks that do not exist, after all hosts have been read."""
        for prop in self._remote:
            if prop.tag == "disk":
                continue
            parts = prop.text("value").split(":")
            if len(parts) != 3 or not all(parts):
                raise prop.error(f"property {REMOTE_DISK!r}: {prop.text('value')!r} is not MOUNT:DISK:HOST")
            _, disk, host = parts
            names = [known.name for known in self._disks.get(host, ())]
            if disk not in names:
                hint = meant(disk, names) if names else meant(host, self._disks)
                raise prop.error(f"property {REMOTE_DISK!r}: host {host!r} has no disk {disk!r}{hint}")


def _disk(element: Element) -> Disk:
    element.check_attributes(("id", "read_bw", "write_bw"))
    for child in element.children:
        if child.tag != "prop":
            raise child.error(f"<{child.tag}> cannot stand here{meant(child.tag, ('prop',))}")
    properties = dict(element.properties())
    read, write = (_bandwidth(element, name) for name in ("read_bw", "write_bw"))
    name, mount = element.text("id", "/"), properties.get("mount", "/")
    return Disk(name, read, write, mount, _content(element, properties.get("content", "")))


def _bandwidth(element: Element, name: str) -> float:
    bandwidth = element.quantity(name, parse_bandwidth_bytes_per_s)
    if bandwidth <= 0:
        raise element.error(f"attribute {name!r}: {element.text(name)!r} is no bandwidth above 0")
    return bandwidth


def _content(element: Element, name: str) -> tuple[tuple[str, int], ...]:
    """Paths and sizes of the files that a list beside the platform file names."""
    if not name:
        return ()
    path = Path(element.file).parent / name
    try:
        text = read_text(path, "list of files")
    except OSError as wrong:
        raise element.error(f"property 'content': cannot read {str(path)!r}: {wrong.strerror}") from None
    return tuple([_file(path, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()])


def _file(path: Path, number: int, line: str) -> tuple[str, int]:
    words = line.split()
    if len(words) != 2 or re.fullmatch(r"\d{1,18}", words[1], re.ASCII) is None:
        raise PlatformError(f"{path}:{number}: {line.strip()!r} is not a path and a size in bytes")
    return words[0], int(words[1])
