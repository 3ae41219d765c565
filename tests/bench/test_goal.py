"""Speed of programs in GOAL, from their text on; also beside LogGOPSim, where it and `txt2bin` are on the path."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.bench.harness import marginal
from tests.bench.table import Table

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]

N_RANKS = 64
SHORT, LONG = 10, 15_635
MESSAGES = N_RANKS * (LONG - SHORT)
PARAMETERS = {"L": 2500, "o": 1500, "g": 1000, "G": 6, "O": 0, "S": 65535}
NETWORK = "loggp:" + ",".join(f"{name}={value}{'B' if name == 'S' else 'ns'}" for name, value in PARAMETERS.items())


def ring(path: Path, n_rounds: int) -> Path:
    """A ring of messages of 8 bytes: each rank computes, sends and receives, each after the operation before."""
    with path.open("w") as file:
        file.write(f"num_ranks {N_RANKS}\n")
        for rank in range(N_RANKS):
            after, before = (rank + 1) % N_RANKS, (rank - 1) % N_RANKS
            file.write(f"rank {rank} {{\n")
            operations = (f"calc {100 + rank}", f"send 8b to {after} tag 0", f"recv 8b from {before} tag 0")
            for number in range(3 * n_rounds):
                file.write(f"l{number}: {operations[number % 3]}\n")
                file.write(f"l{number} requires l{number - 1}\n" if number else "")
            file.write("}\n")
    return path


def replayed(path: Path) -> list[str]:
    return [sys.executable, "-m", "smpy", "replay", str(path), "--network", NETWORK]


def judged(path: Path) -> list[str]:
    """Command that reads and performs a program with LogGOPSim."""
    options = " ".join(f"-{name} {value}" for name, value in PARAMETERS.items())
    return ["sh", "-c", f"txt2bin -i {path} -o {path}.bin && LogGOPSim -f {path}.bin {options}"]


def test_a_program_in_goal_of_a_million_messages(table: Table, folder: Path) -> None:
    programs = [ring(folder / f"{n_rounds}.goal", n_rounds) for n_rounds in (SHORT, LONG)]
    contestants = [replayed] + [judged] * bool(shutil.which("LogGOPSim") and shutil.which("txt2bin"))
    shorts, longs = ([command(path) for command in contestants] for path in programs)
    ours, *theirs = (MESSAGES / each.cpu_s for each in marginal(shorts, longs, repeats=3))
    table.at_least("GOAL of 1 M messages, from its text", ours, 1.0, "msg/s", 200_000)
    for speed in theirs:
        table.at_least("the same, against txt2bin and LogGOPSim", ours, speed, "msg/s", 1.0)
