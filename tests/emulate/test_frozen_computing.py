"""Computing that is recorded, and replayed: runs on two networks then differ by the network only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.records import bursts_file
from smpy.records.bursts_file import read_bursts
from tests.emulate.planted_clock import plant
from tests.emulate.recorded_bursts import BEGIN, BURSTS, FAST, PLANTED, SLOW, bursts_remark, dates

APPS = Path(__file__).parents[2] / "apps"


# ---- the same machine: the same bits ----

RING = """
import numpy as np
seed = int(sys.argv[1])
work = np.random.default_rng(seed * size + rank).integers(1_000, 30_000, 10)
for n in work:
    sum(range(n))
    request = comm.Irecv(np.empty(10_000), (rank - 1) % size)
    sum(range(n // 2))
    comm.Send(np.zeros(10_000), (rank + 1) % size)
    while not request.Test():
        pass
    comm.allreduce(rank)
    print(rank, MPI.Wtime())
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_a_replay_on_the_same_machine_has_every_date_of_the_recording(
    recorded: Callable, replayed: Callable, seed: int
):
    first = recorded(RING, 4, args=(str(seed),))
    again = replayed(4, args=(str(seed),))
    assert dates(again) == dates(first)
    assert again.out == first.out
    assert again.outcome.summary.shares == first.outcome.summary.shares
    assert first.outcome.summary.shares.compute > 0
    assert bursts_remark(again) == {}


def test_the_record_and_the_summary_say_what_was_recorded_or_replayed(recorded: Callable, replayed: Callable):
    first, again = recorded("comm.Barrier()\n").outcome.summary, replayed().outcome.summary
    told = [json.loads(summary.to_json()) for summary in (first, again)]
    keys = "compute", "recorded_to", "replayed_from", "bursts_sha256"
    assert [told[0][key] for key in keys] == ["measured", "bursts.smpy", None, None]
    assert [told[1][key] for key in keys] == ["measured", None, "bursts.smpy", bursts_file.hash_of(BURSTS)]
    assert "measured, and recorded in bursts.smpy" in first.render()
    assert "replayed from bursts.smpy" in again.render()
    assert "freed memory" not in again.render()


def test_replays_on_another_machine_are_the_same_bit_for_bit(recorded: Callable, replayed: Callable):
    first = recorded(RING, 4, args=("1",))
    slow = [replayed(4, args=("1",), platform=SLOW) for _ in range(2)]
    assert dates(slow[0]) == dates(slow[1])
    assert slow[0].outcome.summary.makespan_s > first.outcome.summary.makespan_s


def test_64_ranks_of_jacobi_are_replayed_as_they_were(recorded: Callable, replayed: Callable):
    program = {"program": str(APPS / "jacobi.py"), "args": ("--n", "64", "--iterations", "5")}
    first = recorded(None, 64, **program)
    assert dates(replayed(64, **program)) == dates(first)
    assert max(dates(replayed(64, **program, platform=SLOW))) > max(dates(first))


@pytest.mark.slow
def test_both_surfaces_replay_the_same_file(smpy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = BEGIN + RING
    first = smpy_run(source, 2, "--platform", FAST, "--compute", "record:b", "--json", "r.json", args=("1",))
    monkeypatch.setenv("SMPY_SURFACE", "python")
    again = smpy_run(source, 2, "--platform", FAST, "--compute", "replay:b", "--json", "p.json", args=("1",))
    assert (first.code, again.code) == (0, 0), first.err + again.err
    assert again.out == first.out
    finish_s = [json.loads((tmp_path / name).read_text())["finish_s"] for name in ("r.json", "p.json")]
    assert finish_s[0] == finish_s[1]


# ---- another network: the network only ----

PING_PONG = """
import numpy as np
ball = np.zeros(125_000)
comm.Barrier()
for _ in range(20):
    if rank == 0:
        sum(range(20_000))
        comm.Send(ball, 1)
        comm.Recv(ball, 1)
    else:
        comm.Recv(ball, 0)
        sum(range(10_000))
        comm.Send(ball, 0)
"""


def test_a_ping_pong_takes_its_bursts_and_what_each_network_takes(
    recorded: Callable, replayed: Callable, emulated: Callable
):
    """Nobody computes while the ball flies, so the two add up."""
    recorded(PING_PONG)
    networks_s = {}
    for platform in (FAST, SLOW):
        took_s = max(dates(replayed(platform=platform)))
        networks_s[platform] = took_s - max(dates(emulated(BEGIN + PING_PONG, platform=platform)))
    assert networks_s[FAST] == pytest.approx(networks_s[SLOW], abs=1e-9)
    bursts = read_bursts(BURSTS)
    in_turn_s = sum(seconds for _, _, seconds in zip(*bursts.rows, strict=True))
    assert 0 < networks_s[FAST] <= in_turn_s * (1 + 1e-9)


# ---- polls ----

AHEAD = """
if rank == 0:
    for k in range(6):
        advance(0.001 * (k + 1))
        comm.Send(bytearray(200_000), 1, tag=k)
else:
    requests = [comm.Irecv(bytearray(200_000), 0, tag=k) for k in range(6)]
    for k in range(6):
        began = MPI.Wtime()
        advance(0.0001 * (k + 1))
        n = 1
        while not requests[k].Test():
            if n == 1:
                computed = MPI.Wtime() - began
            {between}
            n += 1
        print(k, n, round(computed, 6), flush=True)
"""


@pytest.mark.parametrize("between", ["pass", "time.sleep(1e-5)", "advance(2e-6); MPI.Wtime()"])
@pytest.mark.parametrize("recorded_on", [FAST, SLOW])
def test_computing_before_a_loop_of_polls_keeps_its_burst_however_many_polls_there_are(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch, between: str, recorded_on: str
):
    plant(monkeypatch)
    first = recorded(PLANTED + AHEAD.format(between=between), platform=recorded_on)
    assert first.error == ""
    again = replayed(platform=SLOW if recorded_on == FAST else FAST)
    assert again.error == ""
    polls = [[int(line.split()[1]) for line in ran.out.splitlines()] for ran in (first, again)]
    assert polls[0] != polls[1]
    for ran in (first, again):
        assert [float(line.split()[2]) for line in ran.out.splitlines()] == pytest.approx(
            [0.0001 * (k + 1) for k in range(6)], abs=2e-5
        )


def test_polls_beyond_those_recorded_take_recorded_times_again(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    source = """
if rank == 0:
    comm.Send(bytearray(8_000_000), 1)
else:
    request, n = comm.Irecv(bytearray(8_000_000), 0), 0
    while not request.Test():
        advance(1e-4 if n % 2 else 3e-4)
        n += 1
    print(n)
"""
    n_first = int(recorded(PLANTED + source).out)
    again = replayed(platform=SLOW)
    assert again.error == ""
    assert bursts_remark(again)["n_again"] > 0
    assert int(again.out) > 2 * n_first
    computed_s = again.outcome.summary.shares.compute * sum(dates(again))
    assert computed_s == pytest.approx(int(again.out) * 2e-4, rel=0.1)
    assert "recorded ones were taken again" in again.outcome.summary.render()


def test_a_rank_that_polled_in_vain_only_in_the_replay_takes_the_times_of_one_that_did_before(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    source = """
if rank == 0:
    for peer in (1, 2):
        comm.Send(bytearray(100_000), peer)
else:
    request = comm.Irecv(bytearray(100_000), 0)
    if rank == 2:
        time.sleep(1e-4)
    n = 0
    while not request.Test():
        advance(2e-6)
        n += 1
    print(rank, n)
"""
    assert "2 0\n" in recorded(PLANTED + source, 3).out
    again = replayed(3, platform=SLOW)
    assert again.error == ""
    assert "2 0\n" not in again.out
    assert bursts_remark(again)["n_again"] > 0


# ---- what is a burst ----


def test_a_burst_below_the_threshold_is_not_charged_in_a_replay_either(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    source = (
        "for k in range(40):\n    advance((0.4e-6, 3e-6, 0, 5e-6)[k % 4])\n    comm.Iprobe()\n    print(MPI.Wtime())\n"
    )
    first = recorded(PLANTED + source, 1)
    assert replayed(1).out == first.out
    charged = [seconds for seconds in read_bursts(BURSTS).rows[2] if seconds]
    assert charged == pytest.approx(10 * [3e-6, 5e-6], rel=1e-3)


def test_time_that_is_told_is_not_recorded_but_computed_anew(recorded: Callable, replayed: Callable):
    source = "for k in range(5):\n    smpy.execute(2e9)\n    smpy.inject_seconds(0.5)\n    comm.Barrier()\n"
    first = recorded(source)
    assert dates(replayed()) == dates(first)
    assert dates(replayed(platform=FAST.replace("2Gf", "1Gf")))[0] == pytest.approx(12.5, rel=0.01)


def test_measured_time_is_scaled_in_a_replay_as_the_replay_says(recorded: Callable, replayed: Callable):
    source = "sum(range(300_000))\n"
    computed_s = dates(recorded(source, 1))[0]
    assert dates(replayed(1, host_speed_flop_per_s=6e9))[0] == pytest.approx(3 * computed_s)


def test_what_a_ranks_threads_do_is_no_burst(recorded: Callable, replayed: Callable):
    source = """
import threading
def work():
    sum(range(200_000))
    time.time()
for k in range(5):
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    sum(range(100_000))
    for thread in threads: thread.join()
    comm.Barrier()
"""
    first = recorded(source)
    assert dates(replayed()) == dates(first)


def test_dates_that_shared_code_looks_at_within_a_burst_are_those_of_the_recording(
    recorded: Callable, replayed: Callable
):
    library = "import time\n__smpy_shared__ = True\ndef look():\n    return time.time()\n"
    source = "import library\nfor k in range(20):\n    sum(range(30_000))\n    print(library.look())\ncomm.Barrier()\n"
    first = recorded(source, files={"library.py": library})
    assert len(set(first.out.split())) > 20
    assert replayed().out == first.out


def test_a_sampled_region_is_run_as_often_as_it_was(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    source = """
from random import SystemRandom
draw = SystemRandom()
for visit in range(3):
    for k in smpy.sample("x", range(200), half_width=0.2):
        advance(draw.uniform(0.5, 1.5))
    print(k)
    comm.Barrier()
@smpy.sample("y")
def work():
    advance(draw.uniform(0.9, 1.1))
for k in range(50):
    work()
"""
    first = recorded(PLANTED + source)
    again = replayed()
    assert dates(again) == dates(first)
    assert again.out == first.out
    assert [r for r in again.outcome.summary.remarks if r.topic == "sampled"] == [
        r for r in first.outcome.summary.remarks if r.topic == "sampled"
    ]


SPAWNING = """
if MPI.Comm.Get_parent() == MPI.COMM_NULL:
    sum(range(20_000 * (1 + int(sys.argv[1]) * (size - rank))))
    for n in (1, 2):
        children = MPI.COMM_SELF.Spawn(sys.executable, ["program.py", "0"], n)
        sum(range(10_000))
        print(rank, n, children.recv(source=n - 1))
        children.Disconnect()
    comm.Barrier()
else:
    sum(range(50_000 * (1 + rank)))
    comm.Barrier()
    sum(range(7_000))
    if rank == size - 1:
        MPI.Comm.Get_parent().send(MPI.Wtime(), 0)
    MPI.Comm.Get_parent().Disconnect()
"""


def test_a_replay_of_a_run_that_spawns_has_every_date_of_the_recording(recorded: Callable, replayed: Callable):
    first = recorded(SPAWNING, 2, args=("1",))
    again = replayed(2, args=("1",))
    assert len(dates(again)) == 8
    assert dates(again) == dates(first)
    assert again.out == first.out
    assert bursts_remark(again) == {}


def test_who_is_the_first_to_import_what_all_share_does_not_matter(recorded: Callable, replayed: Callable):
    source = """
import numpy as np
comm.Recv(np.empty(1_000_000), 0) if rank == 1 else None
if rank == 0:
    comm.Isend(np.zeros(1_000_000), 1)
    time.sleep(1e-3)
sum(range(50_000))
import late
import late_and_own
sum(range(50_000))
comm.Barrier()
print(late_and_own.date)
"""
    files = {
        "late.py": "__smpy_shared__ = True\nsum(range(300_000))\n",
        "late_and_own.py": "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\ndate = MPI.Wtime()\n",
    }
    first = recorded(source, files=files)
    assert first.error == ""
    assert replayed().out == first.out
    assert max(dates(replayed(platform=SLOW))) > 8e-3
