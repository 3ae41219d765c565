"""A run is a function of its inputs."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import smpy

PROGRAM = """
import random
from mpi4py import MPI
import numpy as np

comm = MPI.COMM_WORLD
rank, n_ranks = comm.rank, comm.size
for turn in range(5):
    lengths = [random.randrange(1, 20_000) for _ in range(3)]
    requests = [comm.Isend(np.random.rand(n), (rank + 1 + i) % n_ranks, turn) for i, n in enumerate(lengths)]
    for _ in lengths:
        status = MPI.Status()
        while not comm.Iprobe(MPI.ANY_SOURCE, turn, status):
            pass
        comm.Recv(np.empty(status.Get_count(MPI.DOUBLE)), status.source, turn)
    MPI.Request.Waitall(requests)
    print(rank, comm.allreduce(sum(lengths)), sorted({"b", "a"}))
"""


def test_two_runs_leave_the_same_bytes_but_for_what_is_of_this_machine(smpy_run: Callable, tmp_path: Path):
    left = []
    for turn in range(2):
        summary = tmp_path / f"summary-{turn}.json"
        ran = smpy_run(PROGRAM, 13, "--compute", "none", "--json", str(summary))
        assert ran.code == 0, ran.err
        lines = summary.read_bytes().splitlines()
        assert lines[-2].lstrip().startswith(b'"host": {')
        left.append((ran.out, lines[:-2]))
    assert left[0] == left[1]
    assert len(left[0][0].splitlines()) == 5 * 13


def test_a_record_tells_what_its_run_was_of(smpy_run: Callable, tmp_path: Path):
    platform = (
        "<platform version='4.1'><cluster id='c' prefix='n' suffix='' radical='0-1' core='2' speed='1Gf' bw='1GBps' "
        "lat='1us'/></platform>"
    )
    source = "from mpi4py import MPI\nMPI.COMM_WORLD.allreduce(1)\nMPI.COMM_WORLD.Alltoall(bytes(4), bytearray(4))\n"
    (tmp_path / "c.xml").write_text(platform)
    options = ("--platform", "c.xml", "--algorithm", "alltoall=ring", "--json", "run.json")
    ran = smpy_run(source, 4, *options, args=("--its", "own"))
    assert ran.code == 0, ran.err
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["smpy"] == smpy.__version__
    assert (record["program"], record["is_module"], record["args"]) == ("program.py", False, ["--its", "own"])
    assert record["platform_file"] == "c.xml"
    assert record["platform_sha256"] == hashlib.sha256(platform.encode()).hexdigest()
    assert record["mapping"] == [["n0", 1], ["n1", 1]]
    assert record["algorithms"]["alltoall"] == ["ring"]
    assert record["host"]["command"][1:4] == ["run", "-np", "4"]
    assert {"name", "processor", "python", "began", "wall_s", "peak_rss_bytes"} <= record["host"].keys()
