"""Files of bursts keep every bit; a replay refuses those of another run, and says where they end or do not fit."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smpy.errors import UsageError
from smpy.records import bursts_file
from smpy.records.bursts_file import read_bursts
from tests.emulate.planted_clock import plant
from tests.emulate.recorded_bursts import BURSTS, FAST, PLANTED, SLOW, bursts_remark

# ---- the file ----

ROWS = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.floats(5e-324, 1e300)), max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.integers(1, 9))
def test_a_file_has_every_bit_that_was_written(tmp_path: Path, rows: list[tuple[int, float]], n_sequences: int):
    run = bursts_file.RecordedRun("p.py", ("a", "\u00e9"), 99)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bursts_file, "_ROWS_MAX", 16)
        writer = bursts_file.BurstsWriter(tmp_path / "b", run)
        writer.add_place("p.py:1")
        sequences = [(k, k % 2, (k + 1) % 2, k % 4) for k in range(n_sequences)]
        for k, (n_short, seconds) in enumerate(rows):
            if k < n_sequences:
                writer.add_sequence(*sequences[k])
            writer.add(k % n_sequences, n_short, seconds)
        writer.close()
    read = read_bursts(tmp_path / "b")
    assert (read.run, read.cut_short, read.places) == (run, "", ["", "p.py:1"])
    assert read.sequences == sequences[: len(rows)]
    written = [(k % n_sequences, *row) for k, row in enumerate(rows)]
    assert list(zip(*read.rows, strict=True)) == written


def test_a_burst_takes_at_most_16_bytes(tmp_path: Path):
    writer = bursts_file.BurstsWriter(tmp_path / "b", bursts_file.RecordedRun("p.py", (), 64))
    for rank in range(64):
        writer.add_sequence(rank, 0, 0, 0)
    draw, n = Random(1), 40_000
    for _ in range(n):
        writer.add(draw.randrange(64), draw.randrange(9), draw.random())
    assert (tmp_path / f".b.{os.getpid()}").stat().st_size > 10 * n / 2  # while it is recorded
    writer.close()
    assert (tmp_path / "b").stat().st_size < 16 * n


# ---- what does not fit ----


def test_a_burst_that_was_not_recorded_ends_the_run_and_is_named(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch
):
    plant(monkeypatch)
    source = """
import numpy as np
comm.Bcast(np.zeros(100_000))
if rank == 1 and MPI.Wtime() > 4e-4:
    advance(1e-3)
    try:
        comm.Iprobe()
    except BaseException:
        print("not told")
comm.Barrier()
"""
    assert recorded(PLANTED + source).error == ""
    again = replayed(platform=SLOW)
    assert (
        "bursts.smpy has no burst 1 of rank 1 at program.py:16, behind program.py:13; it has none there" in again.error
    )
    assert "Record it on this machine (--compute record:FILE)" in again.error
    assert "Traceback" not in again.error
    assert again.code == 2
    assert again.out == ""


@pytest.mark.parametrize(("recorded_on", "replayed_on"), [(FAST, SLOW), (SLOW, FAST)])
def test_tests_between_pieces_of_work_end_the_run_where_their_answer_is_another_one(
    recorded: Callable, replayed: Callable, recorded_on: str, replayed_on: str, monkeypatch: pytest.MonkeyPatch
):
    """The pieces of work cannot be identified by the answers."""
    plant(monkeypatch)
    source = """
if rank == 0:
    comm.Send(bytearray(100_000), 1)
else:
    for visit in range(3):
        request = comm.Irecv(bytearray(100_000), 0) if visit == 0 else request
        for piece in range(3):
            advance(40e-6)
            request.Test()
        request.Wait()
"""
    recorded(PLANTED + source, platform=recorded_on)
    again = replayed(platform=replayed_on)
    assert "has no burst" in again.error
    assert "behind polls with another answer" in again.error


def test_bursts_that_nobody_asks_for_are_remarked_on(recorded: Callable, replayed: Callable):
    source = "import os\nfor _ in range(int(os.environ.get('TIMES', 9))):\n    comm.Barrier()\n"
    recorded(source)
    os.environ["TIMES"] = "4"
    try:
        again = replayed()
    finally:
        del os.environ["TIMES"]
    assert bursts_remark(again) == {"n_unused": 10, "n_again": 0}
    assert "10 that were recorded were not asked for" in again.outcome.summary.render()


def test_bursts_of_another_run_are_refused(recorded: Callable, replayed: Callable, tmp_path: Path):
    helper, shared = "def work():\n    return 1\n", "__smpy_shared__ = True\n"
    source = "import helper, shared\nhelper.work()\n"
    recorded(source, args=("1",), files={"helper.py": helper, "shared.py": shared})
    (tmp_path / "other.py").write_text((tmp_path / "program.py").read_text())
    for config, n_ranks, message in (
        ({"args": ("2",)}, 2, "arguments 1, and these are 2"),
        ({"args": ("1",)}, 3, "bursts of 2 ranks, and this run has 3"),
        ({"args": ("1",), "program": "other.py"}, 2, "bursts of program.py, and this is other.py"),
    ):
        with pytest.raises(UsageError, match=message):
            replayed(n_ranks, **config)
    for name in ("helper.py", "shared.py", "program.py"):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(before + "# and more\n")
        with pytest.raises(UsageError, match=rf"another program.py: {name} is not as it was"):
            replayed(args=("1",))
        (tmp_path / name).write_text(before)
    assert replayed(args=("1",)).error == ""


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "is no file of bursts"),
        (lambda data: b"%PDF" + data, "is no file of bursts"),
        (lambda data: data[:-1], "not as long as it was written"),
        (lambda data: data + b"x", "not as long as it was written"),
        (lambda data: data[:100], "is damaged"),
        (lambda data: data[:-9] + b"\0" * 9, "is damaged"),
        (lambda data: data.replace(b"bursts 4", b"bursts 3"), "another version of smpy"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_refused(
    recorded: Callable, replayed: Callable, tmp_path: Path, damage: Callable[[bytes], bytes], message: str
):
    recorded("comm.Barrier()\n")
    file = tmp_path / BURSTS
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(UsageError, match=message):
        replayed()


@pytest.mark.parametrize("name", ["missing/bursts", "folder", "no such file"])
def test_a_file_that_cannot_be_is_refused(recorded: Callable, replayed: Callable, tmp_path: Path, name: str):
    (tmp_path / "folder").mkdir()
    if name != "no such file":
        with pytest.raises(UsageError, match=f"cannot write .*{name}"):
            recorded("", record=Path(name))
    (tmp_path / "program.py").write_text("")
    with pytest.raises(UsageError, match=f"cannot read bursts {name}"):
        replayed(replay=Path(name))


# ---- recordings that end early ----


def test_a_run_that_fails_leaves_what_it_recorded(recorded: Callable, replayed: Callable):
    first = recorded("for k in range(5):\n    sum(range(10_000))\n    comm.Barrier()\n1 / 0\n")
    assert "ZeroDivisionError" in first.error
    assert read_bursts(BURSTS).cut_short == "its run failed"
    again = replayed()
    assert again.error == first.error
    assert again.outcome.summary.makespan_s == first.outcome.summary.makespan_s


STOPPED = """
import os, subprocess
from mpi4py import MPI
from smpy.records import bursts_file
bursts_file._ROWS_MAX = 8
for k in range(100):
    sum(range(50_000))
    MPI.COMM_WORLD.Barrier()
    if k == 50 and os.path.exists("stop"):
        subprocess.run(["kill", "-{signal}", str(os.getpid())])
"""


def test_a_run_that_is_interrupted_leaves_what_it_recorded(
    recorded: Callable, replayed: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bursts_file, "_ROWS_MAX", 8)
    (tmp_path / "stop").touch()
    assert "interrupted" in recorded(STOPPED.format(signal="TERM")).error
    assert len(read_bursts(BURSTS).rows[0]) > 90
    (tmp_path / "stop").unlink()
    assert "since the recording was cut short (its run was interrupted)" in replayed().error


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_a_run_that_is_stopped_from_outside_leaves_what_it_recorded(smpy_run: Callable, tmp_path: Path, signal: str):
    (tmp_path / "stop").touch()
    smpy_run(STOPPED.format(signal=signal), 2, "--compute", "record:bursts.smpy")
    (scratch,) = tmp_path.glob(".bursts.smpy.*" if signal == "KILL" else "bursts.smpy")
    assert len(read_bursts(scratch).rows[0]) > 90
    (tmp_path / "stop").unlink()
    again = smpy_run(STOPPED.format(signal=signal), 2, "--compute", f"replay:{scratch.name}")
    assert again.code == 2
    assert "since the recording was cut short (its run was" in again.err


def test_a_full_disk_is_told_and_what_was_written_stays(
    recorded: Callable, replayed: Callable, monkeypatch: pytest.MonkeyPatch
):
    room, write = 6_000, os.write

    def write_some(descriptor: int, data: bytes) -> int:
        nonlocal room
        if os.lseek(descriptor, 0, os.SEEK_CUR) + len(data) > room:
            write(descriptor, data[:9])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(bursts_file, "_ROWS_MAX", 16)
    monkeypatch.setattr(bursts_file, "_write_some", write_some)
    first = recorded("for k in range(200):\n    sum(range(10_000))\n    comm.Barrier()\nprint('done')\n")
    assert first.out == "done\ndone\n"
    assert "cannot write" in first.error
    assert "No space left on device" in first.error
    assert first.code == 1
    bursts = read_bursts(BURSTS)
    assert 0 < len(bursts.rows[0]) < 400
    assert f"; {len(bursts.rows[0]):,} of" in first.error
    assert "since the recording was cut short (it could not be written: No space left" in replayed().error
