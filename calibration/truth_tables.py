"""Tables of the times in a truth.csv: real runs, and by how much predictions differ from them.

A row is a phase of a run; in files without phases, a run. Its way is the name of a real MPI, a way of predicting, which
is for all of them (`measured`), or one for an MPI (`measured:mpich`).
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from statistics import median, quantiles
from typing import Final, NamedTuple

from smpy.records.calibration_file import read_result

WAYS_OF_PREDICTING: Final = "measured", "kept", "modelled"
WHOLE: Final = "time"
"""Phase that is the whole run."""
LARGE_ERROR: Final = 0.2


class Row(NamedTuple):
    """Seconds of a phase of a run."""

    program: str
    arguments: str
    ranks: int
    way: str
    repetition: int
    phase: str
    seconds: float

    @property
    def case(self) -> str:
        """The program and its arguments, as a table shows them."""
        return f"`{Path(self.program).name} {self.arguments}`"


class Times(NamedTuple):
    """Seconds of all repetitions of a case's phase, by way."""

    case: str
    ranks: int
    phase: str
    seconds: dict[str, list[float]]


class Error(NamedTuple):
    """Ratio of a predicted median and that of a real MPI, less 1."""

    times: Times
    way: str
    mpi: str
    error: float

    @property
    def kind(self) -> str:
        """The way of predicting, without the MPI that it is for."""
        return self.way.partition(":")[0]


HEAD: Final = Row._fields
_HEAD_WITHOUT_PHASES: Final = tuple(name for name in HEAD if name != "phase")


# ---- the file ----


def read_rows(path: Path) -> list[Row]:
    """Rows of a file; without a phase they are whole runs.

    Raises
    ------
    ValueError
        If a line is no such row: it may have been written in part.
    """
    text = path.read_text(encoding="ascii")
    head, *lines = csv.reader(text.splitlines() or [""])
    if tuple(head) not in (HEAD, _HEAD_WITHOUT_PHASES):
        raise ValueError(f"{path}:1: the columns are not {','.join(HEAD)}")
    rows = []
    for number, fields in enumerate(lines, 2):
        if len(fields) != len(head) or (number == len(lines) + 1 and not text.endswith("\n")):
            raise ValueError(f"{path}:{number}: the line is not whole; delete it")
        of_row = dict(zip(head, fields, strict=True))
        try:
            row = Row(
                of_row["program"],
                of_row["arguments"],
                int(of_row["ranks"]),
                of_row["way"],
                int(of_row["repetition"]),
                of_row.get("phase", WHOLE),
                float(of_row["seconds"]),
            )
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from None
        if not isfinite(row.seconds) or row.seconds < 0:
            raise ValueError(f"{path}:{number}: {row.seconds} s is no time")
        rows.append(row)
    return rows


def _all_times(folder: Path) -> list[Times]:
    """Times by case and phase; of a run that was written twice, after an interruption, the last."""
    last = {row[:6]: row for row in read_rows(folder / "truth.csv")}
    by_phase = defaultdict[tuple[str, int, str], dict[str, list[float]]](lambda: defaultdict(list))
    for row in last.values():
        by_phase[row.case, row.ranks, row.phase][row.way].append(row.seconds)
    return [Times(*key, dict(seconds)) for key, seconds in by_phase.items()]


def _real_and_predicted(all_times: list[Times]) -> tuple[list[str], list[str]]:
    """Real MPIs and ways of predicting, in the order of the file."""
    ways = list(dict.fromkeys(way for times in all_times for way in times.seconds))
    predicted = [way for way in ways if way.partition(":")[0] in WAYS_OF_PREDICTING]
    return [way for way in ways if way not in predicted], predicted


def _errors(times: Times, mpis: list[str], way: str, predicted: list[str]) -> Iterator[Error]:
    """Errors of a way of predicting, for each MPI that it is for."""
    kind, _, own = way.partition(":")
    for mpi in mpis:
        is_for_it = mpi == own if own else f"{kind}:{mpi}" not in predicted
        if is_for_it and way in times.seconds and mpi in times.seconds and (real_s := median(times.seconds[mpi])):
            yield Error(times, way, mpi, median(times.seconds[way]) / real_s - 1)


def _all_errors(all_times: list[Times]) -> list[Error]:
    mpis, predicted = _real_and_predicted(all_times)
    return [error for times in all_times for way in predicted for error in _errors(times, mpis, way, predicted)]


# ---- tables ----


def tell_machine(folder: Path) -> str:
    """The calibrated machine and its MPIs, in a line; nothing, if there is no calibration."""
    if not (folder / "node.toml").exists():
        return ""
    about = read_result(folder / "node.toml")["calibration"]
    parts = [
        f"{about['cpu']}, {about['cores']} cores, {about['kernel']}, Python {about['python']}, numpy {about['numpy']}"
    ]
    networks = [read_result(path)["calibration"] for path in sorted(folder.glob("network*.toml"))]
    parts += [" ".join(network["library"].split()) for network in networks if "library" in network]
    return "; ".join(parts)


def tell(folder: Path) -> str:
    """Medians of whole runs, their spread, and by how much predictions differ from them, as tables of Markdown."""
    whole = [times for times in _all_times(folder) if times.phase == WHOLE]
    errors = defaultdict[tuple[str, str], list[float]](list)
    for error in _all_errors(whole):
        errors[error.kind, error.mpi].append(abs(error.error))
    lines = [*_comparison(whole, "seconds", 1), "", "| error | median | largest |", "|---|---|---|"]
    lines += [f"| {kind}, of {mpi} | {median(each):.1%} | {max(each):.0%} |" for (kind, mpi), each in errors.items()]
    return "\n".join(lines)


def tell_phases(folder: Path) -> str:
    """Medians of phases, and errors by name of phase; nothing, if the file has none."""
    parts = [times for times in _all_times(folder) if times.phase != WHOLE]
    if not parts:
        return ""
    errors = defaultdict[tuple[str, str, str], list[Error]](list)
    for error in _all_errors(parts):
        errors[error.times.phase, error.kind, error.mpi].append(error)
    lines = [
        *_comparison(parts, "milliseconds", 1000),
        "",
        "| phase | error | median | largest | at |",
        "|---" * 5 + "|",
    ]
    for (phase, kind, mpi), its_errors in sorted(errors.items(), key=lambda item: item[0][0]):
        worst = max(its_errors, key=lambda error: abs(error.error))
        middle = median(abs(error.error) for error in its_errors)
        at = f"{worst.times.case}, {worst.times.ranks}"
        lines.append(f"| {phase} | {kind}, of {mpi} | {middle:.1%} | {worst.error:+.0%} | {at} |")
    return "\n".join(lines)


def tell_large_errors(folder: Path) -> str:
    """List the whole runs that are predicted with a large error."""
    errors = _all_errors([times for times in _all_times(folder) if times.phase == WHOLE])
    large = [error for error in errors if abs(error.error) > LARGE_ERROR]
    lines = [f"Above {LARGE_ERROR:.0%}: {len(large)} of {len(errors)} predictions{'.' if not large else ':'}", ""]
    for times, way, mpi, error in sorted(large, key=lambda error: -abs(error.error)):
        predicted_s, real_s = median(times.seconds[way]), median(times.seconds[mpi])
        ranks = f"{times.ranks} rank{'s' * (times.ranks > 1)}"
        lines.append(f"* {times.case} on {ranks}, {way}: {predicted_s:.3f} s, {mpi}: {real_s:.3f} s, {error:+.0%}")
    return "\n".join(lines).rstrip()


def _comparison(all_times: list[Times], unit: str, scale: float) -> Iterator[str]:
    """Real and predicted times, a line each, with the phase where it is not the whole."""
    mpis, predicted = _real_and_predicted(all_times)
    has_phases = any(times.phase != WHOLE for times in all_times)
    titles = [unit, "ranks", *(["phase"] if has_phases else []), *mpis, *predicted]
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    for times in all_times:
        cells = [times.case, str(times.ranks), *([times.phase] if has_phases else [])]
        cells += [_with_spread(times.seconds.get(mpi, []), scale) for mpi in mpis]
        for way in predicted:
            errors = ", ".join(f"{error.error:+.0%}" for error in _errors(times, mpis, way, predicted))
            cells.append(": ".join(filter(None, [_with_spread(times.seconds.get(way, []), scale), errors])))
        yield f"| {' | '.join(cells)} |"


def _with_spread(seconds: list[float], scale: float) -> str:
    """Median and quartiles."""
    if len(seconds) < 2:
        return "".join(f"{each * scale:.3f}" for each in seconds)
    low, middle, high = (each * scale for each in quantiles(seconds, n=4))
    return f"{middle:.3f} ({low:.3f}-{high:.3f})"
