"""Reads host files: the hosts to use, their order, and the number of ranks on each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from smpy.errors import PlatformError
from smpy.input_files import read_text

if TYPE_CHECKING:
    from smpy.engine.platform import Platform

RANKS_MAX: Final = 10_000_000

_SLOTS: Final = re.compile(r"(?P<name>.*\S)\s+slots\s*=\s*(?P<count>.*)")
_OTHER: Final = re.compile(r".*\s[\w-]+\s*=.*")


class HostEntry(NamedTuple):
    """Line of a host file: a host, and its number of consecutive ranks; None: not stated, which means one."""

    host: int
    n_ranks: int | None


def read_hostfile(path: str | Path, platform: Platform) -> list[int]:
    """Hosts that a host file lists, one per rank.

    A line is a host's name, or `name:k` or `name slots=k` for k ranks in a row. Empty lines, and what follows a `#`,
    are skipped.

    Parameters
    ----------
    path : str or path
        The file.
    platform : Platform
        The machine the hosts are of.

    Returns
    -------
    list of int
        Host numbers, in the order of the file.

    Raises
    ------
    PlatformError
        If the file cannot be read, lists no host, or lists one the platform does not have.
    """
    hosts: list[int] = []
    for host, n_ranks in read_entries(path, platform):
        hosts += [host] * (1 if n_ranks is None else n_ranks)
    return hosts


def read_entries(path: str | Path, platform: Platform) -> list[HostEntry]:
    """The lines of a host file, as `read_hostfile` reads it."""
    entries: list[HostEntry] = []
    n_ranks = 0
    for number, line in lines_of(path, "hostfile"):
        try:
            entries.append(_entry(line, platform))
        except PlatformError as wrong:
            raise PlatformError(f"{path}:{number}: {wrong}") from None
        n_ranks += entries[-1].n_ranks or 1
        if n_ranks > RANKS_MAX:
            raise PlatformError(f"{path}:{number}: up to here there are {n_ranks:,} ranks: at most {RANKS_MAX:,} fit")
    if not entries:
        raise PlatformError(f"hostfile {str(path)!r} lists no hosts: write one name a line")
    return entries


def lines_of(path: str | Path, what: str) -> Iterator[tuple[int, str]]:
    """Lines of a file without comments and empty lines, with their numbers."""
    try:
        lines = read_text(path, what).splitlines()
    except OSError as wrong:
        raise PlatformError(f"cannot read {what} {str(path)!r}: {wrong.strerror}") from None
    for number, line in enumerate(lines, start=1):
        entry = line.partition("#")[0].strip()
        if entry:
            yield number, entry


def is_rank_line(line: str) -> bool:
    """Whether it is a line of a rank file, such as `rank 0=name`."""
    return re.match(r"rank\s.*=", line) is not None


def _host(line: str, platform: Platform) -> int:
    try:
        return platform.host_number(line)
    except PlatformError:
        if re.search(r"[\s,\[]", line) is None:
            raise
        raise PlatformError(f"unknown host {line!r}: a line has one host, as NAME, NAME:4 or NAME slots=4") from None


def _entry(line: str, platform: Platform) -> HostEntry:
    if slots := _SLOTS.fullmatch(line):
        name, count = slots["name"], slots["count"]
    elif is_rank_line(line):
        raise PlatformError(f"{line!r} is a line of a rank file: say --map-by file, too")
    elif _OTHER.fullmatch(line):
        raise PlatformError(f"{line!r}: of a host's options only slots=4 is known: remove the others")
    else:
        name, colon, count = (part.strip() for part in line.rpartition(":"))
        if not colon:
            return HostEntry(_host(line, platform), None)
    if not re.fullmatch("0*[1-9][0-9]*", count):
        raise PlatformError(f"{line!r}: {count!r} is no number of ranks: write {name}:4 for four ranks on {name}")
    count = count.lstrip("0")
    if len(count) > len(str(RANKS_MAX)) or int(count) > RANKS_MAX:
        raise PlatformError(f"{line!r}: at most {RANKS_MAX:,} ranks can be placed on one host")
    return HostEntry(platform.host_number(name), int(count))
