"""Numbers that a study takes from what its program prints."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from smpy.study.journal import Entry

_OUTPUT_MAX: Final = 20_000  # characters


def kept_output(output: str, patterns: Collection[str]) -> tuple[str, dict[str, float | None]]:
    """The end of what a program has printed; if that is not all, also what patterns find in the whole."""
    if len(output) < _OUTPUT_MAX:
        return output, {}
    return output[-_OUTPUT_MAX:], {pattern: _number_in(output, pattern) for pattern in patterns}


def number_of(pattern: str, entry: Entry) -> float | None:
    """The number that a pattern finds first in what a point has printed; None: none."""
    return entry.matches[pattern] if pattern in entry.matches else _number_in(entry.output, pattern)


def are_known(results: Mapping[str, str], entry: Entry) -> bool:
    """Whether all of what a point has printed was searched for these results, or is here to be searched."""
    return len(entry.output) < _OUTPUT_MAX or entry.matches.keys() >= set(results.values())


def _number_in(output: str, pattern: str) -> float | None:
    found = re.search(pattern, output, re.MULTILINE)
    try:
        return float(found[1]) if found is not None and found[1] is not None else None
    except ValueError:
        return None
