"""Writes the table of README.md: `python -m tests.suite`, with SMPY_MPI4PY_SOURCE or a network."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.suite.archive import VERSION, find_source
from tests.suite.expectations import MISSES, MUST_PASS, RANKS, SKIPPED_ALONE
from tests.suite.runner import ModuleRun, run_module

TABLE: Final = Path(__file__).with_name("README.md")
Runs = Mapping[tuple[str, int], ModuleRun]


def main() -> None:
    """Run everything and write what came out."""
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(max_workers=2) as workers:
        source = find_source(Path(cache))
        cases = [(module, n_ranks) for module in MUST_PASS for n_ranks in RANKS]
        runs = dict(zip(cases, workers.map(lambda case: run_module(source, *case), cases), strict=True))
    TABLE.write_text(render(runs), encoding="utf-8")
    print(TABLE.read_text(encoding="utf-8"))


def render(runs: Runs) -> str:
    """The page that tells how many tests pass, and which do not."""
    ranks = ", ".join(map(str, RANKS[:-1])) + f" and {RANKS[-1]}"
    head = [
        f"# mpi4py {VERSION}'s own test-suite under `smpy run`",
        "",
        "Every module runs unedited, by the suite's own `main.py`. A test passes when it passes on every rank; skipped",
        "tests do not count. The first number is what passes under MPICH 5.0.2 (`must_pass.json`), the others what of",
        f"it passes on {ranks} simulated ranks: on one rank some skip themselves. `python -m tests.suite` writes",
        "this page; `pytest -m suite tests/suite` fails when a test is lost, or fails that is not named below.",
        "`test_spawn` has a machine of 512 cores: eight ranks start more children than the default host has cores.",
        "",
    ]
    return "\n".join([*head, *_table(runs), "", "## What does not pass", "", *_misses(runs)]) + "\n"


def _table(runs: Runs) -> list[str]:
    lines = [
        "| module | MPICH |" + "".join(f" {n} rank{'s'[: n > 1]} |" for n in RANKS),
        "|---|" + "---:|" * (len(RANKS) + 1),
    ]
    totals = [0] * len(RANKS)
    for module, tests in MUST_PASS.items():
        counts = [len((tests & runs[module, n_ranks].passed) - set(MISSES)) for n_ranks in RANKS]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        lines.append(_row(module, len(tests), counts))
    return [*lines, _row("all", sum(map(len, MUST_PASS.values())), totals)]


def _row(name: str, expected: int, counts: list[int]) -> str:
    return f"| {name} | {expected} |" + "".join(f" {count} |" for count in counts)


def _is_lost(test: str, run: ModuleRun) -> bool:
    is_skipped = run.n_ranks == 1 and run.reasons.get(test, "").endswith(SKIPPED_ALONE)
    return test not in run.passed and not is_skipped


def _misses(runs: Runs) -> list[str]:
    lines = []
    for module, tests in MUST_PASS.items():
        for test in sorted(tests):
            missed = [n for n in RANKS if test in MISSES or _is_lost(test, runs[module, n])]
            if missed:
                run = runs[module, missed[0]]
                reason = MISSES.get(test) or run.reasons.get(test) or run.trouble or "it did not run"
                lines.append(f"* `{test}` ({', '.join(map(str, missed))} ranks): {reason.splitlines()[0]}")
    return lines or ["Nothing."]


if __name__ == "__main__":
    main()
