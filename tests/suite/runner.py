"""Runs one module of mpi4py's test-suite under `smpy run`, and says which tests passed on every rank."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROGRAM: Final = Path(__file__).with_name("program.py")
TIME_LIMIT_S: Final = 400
ROOM: Final = {"test_spawn": "flat hosts=8 cores=64"}
"""Machines of modules whose ranks together start more children than a host of the default cluster has cores."""


@dataclass(frozen=True, slots=True)
class ModuleRun:
    """Result of one module on one number of ranks.

    Attributes
    ----------
    module : str
        Name of the test module.
    n_ranks : int
        Size of the world.
    passed : frozenset of str
        Ids of the tests that passed on every rank.
    reasons : dict of str to str
        Reasons why others did not: the first rank's message, its last line first.
    unfinished : tuple of str
        Tests that some rank had begun and not ended when the run stopped.
    trouble : str
        Reason why the run stopped before its end, or "".
    """

    module: str
    n_ranks: int
    passed: frozenset[str]
    reasons: dict[str, str]
    unfinished: tuple[str, ...]
    trouble: str


def run_module(suite: Path, module: str, n_ranks: int, excluded: Collection[str] = ()) -> ModuleRun:
    """Run a module of the suite.

    Parameters
    ----------
    suite : Path
        The unpacked source archive of mpi4py.
    module : str
        Such as ``"test_status"``.
    n_ranks : int
        Size of the world.
    excluded : collection of str
        Ids of tests to leave out.
    """
    smpy = Path(sys.executable).with_name("smpy")
    options = ["-np", str(n_ranks), "--compute", "none", "--quiet", "--private", "unittest"]
    if module in ROOM:
        options += ["--platform", ROOM[module]]
    with tempfile.TemporaryDirectory() as folder:
        command = [smpy, "run", *options, PROGRAM, suite, module, folder, *excluded]
        trouble = _trouble_of(command, folder, suite / "test")
        notes = [list(_notes_of(Path(folder, f"rank-{rank}.jsonl"))) for rank in range(n_ranks)]
    return _judge(module, n_ranks, notes, trouble)


def _trouble_of(command: list[str | Path], folder: str, modules: Path) -> str:
    """Run the command, whose workers find the modules: what stopped it early, if anything did."""
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": str(modules)}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT_S, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not finished after {TIME_LIMIT_S} s"
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    _, found, said = done.stderr.rpartition("\nsmpy: ")
    return said.strip() if found else ""


def _notes_of(path: Path) -> Iterator[tuple[str, str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in lines:
        test, outcome, detail = json.loads(line)
        yield test, outcome, detail


def _judge(module: str, n_ranks: int, notes: list[list[tuple[str, str, str]]], trouble: str) -> ModuleRun:
    passed = [{test for test, outcome, _ in of_rank if outcome == "passed"} for of_rank in notes]
    reasons: dict[str, str] = {}
    unfinished: dict[str, None] = {}
    for rank, of_rank in enumerate(notes):
        for test, outcome, detail in of_rank:
            if outcome in ("failed", "skipped"):
                reasons.setdefault(test, f"rank {rank} {outcome}: {_last_line(detail)}")
        if of_rank and of_rank[-1][1] == "started":
            unfinished[of_rank[-1][0]] = None
    for test in unfinished:
        reasons.setdefault(test, f"not ended: {trouble.partition(chr(10))[0]}")
    return ModuleRun(module, n_ranks, frozenset(set.intersection(*passed)), reasons, tuple(unfinished), trouble)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
