"""`python -m tests.peer [PROCESSES]`: performs the whole campaign; its result is in tests/oracle/campaign.json."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import smpy
from tests.peer.campaign import KNOWN, PHASES, RUNS, TOLERANCE, NotSupported, Run
from tests.peer.runners import compile_programs, missing_tool

RESULT = Path(__file__).parents[1] / "oracle" / "campaign.json"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of a run: `n_dates` compared, or the reason why not."""

    run: Run
    n_dates: int = 0
    worst: float = 0.0
    skipped: str = ""
    known: str = ""
    failed: str = ""


def judge(run: Run, binaries: Path) -> Judgement:
    """Performs a run under both tools."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = run.prepare(Path(folder))
        theirs = prepared.smpirun_dates_s(binaries)
        try:
            ours = prepared.smpy_dates_s()
        except NotSupported as refusal:
            return Judgement(run, skipped=str(refusal))
        except Exception as failure:  # noqa: BLE001 -- whatever it is, the other runs are to be judged
            return Judgement(run, failed=repr(failure)[:300])
        worst = max(abs(ours[key] - date) / date if date else float(ours[key] != 0) for key, date in theirs.items())
        differing = prepared.differences(ours, theirs)
        if differing and run.name in KNOWN:
            return Judgement(run, known=KNOWN[run.name])
        return Judgement(run, len(theirs), worst, failed=differing[0] if differing else "")


def summary(judgements: list[Judgement]) -> dict[str, Any]:
    """Counts of runs, cases and dates, and the worst relative difference."""
    compared = [judgement for judgement in judgements if not judgement.skipped and not judgement.known]
    return {
        "runs": len(judgements),
        "not_supported": sum(bool(judgement.skipped) for judgement in judgements),
        "cases": len(compared) * PHASES,
        "dates": sum(judgement.n_dates for judgement in compared),
        "failed": sum(bool(judgement.failed) for judgement in compared),
        "worst_relative_difference": float(f"{max((judgement.worst for judgement in compared), default=0.0):.2g}"),
    }


def _version() -> str:
    """Version of SimGrid, as Debian names it where it does."""
    said = subprocess.run(["smpirun", "-version"], capture_output=True, text=True, check=True).stdout.split()
    query = ["dpkg-query", "--show", "--showformat", " (Debian ${Version})", "libsimgrid-dev"]
    try:
        return said[-1] + subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return said[-1]


def main() -> int:
    """Compares, prints what differs, writes the result."""
    reason = missing_tool()
    if reason is not None:
        sys.exit(reason)
    n_processes = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(n_processes) as pool:
        binaries = compile_programs(Path(folder), "phases")
        judgements = list(pool.map(judge, RUNS, [binaries] * len(RUNS), chunksize=8))
    result: dict[str, Any] = {
        "tool": "SimGrid's smpirun",
        "version": _version(),
        "smpy": smpy.__version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "command": "python -m tests.peer",
        "how": "each run is a drawn machine of a kind (tests/peer/campaign.py) with a model, a placement and four "
        "patterns, which are as many cases; compared is the date at which each rank is through with each pattern",
        "relative_tolerance": TOLERANCE,
        "all": summary(judgements),
        "known_to_differ": {judgement.run.name: judgement.known for judgement in judgements if judgement.known},
    }
    for what in ("kind", "model"):
        names = dict.fromkeys(getattr(judgement.run, what) for judgement in judgements)
        result[f"{what}s"] = {
            name: summary([judgement for judgement in judgements if getattr(judgement.run, what) == name])
            for name in names
        }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result["all"], indent=1))
    for judgement in judgements:
        if judgement.failed:
            print(f"{judgement.run.name}: {judgement.failed}")
    for refusal, n_runs in Counter(judgement.skipped for judgement in judgements if judgement.skipped).most_common():
        print(f"{n_runs} runs are not supported: {refusal}")
    return int(result["all"]["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
