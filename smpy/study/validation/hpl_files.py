"""Reads the results that High-Performance Linpack prints: HPL.out, or the output of a program like it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from smpy.arguments import RANKS_MAX
from smpy.errors import UsageError
from smpy.study.validation.osu_files import read_lines

_NUMBER: Final = r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
_ROW: Final = re.compile(
    r"W([RC])(\d{1,3})([0-5])([LCR])(\d{1,3})([LCR])(\d{1,4})"
    rf"\s+(\d{{1,9}})\s+(\d{{1,6}})\s+(\d{{1,8}})\s+(\d{{1,8}})\s+{_NUMBER}\s+{_NUMBER}\s*",
    re.ASCII,
)
_LIKE_ROW: Final = re.compile(r"W[RC]\d", re.ASCII)
_SWAP: Final = re.compile(r"SWAP\s*:\s*(Binary-exchange|Spread-roll \(long\)|Mix \(threshold\s*=\s*(\d{1,9})\))")
_EQUIL: Final = re.compile(r"EQUIL\s*:\s*(yes|no)\b")
_FAILED: Final = re.compile(r"\|\|Ax-b\|\|.*\bFAILED\b")
_ORDERS: Final = {"R": "row", "C": "column"}
_FACTORISATIONS: Final = {"L": "left", "C": "crout", "R": "right"}
_BROADCASTS: Final = ("1ring", "1ringM", "2ring", "2ringM", "long", "longM")
_TIME_DIGIT_S: Final = 0.01  # HPL prints hundredths of a second
_RATE_ERROR: Final = 0.02


@dataclass(frozen=True, slots=True)
class HplResult:
    """Result of one run of HPL.

    Attributes
    ----------
    file : str
        The file.
    variant : str
        Name that HPL gives to the run's choices, such as "WR11C2R4".
    n, nb, p, q : int
        Order of the matrix and of its blocks, rows and columns of the grid of ranks.
    time_s : float
        Time of the solution, from the Gflops, which have more digits.
    flags : tuple of str
        The choices, as `apps/hpl.py` takes them.
    """

    file: str
    variant: str
    n: int
    nb: int
    p: int
    q: int
    time_s: float
    flags: tuple[str, ...]

    @property
    def n_ranks(self) -> int:
        return self.p * self.q


def hpl_flop(n: int) -> float:
    """Operations that HPL counts for a matrix of order n."""
    return n * n * (2 / 3 * n + 3 / 2)


def read_hpl(path: Path) -> list[HplResult]:
    """Read all results of a file.

    Raises
    ------
    UsageError
        If the file cannot be read, has no result, or one of them is wrong; with the line.
    """
    return hpl_results(str(path), read_lines(path, "output of HPL"))


def hpl_results(file: str, lines: Sequence[str]) -> list[HplResult]:
    """Results in lines that HPL has printed.

    Raises
    ------
    UsageError
        If there is none, or one of them is wrong; with the line.
    """
    results: list[HplResult] = []
    others: tuple[str, ...] = ()
    for number, line in enumerate(lines, start=1):
        if swap := _SWAP.match(line):
            others = (*others, *_swap_flags(swap))
        elif equil := _EQUIL.match(line):
            others = (*others, "--equil" if equil[1] == "yes" else "--no-equil")
        elif _LIKE_ROW.match(line):
            results.append(_result(file, number, line, others))
        elif _FAILED.match(line):
            raise UsageError(f"{file}: line {number}: this run failed its check: remove it")
    if not results:
        raise UsageError(
            f"{file}: there is no result of HPL in it, a line such as "
            "'WR11C2R4  20000  192  4  8  21.35  2.498e+02' below its heading T/V"
        )
    return results


def _swap_flags(swap: re.Match[str]) -> tuple[str, ...]:
    if swap[2] is not None:
        return ("--swap", "mix", "--swap-threshold", swap[2])
    return ("--swap", "bin-exch" if swap[1].startswith("Binary") else "long")


def _result(file: str, number: int, line: str, others: tuple[str, ...]) -> HplResult:
    row = _ROW.fullmatch(line)
    if row is None:
        raise UsageError(
            f"{file}: line {number}, {line.strip()!r}, is no result of HPL: it has T/V, N, NB, P, Q, time and Gflops"
        )
    order, depth, broadcast, recursive, ndiv, panel, nbmin = row.groups()[:7]
    n, nb, p, q = map(int, row.groups()[7:11])
    time_s, flop_per_s = float(row[12]), float(row[13]) * 1e9
    if min(n, nb, p, q, int(nbmin)) < 1 or int(ndiv) < 2 or p * q > RANKS_MAX:
        raise UsageError(f"{file}: line {number}: there is no run of HPL with N {n}, NB {nb}, P {p} and Q {q}")
    if flop_per_s <= 0 or abs(hpl_flop(n) / flop_per_s - time_s) > _RATE_ERROR * time_s + _TIME_DIGIT_S:
        raise UsageError(
            f"{file}: line {number}: {row[12]} s and {row[13]} Gflops disagree: N = {n:,} are "
            f"{hpl_flop(n) / 1e9:.4g} Gflop"
        )
    flags = (
        *("--n", str(n), "--nb", str(nb), "--p", str(p), "--q", str(q), "--pmap", _ORDERS[order]),
        *("--depth", depth, "--bcast", _BROADCASTS[int(broadcast)], "--nbmin", nbmin, "--ndiv", ndiv),
        *("--rfact", _FACTORISATIONS[recursive], "--pfact", _FACTORISATIONS[panel]),
        *others,
    )
    return HplResult(file, line.split(maxsplit=1)[0], n, nb, p, q, hpl_flop(n) / flop_per_s, flags)
