"""Simulated time of files: closed forms, what is free, and what records say of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smpy.records.trace import Trace
from smpy.replay import replay

MB = 1_000_000
STORAGE = 'read_bandwidth = "20MB/s"\nwrite_bandwidth = "10MB/s"'
PROGRAM = """
import sys
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, n_bytes = comm.rank, int(sys.argv[1])
file = MPI.File.Open(comm, "data", MPI.MODE_RDWR | MPI.MODE_CREATE)
data = bytearray(n_bytes)
comm.Barrier()
start_s = MPI.Wtime()
{}
print(f"{{MPI.Wtime() - start_s:.9f}}")
file.Close()
"""


@pytest.fixture
def spent(emulated: Callable[..., Any], tmp_path: Path) -> Callable[..., list[float]]:
    """Seconds between the two dates that each rank prints the distance of, in ascending order."""

    def here(calls: str, storage: str, n_ranks: int = 1, ranks_per_host: int = 8, **config: Any) -> list[float]:
        machine = tmp_path / "machine.toml"
        links = "[nic]\nbandwidth = '10MB/s'\nlatency = '0s'\n[network]\nmodel = 'raw'\nenvelope = '0B'"
        table = f"[storage]\n{storage}" if storage else ""
        machine.write_text(f"[host]\ncount = 8\ncores = 8\n[topology]\nkind = 'flat'\n{links}\n{table}\n")
        options = {"platform": machine, "compute": "none", "ranks_per_host": ranks_per_host, "args": (str(MB),)}
        options["algorithms"] = (("barrier", "dissemination"),)  # all ranks of 2, 4, 8 leave it at one date
        done = emulated(PROGRAM.format(calls), n_ranks, **(options | config))
        return sorted(map(float, done.out.split()))

    return here


@pytest.mark.parametrize("n_ranks", [1, 3, 8])
def test_a_disk_shared_by_k_ranks_takes_k_times_as_long(spent: Callable[..., list[float]], n_ranks: int) -> None:
    calls = "file.Write_at(rank * n_bytes, data)"
    assert spent(calls, STORAGE, n_ranks) == pytest.approx([0.1 * n_ranks] * n_ranks, abs=1e-6)
    calls = "file.Write_at(rank * n_bytes, data); comm.Barrier(); start_s = MPI.Wtime(); file.Read_at(0, data)"
    assert spent(calls, STORAGE, n_ranks) == pytest.approx([0.05 * n_ranks] * n_ranks, abs=1e-6)


def test_each_host_has_a_disk_of_its_own(spent: Callable[..., list[float]]) -> None:
    seconds = spent("file.Write_at(rank * n_bytes, data)", f"{STORAGE}\nlatency = '1ms'", 4, ranks_per_host=1)
    assert seconds == pytest.approx([0.101] * 4, abs=1e-6)


def test_a_served_file_takes_the_longer_of_network_and_server(spent: Callable[..., list[float]]) -> None:
    calls = "file.Write_at(rank * n_bytes, data)"
    fast = 'read_bandwidth = "90MB/s"\nwrite_bandwidth = "50MB/s"\nservers = ["node-7"]'
    slow = 'read_bandwidth = "20MB/s"\nwrite_bandwidth = "5MB/s"\nservers = ["node-7"]'
    assert spent(calls, fast) == pytest.approx([0.1], abs=1e-6)
    assert spent(calls, slow) == pytest.approx([0.2], abs=1e-6)
    two = f"stripe = '10kB'\n{slow.replace('5MB/s', '2.5MB/s')[:-1]}, 'node-6']"
    assert spent(calls, two) == pytest.approx([0.2], rel=0.02)  # each has half of the stripes


def test_shared_accesses_follow_one_another(spent: Callable[..., list[float]]) -> None:
    seconds = spent("file.Write_shared(data)", STORAGE, 3, ranks_per_host=1)
    assert seconds == pytest.approx([0.1, 0.2, 0.3], abs=1e-6)


def test_interleaved_collective_accesses_are_two_phase(spent: Callable[..., list[float]]) -> None:
    calls = """
column = MPI.BYTE.Create_subarray([n_bytes // 1000, 2000], [n_bytes // 1000, 1000], [0, 1000 * rank]).Commit()
file.Set_view(0, MPI.BYTE, column)
comm.Barrier()
start_s = MPI.Wtime()
file.Write_all(data)
"""
    seconds = spent(calls, STORAGE, 2, ranks_per_host=1)
    assert seconds == pytest.approx([0.1 + 0.05] * 2, rel=0.02)  # its half of the file, then half of its bytes


def test_a_non_blocking_access_goes_on_beside_computing(spent: Callable[..., list[float]]) -> None:
    calls = """
import time
request = file.Iwrite_at(0, data)
assert MPI.Wtime() - start_s < 1e-6
time.sleep(0.06)
assert not request.Test()
status = MPI.Status()
request.Wait(status)
assert status.Get_count(MPI.BYTE) == n_bytes
"""
    assert spent(calls, STORAGE) == pytest.approx([0.1], abs=1e-6)


def test_without_disks_files_are_free_and_a_remark_says_so(spent: Callable[..., list[float]], smpy_run: Any) -> None:
    assert spent("file.Write_at(rank * n_bytes, data)", "", 2) == pytest.approx([0.0] * 2, abs=1e-6)
    program = "from mpi4py import MPI\nf = MPI.File.Open(MPI.COMM_WORLD, 'x', MPI.MODE_CREATE | MPI.MODE_WRONLY)\n"
    done = smpy_run(f"{program}f.Write(b'abc')\nf.Close()\n", n_ranks=2)
    assert (done.out + done.err).count("by MPI.File in no time") == 1


def test_the_open_of_python_is_free(spent: Callable[..., list[float]]) -> None:
    assert spent("with open('other', 'wb') as other: other.write(data)", STORAGE) == pytest.approx([0.0], abs=1e-6)


@pytest.mark.parametrize("call", ["Write_at(rank * n_bytes, data)", "Write_shared(data)", "Write_ordered(data)"])
def test_a_recorded_run_takes_as_long_when_it_is_replayed(
    spent: Callable[..., list[float]], tmp_path: Path, call: str
) -> None:
    folder = tmp_path / "trace"
    spent(f"file.{call}; file.Iwrite(data).Wait()", STORAGE, 3, trace=folder)
    trace = Trace(folder)
    result = replay(trace)
    assert result.finish_s.tolist() == trace.info["finish_s"]
    shares = [trace.info[f"{name}_share"] for name in ("compute", "communication", "waiting", "sleep", "io")]
    assert sum(shares) == pytest.approx(1)
    assert shares[-1] > 0.5
