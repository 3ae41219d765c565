"""Describes many ranks in few lines of text, each with its place in the program."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

_RANGES_MAX: Final = 6


def ranges(ranks: Iterable[int]) -> str:
    """Sorted numbers as text, with ranges.

    Examples
    --------
    >>> ranges([0, 3, 1, 2, 7])
    '0-3, 7'
    """
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    if len(texts) > _RANGES_MAX:
        texts = [*texts[: _RANGES_MAX - 1], "...", texts[-1]]
    return ", ".join(texts)


def ranks_text(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 1-2`; `ranks 1-4094 (4094)` for many."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {ranges(ranks)}" + (f" ({len(ranks)})" if len(ranks) > 4 else "")


def lines_by_rank(calls: list[tuple[int, str, str]]) -> list[str]:
    """One line for all ranks in the same call at the same place; takes (rank, call, place) of each."""
    groups: dict[tuple[str, str], list[int]] = {}
    for rank, call, place in calls:
        groups.setdefault((call, place), []).append(rank)
    heads = [f"{ranks_text(ranks)}: {call}" for (call, _), ranks in groups.items()]
    width = max(map(len, heads), default=0)
    return [f"  {head:<{width}}   {place}".rstrip() for head, (_, place) in zip(heads, groups, strict=True)]


def place_of(file: str, line: int, home: str) -> str:
    """`program.py:12`, relative to the program's directory; empty if the file is unknown."""
    return f"{path_in_text(file, home)}:{line}" if file else ""


def path_in_text(file: str, home: str) -> str:
    """Path of a file, relative to the program's directory if it is in there."""
    if not os.path.isabs(file):
        return file
    inside = os.path.relpath(file, home)
    return file if inside.startswith(os.pardir) else inside
