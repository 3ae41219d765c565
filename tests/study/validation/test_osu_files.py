"""Tables of OSU benchmarks are read with their units, and other text is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.errors import UsageError
from smpy.study.validation.osu_files import read_osu

LATENCY = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size          Latency (us)\n1    1.50\n2    2.00\n"


def _read(tmp_path: Path, text: str):
    path = tmp_path / "osu.txt"
    path.write_text(text, encoding="utf-8")
    return read_osu(path)


def test_a_latency_is_in_microseconds(tmp_path: Path):
    (table,) = _read(tmp_path, LATENCY)
    assert (table.benchmark.name, table.sizes_bytes) == ("osu_latency", (1, 2))
    assert table.times_s == pytest.approx((1.5e-6, 2e-6))


def test_a_rate_is_the_time_of_one_message(tmp_path: Path):
    (table,) = _read(tmp_path, "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1000    500.00\n")
    assert table.times_s == pytest.approx((2e-6,))


def test_a_collective_has_its_mean_time_whatever_columns_follow(tmp_path: Path):
    head = "# OSU MPI All-to-All Personalized Exchange Latency Test v5.6.3\n"
    head += "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
    (table,) = _read(tmp_path, f"{head}1    16.36     15.24     17.58      1000\n")
    assert (table.benchmark.name, table.times_s) == ("osu_alltoall", (pytest.approx(16.36e-6),))


@pytest.mark.parametrize(
    "rows", ["# Avg Latency(us)\n        3.25\n", "# Size [B]        Latency [us]\n         0        3.25\n"]
)
def test_a_barrier_has_one_row_with_or_without_a_size(tmp_path: Path, rows: str):
    (table,) = _read(tmp_path, f"# OSU MPI Barrier Latency Test v5.9\n\n{rows}")
    assert (table.sizes_bytes, table.times_s) == ((0,), (pytest.approx(3.25e-6),))


def test_pairs_and_window_are_those_that_the_table_says(tmp_path: Path):
    head = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.3\n# [ pairs: 4 ] [ window size: 32 ]\n"
    (table,) = _read(tmp_path, f"{head}# Size      MB/s        Messages/s\n1    2.88    2877697.85\n")
    assert (table.pairs, table.window) == (4, 32)


DEVICES = LATENCY.replace("MPI", "MPI-CUDA", 1).replace(
    "# Datatype", "# Send Buffer on {} and Receive Buffer on {}\n# Datatype"
)


@pytest.mark.parametrize(
    ("send", "receive", "memories"),
    [("DEVICE (D)", "DEVICE (D)", ("gpu", "gpu")), ("HOST (H)", "DEVICE (D)", ("cpu", "gpu"))],
)
def test_messages_are_in_the_memory_that_the_table_says(tmp_path: Path, send: str, receive: str, memories: tuple):
    (table,) = _read(tmp_path, DEVICES.format(send, receive))
    assert table.memories == memories
    assert table.times_s == pytest.approx((1.5e-6, 2e-6))


def test_collectives_in_the_memory_of_devices_are_skipped(tmp_path: Path):
    (table,) = _read(tmp_path, f"# OSU MPI-CUDA Allreduce Latency Test v7.4\n4 7.0\n{LATENCY}")
    assert table.benchmark.name == "osu_latency"
    with pytest.raises(UsageError, match="MPI-CUDA Allreduce Latency Test is no table that can be simulated"):
        _read(tmp_path, "# OSU MPI-CUDA Allreduce Latency Test v7.4\n4 7.0\n")


def test_several_tables_of_a_job_are_read_and_others_skipped(tmp_path: Path):
    put = "# OSU MPI_Put Latency Test v7.4\n# Size  Latency (us)\n1  9.0\n"
    other = "# OSU MPI Put Latency Test v7.4\n# Size  Latency (us)\n1  9.0\n"
    tables = _read(
        tmp_path, f"job 17 starts\n{LATENCY}\njob 17 goes on\n{put}{other}\n# MPI Broadcast Latency Test\n4 7.0\n"
    )
    assert [table.benchmark.name for table in tables] == ["osu_latency", "osu_bcast"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{LATENCY}[nid00077:21441] mca: base: close\n", r"line 6, '\[nid00077:21441\] mca: base: close', is no row"),
        (f"{LATENCY}4  -1\n", "line 6.*a time or a rate is above 0"),
        (f"{LATENCY}4  nan\n", "line 6.*a time or a rate is above 0"),
        (f"{LATENCY}2  1\n", "line 6.*size 2 is there twice"),
        (f"{LATENCY}-4  1\n", "line 6.*a size is from 0 to 1 TiB"),
        ("# OSU MPI Bandwidth Test v5\n0 1.0\n", "line 2.*a size of 0 has no rate"),
        ("# OSU MPI Latency Test v5\n# Size\n", "line 1: osu_latency has no row: was it interrupted"),
        ("# OSU MPI Put Latency Test v5\n1 1.0\n", "Put Latency Test is no table that can be simulated"),
        (DEVICES.format("MANAGED MEMORY (M)", "HOST (H)"), "line 2.*memory of a HOST or a DEVICE"),
        ("hello\n", "this is no table that can be simulated"),
        (
            "# OSU MPI Multiple Bandwidth / Message Rate Test v5\n# [ pairs: 0 ] [ window size: 64 ]\n",
            "line 2.*pairs and windows are from 1",
        ),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_its_line(tmp_path: Path, text: str, told: str):
    with pytest.raises(UsageError, match=told):
        _read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot read"):
        read_osu(tmp_path / "none.txt")
    (tmp_path / "osu.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="it is not a text file in UTF-8"):
        read_osu(tmp_path / "osu.txt")
