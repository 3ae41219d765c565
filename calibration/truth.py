"""Real runs beside predicted ones: how far a calibration can be trusted.

    python calibration/truth.py calibration/cloud-xeon --mpi mpich="mpiexec" --mpi openmpi="mpirun --allow-run-as-root"

runs programs of `apps/` on 1 and 2 ranks, in turn under each real MPI and under `smpy run` on `machine.toml` of that
folder, and writes every time to its `truth.csv`. Without --mpi it only prints what that file says.

ways: measured (`--compute measured`), kept (the same with `--keep-memory`), modelled (`--compute models`, once).
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

APPS = Path(__file__).parent.parent / "apps"
SMPY = Path(sys.executable).with_name("smpy")
N_REPETITIONS = 7
RANKS = 1, 2
HEAD = "program", "arguments", "ranks", "way", "repetition", "seconds"
TRIAD_BYTES = 200_000, 1_500_000, 20_000_000, 600_000_000
PREDICTED = "measured", "kept", "modelled"


class Case(NamedTuple):
    """A program with its arguments, and what it prints of its time."""

    program: str
    arguments: str
    time: str


def _cases() -> list[Case]:
    hpl = [Case("hpl.py", f"--n {n} --nb 128", r"^W.* (\d[\d.]*e[+-]\d+)$") for n in (2000, 3000, 4000, 8000)]
    solve = r"inspect, ([\d.]+) s to solve"
    return [
        *(Case("jacobi.py", f"--n {n} --iterations {i}", r"time: ([\d.]+) s") for n, i in ((400, 500), (2048, 50))),
        *(Case("conjugate_gradient.py", f"--n {n}", solve) for n in (128, 512)),
        *(Case("fft2d.py", f"--n {n} --m {n}", r"time: ([\d.]+) s") for n in (1024, 3000)),
        *(Case("../calibration/triad.py", f"--bytes {size}", r"time: ([\d.]+) s") for size in TRIAD_BYTES),
        *hpl,
    ]


def _seconds(command: list[str], case: Case) -> float:
    environment = os.environ | {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = re.search(case.time, ran.stdout, re.MULTILINE)
    if ran.returncode or not found:
        raise SystemExit(f"{shlex.join(command)}\n{ran.stdout}{ran.stderr}")
    figure = float(found[1])
    if case.program != "hpl.py":
        return figure
    n = int(case.arguments.split()[1])  # it prints hundredths of a second, and more digits of its rate
    return (2 / 3 * n**3 + 1.5 * n**2) / 1e9 / figure


def _commands(folder: Path, mpis: dict[str, str]) -> dict[str, str]:
    """Command that starts a program, by way; N stands for the number of ranks."""
    modelled = f"{SMPY} run -np N --quiet --platform {folder / 'machine.toml'} --compute models"
    measured = f"{SMPY} run -np N --quiet --platform {folder / 'machine.toml'} --host {folder / 'node.toml'}"
    real = {name: f"{command} -n N {sys.executable}" for name, command in mpis.items()}
    return real | {"measured": measured, "kept": f"{measured} --keep-memory", "modelled": modelled}


def measure(folder: Path, mpis: dict[str, str]) -> None:
    """Run all cases, ways in turn, but what the file has already; write each time as soon as it is known."""
    ways = _commands(folder, mpis)
    path = folder / "truth.csv"
    done = {tuple(row[:-1]) for row in csv.reader(path.open(encoding="ascii"))} if path.exists() else set()
    with path.open("a", newline="", encoding="ascii") as file:
        rows = csv.writer(file)
        if not done:
            rows.writerow(HEAD)
        for case, n_ranks, repetition in product(_cases(), RANKS, range(N_REPETITIONS)):
            for way, command in ways.items():
                key = case.program, case.arguments, str(n_ranks), way, str(repetition)
                if key in done or (way == "modelled" and repetition):
                    continue
                words = [*shlex.split(command.replace(" N ", f" {n_ranks} ")), str(APPS / case.program)]
                words += case.arguments.split()
                rows.writerow([*key, f"{_seconds(words, case):.6f}"])
                file.flush()


def tell(folder: Path) -> str:
    """Medians, their spread, and by how much predictions differ from them, as tables of Markdown."""
    times = defaultdict[tuple[str, str, str], dict[str, list[float]]](lambda: defaultdict(list))
    with (folder / "truth.csv").open(newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            times[row["program"], row["arguments"], row["ranks"]][row["way"]].append(float(row["seconds"]))
    real = [way for way in next(iter(times.values())) if way not in PREDICTED]
    lines = [
        f"| seconds | ranks | {' | '.join([*real, *PREDICTED])} |",
        "|---" * (2 + len(real) + len(PREDICTED)) + "|",
    ]
    errors = defaultdict[tuple[str, str], list[float]](list)
    for (program, arguments, ranks), of in times.items():
        cells = [_with_spread(of[way]) for way in real]
        for way in PREDICTED:
            by = [median(of[way]) / median(of[rival]) - 1 for rival in real]
            for rival, error in zip(real, by, strict=True):
                errors[way, rival].append(abs(error))
            cells.append(f"{_with_spread(of[way])}: {', '.join(f'{error:+.0%}' for error in by)}")
        lines.append(f"| `{Path(program).name} {arguments}` | {ranks} | {' | '.join(cells)} |")
    lines += ["", "| error | median | largest |", "|---|---|---|"]
    lines += [f"| {way}, of {rival} | {median(of):.1%} | {max(of):.0%} |" for (way, rival), of in errors.items()]
    return "\n".join(lines)


def _with_spread(seconds: list[float]) -> str:
    if len(seconds) == 1:
        return f"{seconds[0]:.3f}"
    low, _, high = quantiles(seconds, n=4)
    return f"{median(seconds):.3f} ({low:.3f}-{high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Real runs beside predicted ones.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mpi", action="append", default=[], metavar="NAME=COMMAND", help="a real MPI; repeatable")
    options = parser.parse_args()
    if options.mpi:
        measure(options.folder, dict(word.split("=", 1) for word in options.mpi))
    print(tell(options.folder))


if __name__ == "__main__":
    main()
