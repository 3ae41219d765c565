"""The table of a study in files of other tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import UsageError
from smpy.records.files import in_place_when_whole, write_whole
from smpy.records.time_words import KIND_WORDS
from smpy.study.table import FILES, REAL, StudyTable

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES: Final = {"csv": ".csv", "parquet": ".parquet", "extrap": ".extrap.json"}

_NOT_METRICS: Final = ("point", "repetition", "error", *REAL, *FILES)


def write_table(table: StudyTable, form: str, path: Path) -> None:
    """Write a table.

    Parameters
    ----------
    table : StudyTable
        Table of a study.
    form : {"csv", "parquet", "extrap"}
        Comma-separated values; Parquet; JSON that Extra-P reads (`extrap --json`): axes of numbers are its parameters,
        results its metrics, repetitions the values of a measurement. Points that failed are not in the last. If the
        study keeps profiles, each kind of time, and each kernel in what the program computes, has a call path.
    path : Path
        File to write; an existing one is replaced.

    Raises
    ------
    UsageError
        If it cannot be written, or has no axis of numbers for Extra-P.
    """
    if form == "csv":
        write_whole(path, table.frame.to_csv(index=False))
    elif form == "parquet":
        write_parquet(table.frame, path)
    else:
        write_whole(path, json.dumps(_extrap(table), indent=1) + "\n")


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet; columns that mix numbers and texts are written as texts.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    with in_place_when_whole(path) as scratch:  # its name need not be UTF-8, which pyarrow wants
        scratch.write_bytes(_with_one_type_a_column(frame).to_parquet(index=False))


def _with_one_type_a_column(frame: pd.DataFrame) -> pd.DataFrame:
    whole = frame.copy()
    for name in frame.columns:
        if frame[name].map(type).nunique() > 1:
            whole[name] = frame[name].map(str)
    return whole


def _extrap(table: StudyTable) -> dict[str, Any]:
    import pandas as pd

    frame = table.frame[table.frame["error"] == ""]
    parameters = [name for name in table.axes if pd.api.types.is_numeric_dtype(frame[name])]
    others = [name for name in table.axes if name not in parameters]
    if not parameters:
        raise UsageError("Extra-P models functions of numbers: this study varies none (ranks, an argument such as --n)")
    metrics = [
        name
        for name in frame.columns
        if name not in (*table.axes, *_NOT_METRICS, "ranks")
        and pd.api.types.is_numeric_dtype(frame[name])
        and frame[name].notna().all()
    ]
    measurements: dict[str, Any] = {}
    for (*what,), rows in frame.groupby(others, sort=False) if others else [((), frame)]:
        path = "->".join(["program", *(f"{name}={value}" for name, value in zip(others, what, strict=True))])
        groups = [([float(number) for number in point], group) for point, group in rows.groupby(parameters, sort=True)]
        measurements[path] = {
            ("time" if metric == "makespan_s" else metric): [
                {"point": point, "values": group[metric].tolist()} for point, group in groups
            ]
            for metric in metrics
        }
        measurements |= {f"{path}->{name}": metrics for name, metrics in _parts_of_time(table, groups).items()}
    return {"parameters": [_plain(name) for name in parameters], "measurements": measurements}


def _parts_of_time(table: StudyTable, groups: Sequence[tuple[list[float], pd.DataFrame]]) -> dict[str, Any]:
    """Metrics of each kind of time, and of each kernel, by call path; empty if a point has no profile.

    Times are means over ranks. A kernel that a point does not call takes no time there.
    """
    if not all(name for _, group in groups for name in group["profile"]):
        return {}
    parts = []
    for point, group in groups:
        profiles = zip(group["profile"], group["ranks"], strict=True)
        parts.append((point, [profile_times(table.folder / name, n_ranks) for name, n_ranks in profiles]))
    paths = dict.fromkeys(path for _, runs in parts for times in runs for path in times)
    return {
        path: {"time": [{"point": point, "values": [times.get(path, 0.0) for times in runs]} for point, runs in parts]}
        for path in paths
    }


def profile_times(path: Path, n_ranks: int) -> dict[str, float]:
    """Seconds of each kind of time, and of each kernel, in a mean rank."""
    try:
        profile = json.loads(path.read_text(encoding="utf-8"))["profile"]
        times_s = {KIND_WORDS[kind]: 0.0 for kind in profile["kinds"]}
        for site in profile["sites"]:
            for kind, seconds in zip(profile["kinds"], site["spent_s"], strict=True):
                times_s[KIND_WORDS[kind]] += seconds / n_ranks
                if kind == "compute" and site["call"] and seconds:
                    kernel = f"{KIND_WORDS[kind]}->{site['call']}"
                    times_s[kernel] = times_s.get(kernel, 0.0) + seconds / n_ranks
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not the profile of a point: {error}") from error
    return {name: seconds for name, seconds in times_s.items() if seconds}


def _plain(name: str) -> str:
    """A name that Extra-P takes in formulas."""
    text = "".join(letter if letter.isalnum() else "_" for letter in name.removeprefix("args.")).strip("_")
    return text or "x"
