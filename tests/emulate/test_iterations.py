"""Iterations of marked loops that are skipped, and their time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import smpy
from smpy.analysis import critical_path, pop, waits
from smpy.cli.replay import command as replay_command
from smpy.cli.run import command as run_command
from smpy.errors import UsageError
from smpy.export.communicators import Communicators
from smpy.export.dated_calls import dated_ranks
from smpy.records.profile import INTERVAL_KINDS
from smpy.records.trace import Trace
from smpy.replay.replay import replay
from smpy.study.parameters import read_parameters
from smpy.study.sensitivity import sensitivity

MACHINE = "flat hosts=8 cores=1"
DEVICE = "host.gpu.speed_64=1Tf host.gpu.link_bandwidth=50GB/s host.gpu.link_latency=1us"
PLANTED = (Path(__file__).parent / "planted_loops.py").read_text()
KINDS = ["alike", "pipeline", "shrinking", "period 7", "jump", "ramp", "noise", "rare", "period 24", "nested"]
MANY = ("noise", "shrinking", "period 24")
"""Kinds of which more than 20 % of the items are performed."""
UNSEEN = ("rare",)
"""Kinds whose time lies outside the band."""

BEGIN = "import smpy\nfrom mpi4py import MPI\nw = MPI.COMM_WORLD\n"


@pytest.fixture
def looped(emulated: Callable) -> Callable[..., Any]:
    """Runs a program that skips iterations, or with `iterations=None` does not: `looped(body, 2)`."""

    def here(source: str, n_ranks: int = 4, **config: object) -> Any:
        options = {"platform": MACHINE, "compute": "none", "iterations": 0.01, **config}
        return emulated(BEGIN + source, n_ranks, **options)

    return here


def summary(ran: Any) -> Any:
    assert (ran.error, ran.outcome.error) == ("", None)
    return ran.outcome.summary


def error(ran: Any) -> str:
    return str(ran.outcome.error)


# ---- time ----


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_loop_takes_its_time(looped: Callable, kind: str) -> None:
    whole = summary(looped(PLANTED, 8, args=(kind,), iterations=None))
    part = summary(looped(PLANTED, 8, args=(kind,)))
    loop = next(each for each in part.iterations if each.name == "planted")
    half_width_s = part.uncertainty.half_width_s
    assert loop.count == (100 if kind == "nested" else 400)
    assert part.makespan_s == pytest.approx(whole.makespan_s, rel=0.03)
    assert half_width_s <= 0.03 * whole.makespan_s
    assert (abs(part.makespan_s - whole.makespan_s) <= half_width_s + 1e-9) == (kind not in UNSEEN)
    assert (loop.simulated <= 0.2 * loop.count) == (kind not in MANY)


ALIKE = """
for k in smpy.iterations("solve", range(500)):
    smpy.inject_seconds(1e-3 * (1 + w.rank))
    w.allreduce(k)
print(w.rank, MPI.Wtime(), flush=True)
"""


def test_five_of_500_alike_iterations_give_all_of_the_time(looped: Callable) -> None:
    whole, part = looped(ALIKE, iterations=None), looped(ALIKE)
    (loop,) = summary(part).iterations
    assert (loop.name, loop.count, loop.simulated) == ("solve", 500, 5)
    assert summary(part).makespan_s == pytest.approx(summary(whole).makespan_s, rel=1e-6)


def test_ranks_keep_their_distance_behind_the_loop(looped: Callable) -> None:
    def dates_s(ran: Any) -> list[float]:
        return [float(line.split()[1]) for line in sorted(ran.out.splitlines())]

    whole, part = dates_s(looped(ALIKE, iterations=None)), dates_s(looped(ALIKE))
    assert part == pytest.approx(whole, rel=1e-6)
    assert [date_s - part[0] for date_s in part] == pytest.approx([date_s - whole[0] for date_s in whole], abs=1e-12)


def test_waits_at_the_ends_of_windows_are_part_of_the_time_that_is_added(looped: Callable) -> None:
    source = """
for k in smpy.iterations("wave", range(100)):
    if w.rank:
        w.recv(source=w.rank - 1)
    smpy.inject_seconds(1)
    if w.rank + 1 < w.size:
        w.send(k, w.rank + 1)
print(w.rank, MPI.Wtime(), flush=True)
"""
    part, whole = looped(source), looped(source, iterations=None)
    assert 5 <= summary(part).iterations[0].simulated < 20
    assert list(summary(part).finish_s) == pytest.approx(list(summary(whole).finish_s), rel=1e-5)


SOLVE = """
import math
half = w.Split(w.rank % 2)
def solve(name, comm):
    for k in smpy.iterations(name, range(400), comm=comm):
        smpy.inject_seconds(1e-3 * (1 + math.sin(k / 3.7) / 3))
        comm.barrier()
"""


@pytest.mark.parametrize(
    ("source", "of_makespan"),
    [
        ("solve('a', half)", lambda a: a / 2),
        ("solve('a', w)\nsolve('a', w)", lambda a: a),
        ("solve('a', w)\nsolve('b', w)", math.hypot),
        (
            "if w.rank % 2: w.recv(source=w.rank - 1)\nsolve('a', half)\nif w.rank % 2 == 0: w.send(0, w.rank + 1)",
            lambda a: a,
        ),
    ],
    ids=["at once", "again", "of another name", "after another communicator"],
)
def test_half_widths_of_loops_on_the_critical_path_add_up(looped: Callable, source: str, of_makespan: Callable) -> None:
    part = summary(looped(SOLVE + source))
    widths_s = [loop.half_width_s for loop in part.iterations]
    assert min(widths_s) > 0
    assert part.uncertainty.iterations_s == pytest.approx(of_makespan(*widths_s), rel=1e-9)


def test_without_the_option_a_marked_loop_is_a_loop(looped: Callable) -> None:
    plain = ALIKE.replace('smpy.iterations("solve", range(500))', "range(500)")
    marked, unmarked = (summary(looped(source, iterations=None)) for source in (ALIKE, plain))
    assert list(marked.finish_s) == list(unmarked.finish_s)
    assert marked.iterations == ()
    assert json.loads(marked.to_json())["iterations"] == []


def test_items_of_any_collection_are_yielded_outside_a_run() -> None:
    assert list(smpy.iterations("x", ["a", "b"])) == ["a", "b"]
    assert set(smpy.iterations("x", {1, 2})) == {1, 2}


@pytest.mark.parametrize("n", range(6))
def test_a_short_loop_is_performed_whole(looped: Callable, n: int) -> None:
    loop = f"for k in smpy.iterations('x', range({n})):\n    smpy.inject_seconds(1)\n    w.barrier()\n"
    source = f"k = -1\n{loop}print(k + 1)"
    part, whole = looped(source), looped(source, iterations=None)
    assert part.out == f"{n}\n" * 4
    assert list(summary(part).finish_s) == list(summary(whole).finish_s)


def test_a_loop_of_some_ranks_is_skipped_while_others_compute(looped: Callable) -> None:
    source = """
half = w.Split(w.rank % 2)
n = 0
if w.rank % 2:
    for k in smpy.iterations("odd", range(100), comm=half):
        smpy.inject_seconds(1)
        half.barrier()
        n += 1
else:
    smpy.inject_seconds(3)
print(w.rank, n, round(MPI.Wtime()), flush=True)
"""
    ran = looped(source)
    assert sorted(ran.out.splitlines()) == ["0 0 3", "1 5 100", "2 0 3", "3 5 100"]
    assert summary(ran).iterations[0].count == 100


def test_a_loop_met_again_begins_from_what_is_known(looped: Callable) -> None:
    source = """
for factor in (1, 2):
    n = 0
    for k in smpy.iterations("x", range(400)):
        smpy.inject_seconds(factor * (1 - k / 400) ** 2 + 1e-3)
        w.barrier()
        n += 1
    if w.rank == 0:
        print(n, flush=True)
"""
    ran, whole = looped(source), looped(source, iterations=None)
    first, second = map(int, ran.out.split())
    assert second == 5 < first
    assert summary(ran).makespan_s == pytest.approx(summary(whole).makespan_s, rel=0.01)


def test_a_request_may_outlive_its_iteration_by_one(looped: Callable) -> None:
    source = """
left, right = (w.rank - 1) % w.size, (w.rank + 1) % w.size
request = w.irecv(source=left)
w.send(0, right)
for k in smpy.iterations("x", range(100)):
    smpy.inject_seconds(1e-3)
    after = w.irecv(source=left)
    w.send(k, right)
    request.wait()
    request = after
request.wait()
"""
    part, whole = summary(looped(source)), summary(looped(source, iterations=None))
    assert part.makespan_s == pytest.approx(whole.makespan_s, rel=1e-4)
    assert part.iterations[0].simulated == 5


# ---- records ----


def test_the_summary_tells_each_loop(looped: Callable) -> None:
    text = summary(looped(ALIKE)).render()
    assert "solve: 5 of 500 iterations simulated, 2.003 s ±" in text
    assert "results of the others are missing" in text
    assert "% skipped" in text


def test_shares_and_times_of_ranks_have_the_skipped_time(looped: Callable) -> None:
    found = summary(looped(ALIKE))
    assert found.shares.skipped == pytest.approx(0.99, abs=1e-3)
    record = json.loads(found.to_json())
    assert record["skipped_share"] == found.shares.skipped
    assert record["makespan_half_width_s"] == record["uncertainty"]["iterations_s"]
    assert [sum(row) for row in found.profile.by_rank()] == pytest.approx([found.makespan_s] * 4, rel=1e-9)


COUNTED = """
import numpy
buffer = numpy.zeros(10**6, "b")
def ring(n_bytes):
    w.Sendrecv(buffer[:n_bytes], (w.rank + 1) % w.size, 0, buffer.copy(), (w.rank - 1) % w.size, 0)
ring(777)
for k in smpy.iterations("solve", range(400)):
    smpy.inject_seconds(1e-3 * SIZE / 1000)
    ring(SIZE)
    INSIDE
    w.allreduce(1.0)
ring(777)
"""
INSIDE = """for j in smpy.iterations("inside", range(30)):
        smpy.inject_seconds(1e-3)
        w.allreduce(1.0)"""


@pytest.mark.parametrize(
    ("size", "inside"), [("1000", "pass"), ("1000 + 100 * k", "pass"), ("200_000 - 300 * k", "pass"), ("1000", INSIDE)]
)
def test_counts_of_alike_and_of_linear_iterations_are_those_of_all(looped: Callable, size: str, inside: str) -> None:
    source = COUNTED.replace("SIZE", f"({size})").replace("INSIDE", inside)
    whole, part = summary(looped(source, iterations=None)), summary(looped(source))
    assert part.iterations[-1].simulated < 100
    expected = {(row["call"], row["line"]): row for row in whole.profile.to_record()["sites"] if row["call"]}
    for row in part.profile.to_record()["sites"]:
        if row["call"]:
            site = expected[row["call"], row["line"]]
            n_messages = sum(site["messages_of_size"])
            assert row["scaled"]["calls"] == pytest.approx(site["count"], rel=1e-9)
            assert row["scaled"]["messages"] == pytest.approx(n_messages, rel=1e-9)
            for direction in ("sent_bytes", "received_bytes"):
                assert row["scaled"][direction] == pytest.approx(site[direction], rel=0.01)
    assert f"; scaled to all iterations: {whole.messages:,} carrying " in part.render()
    assert "scaled" not in whole.render()
    assert all(row["scaled"] is None for row in whole.profile.to_record()["sites"])


def test_counts_of_a_loop_of_some_ranks_leave_the_others_out(looped: Callable) -> None:
    source = """
half = w.Split(w.rank // 2)
if w.rank < 2:
    for k in smpy.iterations("solve", range(400), comm=half):
        smpy.inject_seconds(1e-3)
        half.allreduce(k)
else:
    for k in range(1000):
        smpy.inject_seconds(0.4e-3)
        half.allreduce(k)
"""
    found = summary(looped(source))
    assert found.iterations[0].simulated < 20
    sites = found.profile.to_record()["sites"]
    assert sorted(row["scaled"]["calls"] for row in sites if row["call"] == "allreduce") == pytest.approx([800, 2000])


def test_a_trace_tells_skipped_time_and_its_replay_takes_it(looped: Callable, tmp_path: Path) -> None:
    found = summary(looped(ALIKE, trace=tmp_path / "trace"))
    trace = Trace(tmp_path / "trace")
    rows = trace.table("intervals").to_pandas()
    skipped = rows[rows.kind == "skipped"]
    seconds = (skipped.end_s - skipped.start_s).groupby(skipped["rank"]).sum()
    assert seconds.tolist() == pytest.approx(found.profile.skipped_s)
    assert len(set(seconds.round(9))) == 1
    for _, mine in rows.groupby("rank"):
        assert mine.start_s.tolist()[1:] == mine.end_s.tolist()[:-1]
    assert replay(trace).finish_s.tolist() == pytest.approx(list(found.finish_s), rel=1e-12)


def test_a_replay_tells_the_share_that_another_machine_does_not_change(looped: Callable, tmp_path: Path) -> None:
    looped(ALIKE, trace=tmp_path / "trace")
    again = CliRunner().invoke(replay_command, [str(tmp_path / "trace"), "--trace", str(tmp_path / "again")])
    told = "skipped        99.0% of the run's time: skipped iterations take as long on any machine"
    for trace in "trace", "again":
        shown = CliRunner().invoke(replay_command, [str(tmp_path / trace), "--json", str(tmp_path / "json")])
        assert told in shown.stdout
        assert json.loads((tmp_path / "json").read_text())["skipped_share"] == pytest.approx(0.99)
        with pytest.raises(UsageError, match="iterations were skipped, and the trace lacks their calls"):
            sensitivity(tmp_path / trace, read_parameters(["network.latency=x0.5:x2"]))
    assert told in again.stdout


def test_skipped_time_is_one_call_for_other_tools(looped: Callable, tmp_path: Path) -> None:
    looped(ALIKE, trace=tmp_path / "trace")
    trace = Trace(tmp_path / "trace")
    n_intervals, n_calls = 0, 0
    for rank in dated_ranks(trace, Communicators(trace)):
        skips_s = [call.end_s - call.begin_s for call in rank.calls() if call.action == "skip"]
        assert sum(skips_s) == pytest.approx(0.99 * 2, rel=0.01)
        n_calls += len(skips_s)
        n_intervals += rank.intervals["kind"].tolist().count(INTERVAL_KINDS.index("skipped"))
    assert n_calls < n_intervals  # some wait for the others first


def test_skipped_time_is_no_time_in_which_devices_are_idle(looped: Callable) -> None:
    source = "for k in smpy.iterations('x', range(500)):\n    smpy.execute(1e9, device='gpu')\n    smpy.synchronize()\n"
    part = summary(looped(source, platform=f"{MACHINE} {DEVICE}"))
    assert part.iterations[0].simulated == 5
    (remark,) = (each for each in part.remarks if each.topic == "devices")
    assert remark.facts["share"] == pytest.approx(1, rel=1e-3)


def test_the_energy_of_skipped_iterations_is_unknown(looped: Callable) -> None:
    source = ALIKE.replace("inject_seconds(1e-3 * (1 + w.rank))", "execute(1e7)") + "print(smpy.host_energy_j() > 0)"
    power = ("power.idle", "100W"), ("power.busy", "200W")
    part, whole = looped(source, options=power), looped(source, options=power, iterations=None)
    assert summary(whole).energy.total_j > 0
    assert whole.out.count("True") == 4
    assert summary(part).energy is None
    assert part.out.count("False") == 4
    assert "energy         unknown, as iterations were skipped: run without --iterations" in summary(part).render()
    assert "energy         unknown" not in summary(whole).render()


def test_analyses_tell_the_share_that_was_skipped_and_leave_it_out(looped: Callable, tmp_path: Path) -> None:
    looped(ALIKE, trace=tmp_path / "part")
    looped(ALIKE, trace=tmp_path / "whole", iterations=None)
    part, whole = Trace(tmp_path / "part"), Trace(tmp_path / "whole")
    words = "99.0% of the time is that of iterations that were skipped"
    efficiencies = pop([part])
    assert words in efficiencies.table()
    assert efficiencies.runs[0].parallel == pytest.approx(pop([whole]).runs[0].parallel, rel=0.01)
    assert words in waits(part).table()
    assert waits(part).rank_seconds == pytest.approx(0.01 * waits(whole).rank_seconds, rel=0.01)
    assert {cause.kind for cause in waits(part).causes} <= {"compute", "overhead", "transfer"}
    path_s = {row.kind: row.seconds for row in critical_path(part).rows}
    assert path_s["skipped"] == pytest.approx(0.99 * 2, rel=0.01)


def test_the_summary_tells_the_half_width_beside_noise(looped: Callable) -> None:
    text = summary(looped(ALIKE.replace("500", "50"), noise_model=("normal", 0.05, 0.0), seed=3)).render()
    assert re.search(r"s simulated, ± .+ \(95 %: skipped iterations\), with noise drawn from seed 3 \(--noise-", text)


# ---- refusals ----


def test_a_loop_that_is_left_by_an_exception_is_refused(looped: Callable) -> None:
    loop = "for k in smpy.iterations('x', range(9)):\n        w.barrier()\n        if k:\n            raise KeyError\n"
    source = f"try:\n    {loop}except KeyError:\n    pass\nw.barrier()\n"
    assert "iterations 'x': this loop was left before its end" in error(looped(source))


@pytest.mark.parametrize(
    "source",
    [
        "for k in smpy.iterations('x', range(9)):\n    if k > 5:\n        break\n",
        "for k in smpy.iterations(\n    'x', range(9)\n):\n    for i in ():\n        pass\n    else:\n        break\n",
        "def f():\n    for k in smpy.iterations('x', range(9)):\n        while k > 5:\n            return\nf()\n",
        "loop = smpy.iterations('x', range(9))\nfor k in loop:\n    if k > 5:\n        break\n",
        "def f():\n    yield from smpy.iterations('x', range(9))\nfor k in f():\n    if k > 5:\n        break\n",
    ],
    ids=[
        *("break", "break behind a loop inside", "return from a loop inside"),
        *("break of a loop over a variable", "break behind a generator"),
    ],
)
def test_a_loop_that_may_be_left_is_refused_though_no_performed_item_leaves_it(looped: Callable, source: str) -> None:
    assert "can leave this loop, so the number of its iterations is not known" in error(looped(source))
    assert summary(looped(source, iterations=None))


@pytest.mark.parametrize("call", ["enumerate({})", "zip(range(9), {})", "itertools.islice({}, 5)"])
@pytest.mark.parametrize("loop", ["for k in {}:", "items = {}\nfor k in items:", "for k in told({}):"])
def test_items_taken_by_position_are_refused(looped: Callable, call: str, loop: str) -> None:
    items = loop.format(call.format("smpy.iterations('x', range(9))"))
    told = "def told(items):\n    for k in items:\n        yield k\n"
    refused = looped(f"import itertools\n{told}{items}\n    w.barrier()\n")
    assert "takes items by their position, and skipped ones are missing: put it inside" in error(refused)


@pytest.mark.parametrize("call", ["enumerate(range(9))", "zip(range(9), range(9))"])
def test_a_loop_over_pairs_is_skipped(looped: Callable, call: str) -> None:
    assert summary(looped(f"for k in smpy.iterations('x', list({call})):\n    w.barrier()\n"))


def test_a_break_of_a_loop_inside_leaves_it_alone(looped: Callable) -> None:
    source = "for k in smpy.iterations('x', range(9)):\n    w.barrier()\n    for i in 1, 2:\n        break\n"
    assert summary(looped(source))


def test_looking_at_the_statement_is_no_computing_of_the_rank(looped: Callable) -> None:
    source = "".join(f"n{i} = [{i}, {i} + 1, (2, 3)]\n" for i in range(2000))
    source += "began = MPI.Wtime()\nfor k in smpy.iterations('x', range(2)):\n    pass\nprint(MPI.Wtime() - began)\n"
    assert float(looped(source, 1, compute="measured").out) < 2e-3


def test_an_exception_that_ends_the_program_is_told_as_it_is(looped: Callable) -> None:
    assert "KeyError" in error(looped("for k in smpy.iterations('x', range(9)):\n    raise KeyError\n"))


@pytest.mark.parametrize(("name", "n"), [("'x' if w.rank else 'y'", "9"), ("'x'", "9 + w.rank")])
def test_ranks_that_disagree_are_refused(looped: Callable, name: str, n: str) -> None:
    source = f"for k in smpy.iterations({name}, range({n})):\n    w.barrier()\n"
    assert "all ranks make the same marked loops" in error(looped(source))


def test_a_loop_in_a_thread_is_refused(looped: Callable) -> None:
    source = """
import threading
def work():
    for k in smpy.iterations("x", range(9)):
        pass
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
    assert "iterations 'x': a thread makes this loop" in error(looped(source, 1))


def test_a_generator_is_refused() -> None:
    with pytest.raises(TypeError, match="a generator has no length"):
        smpy.iterations("x", (k for k in range(3)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("smpy.iterations('x', iter([1]))", "a list_iterator has no length: give a range, a list or another sequence"),
        ("smpy.iterations('x', [1], periods=[0])", "a period is of 1 item or more"),
        ("for k in smpy.iterations('x', range(9)):\n    break", "line 5 can leave this loop, so the number of its "),
    ],
    ids=["no length", "no period", "break"],
)
def test_misuse_is_one_sentence_and_exit_code_2(looped: Callable, source: str, says: str) -> None:
    refused = looped(source, 2)
    assert error(refused).startswith(f"iterations 'x': {says}")
    assert "\n" not in error(refused)
    assert refused.outcome.exit_code == 2


@pytest.mark.parametrize(
    "change", ["items.append(k)", "items.pop() if k == 0 else None"], ids=["adds items", "takes items"]
)
def test_a_loop_that_changes_its_own_items_is_refused(looped: Callable, change: str) -> None:
    source = f"items = list(range(50))\nfor k in smpy.iterations('x', items):\n    w.barrier()\n    {change}\n"
    assert "items that a loop adds or takes cannot be skipped" in error(looped(source))


def test_a_sampled_loop_inside_the_mark_is_refused(looped: Callable) -> None:
    source = "for k in smpy.iterations('x', smpy.sample('y', range(50))):\n    w.barrier()\n"
    assert "smpy.sample yields some of its items, and so does this" in error(looped(source, 1, compute="measured"))


@pytest.mark.parametrize(
    ("periods", "kind", "message"),
    [((0,), ValueError, "of 1 item or more"), ((3, -3), ValueError, "1 item"), ((2.5,), TypeError, "whole number")],
)
def test_periods_are_whole_numbers_from_1_on(periods: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        smpy.iterations("x", range(9), periods=periods)
    assert list(smpy.iterations("x", range(9), periods=(1, 2))) == list(range(9))  # 1: of a grid with one row


@pytest.mark.parametrize(
    ("call", "what"), [("w.irecv(source=w.rank)", "receive"), ("w.send(k, (w.rank + 1) % w.size)", "send")]
)
def test_what_outlives_its_iteration_by_more_than_one_is_refused(looped: Callable, call: str, what: str) -> None:
    body = f"    smpy.inject_seconds(1e-3)\n    kept.append({call})\n    w.barrier()\n"
    source = f"kept = []\nfor k in smpy.iterations('x', range(50)):\n{body}"
    assert f"iterations 'x': a {what} of rank" in error(looped(source))
    assert "outlives its iteration by more than one" in error(looped(source))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("smpy.execute(LENGTH * 1e12, device='gpu')", "request"),
        ("smpy.copy_to_device(int(LENGTH * 50e9))", "request"),
        ("kept.append(w.Iallreduce(numpy.ones(int(LENGTH * 1e9) // 8), numpy.empty(int(LENGTH * 1e9) // 8)))", "coll"),
        ("kept.append(file.Iwrite(numpy.ones(int(LENGTH * 1e8), 'b')))", "request"),
        ("window.Put(numpy.ones(int(LENGTH * 1e9), 'b'), 1 - w.rank)", "request"),
    ],
    ids=["kernels of a device", "copies to a device", "non-blocking collectives", "writes to a file", "accesses"],
)
def test_work_that_falls_behind_the_loop_is_refused_and_work_that_keeps_up_is_not(
    looped: Callable, call: str, what: str
) -> None:
    source = f"""
import numpy
kept = []
file = MPI.File.Open(w, "out", MPI.MODE_WRONLY | MPI.MODE_CREATE)
window = MPI.Win.Allocate(4 * 10**6, comm=w)
window.Lock_all()
for k in smpy.iterations("x", range(50)):
    smpy.inject_seconds(1e-3)
    {call}
window.Unlock_all()
MPI.Request.Waitall(kept)
smpy.synchronize()
"""
    machine = f"flat hosts=2 cores=1 nic=1GB/s {DEVICE} storage.read_bandwidth=1GB/s storage.write_bandwidth=100MB/s"
    behind = looped(source.replace("LENGTH", "3e-3"), 2, platform=machine)
    assert f"iterations 'x': a {what}" in error(behind)
    assert "outlives its iteration by more than one" in error(behind)
    part, whole = (looped(source.replace("LENGTH", "1e-4"), 2, platform=machine, iterations=i) for i in (0.01, None))
    assert summary(part).makespan_s == pytest.approx(summary(whole).makespan_s, rel=0.01)


def test_ranks_that_were_spawned_say_their_communicator(looped: Callable, tmp_path: Path) -> None:
    child = tmp_path / "child.py"
    child.write_text(
        f"{BEGIN}for k in smpy.iterations('x', range(50)):\n    w.barrier()\nMPI.Comm.Get_parent().Disconnect()\n"
    )
    source = f"import sys\nw.Spawn(sys.executable, [{str(child)!r}], 3).Disconnect()\n"
    assert "iterations 'x': a spawned rank makes this loop: say comm=MPI.COMM_WORLD" in error(looped(source))
    child.write_text(child.read_text().replace("range(50)", "range(50), comm=w"))
    assert summary(looped(source)).iterations[0].count == 50


def test_an_intercommunicator_is_refused(looped: Callable) -> None:
    source = """
half = w.Split(w.rank % 2)
both = half.Create_intercomm(0, w, 1 - w.rank % 2)
for k in smpy.iterations("x", range(50), comm=both):
    both.barrier()
"""
    assert "iterations 'x': comm= is an intercommunicator: say the communicator of one group" in error(looped(source))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--noise-model", "ticks:1ms:20us"], "ticks fall into few iterations, and skipping misses them"),
        (["--compute", "record:bursts"], "a file of bursts has all iterations in order"),
        (["--compute", "replay:bursts"], "a file of bursts has all iterations in order"),
        (["--governor", "ondemand"], "ondemand finds no load in skipped time"),
    ],
)
def test_options_that_need_all_iterations_are_refused(options: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("pass")
    command = ["-np", "1", "--iterations", "skip", *options, str(tmp_path / "program.py")]
    refused = CliRunner().invoke(run_command, command)
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.split())


@pytest.mark.parametrize("text", ["", "skip:", "skip:0", "skip:x", "skip:100%", "jump"])
def test_a_bad_option_is_refused(text: str) -> None:
    from smpy.option_texts import skipped_iterations

    with pytest.raises(ValueError, match="is not skip or skip:HALF_WIDTH, such as skip:1%"):
        skipped_iterations(text)
