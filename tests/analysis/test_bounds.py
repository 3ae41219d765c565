"""Bounds of a run are stated in shares that a replay gives."""

from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from smpy.analysis.pop_metrics import pop
from smpy.analysis.run_bounds import Bounds, bounds
from smpy.errors import UsageError
from smpy.records.trace import Trace
from tests.analysis.small_run import Again, Compute, Message, Performed, Rules, Step, perform
from tests.records.synthetic_trace import seal

RULES = Rules(latency_s=1.0, bandwidth_bytes_per_s=1e9)


def found(folder: Path, steps: list[Step], **profile: object) -> tuple[Bounds, Again]:
    path = perform(2, steps, RULES).write(folder, profile={"kinds": [], "sites": [], **profile})
    text = (path / "run.json").read_text()
    (path / "run.json").write_text(text.replace('"can_replay": false', '"can_replay": true'))
    seal(path)
    again = Again(2, steps, RULES)
    return bounds(Trace(path), again), again


def test_shares_are_those_of_the_critical_path_where_there_is_one_chain(tmp_path: Path):
    """5 s of computing, 4 of which in a kernel, 1 s of latency and 4 s of bandwidth."""
    steps = [Compute(0, 4.0, 3, "dgemm"), Message(0, 1, 4 * 10**9, 5), Compute(1, 1.0, 7)]
    result, _ = found(tmp_path / "trace", steps)
    shares = {(it.part, it.name): it.share for it in result.bounds}
    assert shares == pytest.approx(
        {
            ("computing", ""): 0.5, ("kernel", "dgemm"): 0.4, ("kernel", ""): 0.1, ("host", "h0"): 0.4,
            ("host", "h1"): 0.1, ("bandwidth", ""): 0.4, ("latency", ""): 0.1, ("overhead", ""): 0.0,
            ("contention", ""): 0.0,
        }
    )  # fmt: skip
    assert result.table().startswith(
        "10 s are bound by computing: 50 % (kernel dgemm 40 %); the network's bandwidth: 40 %"
    )


def test_parts_are_nested_and_the_wholes_add_up_to_the_run(tmp_path: Path):
    steps = [Compute(0, 4.0, 3, "dgemm"), Message(0, 1, 4 * 10**9, 5), Compute(1, 1.0, 7)]
    result, _ = found(tmp_path / "trace", steps)
    assert [(bound.level, bound.words) for bound in result.bounds] == [
        (0, "computing"),
        (1, "kernel dgemm"),
        (2, "kernel dgemm on host h0"),
        (1, "user code"),
        (2, "user code on host h1"),
        (0, "the network's bandwidth"),
        (1, "contention in the network"),
        (0, "the network's latency"),
        (0, "the overhead of MPI's calls"),
    ]
    assert sum(bound.share for bound in result.bounds if bound.level == 0) == pytest.approx(1.0)


def test_the_table_has_no_part_below_a_thousandth(tmp_path: Path):
    steps = [Compute(0, 4.0, 3, "dgemm"), Compute(0, 0.001, 4, "copy"), Compute(1, 1.0, 7)]
    lines = [line.split() for line in found(tmp_path / "trace", steps)[0].table().splitlines()[2:-1]]
    assert lines
    assert all(float(line[0].removesuffix("%")) >= 0.1 for line in lines)
    assert not any("copy" in line for line in lines)


def test_parts_whose_share_is_below_zero_are_named_as_an_anomaly(tmp_path: Path):
    class Slower(Again):
        def __call__(self, trace, /, *, ideal=(), better=()):
            again = super().__call__(trace, ideal=ideal, better=better)
            return again._replace(makespan_s=1.1 * again.makespan_s) if better == (("latency", 1.1),) else again

    steps: list[Step] = [Compute(0, 4.0, 3)]
    found(tmp_path / "trace", steps)
    text = bounds(Trace(tmp_path / "trace"), Slower(2, steps, RULES)).table()
    assert "The run takes longer with the network's latency better: a scheduling anomaly." in text
    assert "-" not in text.partition("\n\n")[0]


def test_what_is_not_on_the_longest_chain_bounds_nothing(tmp_path: Path):
    result, _ = found(tmp_path / "trace", [Compute(0, 1.0, 3, "dgemm"), Compute(1, 9.0, 4, "fft")])
    shares = {it.name: it.share for it in result.bounds if it.part == "kernel"}
    assert shares == pytest.approx({"dgemm": 0.0, "fft": 1.0})


def test_the_hottest_links_and_the_hosts_that_compute_longest_are_looked_at(tmp_path: Path):
    seconds = {"saturated_s": [0, 0.3, 0.1, 0, 0], "busy_s": [0, 0.4, 0.4, 0.5, 0.6]}
    links = {"link": ["a", "b", "c", "d", "e"], "most_flows": [1] * 5, "bytes": [1] * 5, **seconds}
    result, _ = found(tmp_path / "trace", [Compute(1, 2.0, 3)], links=links)
    assert {it.name for it in result.bounds if it.part == "link"} == {"b", "c", "e"}
    assert [(it.name, it.share) for it in result.bounds if it.part == "host"] == [("h1", pytest.approx(1.0))]
    assert "100.0%   1.818 s    computing on host h1 10 % better" in result.table()


def test_contention_is_the_time_that_its_absence_saves(tmp_path: Path):
    class Uncontended(Again):
        def __call__(self, trace, /, *, ideal=(), better=()):
            made = super().__call__(trace, ideal=ideal, better=better)
            return made._replace(makespan_s=0.75 * made.makespan_s) if ideal == ("contention",) else made

    steps: list[Step] = [Compute(0, 4.0, 3)]
    found(tmp_path / "trace", steps)
    trace = Trace(tmp_path / "trace")
    share = {it.part: it.share for it in bounds(trace, Uncontended(2, steps, RULES)).bounds}["contention"]
    assert share == pytest.approx(0.25)


def test_a_trace_that_cannot_be_replayed_is_refused(tmp_path: Path):
    trace = Trace(perform(2, [Compute(0, 4.0, 3)]).write(tmp_path / "trace"))
    with pytest.raises(UsageError, match="cannot be replayed"):
        bounds(trace, Again(2, [], RULES))


def test_sends_that_replays_do_not_wait_for_are_told(tmp_path: Path):
    class Impatient(Again):
        def __call__(self, trace, /, **changes):
            left_alone = 3 if changes.get("better") == (("latency", 1.1),) else 0
            return super().__call__(trace, **changes)._replace(n_left_alone=left_alone)

    steps: list[Step] = [Compute(0, 4.0, 3)]
    found(tmp_path / "trace", steps)
    trace = Trace(tmp_path / "trace")
    assert "3 sends were complete at once in the run" in bounds(trace, Impatient(2, steps, RULES)).table()
    assert "complete at once" not in bounds(trace, Again(2, steps, RULES)).table()
    always = lambda trace, /, **changes: Performed(4.0, n_left_alone=1)  # noqa: E731  # a replay in a line
    assert pop([trace], always).remarks[0].startswith("1 send was complete at once in the run")
