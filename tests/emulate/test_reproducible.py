"""A run is a function of its inputs."""

from collections.abc import Callable
from pathlib import Path

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


def test_two_runs_leave_the_same_bytes_but_for_wall_time_and_memory(smpy_run: Callable, tmp_path: Path):
    left = []
    for turn in range(2):
        summary = tmp_path / f"summary-{turn}.json"
        ran = smpy_run(PROGRAM, 13, "--compute", "none", "--json", str(summary))
        assert ran.code == 0, ran.err
        lines = summary.read_bytes().splitlines()
        of_this_machine = [line for line in lines if b"wall_s" in line or b"peak_rss_bytes" in line]
        assert len(of_this_machine) == 2
        left.append((ran.out, [line for line in lines if line not in of_this_machine]))
    assert left[0] == left[1]
    assert len(left[0][0].splitlines()) == 5 * 13
