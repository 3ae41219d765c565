"""The table of a study: a row per point, first the varied columns, then the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import UsageError
from smpy.study.cost import MachineCost, cost_of_record
from smpy.study.definition import Definition, PricedBy
from smpy.study.journal import Entry
from smpy.study.points import Point
from smpy.study.results import number_of
from smpy.study.state import StudyState

if TYPE_CHECKING:
    import pandas as pd

SHARES: Final = ("compute_share", "communication_share", "waiting_share", "sleep_share")
"""Columns with shares of the ranks' time, named as in the summary of a run."""

COSTS: Final = ("hosts", "used_hosts", "switches", "cables", "price_eur", "energy_kwh", "energy_eur", "edp", "run_eur")
"""Columns with parts of the machine, the number of hosts with ranks, the price that the run pays for, and its costs."""

SIMULATED: Final = ("ranks", "makespan_s", "half_width_s", "messages", "bytes", *SHARES, *COSTS)
"""Columns of every run."""

REAL: Final = ("wall_s", "peak_rss_bytes", "is_reused", "is_stale")
"""Columns that differ from run to run: time and memory here, whether it is the result of another study, and whether the
program or a version has changed since. All others are simulated."""

FILES: Final = ("profile", "trace", "lost")
"""Columns that name a file in the study's folder; empty where nothing was kept."""


@dataclass(frozen=True, slots=True, eq=False)
class StudyTable:
    """Results of a study so far.

    Attributes
    ----------
    name : str
        Name of the study.
    frame : pandas.DataFrame
        One row per point, in the order of the plan: `point` (its number), one column per axis, `repetition`, `error`
        (why it failed; empty if it did not), `ranks`, `makespan_s`, `half_width_s` (of its uncertainty; NaN: none is
        known), `messages`, `bytes`, `SHARES`, what the study takes from the program's output, what the machine has
        and costs (`COSTS`; `edp` is energy times makespan, in J s; NaN: not known), `REAL`, `FILES`.
    axes : tuple of str
        The columns that were varied.
    results : tuple of str
        The columns that the study takes from the program's output.
    folder : Path
        Folder of the study's files.
    """

    name: str
    frame: pd.DataFrame
    axes: tuple[str, ...]
    results: tuple[str, ...]
    folder: Path


def table_of(definition: Definition, points: Iterable[Point], state: StudyState, folder: Path) -> StudyTable:
    """The table of a study, as far as its points have ended.

    Parameters
    ----------
    definition : Definition
        The study.
    points : iterable of Point
        Its points.
    state : StudyState
        State of the points.
    folder : Path
        Folder of the study's files.

    Raises
    ------
    UsageError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError(f"a table needs pandas: {error}; pip install '.[study]'") from error
    axes = definition.axis_names
    patterns = definition.results
    simulated = [name for name in SIMULATED if name not in axes]
    cost = cache(partial(cost_of_record, prices=definition.prices))  # few machines for many points
    rows = []
    for point in points:
        entry = state.entries.get(point.key)
        if entry is None:
            continue
        row: dict[str, Any] = {"point": point.number, **dict(zip(axes, point.values, strict=True))}
        row |= {"repetition": point.repetition, "error": entry.error}
        known = {**entry.row, "ranks": point.ranks, **costs(entry.row, cost, definition.priced_by)}
        row |= {name: known.get(name) for name in simulated}
        row |= {name: number_of(pattern, entry) for name, pattern in patterns.items()}
        row |= {name: entry.row.get(name) for name in REAL}
        row |= {"is_reused": bool(row["is_reused"]), "is_stale": point.key in state.stale}
        row |= {what: _file(what, point, folder, entry, definition.keep) for what in FILES}
        rows.append(row)
    numbers = (*simulated, *patterns, "wall_s", "peak_rss_bytes")
    frame = pd.DataFrame(rows, columns=["point", *axes, "repetition", "error", *simulated, *patterns, *REAL, *FILES])
    for name in numbers:
        frame[name] = pd.to_numeric(frame[name])
    return StudyTable(definition.name, frame, axes, tuple(patterns), folder)


def costs(row: Mapping[str, Any], cost: Callable[[str], MachineCost], priced_by: PricedBy) -> dict[str, float]:
    """Columns `COSTS` of a run, as far as its row knows them."""
    parts = row.get("parts")
    if parts is None:
        return {}
    machine, makespan_s, links_j = cost(parts), row["makespan_s"], row.get("links_j")
    used_hosts = float(row.get("used_hosts", math.nan))  # rows of older versions lack it
    if priced_by == "machine":
        columns = machine.columns(makespan_s, row.get("hosts_j"), links_j)
    else:
        columns = machine.columns(makespan_s, row.get("used_hosts_j"), links_j, used_hosts / machine.n_hosts)
    return {**columns, "used_hosts": used_hosts}


def kept_path(what: str, key: str, folder: Path) -> Path:
    """Path of the profile, the trace or the lost time (`smpy.analysis.lost`) of a point."""
    place = {"profile": f"profiles/{key}.json", "trace": f"traces/{key}", "lost": f"lost/{key}.json"}
    return folder / place[what]


def _file(what: str, point: Point, folder: Path, entry: Entry, keep: Collection[str]) -> str:
    path = kept_path(what, point.key, folder)
    return str(path.relative_to(folder)) if what in keep and not entry.error and path.exists() else ""
