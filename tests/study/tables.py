"""Tables of studies as a study writes them, made of a formula."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from smpy.records.profile import KINDS
from smpy.study.table import StudyTable

USUAL = {
    "error": "", "ranks": 1, "makespan_s": math.nan, "half_width_s": math.nan, "messages": 10, "bytes": 1000,
    "compute_share": 0.5, "communication_share": 0.3, "waiting_share": 0.2, "sleep_share": 0.0, "price_eur": math.nan,
    "wall_s": 0.1, "peak_rss_bytes": 5e7, "is_reused": False, "profile": "", "trace": "",
    "lost": "",
}  # fmt: skip


def table_of(
    folder: Path,
    axes: Mapping[str, Sequence[Any]],
    point: Callable[..., dict[str, Any]],
    *,
    n_repetitions: int = 1,
    results: Sequence[str] = (),
    has_profiles: bool = False,
    name: str = "study",
) -> StudyTable:
    """A grid of axes; `point` gives columns of a row from its levels, in order, and the number of its repetition."""
    rows = []
    for *levels, repetition in product(*axes.values(), range(n_repetitions)):
        given = dict(zip(axes, levels, strict=True))
        own = {"point": len(rows), **given, "repetition": repetition}
        rows.append(
            own | {name: value for name, value in USUAL.items() if name not in own} | point(*levels, repetition)
        )
    frame = pd.DataFrame(rows, columns=None if rows else ["point", *axes, "error", "makespan_s", "profile", "trace"])
    if has_profiles:
        (folder / "profiles").mkdir()
        frame["profile"] = [f"profiles/{number}.json" for number in frame["point"]]
        for number, makespan_s in zip(frame["point"], frame["makespan_s"], strict=True):
            (folder / "profiles" / f"{number}.json").write_text(json.dumps(summary(makespan_s)))
    return StudyTable(name, frame, tuple(axes), tuple(results), folder)


def summary(makespan_s: float, n_sites: int = 3) -> dict[str, Any]:
    """Profile as `smpy run --json` writes it, each site with half the time of the one before."""
    sites = [
        {"call": None if number else "Recv", "line": f"prog.py:{number + 5}", "count": number + 1,
         "spent_s": [makespan_s / 2**number if kind == number % len(KINDS) else 0.0 for kind in range(len(KINDS))]}
        for number in range(n_sites)
    ]  # fmt: skip
    return {"program": "prog.py", "profile": {"kinds": list(KINDS), "sites": sites, "calls": {"rank": [0]}}}
