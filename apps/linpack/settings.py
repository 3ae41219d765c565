"""Problems and methods of solution: HPL.dat, and flags that override it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from math import isfinite, nan
from pathlib import Path
from typing import Any

FACTORISATIONS = ("left", "crout", "right")
BROADCASTS = ("1ring", "1ringM", "2ring", "2ringM", "long", "longM")
SWAPS = ("bin-exch", "long", "mix")
ORDERS = ("row", "column")


@dataclass(frozen=True, slots=True)
class Settings:
    """One run.

    Parameters
    ----------
    n, nb : int
        Order of the matrix, and of its blocks.
    p, q : int
        Rows and columns of the grid of processes.
    pmap : str
        Whether consecutive ranks fill a row or a column of the grid.
    pfact, rfact : str
        Variant of the factorisation of a panel's narrow parts, and of the recursion above them.
    nbmin, ndiv : int
        Width at which the recursion stops, and into how many parts it divides.
    bcast : str
        Algorithm that broadcasts a panel along the rows of the grid.
    depth : int
        Panels factored ahead.
    swap, swap_threshold
        Exchange of rows in the columns of the grid, and the number of local columns up to which "mix" takes the
        binary exchange.
    equil : bool
        Whether the long swap balances the rows it rolls.
    threshold : float
        Residuals below it pass; no check when it is not positive.
    """

    n: int = 1000
    nb: int = 120
    p: int = 1
    q: int = 1
    pmap: str = "row"
    pfact: str = "left"
    nbmin: int = 2
    ndiv: int = 2
    rfact: str = "left"
    bcast: str = "1ring"
    depth: int = 0
    swap: str = "mix"
    swap_threshold: int = 64
    equil: bool = True
    threshold: float = 16.0

    def variant(self) -> str:
        """The name that HPL prints for a run like this."""
        letter = {name: name[0].upper() for name in FACTORISATIONS}
        return (
            f"W{self.pmap[0].upper()}{self.depth}{BROADCASTS.index(self.bcast)}"
            f"{letter[self.rfact]}{self.ndiv}{letter[self.pfact]}{self.nbmin}"
        )


class BadSettings(ValueError):
    """A value of HPL.dat or of a flag cannot be run."""


def from_file(path: Path) -> list[Settings]:
    """All the runs that an HPL.dat asks for, in HPL's order.

    Raises
    ------
    BadSettings
        If it is not such a file.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()  # comments may be in any language
    except OSError as error:
        raise BadSettings(f"{path}: {error.strerror}") from None
    reader = _Reader(path, lines[4:])
    orders, blocks = reader.several(), reader.several()
    pmap = reader.one_of(ORDERS)
    n_grids = reader.count()
    grids = list(zip(reader.numbers(n_grids), reader.numbers(n_grids), strict=True))
    threshold = reader.number()
    pfacts, nbmins, ndivs = reader.several_of(FACTORISATIONS), reader.several(), reader.several()
    rfacts, bcasts, depths = reader.several_of(FACTORISATIONS), reader.several_of(BROADCASTS), reader.several()
    swap, swap_threshold = reader.one_of(SWAPS), reader.one()
    reader.one()  # L1 and U are kept by rows here, whichever form the file asks for
    reader.one()
    equil = bool(reader.one())
    return [
        Settings(n, nb, p, q, pmap, pfact, nbmin, ndiv, rfact, bcast, depth, swap, swap_threshold, equil, threshold)
        for (p, q), n, nb, depth, bcast, rfact, ndiv, pfact, nbmin in itertools.product(
            grids, orders, blocks, depths, bcasts, rfacts, ndivs, pfacts, nbmins
        )
    ]


class _Reader:
    """The values at the beginning of an HPL.dat's lines."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path = path
        self._lines: Iterator[tuple[int, str]] = iter(enumerate(lines, start=5))

    def numbers(self, count: int) -> list[int]:
        where, words = self._words(count)
        try:
            return [int(word) for word in words]
        except ValueError:
            raise BadSettings(f"{self._path}, line {where}: expected {count} whole numbers") from None

    def number(self) -> float:
        where, words = self._words(1)
        try:
            value = float(words[0])
        except ValueError:
            value = nan
        if not isfinite(value):
            raise BadSettings(f"{self._path}, line {where}: expected a number")
        return value

    def one(self) -> int:
        return self.numbers(1)[0]

    def several(self) -> list[int]:
        return self.numbers(self.count())

    def count(self) -> int:
        """Number of values on the next line."""
        count = self.one()
        if count < 1:
            raise BadSettings(f"{self._path}: a number of values is at least 1, not {count}")
        return count

    def one_of(self, names: tuple[str, ...]) -> str:
        return self._named(self.numbers(1), names)[0]

    def several_of(self, names: tuple[str, ...]) -> list[str]:
        return self._named(self.several(), names)

    def _named(self, numbers: list[int], names: tuple[str, ...]) -> list[str]:
        for number in numbers:
            if not 0 <= number < len(names):
                raise BadSettings(f"{self._path}: {number} is none of {_listed(names)}")
        return [names[number] for number in numbers]

    def _words(self, count: int) -> tuple[int, list[str]]:
        try:
            where, line = next(self._lines)
        except StopIteration:
            raise BadSettings(f"{self._path}: ends too early") from None
        words = line.split()[:count]
        if len(words) < count:
            raise BadSettings(f"{self._path}, line {where}: expected {count} values")
        return where, words


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"{number} ({name})" for number, name in enumerate(names))


def overridden(settings: Settings, flags: dict[str, Any]) -> Settings:
    """The settings with every flag that is given in its place.

    Raises
    ------
    BadSettings
        If they cannot be run.
    """
    known = {field.name for field in fields(Settings)}
    changed = replace(settings, **{name: value for name, value in flags.items() if name in known and value is not None})
    for name in ("nb", "p", "q", "nbmin"):
        if getattr(changed, name) < 1:
            raise BadSettings(f"{name} = {getattr(changed, name)}: it is at least 1")
    for name in ("n", "depth"):
        if getattr(changed, name) < 0:
            raise BadSettings(f"{name} = {getattr(changed, name)}: it is at least 0")
    if changed.ndiv < 2:
        raise BadSettings(f"ndiv = {changed.ndiv}: a panel is divided into at least 2 parts")
    return changed
