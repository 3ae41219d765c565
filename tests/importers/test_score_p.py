"""Traces that Score-P wrote: they are imported, explained, and replayed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.analysis.pop_metrics import pop
from smpy.analysis.run_bounds import bounds
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.replay import replay

otf2 = pytest.importorskip("otf2")

REAL = Path(__file__).parents[1] / "oracle" / "otf2"
FLAT = "flat hosts=4 cores=1 latency=1us nic=1GB/s"


@pytest.fixture(scope="module", params=["ping_pong", "ping_pong_papi"])
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trace]:
    source = REAL / request.param / "traces.otf2"
    return source, smpy.import_trace(source, tmp_path_factory.mktemp(request.param) / "trace")


def test_a_real_trace_has_the_ranks_hosts_and_messages_of_its_run(real: tuple[Path, Trace]):
    _, trace = real
    assert (trace.n_ranks, trace.host_of_rank) == (2, ["quartz10", "quartz10"])
    messages = trace.table("messages").to_pylist()
    sizes = [16384 * 2**k for k in range(8)]
    assert Counter((row["source"], row["bytes"]) for row in messages) == Counter((r, n) for r in (0, 1) for n in sizes)
    assert {row["tag"] for row in messages} == {10, 20}
    assert all(row["send_posted_s"] < row["ended_s"] and row["alone_s"] is None for row in messages)
    assert set(trace.table("regions")["name"].to_pylist()) == {"int main(int, char**)"}
    assert not trace.info["remarks"]


def test_intervals_of_a_real_trace_have_the_time_of_each_call(real: tuple[Path, Trace]):
    source, trace = real
    spent: Counter[tuple[int, str]] = Counter()
    calls = dict(enumerate(["", *trace.table("sites")["call"].to_pylist()]))
    for row in trace.table("intervals").to_pylist():
        name = calls[row["site"] or 0] if row["kind"] not in ("idle", "compute") else row["kind"]
        spent[row["rank"], name] += row["end_s"] - row["start_s"]
    expected: Counter[tuple[int, str]] = Counter()
    entered: dict[int, list[tuple[str, int]]] = {0: [], 1: []}
    with otf2.reader.open(str(source)) as recorded:
        for location, event in recorded.events:
            rank = int(location.group.name.removeprefix("MPI Rank "))
            if isinstance(event, otf2.events.Enter):
                entered[rank].append((event.region.name, event.time))
            elif isinstance(event, otf2.events.Leave):
                name, time = entered[rank].pop()
                expected[rank, name.removeprefix("MPI_")] += (event.time - time) / recorded.timer_resolution
    for rank in (0, 1):
        in_calls = sum(time for (of, name), time in expected.items() if of == rank and "main" not in name)
        expected[rank, "compute"] = expected.pop((rank, "int main(int, char**)")) - in_calls
    for key, time in expected.items():
        assert spent[key] == pytest.approx(time, abs=2e-9), key


def test_a_replay_of_a_real_trace_computes_as_long_as_the_run_did(real: tuple[Path, Trace]):
    _, trace = real
    table = trace.table("intervals").to_pylist()
    computing_s = [
        sum(row["end_s"] - row["start_s"] for row in table if row["rank"] == r and row["kind"] == "compute")
        for r in (0, 1)
    ]
    for speed in ("1Gf", "7Gf"):
        result = replay(trace, platform=f"flat hosts=2 speed={speed} latency=1us nic=1GB/s")
        assert result.computing_s.tolist() == pytest.approx(computing_s, rel=1e-9)
        assert (result.messages, result.bytes) == (16, 2 * sum(16384 * 2**k for k in range(8)))


def test_a_real_trace_is_explained_like_a_simulated_one(real: tuple[Path, Trace], tmp_path: Path):
    _, trace = real
    told = {}
    for words in (["analyze", "waits"], ["analyze", "critical-path"], ["analyze", "pop"], ["report"]):
        more = ["-o", str(tmp_path / "page.html")] if words == ["report"] else []
        done = CliRunner().invoke(main, [*words, str(trace.folder), *more])
        assert done.exit_code == 0, done.output
        told[words[-1]] = done.output
    assert "late receiver  Send" in told["waits"]
    assert "ping-pong.c:5" in told["critical-path"]
    assert "load balance" in told["pop"]
    assert "cannot be replayed: it was imported, and names no machine" in told["pop"]


def test_bounds_of_a_real_trace_are_shares_of_its_replay(tmp_path: Path):
    trace = smpy.import_trace(REAL / "ping_pong" / "traces.otf2", tmp_path / "trace", platform="flat hosts=2")
    result = bounds(trace, replay)
    assert result.makespan_s == replay(trace).makespan_s < 0.1 * trace.makespan_s
    assert all(abs(part.share) < 1.01 for part in result.bounds)


def test_efficiencies_of_a_real_trace_count_no_operations_in_its_seconds(tmp_path: Path):
    source = REAL / "ping_pong" / "traces.otf2"
    in_seconds = smpy.import_trace(source, tmp_path / "seconds")
    in_flop = smpy.import_trace(source, tmp_path / "flop", host_speed_flop_per_s=2e9)
    operations = [pop([trace], None).runs[0].operations for trace in (in_seconds, in_flop)]
    assert operations == [None, pytest.approx(2e9 * sum(replay(in_seconds, platform=FLAT).computing_s))]


@pytest.mark.parametrize(
    ("name", "latency_us", "bandwidth_gb_per_s"), [("ping_pong", 6.05, 3.517), ("ping_pong_papi", 7.85, 3.159)]
)
def test_a_replay_on_a_machine_that_is_fitted_to_the_messages_takes_about_as_long(
    name: str, latency_us: float, bandwidth_gb_per_s: float, tmp_path: Path
):
    trace = smpy.import_trace(REAL / name / "traces.otf2", tmp_path / "trace")
    calls = dict(enumerate(["", *trace.table("sites")["call"].to_pylist()]))
    rows = [(calls[row["site"] or 0], row) for row in trace.table("intervals").to_pylist()]
    began_s = max(row["end_s"] for call, row in rows if call == "Init")
    ended_s = min(row["start_s"] for call, row in rows if call == "Finalize")
    fitted = f"flat hosts=2 cores=1 latency={latency_us}us nic={bandwidth_gb_per_s}GB/s"
    assert replay(trace, platform=fitted).makespan_s == pytest.approx(ended_s - began_s, rel=0.05)


def recorded_counters() -> dict[tuple[int, str], int]:
    """Increase of counters between calls of MPI, by the package's reader."""
    last: dict[int, dict[str, int]] = {0: {}, 1: {}}
    since: dict[int, dict[str, int]] = {0: {}, 1: {}}
    sums: Counter[tuple[int, str]] = Counter()
    with otf2.reader.open(str(REAL / "ping_pong_papi" / "traces.otf2")) as recorded:
        for location, event in recorded.events:
            rank = int(location.group.name.removeprefix("MPI Rank "))
            if isinstance(event, otf2.events.Metric):
                last[rank] = dict(zip([m.name for m in event.metric.members], event.values, strict=True))
            elif isinstance(event, otf2.events.Enter | otf2.events.Leave):
                is_end = isinstance(event, otf2.events.Leave) == (event.region.name[:4] != "MPI_")
                if is_end:  # of computing: the program enters a call, or leaves its function
                    for name, value in last[rank].items():
                        sums[rank, name] += value - since[rank][name]
                since[rank] = last[rank]
    return dict(sums)


def test_counters_of_a_region_grow_where_the_rank_computes(tmp_path: Path):
    trace = smpy.import_trace(REAL / "ping_pong_papi" / "traces.otf2", tmp_path / "trace")
    rows = trace.table("counters").to_pylist()
    assert {row["region"] for row in rows} == {"int main(int, char**)"}
    assert {(row["rank"], row["name"]): row["value"] for row in rows} == recorded_counters()


def test_computing_can_be_taken_from_a_counter_of_cycles(tmp_path: Path):
    source = REAL / "ping_pong_papi" / "traces.otf2"
    trace = smpy.import_trace(source, tmp_path / "trace", cycles="PAPI_TOT_CYC", frequency_hz=2.1e9)
    counters = recorded_counters()
    expected = [counters[rank, "PAPI_TOT_CYC"] / 2.1e9 for rank in (0, 1)]
    assert replay(trace, platform=FLAT).computing_s.tolist() == pytest.approx(expected, rel=1e-9)
    with pytest.raises(UsageError, match=r"no counter 'CYC' at .* s: it has PAPI_TOT_CYC, PAPI_L2_TCM, PAPI_BR_MSP"):
        smpy.import_trace(source, tmp_path / "other", cycles="CYC", frequency_hz=2.1e9)


def test_replays_in_cycles_are_not_compared_with_a_timeline_in_seconds(tmp_path: Path):
    source = REAL / "ping_pong_papi" / "traces.otf2"
    options = {"cycles": "PAPI_TOT_CYC", "frequency_hz": 2.1e9, "platform": FLAT}
    result = pop([smpy.import_trace(source, tmp_path / "trace", **options)], replay, denoise=["cpu"])
    assert result.runs[0].serialisation is None
    assert "takes computing from cycles in replays, and not in its timeline" in result.remarks[0]
    assert 0 < result.noise_free[0].serialisation <= 1 + 1e-9
