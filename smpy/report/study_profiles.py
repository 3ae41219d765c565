"""Profiles of a study's points: the call sites that took most of the time, for its page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from warnings import warn

import numpy as np

from smpy.errors import JournalWarning
from smpy.input_files import read_plain_file
from smpy.records.computing_lines import called
from smpy.records.profile import KINDS
from smpy.report.packed import packed

if TYPE_CHECKING:
    import pandas as pd

_SITES_MAX: Final = 8  # call sites per point; all others are added up in one more
_SITES_OF_ALL_MAX: Final = 100_000  # 44 bytes each: with plotly's script less than 15 MB, even if nothing is compressed
_READ_BYTES_MAX: Final = 1_000_000_000  # a second or two


def page_profiles(folder: Path, files: pd.Series[Any]) -> dict[str, Any]:
    """Call sites of all points, one point after the other.

    Parameters
    ----------
    folder : Path
        Folder of the study's files.
    files : pandas.Series
        The summary of each point's run, relative to `folder`; empty: none was kept. A warning names one that is
        damaged; its point has no sites.

    Returns
    -------
    dict
        `first` (n_points + 1): where the sites of each point begin; of each site its `label` (a number in `labels`),
        `count` and `spent_s` by `kinds`; `left`: how many points have a profile that is not in the page.
    """
    labels: dict[str, int] = {}
    first, label, count = [0], list[int](), list[float]()
    spent_s = list[list[float]]()
    n_read_bytes = n_left = 0
    damaged = list[Path]()
    for name in files:
        if isinstance(name, str) and name:
            try:
                text = read_plain_file(folder / name, "profile").decode()
                sites = _sites(text) if n_read_bytes + len(text) <= _READ_BYTES_MAX else []
            except (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
                damaged.append(folder / name)
                text, sites = "", []
            n_read_bytes += len(text)
            if n_read_bytes > _READ_BYTES_MAX or len(label) > _SITES_OF_ALL_MAX - _SITES_MAX - 1:
                n_left += 1
                n_read_bytes = _READ_BYTES_MAX + 1
            else:
                for call, calls, times_s in sites:
                    label.append(labels.setdefault(call, len(labels)))
                    count.append(calls)
                    spent_s.append(times_s)
        first.append(len(label))
    if damaged:
        n = len(damaged)
        damage = "is damaged: its point has" if n == 1 else f"and {n - 1:,} more are damaged: their points have"
        warn(f"{damaged[0]} {damage} no call sites in the page", JournalWarning, stacklevel=3)
    return {
        "kinds": KINDS,
        "labels": list(labels),
        "first": packed(np.array(first, dtype=np.int32)),
        "label": packed(np.array(label, dtype=np.int32)),
        "count": packed(np.array(count, dtype=np.float32)),
        "spent_s": packed(np.array(spent_s, dtype=np.float32).reshape(len(label), len(KINDS))),
        "left": n_left,
    }


def _sites(text: str) -> list[tuple[str, float, list[float]]]:
    """Label, number of calls and times by kind of the costliest call sites.

    A profile of many ranks is long; only its list of sites is parsed.

    Raises
    ------
    ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError
        If the text is no profile.
    """
    kinds, sites = _value(text, "kinds"), _value(text, "sites")
    columns = [kinds.index(kind) if kind in kinds else -1 for kind in KINDS]
    by_time = [
        (
            f"{called(site['call'], site['line'])} {site['line'] or ''}".strip(),
            float(site["count"] if site["call"] else 0),
            [float(site["spent_s"][column]) if column >= 0 else 0.0 for column in columns],
        )
        for site in sites
    ]
    by_time.sort(key=lambda site: -sum(site[2]))
    if len(by_time) > _SITES_MAX + 1:
        rest = by_time[_SITES_MAX:]
        times_s = [sum(times) for times in zip(*(site[2] for site in rest), strict=True)]
        by_time[_SITES_MAX:] = [(f"{len(rest):,} other call sites", sum(site[1] for site in rest), times_s)]
    return by_time


def _value(text: str, key: str) -> Any:
    """Value of the first key of this name; quotes in a string would be escaped, so they cannot match."""
    place = re.search(rf'"{key}"\s*:\s*', text)
    if place is None:
        raise ValueError(key)
    return json.JSONDecoder().raw_decode(text, place.end())[0]
