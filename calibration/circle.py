"""The whole circle: real programs, traced, imported, and replayed on the calibrated machine, call by call.

    MPICH=.venv/bin/mpiexec
    python calibration/circle.py FOLDER --mpi mpich="$MPICH"

runs the programs of `PROGRAMS` on two ranks under each real MPI, under a profile that writes OTF2; imports the traces,
replays them on FOLDER/machine-NAME.toml, and writes the time of all ranks in each call, real and simulated, to
FOLDER/circle.csv. Without --mpi it only prints what the file says. `truth.py` says how FOLDER is made.
"""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import real_mpi

import smpy
from smpy.calibrate.this_machine import check_quiet
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.replay import replay

ROOT: Final = Path(__file__).parent.parent
PROFILE: Final = ROOT / "tests" / "importers" / "otf2_profile.py"
N_RANKS: Final = 2
N_REPETITIONS: Final = 5
PROGRAMS: Final = (
    "apps/ring.py --rounds 100 --length 100000",
    "apps/jacobi.py --n 400 --iterations 300",
    "apps/conjugate_gradient.py --n 256",
    "apps/nbody.py --bodies 512 --steps 20",
    "calibration/programs/k_means.py --points 200000 --clusters 16 --iterations 10",
    "calibration/programs/sample_sort.py --keys 6000000",
)
COMPUTING: Final = "computing"
LEFT_OUT: Final = "Init", "Finalize", ""  # not performed; the last one is of no call
HEAD: Final = "program", "mpi", "repetition", "call", "real_s", "simulated_s"


class Row(NamedTuple):
    """Time of all ranks in a call, in one repetition."""

    program: str
    mpi: str
    repetition: int
    call: str
    real_s: float
    simulated_s: float


def seconds_by_call(trace: Trace) -> dict[str, float]:
    """Seconds of all ranks in each call, and in computing."""
    calls = ["", *trace.table("sites")["call"].to_pylist()]
    seconds: dict[str, float] = defaultdict(float)
    for row in trace.table("intervals").to_pylist():
        if row["kind"] != "idle":
            call = COMPUTING if row["kind"] == "compute" else calls[row["site"] or 0]
            seconds[call] += row["end_s"] - row["start_s"]
    return seconds


def circle(program: str, command: str, machine: Path) -> Iterator[tuple[str, float, float]]:
    """Run a program and replay it: calls, with their real and their simulated seconds."""
    name, *arguments = program.split()
    with tempfile.TemporaryDirectory() as folder:
        archive, real, simulated = (Path(folder) / each for each in ("archive", "real", "simulated"))
        profiled = [sys.executable, str(PROFILE), str(archive), str(ROOT / name), *arguments]
        real_mpi.run([*shlex.split(command), "-n", str(N_RANKS), *profiled])
        was = seconds_by_call(smpy.import_trace(archive / "traces.otf2", real, platform=machine))
        replay(real, to=simulated)
        came = seconds_by_call(Trace(simulated))
        for call in sorted((was.keys() | came.keys()) - set(LEFT_OUT)):
            yield call, was.get(call, 0.0), came.get(call, 0.0)


def measure(path: Path, mpis: dict[str, str]) -> None:
    """Make the circle for each program, repetition and MPI, and write its rows at once."""
    with path.open("w", newline="", encoding="ascii") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(HEAD)
        for program in PROGRAMS:
            for repetition in range(N_REPETITIONS):
                for name, command in mpis.items():
                    for call, real_s, simulated_s in circle(program, command, path.with_name(f"machine-{name}.toml")):
                        rows.writerow((program, name, repetition, call, f"{real_s:.6f}", f"{simulated_s:.6f}"))
                file.flush()


def read_rows(path: Path) -> list[Row]:
    """Read all rows of the file."""
    with path.open(encoding="ascii", newline="") as file:
        return [
            Row(row["program"], row["mpi"], int(row["repetition"]), row["call"], *map(float, list(row.values())[4:]))
            for row in csv.DictReader(file)
        ]


def table(rows: Iterable[Row]) -> str:
    """Medians over the repetitions, in milliseconds: real, simulated, and the error, as a table of Markdown."""
    times: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        name = row.program.split()[0].rpartition("/")[2]
        times[name, row.call][row.mpi].append((row.real_s, row.simulated_s))
    mpis = list(dict.fromkeys(mpi for of_mpi in times.values() for mpi in of_mpi))
    lines = [f"| milliseconds | call | {' | '.join(mpis)} |", f"|---|---|{'---|' * len(mpis)}"]
    lines += [f"| {' | '.join([*key, *(_told(of_mpi[mpi]) for mpi in mpis)])} |" for key, of_mpi in times.items()]
    return "\n".join(lines)


def _told(pairs: list[tuple[float, float]]) -> str:
    if not pairs:
        return ""
    real_s, simulated_s = (median(column) for column in zip(*pairs, strict=True))
    error = f": {simulated_s / real_s - 1:+.0%}" if real_s else ""
    return f"{real_s * 1e3:.2f}, {simulated_s * 1e3:.2f}{error}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Real programs, traced, imported and replayed.")
    parser.add_argument("folder", type=Path)
    real_mpi.add_option(parser)
    parser.add_argument("--loaded", action="store_true", help="measure although the machine does other things")
    options = parser.parse_args()
    path = options.folder / "circle.csv"
    try:
        if options.mpi:
            for warning in check_quiet(may_be_loaded=options.loaded):
                print(warning, file=sys.stderr)
            measure(path, real_mpi.mpis(options.mpi))
        print(table(read_rows(path)))
    except (OSError, UsageError, ValueError) as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
