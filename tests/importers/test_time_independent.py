"""A time-independent trace that is imported is replayed as the files themselves are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.importers import time_independent_files
from smpy.importers.time_independent_files import read_main_file
from smpy.records.trace import Trace
from smpy.replay import replay
from smpy.replay.time_independent import replay_time_independent
from tests.importers.import_mutations import FEW, MANY, check_mutated
from tests.peer.test_time_independent import COLLECTIVES, TWO_RANKS

FLAT = "flat hosts=16 cores=1 speed=1Gf latency=10us nic=1GB/s"


def written(folder: Path, *lines_of_rank: Sequence[str]) -> Path:
    """A trace with a file a rank; each begins with init."""
    for rank, lines in enumerate(lines_of_rank):
        (folder / f"rank{rank}").write_text("".join(f"{rank} {line}\n" for line in ("init", *lines, "finalize")))
    (folder / "main").write_text("".join(f"rank{rank}\n" for rank in range(len(lines_of_rank))))
    return folder / "main"


def check_same(path: Path, platform: str = FLAT) -> Trace:
    trace = smpy.import_trace(path, path.parent / "trace")
    direct = replay_time_independent(read_main_file(path), platform)
    imported = replay(trace, platform=platform)
    assert imported.finish_s == pytest.approx(direct.finish_s, rel=1e-9)
    assert imported.computing_s == pytest.approx(direct.computing_s, rel=1e-12)
    assert (imported.messages, imported.bytes) == (direct.messages, direct.bytes)
    return trace


@pytest.mark.parametrize("n", [4, 7])
def test_collectives_of_each_kind_end_as_in_a_replay_of_the_files(tmp_path: Path, n: int):
    lines: list[list[str]] = [[] for _ in range(n)]
    for rank in range(n):
        for name, line_of in COLLECTIVES.items():
            if not name.startswith("allgatherv"):
                lines[rank] += [f"compute {1e6 * (rank * 7 % n)}", line_of(rank, n, 1000)]
    check_same(written(tmp_path, *lines))


@pytest.mark.parametrize("name", [name for name in TWO_RANKS if "test" not in name and name != "unknown size"])
def test_messages_of_each_kind_end_as_in_a_replay_of_the_files(tmp_path: Path, name: str):
    check_same(written(tmp_path, *TWO_RANKS[name]))


def test_a_program_that_tests_says_so(tmp_path: Path):
    trace = smpy.import_trace(written(tmp_path, *TWO_RANKS["tests"]), tmp_path / "trace")
    assert replay(trace, platform=FLAT).depends_on_time
    assert trace.info["trace"]["n_polls"] == 4
    plain = smpy.import_trace(written(tmp_path, *TWO_RANKS["send"]), tmp_path / "trace")
    assert not replay(plain, platform=FLAT).depends_on_time


def test_sites_are_calls_with_the_lines_that_the_trace_locates(tmp_path: Path):
    path = written(tmp_path, ["location a.c 7", "send 1 3 10", "compute 5", "barrier"], ["recv 0 3 10", "barrier"])
    trace = smpy.import_trace(path, tmp_path / "trace", platform=FLAT)
    assert set(trace.labels) == {"", "Send a.c:7", "Barrier a.c:7", "Recv", "Barrier"}
    assert not trace.has_dates
    replay(trace, to=tmp_path / "dated")
    assert Trace(tmp_path / "dated").table("messages")["bytes"].to_pylist()[0] == 10


def test_ranks_of_one_file_are_told_by_an_option(tmp_path: Path):
    written(tmp_path, ["send 1 3 10"], ["recv 0 3 10"])
    (tmp_path / "all").write_text("".join((tmp_path / f"rank{rank}").read_text() for rank in (0, 1)))
    (tmp_path / "main").write_text("all\n")
    ran = CliRunner().invoke(main, ["import", str(tmp_path / "main"), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert "say with -np how many there are" in ran.output
    ran = CliRunner().invoke(main, ["import", str(tmp_path / "main"), "-o", str(tmp_path / "trace"), "-np", "2"])
    assert ran.exit_code == 0, ran.output
    assert Trace(tmp_path / "trace").n_ranks == 2


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["send 1 3 10"], "rank0, line 2: rank 0 sends 1 message that nobody receives: to rank 1 with tag 3"),
        (["isend 1 3 10", "wait 0 1 3"], "rank0, line 2: rank 0 sends 1 message that nobody receives: to rank 1"),
        (["recv 1 3 10"], "rank0, line 2: rank 0 receives 1 message that nobody sends: from rank 1 with tag 3"),
        (["irecv 1 3 10", "wait 1 0 3"], "rank0, line 2: rank 0 receives 1 message that nobody sends: from rank 1"),
        (["recv 1 -444 10"], "rank0, line 2: rank 0 receives 1 message that nobody sends: from rank 1"),
        (["barrier"], "rank0, line 2: rank 0 performs barrier, and rank 1 does not"),
        (["send 2 3 10"], "rank0, line 2: send with destination 2: there are ranks 0 to 1"),
        (["send 1 2147483648 10"], "rank0, line 2: send: 2147483648 is no tag"),
        (["compute 1e400"], "rank0, line 2: compute: '1e400' is no number of flop"),
        (["sleep -1"], "rank0, line 2: sleep: '-1' is no number of seconds"),
        (["\0"], "rank0, line 2: this is no text"),
        (["x\udcff"], "rank0, line 2: 'x\\udcff' is no action"),
        (["isend 1 3"], "rank0, line 2: isend does not say its number of entries"),
        ([f"compute 1\n{'9' * 5000} compute 1"], f"rank0, line 3: '{'9' * 200}' is no rank: a line is RANK ACTION"),
    ],
)
def test_wrong_lines_are_refused_by_file_and_line_and_leave_no_folder(tmp_path: Path, lines: list[str], said: str):
    path = written(tmp_path, [], [])
    (tmp_path / "rank0").write_bytes(
        "".join(f"0 {line}\n" for line in ("init", *lines)).encode("utf-8", "surrogateescape")
    )
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace"), "--from", "ti"])
    assert ran.exit_code == 2
    assert said in ran.output
    assert len(ran.output.strip().splitlines()) == 1
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("lines_of_rank", "said"),
    [
        ((["send 1 2 8"] * 3, ["recv 0 2 8"] * 2), "rank0, line 4: rank 0 sends 1 message that nobody receives"),
        ((["recv 1 2 8"] * 3, ["send 0 2 8"]), "rank0, line 4: rank 0 receives 2 messages that nobody sends"),
        ((["send 1 2 8", "send 1 2 8"], ["recv 0 3 8", "recv 0 -444 8"]), "rank0, line 3: rank 0 sends 1 message that"),
        ((["send 1 2 8", "send 1 4 8"], ["recv 0 -444 8"]), "rank0, line 2: rank 0 sends 1 message that nobody"),
        (
            (["bcast 8 1"], ["bcast 8 0"]),
            "rank1, line 2: rank 1 performs bcast with root 0 where rank 0 performs bcast",
        ),
        (
            (["barrier", "compute 1", "barrier"], ["barrier", "allreduce 1 1"]),
            "rank1, line 3: rank 1 performs allreduce",
        ),
        ((["barrier"], ["barrier"] * 3), "rank1, line 3: rank 1 performs barrier, and rank 0 does not"),
    ],
)
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_message_or_a_collective_without_its_other_side_is_refused_by_file_and_line(
    tmp_path: Path, lines_of_rank: Sequence[Sequence[str]], said: str, *, is_shared: bool
):
    path = written(tmp_path, *lines_of_rank)
    if is_shared:
        first, second = (tmp_path / f"rank{rank}" for rank in (0, 1))
        first.write_text(first.read_text() + second.read_text())
        path.write_text("rank0\n")
        n_before = len(lines_of_rank[0]) + 2
        said = re.sub(r"^rank1, line (\d+)", lambda place: f"rank0, line {int(place[1]) + n_before}", said)
    with pytest.raises(UsageError, match=re.escape(said)):
        smpy.import_trace(path, tmp_path / "trace", n_ranks=2)
    assert not (tmp_path / "trace").exists()


def test_what_is_open_may_end_in_another_piece_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(time_independent_files, "_PIECE_MAX_BYTES", 64)
    monkeypatch.setattr(time_independent_files, "_PIECE_MIN_BYTES", 64)
    sends = [f"isend 1 {tag % 3} 8" for tag in range(50)]
    receives = [f"irecv 0 {-444 if tag % 5 == 0 else tag % 3} 8" for tag in range(50)]
    collectives = ["barrier", "bcast 8 1", "gather 1 1 0"] * 10
    path = written(tmp_path, [*collectives, *sends, "waitall"], [*receives, "waitall", *collectives])
    assert smpy.import_trace(path, tmp_path / "trace").info["messages"] == 50


def test_a_file_of_a_rank_that_is_missing_is_named(tmp_path: Path):
    path = written(tmp_path, [], [])
    (tmp_path / "rank1").unlink()
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace")])
    assert ran.exit_code == 2
    assert "lists 'rank1', which is no file here" in ran.output


def test_a_machine_scales_nothing_that_is_in_operations(tmp_path: Path):
    path = written(tmp_path, ["compute 1e9"])
    ran = CliRunner().invoke(main, ["import", str(path), "-o", str(tmp_path / "trace"), "--host-speed", "1Gf"])
    assert ran.exit_code == 2
    assert "has operations (flop): leave out --host-speed" in ran.output


def check_mutation(folder: Path, seed: int) -> None:
    lines = [TWO_RANKS["waitall"][rank] + ["allreduce 10 1e3 0", "alltoallv 2 1 1 2 1 1 6 6"] for rank in (0, 1)]
    path = written(folder, *lines)
    check_mutated([path, folder / "rank0", folder / "rank1"], path, folder / "trace", seed, "ti")


@pytest.mark.parametrize("seed", FEW)
def test_mutated_files_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", MANY)
def test_many_mutated_files_end_with_a_trace_or_a_sentence(tmp_path: Path, seed: int):
    check_mutation(tmp_path, seed)
