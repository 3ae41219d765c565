"""A trace that is written for Dimemas has the bursts, messages and collectives of the run, in order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from smpy.errors import UsageError
from smpy.export import export
from smpy.records.trace import Trace
from tests.export.programs import QUICK

PROGRAM = """
import numpy, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size
sent, taken = numpy.zeros(70000, "u1"), numpy.zeros(70000, "u1")
smpy.execute(1e6 * (1 + rank) / 3)
request = comm.Irecv(taken[:500], before, 5)
comm.Send(sent[:500], after, 5)
request.Wait()
smpy.execute(1e5)
comm.Bcast(sent[:100], 1)
half = comm.Split(rank // 2)
half.Allreduce(sent[:8], taken[:8])
"""


def records_of(path: Path) -> dict[int, list[list[str]]]:
    """Records of each task, without the last table, which says where they begin."""
    content = path.read_bytes()
    header, table_at, n_tasks, n_comms = re.match(
        rb'(#DIMEMAS:"x":1,(\d+):(\d+)\([1,]+\),(\d+),0,0\n)', content
    ).groups()
    table = [line.split(b":") for line in content[int(table_at) :].splitlines()]
    assert [line[:2] for line in table] == [[b"s", str(task).encode()] for task in range(int(n_tasks))]
    places = [int(line[2]) for line in table] + [int(table_at)]
    definitions = content[len(header) : places[0]].splitlines()
    assert len(definitions) == int(n_comms)
    records = defaultdict(list)
    for task, (first, end) in enumerate(pairwise(places)):
        for line in content[first:end].decode().splitlines():
            fields = line.split(":")
            assert fields[1:3] == [str(task), "0"]
            records[task].append(fields)
    return records


def check_order(records: dict[int, list[list[str]]]) -> None:
    """A burst stands before and after each other record; sends and receives match."""
    for of_task in records.values():
        assert [record[0] == "1" for record in of_task] == [place % 2 == 0 for place in range(len(of_task))]
    sent = Counter((task, int(each[3]), each[6]) for task in records for each in records[task] if each[0] == "2")
    received = Counter(
        (int(each[3]), task, each[6])
        for task in records
        for each in records[task]
        if each[0] == "3" and each[8] in ("0", "1")
    )
    assert sent == received


@pytest.mark.parametrize("name", QUICK)
def test_bursts_stand_between_records_and_messages_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(tmp_path)
    export(Trace(QUICK[name].trace(tmp_path)), "dimemas", tmp_path / "x.dim")
    check_order(records_of(tmp_path / "x.dim"))


def test_records_are_those_of_the_program(emulated: Callable, tmp_path: Path):
    emulated(PROGRAM, 4, trace=tmp_path / "trace", platform="flat hosts=4 cores=1 speed=1Gf")
    export(Trace(tmp_path / "trace"), "dimemas", tmp_path / "x.dim")
    records = records_of(tmp_path / "x.dim")
    assert [":".join(record) for record in records[2][:9]] == [
        "1:2:0:0.001000000",
        "3:2:0:1:-1:500:5:1:1",
        "1:2:0:0.000000000",
        "2:2:0:3:-1:500:5:1:0",
        "1:2:0:0.000000000",
        "3:2:0:1:-1:500:5:1:2",
        "1:2:0:0.000100000",
        "10:2:0:1:1:1:0:0:100:1",
        "1:2:0:0.000000000",
    ]
    last = [record for record in records[2] if record[0] == "10"][-1]
    assert last[3] == "11"
    assert f"d:1:{last[4]}:2:2:3" in (tmp_path / "x.dim").read_text()


def test_bursts_add_up_to_the_computing_of_a_rank(emulated: Callable, tmp_path: Path):
    source = (
        PROGRAM + "for _ in range(1000): smpy.execute(12345.678); comm.Send(sent[:1], rank); comm.Recv(taken, rank)"
    )
    emulated(source, 4, trace=tmp_path / "trace", platform="flat hosts=4 cores=1 speed=1Gf")
    export(Trace(tmp_path / "trace"), "dimemas", tmp_path / "x.dim")
    for rank, of_task in records_of(tmp_path / "x.dim").items():
        bursts_s = sum(float(record[3]) for record in of_task if record[0] == "1")
        assert bursts_s == pytest.approx((1e6 * (1 + rank) / 3 + 1e5 + 1000 * 12345.678) / 1e9, abs=1e-9)


def test_a_wait_or_a_test_of_a_send_that_was_complete_at_once_is_left_out(emulated: Callable, tmp_path: Path):
    source = """
import numpy
from mpi4py import MPI
comm, data = MPI.COMM_WORLD, numpy.zeros(100, "u1")
requests = [comm.Isend(data, 1 - comm.rank, tag) for tag in range(3)]
receives = [comm.Irecv(data, 1 - comm.rank, tag) for tag in range(3)]
requests[0].Wait()
assert requests[1].Test()
MPI.Request.Waitall([requests[2], receives[0]])
MPI.Request.Waitall(receives[1:])
"""
    assert emulated(source, 2, trace=tmp_path / "trace").outcome.error is None
    export(Trace(tmp_path / "trace"), "dimemas", tmp_path / "x.dim")
    kinds = [(record[0], record[-1]) for record in records_of(tmp_path / "x.dim")[0] if record[0] != "1"]
    assert kinds == [("2", "2")] * 3 + [("3", "1")] * 3 + [("3", "2")] * 3


def test_what_dimemas_cannot_tell_is_refused_by_name(emulated: Callable, tmp_path: Path):
    emulated(PROGRAM + "comm.Iprobe()", 4, trace=tmp_path / "trace")
    with pytest.raises(UsageError, match=r"a program of Dimemas: rank \d \(Iprobe .*\): it has no probes or polls"):
        export(Trace(tmp_path / "trace"), "dimemas", tmp_path / "x.dim")
    assert not list(tmp_path.glob("*x.dim*"))
