"""Points of a study as numbers for models: the axes that vary, their levels, and the rows that ended."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from smpy.analysis.formulas import plain_name
from smpy.errors import UsageError, meant
from smpy.input_files import read_plain_file
from smpy.records.trace import Trace

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from smpy.study.table import StudyTable


@dataclass(frozen=True, slots=True, eq=False)
class ModelPoints:
    """Points of a study that ended.

    Attributes
    ----------
    table : StudyTable
        Table of the study.
    axes : tuple of str
        Axes of numbers that vary.
    levels : (n_points, n_axes) array of float
        Their levels, each point once.
    rows : sequence of DataFrame
        Rows of the table of each point: its repetitions.
    n_failed : int
        Number of rows that failed and are left out.
    """

    table: StudyTable
    axes: tuple[str, ...]
    levels: NDArray[np.float64]
    rows: Sequence[pd.DataFrame]
    n_failed: int

    def mean(self, column: str) -> NDArray[np.float64]:
        """Mean of a column over the repetitions of each point."""
        return np.array([float(rows[column].mean()) for rows in self.rows])

    def keep(self, column: str) -> bool:
        """Whether every row names a file in a column."""
        return all(name for rows in self.rows for name in rows[column])

    def traces(self) -> list[list[Trace]]:
        """Traces of the repetitions of each point; empty if a row has none."""
        if not self.keep("trace"):
            return []
        return [[Trace(self.table.folder / name) for name in rows["trace"]] for rows in self.rows]

    def records(self, column: str, advice: str) -> list[list[dict[str, Any]]]:
        """Content of the JSON file that a column names, of each repetition of each point.

        Raises
        ------
        UsageError
            If a point has no such file, or it cannot be read.
        """
        contents = []
        for rows in self.rows:
            if not all(rows[column]):
                raise UsageError(f"the study keeps no {column} of its points: {advice}, and run it again")
            contents.append([self._record(name) for name in rows[column]])
        return contents

    def _record(self, name: str) -> dict[str, Any]:
        path = self.table.folder / name
        try:
            record = json.loads(read_plain_file(path, "study"))
        except (OSError, ValueError, RecursionError) as error:
            raise UsageError(f"{path} cannot be read: {error}") from error
        if not isinstance(record, dict):
            raise UsageError(f"{path} is no record of a point")
        return record

    def words(self, level: Sequence[float]) -> str:
        """Text such as "n 512, ranks 64"."""
        return ", ".join(f"{plain_name(name)} {value:g}" for name, value in zip(self.axes, level, strict=True))


def model_points(table: StudyTable) -> ModelPoints:
    """Points of a table of a study.

    Raises
    ------
    UsageError
        If nothing ended, or an axis that varies is not of numbers.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    whole = table.frame
    ended = whole[(whole["error"] == "") & (whole["makespan_s"] > 0)]
    axes = []
    for name in table.axes:
        if ended[name].nunique() < 2:
            continue
        if is_bool_dtype(ended[name]) or not is_numeric_dtype(ended[name]):
            example = ended[name].iloc[0]
            raise UsageError(
                f"{plain_name(name)} varies and is not of numbers ({example}): model a study with one value of it"
            )
        axes.append(name)
    if ended.empty:
        raise UsageError("no point of the study has ended with a time: there is nothing to model")
    groups = [group for _, group in ended.groupby(axes, sort=True)] if axes else [ended]
    levels = np.array([[float(group[name].iloc[0]) for name in axes] for group in groups])
    return ModelPoints(table, tuple(axes), levels, groups, len(whole) - len(ended))


def read_levels(texts: Sequence[str], axes: Sequence[str]) -> dict[str, list[float]]:
    """Levels of axes from texts such as "ranks=768,4096".

    Parameters
    ----------
    texts : sequence of str
        KEY=VALUE,...; an argument's axis may be named without `args.` and hyphens.
    axes : sequence of str
        Axes that there are.

    Raises
    ------
    UsageError
        If a key is unknown or comes twice, or a value is no number above 0.

    Examples
    --------
    >>> read_levels(["ranks=768,4096", "n=512"], ["args.--n", "ranks"])
    {'ranks': [768.0, 4096.0], 'args.--n': [512.0]}
    """
    names = {name: name for name in axes} | {plain_name(name): name for name in axes}
    levels: dict[str, list[float]] = {}
    for text in texts:
        key, _, values = (word.strip() for word in text.partition("="))
        if key not in names:
            known = ", ".join(map(plain_name, axes)) or "nothing"
            raise UsageError(f"{text!r}: {key!r} does not vary in the study{meant(key, names)}; it varies {known}")
        if names[key] in levels:
            raise UsageError(f"{text!r}: {key} is there twice: write its values in one list")
        levels[names[key]] = [_number(text, word) for word in values.split(",")]
    return levels


def _number(text: str, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{text!r}: {word.strip()!r} is no number above 0")
    return number


def grid_of(levels: Mapping[str, Sequence[float]], axes: Sequence[str]) -> list[list[float]]:
    """All combinations of levels, in the order of the axes; empty: there are no levels.

    Raises
    ------
    UsageError
        If an axis has none.
    """
    if not levels:
        return []
    for name in axes:
        if name not in levels:
            raise UsageError(f"for what {plain_name(name)}? Add --predict {plain_name(name)}=VALUE,...")
    return [list(point) for point in product(*(levels[name] for name in axes))]
