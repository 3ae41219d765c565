"""Packs the columns of a study's table for its page: numbers as bytes, words by index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.report.packed import packed
from smpy.study.levels import levels_of, text_of
from smpy.study.table import FILES, SHARES, StudyTable

if TYPE_CHECKING:
    import pandas as pd

_UNITS: Final = {"s": "s", "bytes": "B", "eur": "EUR", "kwh": "kWh", "share": "share"}


def page_columns(table: StudyTable) -> list[dict[str, Any]]:
    """Name, unit and values of each column that has any values.

    Parameters
    ----------
    table : StudyTable
        Table of any number of points.
    """
    frame = table.frame
    always = (*table.axes, "makespan_s")
    left = (*FILES, "error", *(name for name in frame.columns if name not in always and frame[name].isna().all()))
    if not frame.get("repetition", frame["point"]).any():  # only the first of each existed
        left = (*left, "repetition")
    return [_column(table, name) for name in frame.columns if name not in left]


def _column(table: StudyTable, name: str) -> dict[str, Any]:
    values = table.frame[name]
    if name in table.axes:
        return {"name": name, "is_axis": True, **_levels(name, values)}
    if values.dtype.kind in "iuf" or name == "makespan_s":
        unit = "share" if name in SHARES else _UNITS.get(name.rpartition("_")[2], "")
        return {"name": name, "is_axis": False, "unit": unit, "values": packed(values.to_numpy(np.float64))}
    return {"name": name, "is_axis": False, **words(values)}


def _levels(name: str, values: pd.Series[Any]) -> dict[str, Any]:
    levels = levels_of(name, values)
    numbers = levels.numbers and [None if number != number else number for number in levels.numbers]
    return {"labels": levels.labels, "numbers": numbers, "unit": levels.unit, "codes": packed(levels.codes)}


def words(values: pd.Series[Any]) -> dict[str, Any]:
    """Distinct words, and the index of each row's word; a missing word is empty.

    Parameters
    ----------
    values : pandas.Series
        Values of any type.
    """
    texts = ["" if is_missing else text_of(value) for value, is_missing in zip(values, values.isna(), strict=True)]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return {"labels": list(numbers), "codes": packed(np.array([numbers[text] for text in texts], dtype=np.int32))}
