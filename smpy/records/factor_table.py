"""Table of factors of the parallel efficiency, by numbers of ranks, as another tool measured them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from smpy.errors import UsageError, meant
from smpy.input_files import read_text

_RANKS: Final = "ranks"
_COLUMNS: Final = (
    (_RANKS, "load_balance", "serialisation", "transfer"),
    (_RANKS, "load_balance", "communication"),
)
_OTHER_SPELLINGS: Final = {"serialization": "serialisation"}
_RANKS_MAX: Final = 1 << 31
_FACTOR_MAX: Final = 1.5  # replays and clocks let factors exceed 1 a little; per cents exceed it much
_ROWS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class MeasuredFactors:
    """Factors of the parallel efficiency of one run.

    Attributes
    ----------
    n_ranks : int
        Number of ranks.
    load_balance : float
        Mean over maximum of the ranks' useful time.
    communication : float
        Serialisation efficiency times transfer efficiency.
    serialisation, transfer : float or None
        The two, where they are told apart.
    """

    n_ranks: int
    load_balance: float
    communication: float
    serialisation: float | None = None
    transfer: float | None = None

    @property
    def parallel(self) -> float:
        """Parallel efficiency: the product of the factors."""
        return self.load_balance * self.communication


def read_factors(path: str | Path) -> list[MeasuredFactors]:
    """Read a table of factors.

    Raises
    ------
    UsageError
        If the file cannot be read, or a line is wrong: file, line and why.
    """
    try:
        text = read_text(path, "table of factors")
    except OSError as wrong:
        raise UsageError(f"cannot read {str(path)!r}: {wrong.strerror}") from None
    lines = csv.reader(text.splitlines(), strict=True)
    names: list[str] = []
    runs: list[MeasuredFactors] = []
    try:
        for words in lines:
            if not any(word.strip() for word in words) or words[0].lstrip().startswith("#"):
                continue
            if names:
                runs.append(factors_of_row(_row(names, words, len(runs))))
            else:
                names = _names(words)
    except (UsageError, csv.Error) as wrong:
        raise UsageError(f"{path}, line {lines.line_num}: {wrong}") from None
    if not names:
        raise UsageError(f"{path} is empty: its first line is {','.join(_COLUMNS[0])}")
    return runs


def _names(words: Sequence[str]) -> list[str]:
    """The names of the columns."""
    names = [word.strip().lower().replace(" ", "_") for word in words]
    names = [_OTHER_SPELLINGS.get(name, name) for name in names]
    if sorted(names) not in [sorted(columns) for columns in _COLUMNS]:
        known = {name for columns in _COLUMNS for name in columns}
        unknown = next((name for name in names if name not in known), "")
        what = f"there is no column {unknown[:40]!r}{meant(unknown, known)}: " if unknown else ""
        raise UsageError(f"{what}the columns are {' or '.join(','.join(columns) for columns in _COLUMNS)}")
    return names


def _row(names: Sequence[str], words: Sequence[str], n_before: int) -> dict[str, str]:
    if len(words) != len(names):
        raise UsageError(f"it has {len(words)} columns, and the head {len(names)}")
    if n_before == _ROWS_MAX:
        raise UsageError(f"this is the row after {_ROWS_MAX:,}, the most that curves are fitted to")
    return dict(zip(names, words, strict=True))


def factors_of_row(row: Mapping[str, str]) -> MeasuredFactors:
    """Check a row of a table.

    Raises
    ------
    UsageError
        If it has other columns, or a value that is none.
    """
    names = _names(list(row))
    values = dict(zip(names, row.values(), strict=True))
    ranks = values[_RANKS].strip()
    if not (ranks.isascii() and ranks.isdecimal() and 0 < int(ranks[:20]) < _RANKS_MAX):
        raise UsageError(f"{ranks[:40]!r} is no number of ranks")
    factor = {name: _factor(name, word) for name, word in values.items() if name != _RANKS}
    if "communication" not in factor:
        factor["communication"] = factor["serialisation"] * factor["transfer"]
    return MeasuredFactors(int(ranks), **factor)


def _factor(name: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if "_" in word or not 0 < value < float("inf"):
        raise UsageError(f"{word.strip()[:40]!r} is no {name.replace('_', ' ')}: it is a ratio above 0")
    if value > _FACTOR_MAX:
        raise UsageError(f"{name.replace('_', ' ')} is {value:g}: it is a ratio such as 0.93, not per cents")
    return value
