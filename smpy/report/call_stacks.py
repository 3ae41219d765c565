"""Measured computing by call stack, rank and time, on the page of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from smpy.records.computing_lines import calling
from smpy.report.document import figure
from smpy.report.packed import packed

SECTION: Final = (
    '<p class="note">Measured computing by call stack, from samples: a function stands below its caller, and the lines '
    "below the functions in which ranks computed. Draw a box in the bars to choose a time, a double click chooses all; "
    "click a function to see it alone, and once more to go back.</p>\n"
    '<p class="controls"><label>Rank <input id="stack-rank" type="number" min="0" placeholder="all"></label></p>\n'
    f'{figure("stack_times")}{figure("stacks")}<p class="told"></p>'
)
"""Section of the page: controls and figures of `call_stacks.js`."""


def call_stacks(profile: Mapping[str, Any], n_ranks: int) -> dict[str, Any] | None:
    """Measured computing by call stack, in the page's format; None if no sample was taken.

    Parameters
    ----------
    profile : mapping
        Profile of a record.
    n_ranks : int
        Ranks of the run.
    """
    stacks = profile.get("call_stacks")
    if not stacks or not stacks["times"]["call"]:
        return None
    calls, times = stacks["calls"], stacks["times"]
    callers, depths = calls["caller"], list[int]()
    for caller in callers:
        depths.append(1 if caller < 0 else depths[caller] + 1)
    per_cell = stacks["ranks_per_cell"]
    return {
        "window_s": stacks["window_s"],
        "n_windows": max(times["window"]) + 1,
        "n_ranks": n_ranks,
        "ranks_per_cell": per_cell,
        "n_cells": -(-n_ranks // per_cell),
        "depth": max(depths),
        "callers": callers,
        "names": [
            f"line {line}" if line else calling(function)
            for function, line in zip(calls["function"], calls["line"], strict=True)
        ],
        "files": [f"{file}:{line}" if line else file for file, line in zip(calls["file"], calls["line"], strict=True)],
        "is_line": [line > 0 for line in calls["line"]],
        "times": {
            **{name: packed(np.array(times[name], dtype=np.int32)) for name in ("ranks", "window", "call")},
            "seconds": packed(np.array(times["seconds"], dtype=np.float64)),
        },
    }
