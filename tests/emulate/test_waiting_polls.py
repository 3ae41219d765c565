"""Polls that wait count as waiting: a successful poll tells what the failed polls before it waited for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from smpy.records.profile import KINDS, LATE, RunProfile
from smpy.records.profile_text import highlights
from tests.emulate.test_profile import of_rows, profile

LATE_S = 0.25
HEAD = f"""import time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
big, small = np.zeros(10**6), np.zeros(1)
is_late = comm.rank == 1
if is_late:
    time.sleep({LATE_S})
"""
RECEIVE = HEAD + "if is_late:\n    comm.Send(small, 0)\nelse:\n"
POLLS = {
    "Test": "    r = comm.Irecv(small, 1)\n    while not r.Test(): pass\n",
    "Testany": "    r = [comm.Irecv(small, 1), comm.Irecv(small.copy(), 1, 9)]\n"
    "    while not MPI.Request.Testany(r)[1]: pass\n    r[1].Cancel()\n    r[1].Free()\n",
    "Testall": "    r = [comm.Irecv(small, 1), MPI.REQUEST_NULL]\n    while not MPI.Request.Testall(r): pass\n",
    "Testsome": "    r = [comm.Irecv(small, 1)]\n    while not MPI.Request.Testsome(r): pass\n",
    "Get_status": "    r = comm.Irecv(small, 1)\n    while not r.Get_status(): pass\n    r.Wait()\n",
    "Iprobe": "    while not comm.Iprobe(1): pass\n    comm.Recv(small, 1)\n",
    "Improbe": "    m = None\n    while m is None: m = comm.Improbe(MPI.ANY_SOURCE)\n    m.Recv(small)\n",
    "Probe": "    comm.Probe()\n    comm.Recv(small, 1)\n",
    "Mprobe": "    comm.Mprobe(1).Recv(small)\n",
}
LATE_RECEIVER = (
    HEAD + "if is_late:\n    comm.Recv(big, 0)\nelse:\n    r = comm.Isend(big, 1)\n    while not r.Test(): pass\n"
)
LATE_MEMBERS = HEAD + "r = comm.Ibarrier()\nwhile not r.Test(): pass\n"
PROGRAMS = [
    *((RECEIVE + body, call, "late_sender") for call, body in POLLS.items()),
    (LATE_RECEIVER, "Test", "late_receiver"),
    (LATE_MEMBERS, "Test", "late_members"),
]
NAMES = [*POLLS, "Test of a send", "Test of a barrier"]


def spent_s(profile: RunProfile, rank: int, *kinds: str) -> float:
    return math.fsum(profile.by_rank()[rank][KINDS.index(kind)] for kind in kinds)


@pytest.mark.parametrize("rule", ["grow", "notice"])
@pytest.mark.parametrize(("source", "call", "kind"), PROGRAMS, ids=NAMES)
def test_polls_wait_until_the_other_side_is_there(emulated: Callable, source: str, call: str, kind: str, rule: str):
    result = profile(emulated(source, 2, options=(("smpy/polls", rule),)))
    assert spent_s(result, 0, kind) == pytest.approx(LATE_S, rel=1e-3)
    assert spent_s(result, 0, *LATE) == spent_s(result, 0, kind)
    assert spent_s(result, 0, "polling", "probing") < (1e-5 if rule == "notice" else 0.02 * LATE_S)
    (site,) = (total for total in result.by_site() if total.site.call == call)
    assert site.spent_s[KINDS.index(kind)] == pytest.approx(LATE_S, rel=1e-3)
    assert result.kept_waiting_s[1] == pytest.approx(LATE_S, rel=1e-3)
    assert math.fsum(result.by_rank()[0]) == pytest.approx(result.makespan_s, rel=1e-12)


def test_polls_for_a_message_under_way_are_a_transfer_and_the_rest_is_polling(emulated: Callable):
    source = (
        HEAD + "if is_late:\n    comm.Send(big, 0)\nelse:\n    r = comm.Irecv(big, 1)\n    while not r.Test(): pass\n"
    )
    blocked = source.replace("while not r.Test(): pass", "r.Wait()")
    options = {"platform": "fat-tree hosts=2 cores=1 nic=1Gb/s", "options": (("smpy/polls", "grow"),)}
    polled, waited = profile(emulated(source, 2, **options)), profile(emulated(blocked, 2, **options))
    for kind in ("late_sender", "transfer"):
        assert spent_s(polled, 0, kind) == pytest.approx(spent_s(waited, 0, kind), rel=1e-9)
    assert spent_s(polled, 0, "transfer") > 0.06
    assert spent_s(polled, 0, "polling") == pytest.approx(polled.makespan_s - waited.makespan_s, rel=1e-6)


def test_polls_that_never_succeed_stay_polling(emulated: Callable):
    source = HEAD + "if not is_late:\n    r = comm.Irecv(small, 1)\n    while time.perf_counter() < 0.1: r.Test()\n"
    source += "    r.Cancel()\n    r.Wait()\n"
    few, many = (profile(emulated(source, 2, options=(("smpi/test", each),))) for each in ("5ms", "1us"))
    assert spent_s(few, 0, *LATE) == 0
    assert spent_s(few, 0, "polling") == pytest.approx(0.1, rel=0.1)
    assert (
        spent_s(many, 0, "late_sender") > 0.9 * spent_s(many, 0, "late_sender", "polling") > 0.04
    )  # so many are a wait


@pytest.mark.parametrize("between", ["time.sleep(1e-4)", "smpy.execute(1e5)"])
def test_computing_and_sleeping_between_polls_keep_their_kinds(emulated: Callable, between: str, tmp_path: Path):
    pytest.importorskip("pyarrow")
    source = "import smpy\n" + RECEIVE + f"    while not comm.Iprobe(1):\n        {between}\n    comm.Recv(small, 1)\n"
    ran = emulated(source, 2, trace=tmp_path / "trace", options=(("smpi/iprobe", "20us"),))
    result = profile(ran)
    assert spent_s(result, 0, "polling", "probing") < 1e-4
    assert spent_s(result, 0, "compute", "sleep", "late_sender") == pytest.approx(LATE_S, rel=2e-3)
    assert spent_s(result, 0, "late_sender") > 0.02
    assert result.kept_waiting_s[1] == pytest.approx(spent_s(result, 0, "late_sender"))
    assert list(result.caused_waits_s) == pytest.approx(list(result.kept_waiting_s))


SEVERAL = {
    "two lines": "    while not comm.Iprobe(1, 7):\n        if comm.Iprobe(1, 0): break\n        {between}\n"
    "    comm.Recv(small, 1)\n",
    "Testany": "    r = [comm.Irecv(small, 1, 7), comm.Irecv(small.copy(), 1)]\n"
    "    while not MPI.Request.Testany(r)[1]:\n        {between}\n    r[0].Cancel()\n    r[0].Free()\n",
    "Testall": "    r = [comm.Irecv(small, 1), comm.Irecv(small.copy(), 0, 7)]\n    comm.Send(small, 0, 7)\n"
    "    while not MPI.Request.Testall(r):\n        {between}\n",
}


@pytest.mark.parametrize("rule", ["grow", "notice"])
@pytest.mark.parametrize("name", SEVERAL)
def test_many_polls_for_several_things_wait_whatever_is_done_in_between(emulated: Callable, name: str, rule: str):
    source = "import smpy\n" + RECEIVE + SEVERAL[name].format(between="smpy.execute(1e5)")
    found = profile(emulated(source, 2, options=(("smpy/polls", rule), ("smpi/test", "10us"), ("smpi/iprobe", "10us"))))
    assert spent_s(found, 0, "compute", "late_sender") == pytest.approx(LATE_S, rel=0.05)
    assert spent_s(found, 0, "polling", "probing") < 0.05 * LATE_S
    if name == "two lines":
        assert found.kept_waiting_s[1] == pytest.approx(spent_s(found, 0, "late_sender"))


def test_a_master_that_looks_at_two_lines_waits_at_both(emulated: Callable):
    source = RECEIVE + "    while not (comm.Iprobe(1, 7) or comm.Iprobe(1, 0)): pass\n    comm.Recv(small, 1)\n"
    result = profile(emulated(source, 2))
    assert spent_s(result, 0, "late_sender") == pytest.approx(LATE_S, rel=1e-3)


def test_computing_that_a_program_overlaps_with_is_not_waiting(emulated: Callable):
    """A failed poll waited for nothing if another MPI call follows it."""
    source = RECEIVE + "    comm.Iprobe(1)\n    comm.Send(small, 0)\n    comm.Recv(small, 0)\n    time.sleep(1)\n"
    result = profile(emulated(source + "    comm.Recv(small, 1)\n", 2))
    assert spent_s(result, 0, *LATE) == 0


SLOW_13 = """import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
for _ in range(4):
    smpy.execute(1e8 if comm.rank == 13 else 1e7)
    {call}
"""
CALLS = {
    "objects": "comm.allreduce(comm.rank)",
    "a tree": "comm.bcast(comm.gather(comm.rank))",
    "a ring": "comm.sendrecv(None, (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)",
    "a collective": "comm.Barrier()",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_summary_names_the_rank_that_began_a_chain_of_waits(emulated: Callable, call: str):
    result = profile(emulated(SLOW_13.format(call=call), 32))
    said = dict(highlights(result))["waits due to"]
    assert said.startswith("rank 13 most: ")


@pytest.mark.parametrize(
    ("caused_s", "said"),
    [
        ([0.0, 6.0, 4.0], "rank 1 most: 60.0% of what ranks wait for others"),
        ([0.0, 6.0, 3.0], "rank 1 most: at least 60.0% of what ranks wait for others"),
        (
            [0.0, 5.0, 4.0],
            "delays that ranks pass on: --trace FOLDER, then smpy analyze waits FOLDER, names their causes",
        ),
        (
            [0.0, 0.0, 0.0],
            "delays that ranks pass on: --trace FOLDER, then smpy analyze waits FOLDER, names their causes",
        ),
    ],
)
def test_a_summary_names_nobody_where_another_rank_may_be_the_cause(caused_s: list[float], said: str):
    waits = [10.0 if kind == LATE[0] else 0.0 for kind in KINDS]
    result = replace(of_rows([(0, 0, waits)], [10.0] * 3), caused_waits_s=caused_s)
    assert dict(highlights(result))["waits due to"] == said


DRAWN = """import random
import numpy as np
import smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
draw = random.Random({seed})
for step in range(40):
    work = [draw.choice([0, 1e5, 1e6, 3e6]) for _ in range(size)]
    kind, a, n = draw.randrange(6), draw.randrange(size), draw.choice([1, 100, 20000])
    b = (a + 1 + draw.randrange(size - 1)) % size
    data = np.zeros(n)
    if work[rank] > 1e6:
        smpy.execute(work[rank])
    else:  # another line
        smpy.execute(work[rank])
    if kind == 0:
        comm.Barrier()
    elif kind == 1:
        comm.allreduce(rank)
    elif kind == 2 and rank in (a, b):
        comm.Send(data, b) if rank == a else comm.Recv(data, a)
    elif kind == 3:
        comm.Sendrecv(data, (rank + 1) % size, 0, data.copy(), (rank - 1) % size, 0)
    elif kind == 4 and rank == a:
        request = comm.Isend(data, b)
        while not request.Test():
            smpy.execute(1e4)
    elif kind == 4 and rank == b:
        while not comm.Iprobe(a):
            pass
        comm.Recv(data, a)
    elif kind == 5:
        request = comm.Iallreduce(data, data.copy())
        while not request.Test():
            pass
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_run_charges_a_rank_with_at_most_the_waits_that_the_analysis_of_its_trace_does(
    emulated: Callable, tmp_path: Path, seed: int
):
    pytest.importorskip("pyarrow")
    from smpy.analysis.wait_analysis import waits
    from smpy.records.trace import Trace

    ran = emulated(DRAWN.format(seed=seed), 9, trace=tmp_path / "trace")
    result, late = profile(ran), waits(Trace(tmp_path / "trace"))
    charged_s = [math.fsum(cause.seconds for cause in late.causes if cause.rank == rank) for rank in range(9)]
    assert late.seconds == pytest.approx(math.fsum(math.fsum(result.spent_s[KINDS.index(kind)]) for kind in LATE))
    assert math.fsum(result.caused_waits_s) > 0.1 * late.seconds
    for caused, charged in zip(result.caused_waits_s, charged_s, strict=True):
        assert caused <= charged + 1e-6 * late.seconds


@pytest.mark.parametrize("seed", range(4))
def test_the_line_that_a_summary_names_is_the_one_that_the_analysis_blames_most(
    emulated: Callable, tmp_path: Path, seed: int
):
    pytest.importorskip("pyarrow")
    from smpy.analysis.wait_analysis import waits
    from smpy.records.trace import Trace

    source = DRAWN.format(seed=seed).replace("    data =", "    if rank == 4:\n        smpy.execute(5e6)\n    data =")
    result = profile(emulated(source, 9, trace=tmp_path / "trace"))
    causes = [cause for cause in waits(Trace(tmp_path / "trace")).causes if cause.rank == 4]
    said = dict(highlights(result))["waits due to"]
    assert said.startswith("rank 4 most: ")
    assert said.endswith(f" longer in {causes[0].place.text}")
