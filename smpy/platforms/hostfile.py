"""Reads host files: which hosts to use, in which order, and how often."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from smpy.errors import PlatformError
from smpy.input_files import read_input
from smpy.platforms.platform import Platform

RANKS_MAX: Final = 10_000_000


def read_hostfile(path: str | Path, platform: Platform) -> list[int]:
    """The hosts that a host file lists, one a rank.

    A line is a host's name, or `name:k` for k ranks in a row. Empty lines, and what follows a `#`, are skipped.

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
    try:
        lines = read_input(path, "hostfile").decode("utf-8").splitlines()
    except OSError as wrong:
        raise PlatformError(f"cannot read hostfile {str(path)!r}: {wrong.strerror}") from None
    except UnicodeDecodeError:
        raise PlatformError(f"cannot read hostfile {str(path)!r}: it is not a text file in UTF-8") from None
    hosts: list[int] = []
    for number, line in enumerate(lines, start=1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        try:
            hosts += _hosts_of(entry, platform)
        except PlatformError as wrong:
            raise PlatformError(f"{path}:{number}: {wrong}") from None
        if len(hosts) > RANKS_MAX:
            raise PlatformError(
                f"{path}:{number}: up to here there are {len(hosts):,} ranks: at most {RANKS_MAX:,} fit"
            )
    if not hosts:
        raise PlatformError(f"hostfile {str(path)!r} lists no hosts: write one name a line")
    return hosts


def _hosts_of(entry: str, platform: Platform) -> list[int]:
    """The hosts of one line."""
    name, colon, count = (part.strip() for part in entry.rpartition(":"))
    if not colon:
        return [platform.host_number(entry)]
    if not re.fullmatch("0*[1-9][0-9]*", count):
        raise PlatformError(f"{entry!r}: {count!r} is no number of ranks: write {name}:4 for four ranks on {name}")
    count = count.lstrip("0")
    if len(count) > len(str(RANKS_MAX)) or int(count) > RANKS_MAX:
        raise PlatformError(f"{entry!r}: at most {RANKS_MAX:,} ranks can be placed on one host")
    return [platform.host_number(name)] * int(count)
