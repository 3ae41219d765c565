"""Numbers that MPI libraries give to algorithms, read from a data file by library and operation."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from smpy.collectives.register import Algorithm, algorithms_of

OPEN_MPI: Final = "Open MPI"


def numbers_of(operation: str) -> Mapping[str, Mapping[int, Algorithm]]:
    """The algorithms of an operation by number, for each library that numbers some of smpy's algorithms."""
    by_library = {library: _known(operation, names) for library, names in _content().items()}
    return {library: numbered for library, numbered in by_library.items() if numbered}


def _known(operation: str, libraries: Mapping[str, Mapping[str, str]]) -> dict[int, Algorithm]:
    known = algorithms_of(operation)
    by_name = {**known, **{theirs: each for each in known.values() for theirs in each.simgrid_names}}
    names = libraries.get(operation, {})
    return {int(number): by_name[name] for number, name in names.items() if name in by_name}


@functools.cache
def _content() -> dict[str, dict[str, dict[str, str]]]:
    content = json.loads((Path(__file__).parent / "mpi_numbers.json").read_text(encoding="utf-8"))
    del content["source"]
    numbers: dict[str, dict[str, dict[str, str]]] = content
    return numbers
