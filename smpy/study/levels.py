"""The levels of an axis: the values that it took, in order, and which of them each point has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.units import (
    parse_bandwidth_bytes_per_s,
    parse_power_w,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

UNSET: Final = "(not set)"

_QUANTITY: Final = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) ?([A-Za-z%/]*)", re.ASCII)
_DIGITS: Final = 8  # of a number that is not long
_PARSERS: Final[tuple[tuple[str, Callable[[str], float]], ...]] = (
    ("s", parse_time_s),
    ("B/s", parse_bandwidth_bytes_per_s),
    ("B", parse_size_bytes),
    ("flop/s", parse_speed_flop_per_s),
    ("W", parse_power_w),
)


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Levels of an axis: its distinct values.

    Attributes
    ----------
    axis : str
        Its name.
    labels : tuple of str
        Values as the study writes them: numbers in ascending order, words in the order of their first occurrence.
    numbers : tuple of float or None
        The values of an axis of numbers, or of quantities that can be compared.
    unit : str
        Unit of `numbers`; empty: plain numbers.
    codes : (n_points,) ndarray of int
        Index of each point's level.
    """

    axis: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    unit: str
    codes: NDArray[np.int32]


def levels_of(axis: str, column: pd.Series[Any]) -> Levels:
    """The levels of a column.

    Parameters
    ----------
    axis : str
        Its name.
    column : pandas.Series
        One value per point: numbers, words, quantities such as "10Gb/s"; missing ones are `UNSET`.

    Examples
    --------
    >>> import pandas
    >>> found = levels_of("bandwidth", pandas.Series(["10Gb/s", "500Mb/s", "10Gb/s"]))
    >>> found.labels, found.numbers, found.unit, found.codes.tolist()
    (('500Mb/s', '10Gb/s'), (62500000.0, 1250000000.0), 'B/s', [1, 0, 1])
    """
    missing = column.isna().to_numpy()
    texts = [UNSET if is_missing else text_of(value) for value, is_missing in zip(column, missing, strict=True)]
    labels = list(dict.fromkeys(texts))
    numbers, unit = numbers_of([label for label in labels if label != UNSET])
    by_label = dict(zip((label for label in labels if label != UNSET), numbers, strict=True)) if numbers else None
    if by_label is not None:
        labels.sort(key=lambda label: by_label.get(label, math.inf))
    places = {label: number for number, label in enumerate(labels)}
    return Levels(
        axis,
        tuple(labels),
        None if by_label is None else tuple(by_label.get(label, math.nan) for label in labels),
        unit,
        np.array([places[text] for text in texts], dtype=np.int32),
    )


def text_of(value: object) -> str:
    """Write a value as a study's file does.

    Examples
    --------
    >>> text_of(True), text_of(64.0), text_of(0.1), text_of("10Gb/s")
    ('true', '64', '0.1', '10Gb/s')
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return f"{value:.12g}"
    return str(value)


def short_text(label: str) -> str:
    """Write a level for a sentence: long fractions, such as those of drawn numbers, to six digits.

    Examples
    --------
    >>> short_text("0.254106510291us"), short_text("1234567890"), short_text("16,32")
    ('0.254107us', '1234567890', '16,32')
    """
    part = _QUANTITY.fullmatch(label)
    if part is None or len(part[1]) <= _DIGITS or part[1].isdigit():
        return label
    return f"{float(part[1]):.6g}{part[2]}"


def numbers_of(labels: Sequence[str]) -> tuple[list[float], str]:
    """Numbers of all labels, and their common unit; no numbers if a label is no quantity or the units do not agree.

    Examples
    --------
    >>> numbers_of(["1us", "2ms"]), numbers_of(["2", "1,4"])
    (([1e-06, 0.002], 's'), ([], ''))
    """
    parts = [_QUANTITY.fullmatch(label) for label in labels]
    quantities = [part for part in parts if part is not None]
    if len(quantities) < len(labels) or not labels:
        return [], ""
    units = {part[2] for part in quantities}
    if len(units) == 1:
        return [float(part[1]) for part in quantities], units.pop()
    for unit, parse in _PARSERS:
        try:
            return [parse(part[1] + part[2]) for part in quantities], unit
        except ValueError:
            continue
    return [], ""
