"""The table of a study: a row a point, what was varied first, then what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pandas as pd

SHARES: Final = ("compute_share", "communication_share", "waiting_share", "sleep_share")
"""Of the ranks' time, as the summary of a run has them."""

REAL: Final = ("wall_s", "peak_rss_bytes", "is_reused")
"""Columns that tell of this machine, and differ from run to run; all others are simulated."""

FILES: Final = ("profile", "trace")
"""Columns that name a file in the study's folder; empty where nothing was kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What a study has found so far.

    Attributes
    ----------
    name : str
        Of the study.
    frame : pandas.DataFrame
        A row a point, in the order of the plan: `point` (its number), a column an axis, `repetition`, `error` (why it
        failed; empty if it did not), `ranks`, `makespan_s`, `half_width_s` (of its uncertainty; NaN: none is known),
        `messages`, `bytes`, `SHARES`, what the study takes from the program's output, what the machine has and costs
        (`hosts`, `switches`, `cables`, `price_eur`, `energy_kwh`, `run_eur`; NaN: not known), `REAL`, `FILES`.
    axes : tuple of str
        The columns that were varied.
    results : tuple of str
        The columns that the study takes from the program's output.
    folder : Path
        Where the study's files are.
    """

    name: str
    frame: pd.DataFrame
    axes: tuple[str, ...]
    results: tuple[str, ...]
    folder: Path
