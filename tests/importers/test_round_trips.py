"""Programs that are exported, imported and replayed on the machine of the run end when the run did."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import smpy
from smpy.export import dimemas, otf2, paraver, ti
from smpy.records.recorded_machine import recorded_machine
from smpy.records.trace import Trace
from smpy.replay import ReplayResult, replay
from tests.export.programs import ALL
from tests.peer.case import Case
from tests.peer.cases import CASES
from tests.peer.runners import smpy_outcome

TOLERANCE = {"ti": 1e-9, "paraver": 1e-6, "dimemas": 1e-6, "otf2": 1e-6}
WRITERS = {"ti": (ti, "x"), "paraver": (paraver, "x.prv"), "dimemas": (dimemas, "x.dim"), "otf2": (otf2, "x.otf2")}
MAIN_FILES = {"ti": "main", "otf2": "traces.otf2"}
EVERYWHERE = re.compile(
    "pingpong-i?send|halo|collectives|varying-(gatherv|scatterv|allgatherv|reduce_scatter)|pipeline|mesh"
)
WITHOUT_UNWAITED_SENDS = re.compile("collectives|pipeline|varying|pingpong-send")
ONE_RANK_A_HOST = [case for case in CASES if "perhost" not in case.name and "cyclic" not in case.name]
OF_ALL = [case for case in ONE_RANK_A_HOST if EVERYWHERE.match(case.name)]
OF_DIMEMAS = [case for case in ONE_RANK_A_HOST if WITHOUT_UNWAITED_SENDS.match(case.name) and case in OF_ALL]


def check(case: Case, folder: Path, form: str) -> None:
    smpy_outcome(case, folder, trace=folder / "trace")
    round_trip(Trace(folder / "trace"), folder, form)


def round_trip(trace: Trace, folder: Path, form: str) -> ReplayResult:
    writer, name = WRITERS[form]
    writer.write(trace, folder / name)
    path = folder / name / MAIN_FILES.get(form, "")
    imported = smpy.import_trace(path, folder / "imported", n_ranks=trace.n_ranks)
    assert imported.info["trace"]["imported"]["form"] == form
    machine = recorded_machine(trace)
    hosts = [host for host, n_ranks in trace.info["trace"]["hosts_of_ranks"] for _ in range(n_ranks)]
    names = machine.build().host_names
    (folder / "hosts").write_text("".join(f"{names[host]}\n" for host in hosts))
    again = replay(imported, platform=machine, hostfile=folder / "hosts")
    assert again.makespan_s == pytest.approx(trace.makespan_s, rel=TOLERANCE[form])
    assert (again.messages, again.bytes) == (trace.info["messages"], trace.info["bytes"])
    return again


@pytest.mark.parametrize("form", ["ti", "paraver", "dimemas", "otf2"])
def test_communicators_of_subsets_are_made_as_in_the_run(tmp_path: Path, form: str):
    if form == "otf2":
        pytest.importorskip("otf2")
    round_trip(Trace(ALL["split"].trace(tmp_path)), tmp_path, form)


POLLS = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
data, part = numpy.zeros(100_000, "u1"), comm.Split(0, -comm.rank)
if comm.rank == 0:
    for tag in range(4):
        smpy.execute(3e6)
        comm.Send(data, 1, tag)
    part.Send(data, 0, 5)
    requests = [comm.Isend(data, 1, 6), comm.Irecv(data, 1, 7)]
    while not MPI.Request.Testany(requests)[1]:
        smpy.execute(1e4)
    MPI.Request.Waitall(requests)
else:
    for _ in range(20):
        comm.Iprobe(0, 0)
        smpy.execute(1e4)
    while not comm.Iprobe(MPI.ANY_SOURCE, 0):
        pass
    comm.Recv(data, 0, 0)
    request = comm.Irecv(data, 0, 1)
    while not request.Test():
        smpy.execute(3e4)
    comm.Probe(0, MPI.ANY_TAG)
    comm.Recv(data, 0, 2)
    request = comm.Irecv(data, 0, 3)
    while not request.Get_status():
        pass
    request.Wait()
    part.Mprobe(1, 5).Recv(data)
    smpy.execute(5e6)
    comm.Recv(data, 0, 6)
    comm.Send(data, 0, 7)
request = comm.Ibarrier()
while not request.Test():
    smpy.execute(2e4)
"""


@pytest.mark.parametrize("form", ["paraver", "otf2"])
def test_tests_and_probes_are_made_again(emulated: Callable, tmp_path: Path, form: str):
    if form == "otf2":
        pytest.importorskip("otf2")
    slow = (("mpi.test", "90us"), ("mpi.iprobe", "70us"))
    ran = emulated(POLLS, trace=tmp_path / "trace", platform="flat hosts=2 cores=1 speed=1Gf", options=slow)
    assert ran.outcome.error is None
    trace = Trace(tmp_path / "trace")
    round_trip(trace, tmp_path, form)
    imported = Trace(tmp_path / "imported").info
    assert imported["trace"]["n_failed_polls"] == trace.info["trace"]["n_failed_polls"] > 20
    assert not imported["remarks"]


LAUNCHES = """
import sys
import numpy, smpy
from mpi4py import MPI

def meet(side):
    if side.rank == 0:
        side.Sendrecv(numpy.zeros(10_000, "u1"), 0, 1, bytearray(10_000), MPI.ANY_SOURCE, MPI.ANY_TAG)
    both = side.Merge()
    both.Allreduce(MPI.IN_PLACE, numpy.ones(1000))

world, parent = MPI.COMM_WORLD, MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    for generation in range(2):
        smpy.execute(1e6 * (1 + world.rank + 3 * generation))
        side = world.Spawn(sys.executable, [__file__, "again"][: 2 - generation], 2 + generation, root=generation)
        smpy.execute(1e6)
        meet(side)
else:
    smpy.execute(3e6 * (1 + world.rank))
    if len(sys.argv) > 1 and world.rank == 1:
        meet(MPI.COMM_SELF.Spawn(sys.executable, [__file__]))
    meet(parent)
"""


@pytest.mark.parametrize("form", ["paraver", "otf2"])
def test_ranks_that_others_launch_begin_and_end_when_they_did(emulated: Callable, tmp_path: Path, form: str):
    if form == "otf2":
        pytest.importorskip("otf2")
    ran = emulated(LAUNCHES, 3, trace=tmp_path / "trace", platform="flat hosts=12 cores=1 speed=1Gf")
    assert ran.outcome.error is None
    trace = Trace(tmp_path / "trace")
    again = round_trip(trace, tmp_path, form)
    assert again.finish_s == pytest.approx(trace.info["finish_s"], rel=TOLERANCE[form])
    assert trace.n_ranks == 3 + 2 + 1 + 3
    starts = [
        Trace(folder).table("intervals").to_pandas().groupby("rank")["start_s"].min()
        for folder in (tmp_path / "trace", tmp_path / "imported")
    ]
    assert starts[0].to_list() == pytest.approx(starts[1].to_list(), abs=1e-9)
    assert starts[0][3] >= 1e-3


def drawn(cases: list[Case], n: int, seed: int) -> list[Case]:
    return random.Random(seed).sample(cases, min(n, len(cases)))


@pytest.mark.parametrize(
    ("form", "case"),
    [
        pytest.param(form, case, id=f"{form}-{case.name}", marks=() if at < 8 else pytest.mark.campaign)
        for form in ("ti", "paraver", "dimemas")
        for at, case in enumerate(drawn(OF_DIMEMAS if form == "dimemas" else OF_ALL, 60, 11))
    ],
)
def test_a_program_ends_when_the_run_did(tmp_path: Path, form: str, case: Case):
    check(case, tmp_path, form)
