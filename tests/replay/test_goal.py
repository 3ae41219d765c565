"""Programs in GOAL: closed forms, concurrent operations, networks, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smpy.cli.replay import command
from smpy.errors import DeadlockError, UsageError
from smpy.replay.goal import replay_goal
from smpy.replay.goal_file import read_goal

NETWORK = "loggp:L=2500ns,o=1500ns,g=1000ns,G=6ns,O=0s,S=65535B"
PING_PONG = """
num_ranks 2
rank 0 { // begins
  l1: calc 1000
  l2: send 1000b to 1 tag 7 cpu 0 nic 0
  l3: recv 1000b from 1 tag 7
  l2 requires l1  l3 requires l2
}
/* the other
   one */
rank 1 {
  a: recv 1000b from 0 tag 7
  b: send 1000b to 0 tag 7
  b requires a
}
"""


@pytest.fixture
def goal(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "x.goal"
        path.write_text(text)
        return path

    return write


def ns(seconds: Any) -> Any:
    return [round(1e9 * each, 6) for each in seconds]


def test_a_ping_pong_takes_its_closed_form(goal: Callable[[str], Path]) -> None:
    result = replay_goal(goal(PING_PONG), network=NETWORK)
    assert ns(result.finish_s) == [1000 + 2 * (2 * 1500 + 2500 + 999 * 6), 1000 + 2 * 1500 + 2500 + 999 * 6 + 1500]
    assert (result.messages, result.bytes) == (2, 2000)
    assert ns(result.computing_s) == [1000, 0]


def test_operations_that_require_nothing_share_the_cpu_of_their_rank(goal: Callable[[str], Path]) -> None:
    text = "num_ranks 1\nrank 0 { a: calc 1000 b: calc 2000 c: calc 500 c requires a }"
    assert ns(replay_goal(goal(text), network=NETWORK).finish_s) == [3500]


def test_what_waits_for_a_message_holds_up_nothing_that_is_concurrent(goal: Callable[[str], Path]) -> None:
    text = """num_ranks 2
    rank 0 { a: calc 100000 b: send 1b to 1 b requires a }
    rank 1 { a: recv 1b from 0 b: calc 1000 b requires a c: calc 50000 d: calc 7 d requires b d requires c }"""
    arrives = 100000 + 1500 + 2500 + 1500
    assert ns(replay_goal(goal(text), network=NETWORK).finish_s) == [101500, arrives + 1007]


def test_irequires_waits_for_the_start_alone(goal: Callable[[str], Path]) -> None:
    text = """num_ranks 2
    rank 0 { a: calc 100000 b: send 1b to 1 b requires a }
    rank 1 { a: recv 1b from 0 b: calc 1000 b %s a }"""
    assert ns(replay_goal(goal(text % "irequires"), network=NETWORK).finish_s)[1] == 100000 + 2 * 1500 + 2500
    assert ns(replay_goal(goal(text % "requires"), network=NETWORK).finish_s)[1] == 100000 + 2 * 1500 + 2500 + 1000


def test_a_receive_may_take_any_message(goal: Callable[[str], Path]) -> None:
    text = """num_ranks 3
    rank 0 { a: recv 1b from -1 tag -1 b: recv 1b from -1 tag 5 b requires a }
    rank 1 { a: send 1b to 0 tag 4 }
    rank 2 { a: calc 90000 b: send 1b to 0 tag 5 b requires a }"""
    result = replay_goal(goal(text), network=NETWORK)
    assert ns(result.finish_s)[0] == 90000 + 2 * 1500 + 2500
    assert result.depends_on_time


LOST = """num_ranks 3
rank 0 { a: send 8b to 1 tag 1
  b: send 8b to 1 tag 1
  c: send 8b to 1 tag 1 b requires a c requires b }
rank 1 { a: recv 8b from 0 tag 1 }
rank 2 { calc 1
  send 9b to 1 tag 4 }
"""


def test_messages_that_nobody_receives_are_told_with_rank_and_line(goal: Callable[[str], Path]) -> None:
    path = str(goal(LOST))
    told = CliRunner().invoke(command, [path, "--network", NETWORK, "--json", "-"])
    assert told.exit_code == 0, told.output
    record = json.loads(told.stdout)
    assert record["n_unreceived"] == 3
    assert [(one["rank"], one["tag"], one["line"]) for one in record["unreceived"]] == [(0, 1, 3), (0, 1, 4), (2, 4, 7)]
    text = CliRunner().invoke(command, [path, "--network", NETWORK]).output
    assert "lost messages  3 messages that nobody received" in text
    assert "rank 2: send to rank 1, tag 4   x.goal:7" in text
    assert "lost" not in CliRunner().invoke(command, [str(goal(PING_PONG)), "--network", NETWORK]).output


def test_a_send_above_the_eager_limit_that_nobody_receives_is_a_deadlock_with_its_line(
    goal: Callable[[str], Path],
) -> None:
    with pytest.raises(DeadlockError, match=r"(?s)x\.goal: at .*\n  line 7: rank 2 sends to rank 1$"):
        replay_goal(goal(LOST), network=NETWORK.replace("65535", "8"))


def test_a_program_runs_on_other_networks(goal: Callable[[str], Path]) -> None:
    dimemas = "dimemas:latency=10us,bandwidth=100MB/s,eager=64KiB"
    assert ns(replay_goal(goal(PING_PONG), network=dimemas).finish_s)[0] == 1000 + 2 * (10_000 + 10_000)
    machine = "flat hosts=2 cores=1 nic=8Gb/s latency=1us"
    assert replay_goal(goal(PING_PONG), machine).makespan_s > 1e-6 + 2 * 2e-6


def test_a_number_may_begin_with_many_zeros(goal: Callable[[str], Path]) -> None:
    zeros = "0" * 30
    assert ns(replay_goal(goal(f"num_ranks {zeros}1\nrank {zeros} {{\ncalc {zeros}500\n}}")).finish_s) == [500]


def test_the_command_performs_a_file_whose_name_ends_in_goal(goal: Callable[[str], Path]) -> None:
    path = str(goal(PING_PONG))
    told = CliRunner().invoke(command, [path, "--network", NETWORK, "--json", "-"])
    assert told.exit_code == 0, told.output
    record = json.loads(told.output)
    assert record["ranks"] == 2
    assert ns([record["makespan_s"]]) == [23988]
    about = CliRunner().invoke(command, [path, "--network", "loggp:o=1us"]).output
    assert "network        L, G from the links from node-0 to node-1; O, S from" in about
    assert "has 2" in CliRunner().invoke(command, [path, "-np", "3"]).output
    for option in ("--algorithm=bcast=NTSL", "--collectives=smpi-ompi"):
        assert "no collectives" in CliRunner().invoke(command, [path, option]).output


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("rank 0 { }", 1, "it does not begin with `num_ranks`"),
        ("num_ranks 0", 1, "num_ranks is 0"),
        ("num_ranks 2\nrank 0 { }\n", 3, "it ends behind rank 0, and num_ranks is 2"),
        ("num_ranks 2\nrank 1 { }", 2, "it is of rank 1, and rank 0 comes next"),
        ("num_ranks 1\nrank 0 { }\nrank 1 { }", 3, "it is of rank 1, and num_ranks is 1"),
        ("num_ranks 1\nrank 0 {\ncalc 5\n", 4, "the file ends within rank 0"),
        ("num_ranks 1\nrank 0 {\na: calc 5\n\na: calc 6\n}", 5, "the label a is there twice: it is in line 3"),
        ("num_ranks 1\nrank 0 {\nabc: calc 5\nb: calc 6\nb requires abd\n}", 5, "no label abd: did you mean 'abc'"),
        ("num_ranks 1\nrank 0 {\na: calc 5\nb: calc 6\nb requires a\na irequires b\n}", 3, "a cycle of requirements"),
        ("num_ranks 1\nrank 0 {\na: calc 5\na requires a\n}", 3, "a cycle of requirements"),
        ("num_ranks 2\nrank 0 {\nsend 1b to 2 tag 0\n}\nrank 1 { }", 3, "to rank 2: there are ranks 0 to 1"),
        ("num_ranks 2\nrank 0 {\nsend 1b to -1\n}\nrank 1 { }", 3, "to rank -1: there are ranks 0 to 1"),
        ("num_ranks 2\nrank 0 {\nrecv 1b from 1 tag 3\n}\nrank 1 { send 1b to 0 tag 4 }", 3, "rank 0 receives more"),
        ("num_ranks 2\nrank 0 {\n\nrecv 1b from -1\n}\nrank 1 { }", 4, "receives more from any rank"),
        ("num_ranks 1\nrank 0 {\ncalc 1.5\n}", 3, "no statement"),
        ("num_ranks 1\nrank 0 {\ncalc 5 cpu 1\n}", 3, "cpu 1: a rank has one CPU"),
        ("num_ranks 1\nrank 0 {\ncalc 99999999999999999999\n}", 3, "is too large"),
        ("num_ranks 2\nrank 0 {\nsend 1b from 1\n}\nrank 1 { }", 3, "send ... from: it is `send Nb to R`"),
    ],
)
def test_a_file_that_is_no_program_is_refused_with_its_line(
    goal: Callable[[str], Path], text: str, line: int, message: str
) -> None:
    with pytest.raises(UsageError) as told:
        read_goal(goal(text))
    assert f"x.goal, line {line}: " in str(told.value)
    assert message in str(told.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read GOAL file"):
        read_goal(tmp_path / "none.goal")
    (tmp_path / "x.goal").write_bytes(b"\xff\xfe\0")
    with pytest.raises(UsageError, match="this is no text"):
        read_goal(tmp_path / "x.goal")
