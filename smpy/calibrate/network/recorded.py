"""Reads the output of benchmarks of messages: OSU, IMB, mpi4py.bench, and our own raw measurements.

OSU: osu_latency (microseconds one way) and osu_bw (MB/s of a stream). IMB: PingPong (microseconds one way) and
Sendrecv (the mean over the ranks). `python -m mpi4py.bench`: pingpong (seconds one way, or MB/s alone). Other
benchmarks of these suites are skipped: one-sided ones, of several threads or pairs, in both directions at once, in the
memory of devices. A file without any that is known is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from smpy.calibrate.network.samples import Kind, MessageSample, Samples, is_raw, read_raw
from smpy.errors import UsageError
from smpy.input_files import read_text

_SIZE_MAX_BYTES: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class _Columns:
    """Layout of a benchmark's table: its kind, and the function from a row's numbers, the first a size, to seconds."""

    name: str
    kind: Kind
    n_columns: int
    time_s: Callable[[Sequence[float]], float]


def _of_rate(row: Sequence[float]) -> float:
    return row[0] / (row[1] * 1e6)


def _us(column: int) -> Callable[[Sequence[float]], float]:
    return lambda row: row[column] * 1e-6


_OSU: Final = re.compile(r"#\s*((?:OSU|OMB-Py)\s+(.+?))\s+Test", re.ASCII)
_OSU_PLAIN: Final = re.compile(r"MPI(?:-[A-Z]+)?\s+(\S+)", re.ASCII)  # MPI-CUDA; MPI_Put is one-sided
_IMB: Final = re.compile(r"#\s*Benchmarking\s+(\S+)", re.ASCII)
_DEVICE: Final = re.compile(r"#.*\bBuffer on (?!HOST\b)\w+", re.ASCII)
_PROCESSES: Final = re.compile(r"#\s*#processes\s*=\s*(\d+)", re.ASCII)
_BENCH: Final = re.compile(r"#\s*MPI PingPong Test", re.ASCII)
_PAIR: Final = 2


def read_recorded(path: Path) -> Samples:
    """Times in a file that a benchmark printed, or in our own raw measurements.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Samples

    Raises
    ------
    UsageError
        If it cannot be read, holds no benchmark that is known, or has a row that is none; with its line.
    """
    try:
        text = read_text(path, "output of a benchmark")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    if is_raw(text):
        return read_raw(text, str(path))
    rows, benchmarks, skipped = _rows(path, text.splitlines())
    if not benchmarks:
        raise UsageError(
            f"{path}: {' and '.join(skipped) or 'this'} is no benchmark that smpy knows: it reads what osu_latency, "
            "osu_bw, IMB-MPI1 PingPong and Sendrecv, `python -m mpi4py.bench pingpong` and `smpy calibrate network` "
            "write, with its headings"
        )
    if not rows:
        raise UsageError(f"{path}: {' and '.join(benchmarks)} without a row: was it interrupted?")
    return Samples(tuple(rows), {"benchmarks": benchmarks})


def _rows(path: Path, lines: Sequence[str]) -> tuple[list[MessageSample], list[str], list[str]]:
    """Rows of known benchmarks, names of these, and names of unknown ones."""
    rows: list[MessageSample] = []
    benchmarks: list[str] = []
    skipped: list[str] = []
    table: _Columns | None = None
    n_of_table, is_new = 0, False
    for number, line in enumerate(lines, start=1):
        begins, processes = _begins(line), _PROCESSES.match(line)
        if begins is not None:
            (table, name), n_of_table = begins, 0
            names = skipped if table is None else benchmarks
            if is_new := name not in names:
                names.append(name)
        elif table is not None and _DEVICE.match(line):
            skipped.append(f"{table.name} in the memory of a device")
            if is_new:
                benchmarks.pop()
            table = None
        elif (processes and int(processes[1]) != _PAIR) or (not line.strip() and n_of_table):
            table = None  # a table of more than one pair, or the end of a table
        elif table is not None and line.strip() and not line.lstrip().startswith("#"):
            rows.append(_row(path, number, line, table))
            n_of_table += 1
    return rows, benchmarks, skipped


def _begins(line: str) -> tuple[_Columns | None, str] | None:
    """Table that a line begins (None for an unknown benchmark) and its name; None if the line begins none."""
    if head := _OSU.match(line):
        plain = _OSU_PLAIN.fullmatch(head[2])
        table, name = _OSU_TABLES.get(plain[1]) if plain else None, head[1]
    elif head := _IMB.match(line):
        table, name = _IMB_TABLES.get(head[1]), f"IMB {head[1]}"
    elif _BENCH.match(line):
        table, name = _BENCH_TABLE, ""
    else:
        return None
    return table, table.name if table else name


_OSU_TABLES: Final = {
    "Latency": _Columns("osu_latency", "pingpong", 2, _us(1)),
    "Bandwidth": _Columns("osu_bw", "stream", 2, _of_rate),
}
_IMB_TABLES: Final = {
    "PingPong": _Columns("IMB PingPong", "pingpong", 4, _us(2)),
    "Sendrecv": _Columns("IMB Sendrecv", "exchange", 6, _us(4)),
}
_BENCH_TABLE: Final = _Columns(
    "mpi4py.bench pingpong", "pingpong", 2, lambda row: row[2] if len(row) > 2 else _of_rate(row)
)


def _row(path: Path, number: int, line: str, table: _Columns) -> MessageSample:
    wrong = UsageError(
        f"{path}: line {number} is no row of {table.name}: {line.strip()!r}; if somebody else printed it, remove it"
    )
    values: list[float] = []
    for word in re.sub(r"[|±]", " ", line).split():
        try:
            values.append(float(word))
        except ValueError:  # such as "Pass"
            break
    if len(values) < table.n_columns or not all(0 <= value < _SIZE_MAX_BYTES for value in values):
        raise wrong
    try:
        time_s = table.time_s(values)
    except ZeroDivisionError:
        raise wrong from None
    if not (time_s > 0 and values[0].is_integer()):
        raise wrong
    return MessageSample(table.kind, int(values[0]), 0, time_s)
