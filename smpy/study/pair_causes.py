"""Cause of the difference of two points, from their kept lost time or profiles: the kind of time that grew most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.input_files import read_plain_file
from smpy.records.computing_lines import called, sites_by_line
from smpy.records.time_words import KIND_WORDS
from smpy.units import format_time

if TYPE_CHECKING:
    import pandas as pd

_PART_MIN: Final = 0.2  # of the difference of the makespans: less explains little
_BROKEN: Final = (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError)

Growth = dict[tuple[str, str], float]


def cause_of(slow: pd.Series[Any], fast: pd.Series[Any], folder: Path) -> str:
    """Words for the largest growth of a rank's time: "transfer: +31 ms a rank, mostly in Sendrecv late.py:10".

    Parameters
    ----------
    slow, fast : pandas.Series
        Rows of a study's table.
    folder : Path
        Folder of the study's files.

    Returns
    -------
    str
        Empty if no files of both points are kept, or can be read, or if they explain little.
    """
    longer_s = float(slow["makespan_s"] - fast["makespan_s"])
    losses, profiles = (_records(slow, fast, column, folder) for column in ("lost", "profile"))
    pair, read = (losses, _lost) if losses else (profiles, _profile)
    if not pair:
        return ""
    try:
        growth = read(pair[0], int(slow["ranks"]))
        for key, seconds in read(pair[1], int(fast["ranks"])).items():
            growth[key] = growth.get(key, 0.0) - seconds
        text = _largest(growth, longer_s)
        return text + _link(profiles[0], profiles[1], longer_s) if text and profiles else text
    except _BROKEN:
        return ""


def _records(slow: pd.Series[Any], fast: pd.Series[Any], column: str, folder: Path) -> list[dict[str, Any]]:
    """Files of both points; none if one of them is not kept or is damaged, which the page says."""
    names = [row.get(column) for row in (slow, fast)]
    if not all(isinstance(name, str) and name for name in names):
        return []
    try:
        return [json.loads(read_plain_file(folder / name, column).decode()) for name in names]
    except _BROKEN:
        return []


def _lost(record: Mapping[str, Any], n_ranks: int) -> Growth:
    """Seconds of a rank by category and place."""
    spent: Growth = {}
    for row in record["lines"]:
        place = f"{row['function'] or row['call'] or ''} {row['file']}:{row['line']}" if row["file"] else ""
        key = row["category"].replace("_", " "), place
        spent[key] = spent.get(key, 0.0) + row["seconds"] / n_ranks
    return spent


def _profile(record: Mapping[str, Any], n_ranks: int) -> Growth:
    """Seconds of a rank by kind and call site."""
    profile = record["profile"]
    spent: Growth = {}
    for site in sites_by_line(profile):
        place = f"{called(site['call'], site['line'])} {site['line'] or ''}".strip()
        for kind, seconds in zip(profile["kinds"], site["spent_s"], strict=True):
            if seconds:
                key = KIND_WORDS.get(kind, kind), place
                spent[key] = spent.get(key, 0.0) + seconds / n_ranks
    return spent


def _largest(growth: Growth, longer_s: float) -> str:
    kinds: dict[str, float] = {}
    for (kind, _), seconds in growth.items():
        kinds[kind] = kinds.get(kind, 0.0) + seconds
    kind = max(kinds, key=lambda name: kinds[name], default="")
    seconds = kinds.get(kind, 0.0)
    if seconds <= 0 or seconds < _PART_MIN * longer_s:
        return ""
    places = {place: more for (its, place), more in growth.items() if its == kind}
    place = max(places, key=lambda name: places[name])
    where = f", mostly in {place}" if place and places[place] >= seconds / 2 else ""
    return f"{kind}: +{format_time(seconds)} a rank{where}"


def _link(more: Mapping[str, Any], less: Mapping[str, Any], longer_s: float) -> str:
    """Words for the link whose saturation grew most; machines may have different links."""
    more_s, less_s = map(_saturated_s, (more, less))
    for name, seconds in less_s.items():
        more_s[name] = more_s.get(name, 0.0) - seconds
    link = max(more_s, key=lambda name: more_s[name], default="")
    seconds = more_s.get(link, 0.0)
    if seconds <= 0 or seconds < _PART_MIN * longer_s:
        return ""
    return f"; {link} is saturated {format_time(seconds)} longer"


def _saturated_s(record: Mapping[str, Any]) -> dict[str, float]:
    links = record["profile"].get("links") or {"link": [], "saturated_s": []}
    return dict(zip(links["link"], links["saturated_s"], strict=True))
