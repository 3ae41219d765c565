"""Cost of tracing a run, and speed of its replay."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from tests.bench.harness import Cost, best, cost, smpy_command, smpy_summary
from tests.bench.table import Table

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]

N_RANKS = 64
SHORT, LONG = 200, 20_200
MESSAGES = N_RANKS * (LONG - SHORT)


def ring(iterations: int, *options: str) -> list[str]:
    return smpy_command("ring", (16, iterations, "every"), N_RANKS, "fat_tree_64", options=options)


def marginal_wall_s(short: list[str], long: list[str]) -> float:
    """A trace is written by a thread beside the run: what counts is the clock on the wall."""
    costs: list[list[Cost]] = [[cost(command) for _ in range(3)] for command in (short, long)]
    return best(costs[1]).wall_s - best(costs[0]).wall_s


def test_a_ring_is_traced_at_half_a_million_messages_a_second(table: Table, folder: Path) -> None:
    trace = "--trace", str(folder / "trace")
    plain_s = marginal_wall_s(ring(SHORT), ring(LONG))
    traced_s = marginal_wall_s(ring(SHORT, *trace), ring(LONG, *trace))
    table.at_least(
        "ring of 16 doubles with a trace, over one without", MESSAGES / traced_s, MESSAGES / plain_s, "msg/s", 0.5
    )
    for name, most in (("messages", 32), ("intervals", 16)):
        path = folder / "trace" / f"{name}.parquet"
        assert path.stat().st_size <= most * parquet.ParquetFile(path).metadata.num_rows


def test_a_trace_takes_a_bounded_memory(table: Table, folder: Path) -> None:
    trace = "--trace", str(folder / "trace")
    peaks = [smpy_summary(ring(LONG, *options), folder)["peak_rss_bytes"] for options in ((), trace)]
    longer = smpy_summary(ring(3 * LONG, *trace), folder)["peak_rss_bytes"]
    table.at_most("memory of a trace, above a run without", (peaks[1] - peaks[0]) / 1e6, "MB", 100)
    assert longer - peaks[1] < 30e6


def test_a_replay_performs_a_million_messages_a_second(table: Table, folder: Path) -> None:
    program = folder / "perform.py"
    program.write_text("import sys\nfrom smpy.replay import replay\nreplay(sys.argv[1])\n")
    costs = []
    for iterations in (SHORT, LONG):
        trace = folder / f"trace-{iterations}"
        cost(ring(iterations, "--trace", str(trace)))
        costs.append(best([cost([sys.executable, str(program), str(trace)]) for _ in range(3)]))
    replayed = costs[1] - costs[0]
    table.at_least("replay of a ring on 64 ranks", MESSAGES / replayed.cpu_s, 1.0, "msg/s", 1_000_000)
