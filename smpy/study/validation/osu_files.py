"""Reads tables that the OSU micro-benchmarks print; mpi4py's versions of them (`demo/osu_*.py`) print the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Final

from smpy.errors import UsageError
from smpy.input_files import read_text
from smpy.study.validation.osu_benchmarks import BENCHMARKS, Memory, OsuBenchmark

_SIZE_MAX_BYTES: Final = 1 << 40
_VALUE_MAX: Final = 1e12
_PAIRS_MAX: Final = 1 << 20
_WINDOW: Final = 64  # the benchmarks' own

TITLES: Final = {
    "Latency": "osu_latency",
    "Bandwidth": "osu_bw",
    "Bi-Directional Bandwidth": "osu_bibw",
    "Multi Latency": "osu_multi_lat",
    "Multiple Bandwidth / Message Rate": "osu_mbw_mr",
    "Broadcast Latency": "osu_bcast",
    "Allreduce Latency": "osu_allreduce",
    "Reduce Latency": "osu_reduce",
    "Reduce_scatter Latency": "osu_reduce_scatter",
    "Allgather Latency": "osu_allgather",
    "All-to-All Personalized Exchange Latency": "osu_alltoall",
    "All-to-All Latency": "osu_alltoall",
    "Gather Latency": "osu_gather",
    "Scatter Latency": "osu_scatter",
    "Barrier Latency": "osu_barrier",
}
"""Benchmark by the title of its table."""
_HEAD: Final = re.compile(r"#\s*(?:(?:OSU|OMB-Py)\s+)?(MPI(?:-[A-Z]+)?)\s+(\S.*?)\s+Test\b", re.ASCII)
_MEMORIES: Final = re.compile(r"#\s*Send Buffer on (\w+) .*\bReceive Buffer on (\w+)\b", re.ASCII)  # MPI-CUDA, -ROCM
_MEMORY: Final[dict[str, Memory]] = {"HOST": "cpu", "DEVICE": "gpu"}
_PAIRS: Final = re.compile(r"#\s*\[\s*pairs:\s*(\d{1,9})\s*\]\s*\[\s*window size:\s*(\d{1,9})\s*\]", re.ASCII)
_SIZES: Final = re.compile(r"#\s*Size\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class OsuTable:
    """Result of one benchmark.

    Attributes
    ----------
    benchmark : OsuBenchmark
        The benchmark.
    file : str
        The file.
    sizes_bytes : tuple of int
        Sizes of the messages; a barrier has the one size 0.
    times_s : tuple of float
        Printed times; of a rate, the time of a message.
    pairs : int or None
        Number of pairs, if the table says it.
    window : int
        Messages that are under way at once.
    memories : tuple of Memory
        Memory of the messages of the first half of the ranks, and of the second.
    """

    benchmark: OsuBenchmark
    file: str
    sizes_bytes: tuple[int, ...]
    times_s: tuple[float, ...]
    pairs: int | None = None
    window: int = _WINDOW
    memories: tuple[Memory, Memory] = ("cpu", "cpu")


def read_osu(path: Path) -> list[OsuTable]:
    """Read all tables of a file. Tables of benchmarks that cannot be simulated are skipped, unless there are no others.

    Raises
    ------
    UsageError
        If the file cannot be read, has no such table, or a line of one is no row; with the line.
    """
    lines = read_lines(path, "output of an OSU benchmark")
    tables: list[OsuTable] = []
    skipped: list[str] = []
    reader: _TableReader | None = None
    for number, line in enumerate(lines, start=1):
        if head := _HEAD.match(line):
            _finish(reader, tables)
            benchmark = BENCHMARKS.get(TITLES.get(head[2], ""))
            if benchmark is None or (benchmark.scope == "all" and head[1] != "MPI"):  # in the memory of devices
                reader = None
                skipped.append(f"{head[1]} {head[2]} Test")
            else:
                reader = _TableReader(path, number, benchmark)
        elif reader is not None:
            if not line.strip() and reader.has_rows:
                _finish(reader, tables)
                reader = None
            elif line.strip():
                reader.add(number, line)
    _finish(reader, tables)
    if not tables:
        raise UsageError(
            f"{path}: {' and '.join(skipped) or 'this'} is no table that can be simulated: say output of "
            f"{', '.join(BENCHMARKS)}, with its first line, such as '# OSU MPI Latency Test v7.4'"
        )
    return tables


def read_lines(path: Path, what: str) -> list[str]:
    """Lines of a text file.

    Raises
    ------
    UsageError
        If it cannot be read.
    """
    try:
        return read_text(path, what).splitlines()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


class _TableReader:
    """Rows of one table."""

    def __init__(self, path: Path, number: int, benchmark: OsuBenchmark) -> None:
        self._path = path
        self._first = number
        self._benchmark = benchmark
        self._has_sizes = benchmark.name != "osu_barrier"
        self._pairs: int | None = None
        self._window = _WINDOW
        self._memories: tuple[Memory, Memory] = ("cpu", "cpu")
        self._times_s: dict[int, float] = {}

    @property
    def has_rows(self) -> bool:
        return bool(self._times_s)

    def add(self, number: int, line: str) -> None:
        if pairs := _PAIRS.match(line):
            self._pairs, self._window = int(pairs[1]), int(pairs[2])
            if not (1 <= self._pairs <= _PAIRS_MAX and 1 <= self._window <= _PAIRS_MAX):
                raise self._error(number, line, "pairs and windows are from 1 to 1,048,576")
        elif memories := _MEMORIES.match(line):
            if not all(each in _MEMORY for each in memories.groups()):
                raise self._error(number, line, "messages are in the memory of a HOST or a DEVICE")
            self._memories = _MEMORY[memories[1]], _MEMORY[memories[2]]
        elif _SIZES.match(line):
            self._has_sizes = True
        elif not line.lstrip().startswith("#"):
            self._add_row(number, line)

    def _add_row(self, number: int, line: str) -> None:
        words = line.split() if self._has_sizes else ["0", *line.split()]
        try:
            size, value = int(words[0]), float(words[1])
        except (IndexError, ValueError):
            raise self._error(number, line, "a row begins with two numbers") from None
        if not 0 <= size <= _SIZE_MAX_BYTES:
            raise self._error(number, line, "a size is from 0 to 1 TiB")
        if not 0 < value < min(_VALUE_MAX, inf):
            raise self._error(number, line, "a time or a rate is above 0")
        if self._benchmark.is_rate and size == 0:
            raise self._error(number, line, "a size of 0 has no rate")
        if size in self._times_s:
            raise self._error(number, line, f"size {size} is there twice")
        self._times_s[size] = size / (value * 1e6) if self._benchmark.is_rate else value * 1e-6

    def _error(self, number: int, line: str, why: str) -> UsageError:
        return UsageError(f"{self._path}: line {number}, {line.strip()!r}, is no row of {self._benchmark.name}: {why}")

    def table(self) -> OsuTable:
        if not self._times_s:
            raise UsageError(
                f"{self._path}: line {self._first}: {self._benchmark.name} has no row: was it interrupted?"
            )
        sizes, times_s = tuple(self._times_s), tuple(self._times_s.values())
        return OsuTable(self._benchmark, str(self._path), sizes, times_s, self._pairs, self._window, self._memories)


def _finish(reader: _TableReader | None, tables: list[OsuTable]) -> None:
    if reader is not None:
        tables.append(reader.table())
