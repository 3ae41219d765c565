"""SimGrid's time-independent traces: what their lines take, and what is said of those that cannot be performed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpy.cli.replay import command
from smpy.errors import DeadlockError, UsageError
from smpy.importers import time_independent_files
from smpy.importers.time_independent_files import read_main_file
from smpy.replay.time_independent import replay_time_independent

LATENCY_S, BANDWIDTH, ENVELOPE_BYTES = 1e-3, 1e8, 16
FLAT = (
    '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    '<config id="General"><prop id="smpi/lat-factor" value="1"/><prop id="smpi/bw-factor" value="1"/>'
    '<prop id="network/crosstraffic" value="no"/></config>'
    '<zone id="z" routing="Full"><host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/>'
    '<link id="l" bandwidth="100MBps" latency="1ms" sharing_policy="FATPIPE"/>'
    '<route src="h0" dst="h1"><link_ctn id="l"/></route></zone></platform>'
)


def written(folder: Path, *lines_of_rank: Sequence[str]) -> Path:
    """A trace with a file a rank; each begins with init."""
    for rank, lines in enumerate(lines_of_rank):
        (folder / f"rank{rank}").write_text("".join(f"{rank} {line}\n" for line in ("init", *lines, "finalize")))
    (folder / "main").write_text("".join(f"rank{rank}\n" for rank in range(len(lines_of_rank))))
    (folder / "platform.xml").write_text(FLAT)
    return folder / "main"


def finish_s(main: Path, n_ranks: int | None = None, **changes) -> list[float]:
    return replay_time_independent(
        read_main_file(main, n_ranks), main.parent / "platform.xml", **changes
    ).finish_s.tolist()


def error(main: Path, n_ranks: int | None = None) -> str:
    with pytest.raises(UsageError) as raised:
        finish_s(main, n_ranks)
    return str(raised.value)


def test_computing_and_sleeping_take_what_they_say(tmp_path: Path):
    main = written(tmp_path, ["compute 2e9", "location a.c 3", "sleep 0.25"], ["compute 1.5e9"])
    assert finish_s(main) == pytest.approx([2.25, 1.5], rel=1e-12)
    assert finish_s(main, cpu=2) == pytest.approx([1.25, 0.75], rel=1e-12)


@pytest.mark.parametrize(
    ("words", "nbytes"), [("1000000", 1e6), ("1000000 0", 8e6), ("1000000 1", 4e6), ("1e6 6", 1e6)]
)
def test_a_message_takes_latency_and_its_bytes_by_its_datatype(tmp_path: Path, words: str, nbytes: float):
    main = written(tmp_path, [f"send 1 7 {words}"], [f"recv 0 7 {words}"])
    assert finish_s(main) == pytest.approx([LATENCY_S + (nbytes + ENVELOPE_BYTES) / BANDWIDTH] * 2, rel=1e-9)


def test_the_search_for_hosts_comes_once_and_at_the_same_call_on_every_rank(tmp_path: Path):
    main = written(tmp_path, *[["bcast 100 0 6"] * n for n in (1, 1, 1)])
    selector = [("smpi/coll-selector", "mpich")]
    (tmp_path / "hosts").write_text("h0:2\nh1\n")
    placed = {"options": selector, "hostfile": tmp_path / "hosts"}
    trace = read_main_file(main, None)
    once = replay_time_independent(trace, tmp_path / "platform.xml", **placed)
    without = replay_time_independent(trace, tmp_path / "platform.xml", hostfile=tmp_path / "hosts")
    written(tmp_path, *[["bcast 100 0 6"] * n for n in (3, 3, 3)])
    thrice = replay_time_independent(read_main_file(main, None), tmp_path / "platform.xml", **placed)
    assert thrice.messages - once.messages == 2 * without.messages
    assert once.messages > 2 * without.messages


def test_a_waited_for_request_is_the_oldest_one_of_its_key(tmp_path: Path):
    main = written(
        tmp_path,
        ["sleep 1", "send 1 3 10", "sleep 1", "send 1 3 10"],
        ["irecv 0 3 10", "irecv 0 3 10", "wait 0 1 3", "compute 1e8", "waitall"],
    )
    first, second = finish_s(main)
    assert first == pytest.approx(2.0, abs=1e-5)
    assert second == pytest.approx(2.001, abs=1e-5)


def test_requests_that_nobody_waited_for_end_before_their_rank_does(tmp_path: Path):
    main = written(tmp_path, ["sleep 1", "send 1 3 10"], ["irecv 0 3 10"])
    assert finish_s(main)[1] == pytest.approx(1.001, abs=1e-5)


def test_nobody_leaves_a_barrier_before_all_have_come_and_a_reduction_computes(tmp_path: Path):
    barrier = finish_s(written(tmp_path, ["barrier"], ["compute 1e9", "barrier"]))
    assert min(barrier) > 1
    with_work = finish_s(written(tmp_path, ["allreduce 10 3e9"], ["compute 1e9", "allreduce 10 0"]))
    without = finish_s(written(tmp_path, ["allreduce 10 0"], ["compute 1e9", "allreduce 10 0"]))
    assert with_work[0] - without[0] == pytest.approx(3, rel=1e-9)


def test_one_file_may_have_the_lines_of_all_ranks(tmp_path: Path):
    main = written(tmp_path, ["compute 1e9", "send 1 1 100"], ["recv 0 1 100"])
    alone = finish_s(main)
    rank0, rank1 = ((tmp_path / f"rank{rank}").read_text().splitlines(True) for rank in (0, 1))
    (tmp_path / "all").write_text("# of both\n" + "".join(rank1 + rank0))
    main.write_text("all\n")
    assert finish_s(main, 2) == alone


def test_pieces_of_files_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    main = written(tmp_path, ["compute 1e6", "send 1 1 100"] * 500, ["recv 0 1 100"] * 500)
    at_once = finish_s(main)
    monkeypatch.setattr(time_independent_files, "_PIECES_BYTES", 0)
    assert finish_s(main) == at_once


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ssend 1 2 3", "line 2: 'ssend' is no action that can be performed: did you mean 'send'?"),
        ("waitany 0 1 2", "'waitany' is no action"),
        ("send 1 2", "send does not say its number of entries: it is `send DESTINATION TAG COUNT [TYPE]`"),
        ("send 2 1 5", "send with destination 2: there are ranks 0 to 1"),
        ("send 1 1 -5", "-5 is no number of entries"),
        ("send 1 1 1_000", "'1_000' is no number of entries"),
        ("send 1 1 1e300", "is no number of entries"),
        ("send 1 1 nan", "'nan' is no number of entries"),
        ("send 1 1 5 99", "99 is the number of no datatype"),
        ("compute fast", "'fast' is no number of flop"),
        ("compute -1", "'-1' is no number of flop"),
        ("bcast 5 2", "bcast with root 2"),
        ("allgather 10 5", "a block of 10 bytes is sent where 5 bytes are expected"),
    ],
)
def test_what_cannot_be_performed_is_refused_by_file_line_and_name(tmp_path: Path, line: str, said: str):
    message = error(written(tmp_path, [line], []))
    assert message.startswith(f"{tmp_path / 'rank0'}, line 2: ")
    assert said in message


def test_files_that_are_no_trace_are_refused(tmp_path: Path):
    main = written(tmp_path, [], [])
    (tmp_path / "rank1").write_text("0 init\n")
    assert error(main) == f"{tmp_path / 'rank1'}: there is no line of rank 1"
    (tmp_path / "rank1").write_text("5 init\n")
    assert "it is of rank 5" in error(main)
    (tmp_path / "rank1").write_text("1 barrier\n")
    assert "barrier comes before init" in error(main)
    (tmp_path / "rank1").write_bytes(b"\x7fELF\0\0")
    assert "line 1: this is no text" in error(main)
    assert "lists 2 files of ranks, and -np asks for 3 ranks" in error(main, 3)
    (tmp_path / "rank1").unlink()
    assert "lists 'rank1', which is no file" in error(main)
    main.write_text("rank0\n")
    assert "say with -np" in error(main)
    main.write_text("")
    assert "lists no files" in error(main)


def test_ranks_that_wait_for_ever_are_told(tmp_path: Path):
    with pytest.raises(DeadlockError):
        finish_s(written(tmp_path, ["recv 1 1 5"], []))


def test_the_command_tells_dates_and_wants_a_machine(tmp_path: Path):
    main = written(tmp_path, ["compute 1e9"], ["compute 2e9"])
    told = CliRunner().invoke(command, [str(main), "--platform", str(tmp_path / "platform.xml"), "--json", "-"])
    assert json.loads(told.stdout)["finish_s"] == pytest.approx([1, 2])
    refused = CliRunner().invoke(command, [str(main)])
    assert refused.exit_code == 2
    assert "say --platform" in refused.stderr


def test_the_command_calls_no_program_a_trace(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text("import numpy\n")
    told = CliRunner().invoke(command, [str(program)]).stderr
    assert "lists 'import numpy', which is no file" in told
    assert "time-independent" not in told
