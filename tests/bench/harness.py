"""Times smpy and smpirun on the same workload in one run, each less its own start-up.

A marginal time is that of a long run less that of a short one, each the best of a few, as CPU seconds: both tools run
on one thread, and a shared machine's other work is not theirs. Work is counted before it is timed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
SMPY = Path(sys.executable).with_name("smpy")


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor and wall-clock time of one process."""

    cpu_s: float
    wall_s: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.cpu_s - other.cpu_s, self.wall_s - other.wall_s)


def cost(command: list[str]) -> Cost:
    """Runs a command and its children to their end."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    message = process.stderr.read().decode(errors="replace")
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {message[-2000:]}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - start)


def best(costs: list[Cost]) -> Cost:
    """The one least disturbed."""
    return min(costs, key=lambda each: each.cpu_s)


def smpy_command(
    program: str,
    arguments: tuple[object, ...],
    n_ranks: int,
    platform: str | None = None,
    compute: str = "none",
    options: tuple[str, ...] = (),
) -> list[str]:
    """Command by which smpy runs one of the programs."""
    command = [str(SMPY), "run", "--quiet", "-np", str(n_ranks), "--compute", compute, *options]
    if platform is not None:
        command += ["--platform", str(HERE / "platforms" / f"{platform}.xml")]
    return [*command, str(PROGRAMS / f"{program}.py"), *map(str, arguments)]


def smpy_summary(command: list[str], folder: Path) -> dict[str, float]:
    """Runs smpy; what it says itself of the run."""
    path = folder / "summary.json"
    cost([*command[:2], "--json", str(path), *command[2:]])
    summary = json.loads(path.read_text())
    assert isinstance(summary, dict)
    return summary | summary["host"]


def smpirun_command(
    program: Path, arguments: tuple[object, ...], n_ranks: int, platform: str, settings: tuple[str, ...] = ()
) -> list[str]:
    """Command by which smpirun is fastest: lazy updates (its default), no privatised globals, no measuring."""
    return [
        "smpirun",
        "-quiet",
        "-no-privatize",
        "-np",
        str(n_ranks),
        "-platform",
        str(HERE / "platforms" / f"{platform}.xml"),
        "--cfg=smpi/simulate-computation:no",
        "--log=root.thres:critical",
        *(f"--cfg={each}" for each in settings),
        str(program),
        *map(str, arguments),
    ]


def compiled(program: str, folder: Path) -> Path:
    """The program's C twin, compiled for smpirun."""
    binary = folder / program
    if not binary.exists():
        subprocess.run(["smpicc", "-O3", "-Wall", "-Wextra", "-o", binary, PROGRAMS / f"{program}.c"], check=True)
    return binary


def marginal(shorts: list[list[str]], longs: list[list[str]], repeats: int) -> list[Cost]:
    """Long less short of every contestant, taken in turns."""
    short_costs: list[list[Cost]] = [[] for _ in shorts]
    long_costs: list[list[Cost]] = [[] for _ in longs]
    for _ in range(repeats):
        for i, (short, long) in enumerate(zip(shorts, longs, strict=True)):
            short_costs[i].append(cost(short))
            long_costs[i].append(cost(long))
    return [best(long) - best(short) for short, long in zip(short_costs, long_costs, strict=True)]
