"""A replay gives the dates of the run, and of the program on another machine."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from smpy.cli.main import main
from smpy.cli.replay import command
from smpy.engine import replaying
from smpy.errors import PlatformError, UsageError
from smpy.platforms.machine import read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.models.machine_models import SHORTEST_POLL_S
from smpy.platforms.models.network_models import IDEAL_PARTS
from smpy.records.trace import Trace
from smpy.replay import replay, rows
from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpy_finish_s, smpy_outcome
from tests.records.synthetic_trace import seal

APPS = Path(__file__).parents[2] / "apps"
FOR_EVERY_CHANGE = 40  # of the drawn replays; the others run in campaigns
OTHER = (("smpi/bw-factor", "0:0.7"), ("smpi/lat-factor", "0:3"))

UNEVEN = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
buffer = numpy.zeros(10**6, dtype="u1")
for step in range(3):
    smpy.execute(5e7 * (1 + comm.rank))
    if comm.rank:
        comm.Send(buffer, dest=0)
    else:
        for source in range(1, comm.size):
            comm.Recv(buffer, source=source)
comm.Barrier()
"""
FLAT = "flat hosts=4 cores=1 nic=10Gb/s latency=1us speed=10Gf"


def drawn(n: int, seed: int) -> list[Case]:
    return random.Random(seed).sample(CASES, n)


def check(case: Case, folder: Path) -> None:
    was_s = smpy_outcome(case, folder, trace=folder / "trace").summary.finish_s
    again = replay(folder / "trace")
    np.testing.assert_allclose(again.finish_s, was_s, rtol=1e-12, atol=0)
    if not again.depends_on_time:
        elsewhere = replay(folder / "trace", options=OTHER)
        np.testing.assert_allclose(elsewhere.finish_s, smpy_finish_s(case, folder, OTHER), rtol=1e-9, atol=0)


@pytest.mark.parametrize("case", drawn(12, 1), ids=lambda case: case.name)
def test_a_replay_has_the_dates_of_the_run_and_elsewhere_those_of_a_run_there(case: Case, tmp_path: Path):
    check(case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=pytest.mark.campaign if at >= FOR_EVERY_CHANGE else ())
        for at, case in enumerate(drawn(200, 2))
    ],
)
def test_many_replays_have_the_dates_of_their_runs(case: Case, tmp_path: Path):
    check(case, tmp_path)


@pytest.fixture
def traced(emulated: Callable, tmp_path: Path) -> Callable[..., tuple]:
    """Runs a program with a trace: its summary, and the trace."""

    def here(source: str | None, n_ranks: int, **config):
        ran = emulated(source, n_ranks, trace=tmp_path / "trace", **config)
        assert ran.outcome.error is None
        return ran.outcome.summary, Trace(tmp_path / "trace")

    return here


@pytest.mark.parametrize(
    ("program", "n_ranks", "args"),
    [
        ("hpl.py", 6, ("--n", "60", "--nb", "8", "--p", "2", "--q", "3", "--skeleton")),
        ("hpl.py", 8, ("--n", "120", "--nb", "8", "--p", "2", "--q", "4", "--depth", "1")),
        ("jacobi3d.py", 8, ("--n", "8", "--iterations", "3")),
        ("conjugate_gradient.py", 5, ("--n", "12")),
        ("fft2d.py", 4, ("--n", "16", "--m", "16")),
        ("master_worker.py", 5, ("--limit", "3000", "--tasks", "32")),
    ],
)
@pytest.mark.parametrize("polls", ["grow", "notice"])
def test_applications_are_replayed_date_by_date(
    traced: Callable, program: str, n_ranks: int, args: tuple[str, ...], polls: str
):
    options = (("smpy/polls", polls),)
    summary, trace = traced(None, n_ranks, program=str(APPS / program), args=args, options=options)
    again = replay(trace)
    np.testing.assert_allclose(again.finish_s, summary.finish_s, rtol=1e-12)
    assert (again.messages, again.bytes) == (summary.messages, summary.bytes)


NOBODY = {
    "neighbours beyond the edge of a grid": """
grid = comm.Create_cart([2, 2], [True, False])
grid.Neighbor_allgather(numpy.zeros(9), numpy.zeros(36))
grid.neighbor_alltoall([1, 2, 3, 4])
""",
    "the root of a collective between groups": """
half = comm.Split(comm.rank % 2)
both = half.Create_intercomm(0, comm, 1 - comm.rank % 2)
root = 0 if comm.rank % 2 else MPI.PROC_NULL if half.rank else MPI.ROOT
both.bcast("all", root)
both.Ireduce(numpy.zeros(9), numpy.zeros(9), root=root).Wait()
""",
}


@pytest.mark.parametrize("source", NOBODY.values(), ids=NOBODY)
def test_collectives_with_the_root_and_with_nobody_are_replayed(traced: Callable, source: str):
    summary, trace = traced(f"import numpy\nfrom mpi4py import MPI\ncomm = MPI.COMM_WORLD\n{source}", 4, platform=FLAT)
    again = replay(trace)
    np.testing.assert_allclose(again.finish_s, summary.finish_s, rtol=1e-12)
    assert (again.messages, again.bytes) == (summary.messages, summary.bytes)


def test_computing_takes_what_it_took_and_a_faster_core_less(traced: Callable):
    summary, trace = traced(UNEVEN, 4, platform=FLAT)
    again, twice = replay(trace), replay(trace, cpu=2)
    np.testing.assert_allclose(again.computing_s, [0.015 * (1 + rank) for rank in range(4)], rtol=1e-9)
    np.testing.assert_allclose(twice.computing_s, again.computing_s / 2, rtol=1e-9)
    assert twice.makespan_s < again.makespan_s == summary.makespan_s


def test_with_an_ideal_network_only_the_slowest_rank_is_left(traced: Callable):
    _, trace = traced(UNEVEN, 4, platform=FLAT)
    ideal = replay(trace, ideal=("contention", "bandwidth", "latency", "overhead"))
    assert ideal.makespan_s == pytest.approx(3 * 4 * 5e7 / 1e10, rel=1e-9)
    parts, before_s = [], replay(trace).makespan_s
    for part in ("contention", "bandwidth", "latency", "overhead"):
        parts.append(part)
        now_s = replay(trace, ideal=parts).makespan_s
        assert now_s <= before_s * (1 + 1e-12)
        before_s = now_s


@pytest.mark.parametrize("part", IDEAL_PARTS)
def test_a_network_that_is_ideal_stays_so_without_a_part(traced: Callable, part: str):
    summary, trace = traced(UNEVEN, 4, platform=FLAT, options=(("network/model", "ideal"),))
    assert replay(trace, ideal=[part]).makespan_s == summary.makespan_s


@pytest.mark.parametrize(
    ("better", "options"),
    [
        (("bandwidth", 1.1), (("network.bandwidth", "x1.1"),)),
        (("latency", 2.0), (("network.latency", "x0.5"),)),
    ],
)
def test_a_better_network_is_that_of_a_run_on_one(
    traced: Callable, emulated: Callable, better: tuple, options: tuple[tuple[str, str], ...]
):
    _, trace = traced(UNEVEN, 4, platform=FLAT)
    changed = emulated(UNEVEN, 4, platform=FLAT, options=options).outcome.summary
    np.testing.assert_allclose(replay(trace, better=[better]).finish_s, changed.finish_s, rtol=1e-9)


def test_a_better_kernel_host_or_link_shortens_its_own_part_alone(traced: Callable):
    source = """
import smpy
from mpi4py import MPI
@smpy.kernel(flop="n", name="big")
def big(n): pass
big(1e9 if MPI.COMM_WORLD.rank else 2e9)
smpy.execute(1e9)
"""
    _, trace = traced(source, 2, platform=FLAT, compute="models")
    assert replay(trace).computing_s.tolist() == pytest.approx([0.3, 0.2], rel=1e-9)
    assert replay(trace, better=[("kernel", "big", 2)]).computing_s.tolist() == pytest.approx([0.2, 0.15], rel=1e-9)
    name = trace.host_of_rank[1]
    assert replay(trace, better=[("host", name, 2)]).computing_s.tolist() == pytest.approx([0.3, 0.1], rel=1e-9)


def test_measured_computing_takes_as_long_on_another_machine_and_kernels_keep_their_operations(traced: Callable):
    source = "import smpy\nsmpy.inject_seconds(0.1)\nsmpy.execute(1e9)\n"
    _, trace = traced(source, 1, platform=FLAT, compute="models")
    faster = replay(trace, platform=FLAT.replace("10Gf", "20Gf"))
    assert faster.computing_s.tolist() == pytest.approx([0.1 + 0.05], rel=1e-9)
    _, trace = traced(source, 1, platform=FLAT, compute="models", host_speed_flop_per_s=1e10)
    assert replay(trace, platform=FLAT.replace("10Gf", "20Gf")).computing_s.tolist() == pytest.approx([0.1], rel=1e-9)


def test_memory_moves_as_many_bytes_as_in_the_run(traced: Callable):
    source = "import smpy\nfor _ in range(10):\n    smpy.execute(1e3, bytes=1000.7)\n"
    summary, trace = traced(source, 1, platform=f"{FLAT} host.memory_bandwidth=1kB/s", compute="models")
    assert replay(trace).finish_s.tolist() == list(summary.finish_s) == [pytest.approx(10.01, rel=1e-6)]


def test_more_bytes_than_a_trace_can_have_are_as_many_as_it_can(traced: Callable):
    source = "import smpy\nsmpy.execute(1, bytes=1e30)\n"
    _, trace = traced(source, 1, platform=f"{FLAT} host.memory_bandwidth=1kB/s", compute="models")
    assert replay(trace).makespan_s == pytest.approx(2**63 / 1e3, rel=1e-9)


def test_another_algorithm_is_that_of_a_run_with_it(traced: Callable, emulated: Callable):
    source = "import numpy\nfrom mpi4py import MPI\nMPI.COMM_WORLD.Allreduce(numpy.ones(1000), numpy.ones(1000))\n"
    _, trace = traced(source, 4, platform=FLAT)
    chosen = (("allreduce", "ring"),)
    other = emulated(source, 4, platform=FLAT, algorithms=chosen).outcome.summary
    assert replay(trace, algorithms=chosen).finish_s.tolist() == list(other.finish_s)
    assert replay(trace).makespan_s != other.makespan_s


def test_receives_from_any_source_take_what_they_took(traced: Callable):
    source = """
import numpy, smpy
from mpi4py import MPI
comm, buffer = MPI.COMM_WORLD, numpy.zeros(1)
if comm.rank:
    smpy.execute(1e8 * (comm.size - comm.rank))
    comm.Send(buffer, dest=0)
else:
    for _ in range(comm.size - 1):
        comm.Recv(buffer)
        smpy.execute(3e8 * buffer[0] + 1e8)
"""
    _, trace = traced(source, 4, platform=FLAT)
    found = replay(trace, platform=FLAT.replace("10Gf", "1Gf"))
    assert found.depends_on_time
    assert found.messages == 3


SEARCHING = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
for _ in range(3):
    comm.Allreduce(bytearray(800), bytearray(800))
    comm.Bcast(bytearray(20_000), 1)
part = comm.Split(0 if comm.Get_rank() < 5 else MPI.UNDEFINED, 0)
if comm.Get_rank() > 4:
    comm.Bcast(bytearray(300), 0)
    raise SystemExit
part.Barrier()
part.Bcast(bytearray(300), 0)
comm.Bcast(bytearray(300), 0)
part.Bcast(bytearray(300), 0)
"""
SEARCHES = (("smpi/coll-selector", "mpich"), ("smpi/allreduce", "rdb"))
SEARCHING_TABLES = {"smpi": {"options": SEARCHES}, "han": {"collectives": "openmpi-5"}}


@pytest.mark.parametrize("table", SEARCHING_TABLES)
@pytest.mark.parametrize("rows_at_once", [3, 1 << 17])
def test_a_search_for_hosts_comes_where_it_came_in_the_run_and_where_another_table_wants_it(
    traced: Callable, emulated: Callable, monkeypatch: pytest.MonkeyPatch, rows_at_once: int, table: str
):
    monkeypatch.setattr(rows, "_BATCH_ROWS", rows_at_once)
    here = {"platform": "flat hosts=4 cores=2 nic=10Gb/s latency=1us speed=10Gf", "ranks_per_host": 2}
    without, trace = traced(SEARCHING, 7, **here)
    elsewhere = emulated(SEARCHING, 7, **SEARCHING_TABLES[table], **here).outcome.summary
    assert elsewhere.messages > without.messages
    assert replay(trace).finish_s.tolist() == without.finish_s.tolist()
    assert replay(trace, **SEARCHING_TABLES[table], ranks_per_host=2).finish_s.tolist() == elsewhere.finish_s.tolist()


@pytest.mark.parametrize("table", SEARCHING_TABLES)
def test_a_run_that_searched_for_hosts_is_replayed_with_its_dates(traced: Callable, table: str):
    here = {"platform": "flat hosts=4 cores=2 nic=10Gb/s latency=1us speed=10Gf", "ranks_per_host": 2}
    ran, trace = traced(SEARCHING, 7, **SEARCHING_TABLES[table], **here)
    again = replay(trace)
    assert (again.finish_s.tolist(), again.messages) == (ran.finish_s.tolist(), ran.messages)


def test_what_has_only_a_part_of_a_run_is_not_replayed(emulated: Callable, tmp_path: Path):
    emulated(None, 4, program=str(APPS / "ring.py"), trace=tmp_path / "part", trace_ranks=(1,))
    with pytest.raises(UsageError, match="it has some ranks only: trace the whole run"):
        replay(tmp_path / "part")
    emulated("raise SystemError\n", 1, trace=tmp_path / "failed")
    with pytest.raises(UsageError, match=r"the run did not come to its end: trace a whole run$"):
        replay(tmp_path / "failed")


def test_the_machine_of_another_run_is_refused(traced: Callable):
    _, trace = traced("pass\n", 1, platform=FLAT)
    other = read_machine(FLAT.replace("10Gf", "20Gf"), 1, [])
    (trace.folder / "machine.json").write_text(machine_to_json(other))
    seal(trace.folder)
    with pytest.raises(UsageError, match="is not the machine of the run; record the run again"):
        replay(trace.folder)


POLLS = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Send(bytearray(10**5), 1)
else:
    request = comm.Irecv(bytearray(10**5), 0, 1)
    while not comm.Iprobe(0):
        pass
    again = comm.Irecv(bytearray(10**5), 0)
    while not again.Test():
        pass
    request.Cancel()
    request.Wait()
"""


def sealed_with_polls(folder: Path, polling: str) -> Path:
    """The trace with other costs of polls in its machine, sealed as if a run had written it."""
    machine = folder / "machine.json"
    polls = f'"polling": {{"class": "Polling", {polling}}}'
    text, n_changed = re.subn(r'"polling": \{[^}]*\}', polls, machine.read_text())
    assert n_changed == 1
    machine.write_text(text)
    with suppress(PlatformError):
        info = json.loads((folder / "run.json").read_text())
        info["platform_fingerprint"] = machine_from_json(text.encode()).fingerprint
        (folder / "run.json").write_text(json.dumps(info))
    return seal(folder)


@pytest.mark.parametrize("cost", ["test_s", "iprobe_s"])
def test_a_machine_whose_polls_are_too_short_to_end_is_refused(traced: Callable, cost: str):
    _, trace = traced(POLLS, 2, platform=FLAT)
    folder = sealed_with_polls(trace.folder, f'"{cost}": 5e-324')
    told = rf"machine.json is not .*: machine.models.polling: {cost} is 4.*e-324: a poll takes at least 1e-09 s"
    with pytest.raises(UsageError, match=told):
        replay(folder)


@pytest.mark.timeout(60)
def test_free_polls_that_never_end_are_refused(traced: Callable, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(replaying, "_STRETCHES_MAX", 2)
    _, trace = traced(POLLS, 2, platform=FLAT)
    folder = sealed_with_polls(trace.folder, '"test_s": 0.0, "iprobe_s": 0.0')
    with pytest.raises(
        UsageError, match=r"^at 0 s ranks of the trace poll without end: polls of this machine are free"
    ):
        replay(folder)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("rule", ['"polls_grow": true', '"polls_grow": false', '"polls_notice": true'])
def test_the_shortest_polls_end(traced: Callable, rule: str):
    ran, trace = traced(POLLS, 2, platform=FLAT, options=(("mpi.polls", "constant"),))
    folder = sealed_with_polls(trace.folder, f'"test_s": {SHORTEST_POLL_S!r}, "iprobe_s": {SHORTEST_POLL_S!r}, {rule}')
    for better in ((), [("overhead", 1e6)]):
        assert 0 < replay(folder, better=better).makespan_s < ran.makespan_s


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1, "machine": {"class": "Popen"}}'])
def test_a_file_that_is_no_machine_is_refused(traced: Callable, text: str):
    _, trace = traced("pass\n", 1, platform=FLAT)
    (trace.folder / "machine.json").write_text(text)
    seal(trace.folder)
    with pytest.raises(UsageError, match=r"is not a machine of this version of smpy: .*; record the run again"):
        replay(trace.folder)


def test_a_trace_of_an_earlier_version_is_refused_before_anything_is_read_of_it(traced: Callable):
    _, trace = traced(UNEVEN, 4, platform=FLAT)
    info = json.loads((trace.folder / "run.json").read_text())
    info["trace"] = {"format": 2, "is_complete": True, "can_replay": True}
    (trace.folder / "run.json").write_text(json.dumps(info))
    for name, args in (("replay", []), ("analyze", ["pop"]), ("analyze", ["bounds"]), ("report", [])):
        told = CliRunner().invoke(main, [name, *args, str(trace.folder)])
        assert (told.exit_code, "of format 2, whose machine is a pickle" in told.output) == (2, True), (
            name,
            told.output,
        )
        assert "record the run again" in told.output
        assert len(told.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"ideal": ["jitter"]}, "'jitter' cannot be ideal: contention, .*, core_memory can"),
        ({"better": [("latncy", 2)]}, "no part 'latncy' can be better.* did you mean 'latency'"),
        ({"better": [("kernel", "dgem", 2)]}, "the trace has no kernel 'dgem'"),
        ({"better": [("host", "nobody", 2)]}, "the trace has no host with ranks 'nobody'"),
        ({"better": [("link", "none", 2)]}, "the machine has no link 'none'"),
        ({"better": [("latency", 0)]}, "latency cannot be 0 times better"),
        ({"algorithms": [("allreduce", "magic")]}, "allreduce has no algorithm 'magic'"),
        ({"platform": "flat hosts=1 cores=1 nic=1Gb/s"}, "ranks do not fit"),
    ],
)
def test_what_cannot_be_changed_is_told(traced: Callable, changes: dict, complaint: str):
    _, trace = traced(UNEVEN, 4, platform=FLAT)
    with pytest.raises(UsageError, match=complaint):
        replay(trace, **changes)


def test_the_command_says_how_much_longer_it_takes(traced: Callable):
    summary, trace = traced(UNEVEN, 4, platform=FLAT)
    same = CliRunner().invoke(command, [str(trace.folder)], catch_exceptions=False)
    assert (same.exit_code, "times" in same.output) == (0, False)
    half = CliRunner().invoke(command, [str(trace.folder), "--cpu", "0.5", "--json", "-"], catch_exceptions=False)
    found = json.loads(half.output)
    assert found["makespan_s"] > summary.makespan_s == found["makespan_of_run_s"]
    shown = CliRunner().invoke(command, [str(trace.folder), "--cpu", "0.5"], catch_exceptions=False).output
    assert f"{found['makespan_s'] / summary.makespan_s:.4g} times it" in shown
    listed = CliRunner().invoke(command, ["--help"]).output
    assert all(part in listed for part in IDEAL_PARTS)
    for ideal, parts in (("all", IDEAL_PARTS), ("latency, overhead", ("latency", "overhead"))):
        without = CliRunner().invoke(command, [str(trace.folder), "--ideal", ideal, "--json", "-"]).output
        assert json.loads(without)["makespan_s"] == replay(trace, ideal=parts).makespan_s
    wrong = CliRunner().invoke(command, [str(trace.folder), "--ideal", "jitter"])
    assert "'jitter' is none of contention, bandwidth, latency, overhead and all" in " ".join(wrong.output.split())
    wrong = CliRunner().invoke(command, [str(trace.folder), "--cpu", "fast"])
    assert (wrong.exit_code, "'fast' is not a number of times" in wrong.output) == (2, True)


def test_what_is_eager_in_the_trace_and_not_here_is_told(traced: Callable):
    source = """
import numpy
from mpi4py import MPI
comm, buffer = MPI.COMM_WORLD, numpy.zeros(1000)
if comm.rank:
    comm.Isend(buffer, dest=0).Wait()
else:
    comm.Recv(buffer, source=1)
"""
    _, trace = traced(source, 2, platform=FLAT)
    found = replay(trace, options=[("smpi/send-is-detached-thresh", "10")])
    assert found.n_left_alone == 1
    shown = CliRunner().invoke(command, [str(trace.folder), "--set", "smpi/send-is-detached-thresh=10"]).output
    assert "1 were complete at once in the run, and are not here" in shown


RING = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
out, into = numpy.ones(200_000), numpy.zeros(200_000)
for step in range(4):
    smpy.execute(3e7 * (1 + (comm.rank + step) % comm.size))
    comm.Sendrecv(out, dest=(comm.rank + 1) % comm.size, recvbuf=into, source=(comm.rank - 1) % comm.size)
"""
EXCHANGE = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
out, into = numpy.ones(40_000), numpy.zeros(40_000)
for step in range(3):
    smpy.execute(5e7)
    comm.Alltoall(out, into)
    comm.Allreduce(out[:100], into[:100])
"""
PIPELINE = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
data = numpy.zeros(50_000)
for block in range(6):
    if comm.rank:
        comm.Recv(data, source=comm.rank - 1)
    smpy.execute(2e7)
    if comm.rank + 1 < comm.size:
        comm.Send(data, dest=comm.rank + 1)
"""
FARM = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
task = numpy.zeros(30_000)
if comm.rank:
    for _ in range(3):
        comm.Recv(task, source=0)
        smpy.execute(4e7 * comm.rank)
        comm.Send(task, dest=0)
else:
    for _ in range(3):
        for worker in range(1, comm.size):
            comm.Send(task, dest=worker)
        for worker in range(1, comm.size):
            comm.Recv(task, source=worker)
"""
BROADCAST = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
data = numpy.zeros(100_000)
for root in range(comm.size):
    if comm.rank == root:
        smpy.execute(6e7)
    comm.Bcast(data, root=root)
    smpy.execute(1e7 * (1 + comm.rank))
"""


def four_hosts(folder: Path, speed_of_2: float = 1.0, bandwidth_of_2: float = 1.0) -> Path:
    """Four hosts with a link each; those of host 2 may be better."""
    hosts = [f'<host id="h{i}" speed="{10 * (speed_of_2 if i == 2 else 1)}Gf"/>' for i in range(4)]
    links = [
        f'<link id="l{i}" bandwidth="{1.25e9 * (bandwidth_of_2 if i == 2 else 1)}Bps" latency="5us"/>' for i in range(4)
    ]
    routes = [
        f'<route src="h{i}" dst="h{j}"><link_ctn id="l{i}"/><link_ctn id="l{j}"/></route>'
        for i in range(4)
        for j in range(i + 1, 4)
    ]
    inside = "".join(hosts + links + routes)
    path = folder / f"four-{speed_of_2}-{bandwidth_of_2}.xml"
    path.write_text(f'<platform version="4.1"><zone id="z" routing="Full">{inside}</zone></platform>')
    return path


@pytest.mark.parametrize("source", [UNEVEN, RING, EXCHANGE, PIPELINE, FARM, BROADCAST])
@pytest.mark.parametrize(
    ("better", "machine"),
    [(("host", "h2", 1.1), {"speed_of_2": 1.1}), (("link", "l2", 1.1), {"bandwidth_of_2": 1.1})],
)
def test_a_better_host_or_link_is_that_of_a_run_on_such_a_machine(
    traced: Callable, emulated: Callable, tmp_path: Path, source: str, better: tuple, machine: dict
):
    _, trace = traced(source, 4, platform=four_hosts(tmp_path))
    there = emulated(source, 4, platform=four_hosts(tmp_path, **machine)).outcome.summary
    np.testing.assert_allclose(replay(trace, better=[better]).finish_s, there.finish_s, rtol=1e-9)


def test_measured_time_stays_on_a_machine_whose_cores_are_set_faster(traced: Callable, emulated: Callable):
    source = "import smpy\nsmpy.inject_seconds(0.1)\nsmpy.execute(1e9)\n"
    faster = (("host.speed", "20Gf"),)
    _, trace = traced(source, 1, platform=FLAT)
    there = emulated(source, 1, platform=FLAT, options=faster).outcome.summary
    assert replay(trace, options=faster).makespan_s == pytest.approx(there.makespan_s, rel=1e-9)
    assert replay(trace, platform=FLAT.replace("10Gf", "20Gf")).makespan_s == pytest.approx(there.makespan_s, rel=1e-9)
