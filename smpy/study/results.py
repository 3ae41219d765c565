"""Numbers that a study takes from the output of its program."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TextIO

from smpy.study.journal import Entry

_OUTPUT_MAX: Final = 20_000  # characters
_PART_MAX: Final = 1 << 22  # characters that are searched at a time
_OVERLAP_MAX: Final = 1 << 16  # characters that are searched again with the next part


def kept_output(
    output: str, patterns: Collection[str], whole: TextIO | None = None
) -> tuple[str, dict[str, float | None]]:
    """End of a program's output; if the output is longer, also the numbers that patterns find in all of it.

    Parameters
    ----------
    output : str
        All of the output, or its first and last part.
    patterns : collection of str
        Regular expressions with one group.
    whole : TextIO, optional
        All of it, if `output` is not.
    """
    if len(output) < _OUTPUT_MAX:
        return output, {}
    matches: dict[str, float | None] = {}
    for part in [output] if whole is None else _parts(whole):
        for pattern in patterns:
            if pattern not in matches and re.search(pattern, part, re.MULTILINE):
                matches[pattern] = _number_in(part, pattern)
    return output[-_OUTPUT_MAX:], dict.fromkeys(patterns) | matches


def _parts(whole: TextIO) -> Iterator[str]:
    """Parts of a text, each with the last lines of the part before."""
    whole.seek(0)
    before = ""
    while text := whole.read(_PART_MAX):
        text = before + text + whole.readline(_OVERLAP_MAX)
        yield text
        before = text[-_OVERLAP_MAX:].partition("\n")[2]


def number_of(pattern: str, entry: Entry) -> float | None:
    """The first number that a pattern finds in the output of a point; None: none."""
    return entry.matches[pattern] if pattern in entry.matches else _number_in(entry.output, pattern)


def are_known(results: Mapping[str, str], entry: Entry) -> bool:
    """Whether a point's results are known: its whole output was searched for them, or is here to be searched."""
    return len(entry.output) < _OUTPUT_MAX or entry.matches.keys() >= set(results.values())


def _number_in(output: str, pattern: str) -> float | None:
    match = re.search(pattern, output, re.MULTILINE)
    try:
        return float(match[1]) if match is not None and match[1] is not None else None
    except ValueError:
        return None
