"""The whole circle: programs under a real MPI, recorded as OTF2, imported, explained and replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import smpy
from smpy.records.trace import Trace
from smpy.replay import replay

pytest.importorskip("otf2")

ROOT = Path(__file__).parents[2]
PROFILE = Path(__file__).with_name("otf2_profile.py")
FLAT = "flat hosts=4 cores=1"
PROGRAMS = [
    ("apps/ring.py", 3, ("--tokens", "all")),
    pytest.param(
        "apps/pingpong.py", 2, ("--sizes", "8", "1000", "100000", "--repetitions", "5"), marks=pytest.mark.slow
    ),
    pytest.param("apps/jacobi.py", 4, ("--n", "64", "--iterations", "20"), marks=pytest.mark.slow),
]


def messages_of(trace: Trace) -> Counter[tuple[int, int, int]]:
    """Messages of calls that are no collectives: source, target, bytes."""
    rows = trace.table("messages", ["source", "target", "tag", "bytes"]).to_pylist()
    return Counter((row["source"], row["target"], row["bytes"]) for row in rows if row["tag"] is not None)


@pytest.mark.parametrize(("program", "n_ranks", "args"), PROGRAMS)
def test_a_real_run_has_the_messages_and_collectives_of_a_simulated_one(
    program: str, n_ranks: int, args: tuple[str, ...], mpiexec: Callable[..., str], tmp_path: Path
):
    mpiexec(n_ranks, str(PROFILE), str(tmp_path / "real"), str(ROOT / program), *args)
    real = smpy.import_trace(tmp_path / "real" / "traces.otf2", tmp_path / "imported")
    smpy.simulate(
        str(ROOT / program), *args, ranks=n_ranks, compute="none", platform=FLAT, trace=tmp_path / "simulated"
    )
    simulated = Trace(tmp_path / "simulated")
    assert messages_of(real) == messages_of(simulated)
    columns = ["operation", "bytes", "n_ranks"]
    kinds = [
        {tuple(row.values()) for row in each.table("collectives", columns).to_pylist()} for each in (real, simulated)
    ]
    assert kinds[0] == kinds[1]
    for rank in range(n_ranks):
        rows = [row for row in real.table("intervals").to_pylist() if row["rank"] == rank]
        assert [row["start_s"] for row in rows] == [0.0, *(row["end_s"] for row in rows[:-1])]
        assert rows[-1]["end_s"] == real.makespan_s
    assert replay(real, platform=FLAT).messages == simulated.info["messages"]
