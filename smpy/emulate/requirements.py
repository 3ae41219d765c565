"""Which installed packages require mpi4py, by their distributions' metadata."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

# "Requires-Dist: mpi4py>=3 ; extra == 'mpi'": an optional requirement counts, the package may keep a rank all the same
_REQUIRES_MPI4PY: Final = re.compile(rb"^requires-dist:\s*mpi4py\b(?![-_.])", re.IGNORECASE | re.MULTILINE)
_FILES_OF_METADATA: Final = (".dist-info", ".egg-info", ".data", "__pycache__", "..")


def packages_requiring_mpi4py(path: Iterable[str]) -> frozenset[str]:
    """Top-level modules of the distributions on a search path that require mpi4py, mpi4py itself aside.

    Parameters
    ----------
    path : iterable of str
        Directories, as in `sys.path`; those without installed distributions cost one listing.
    """
    return frozenset(name for entry in path for info in _requiring(entry) for name in _top_level(info))


def _requiring(entry: str) -> Iterator[Path]:
    """Metadata directories in `entry` of distributions that require mpi4py."""
    try:
        with os.scandir(entry or ".") as listing:
            folders = [item.path for item in listing if item.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return
    for folder in folders:
        for name in ("METADATA", "PKG-INFO"):
            try:
                text = Path(folder, name).read_bytes()
            except OSError:
                continue
            headers, _, _ = text.partition(b"\n\n")
            if _REQUIRES_MPI4PY.search(headers):
                yield Path(folder)
            break


def _top_level(info: Path) -> set[str]:
    """Modules that a distribution brings: as it says itself, else from the list of its files."""
    try:
        return set(info.joinpath("top_level.txt").read_text(encoding="utf-8").split())
    except OSError:
        pass
    try:
        record = info.joinpath("RECORD").read_text(encoding="utf-8")
    except OSError:
        return set()
    names = set()
    for line in record.splitlines():
        first, is_inside, _ = line.partition(",")[0].strip('"').partition("/")
        if is_inside and not first.endswith(_FILES_OF_METADATA):
            names.add(first)
        elif first.endswith(".py"):
            names.add(first[:-3])
    return names
