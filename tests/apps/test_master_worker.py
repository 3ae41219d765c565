"""Master and workers find what a loop finds, on any number of ranks, and share uneven work more evenly than a split."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / "apps" / "master_worker.py"
TIME = re.compile(r"^time: (\S+) s$", re.MULTILINE)

CLUSTER = """
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1.25GBps" lat="1us"/></platform>
"""
UNEVEN = """
<platform version="4.1"><zone id="world" routing="Full">
<host id="h0" speed="1Gf"/><host id="h1" speed="0.25Gf"/><host id="h2" speed="1Gf"/>
<link id="wire" bandwidth="1GBps" latency="1us"/>
<route src="h0" dst="h1"><link_ctn id="wire"/></route>
<route src="h0" dst="h2"><link_ctn id="wire"/></route>
<route src="h1" dst="h2"><link_ctn id="wire"/></route></zone></platform>
"""
COSTLY = """
import sys
sys.path.insert(0, {folder!r})
import master_worker
import smpy

def longest_chain(first, end):
    smpy.execute(1e6 * (end - first))
    return end - first, -first

master_worker.longest_chain = longest_chain
master_worker.main()
"""


def longest(limit: int) -> tuple[int, int]:
    """The start and the terms of the longest chain, a number at a time; the smallest start of equals."""
    best = (0, 0)
    for start in range(1, limit + 1):
        n, n_terms = start, 1
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            n_terms += 1
        best = max(best, (n_terms, -start))
    return -best[1], best[0]


def flags(limit: int, n_tasks: int, *others: str) -> tuple[str, ...]:
    return ("--limit", str(limit), "--tasks", str(n_tasks), *others)


def tasks_by_rank(printed: str) -> list[int]:
    return [int(word) for word in printed.splitlines()[1].removeprefix("tasks by rank: ").split()]


@pytest.mark.parametrize("way", [(), ("--static",)], ids=["asked-for", "static"])
@pytest.mark.parametrize("n_ranks", [1, 2, 7, 30])
@pytest.mark.parametrize(("limit", "n_tasks"), [(1000, 12), (1, 5), (19, 19)])
def test_the_answer_is_that_of_a_loop_on_any_number_of_ranks(
    emulated: Callable[..., Any], limit: int, n_tasks: int, n_ranks: int, way: tuple[str, ...]
) -> None:
    ran = emulated(None, n_ranks, program=str(PROGRAM), args=flags(limit, n_tasks, *way))
    start, n_terms = longest(limit)
    assert ran.code == 0, ran.error + ran.err
    assert (
        ran.out.splitlines()[0] == f"master_worker: up to {limit}, start {start} has the longest chain, {n_terms} terms"
    )


def test_the_longest_chain_below_100000_is_the_known_one(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 9, program=str(PROGRAM), args=flags(100000, 20))
    assert "start 77031 has the longest chain, 351 terms" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [(), pytest.param(("--static",), marks=pytest.mark.campaign)], ids=["asked-for", "static"]
)
def test_1024_ranks_find_the_longest_chain_below_a_million(emulated: Callable[..., Any], way: tuple[str, ...]) -> None:
    ran = emulated(None, 1024, program=str(PROGRAM), args=("--tasks", "2000", *way))
    assert "start 837799 has the longest chain, 525 terms" in ran.out, ran.error


@pytest.mark.parametrize(("n_ranks", "n_tasks"), [(1, 6), (2, 6), (5, 6), (12, 6)])
def test_each_task_is_done_once_and_by_a_worker(emulated: Callable[..., Any], n_ranks: int, n_tasks: int) -> None:
    by_rank = tasks_by_rank(emulated(None, n_ranks, program=str(PROGRAM), args=flags(600, n_tasks)).out)
    assert len(by_rank) == n_ranks
    assert sum(by_rank) == n_tasks
    assert by_rank[0] == (n_tasks if n_ranks == 1 else 0)


def test_a_message_for_each_request_and_each_reply(emulated: Callable[..., Any]) -> None:
    few, many = (emulated(None, 5, program=str(PROGRAM), args=flags(400, n)).outcome.summary for n in (5, 20))
    assert many.messages - few.messages == 2 * 15


def test_a_real_mpiexec_finds_the_same(emulated: Callable[..., Any], mpiexec: Callable[..., str]) -> None:
    real = mpiexec(4, str(PROGRAM), *flags(20000, 30))
    ran = emulated(None, 6, program=str(PROGRAM), args=flags(20000, 30))
    assert real.splitlines()[0] == ran.out.splitlines()[0]
    assert sum(tasks_by_rank(real)) == sum(tasks_by_rank(ran.out)) == 30


def test_tasks_that_are_asked_for_balance_the_load_better_than_a_split(
    emulated: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER)
    source = COSTLY.format(folder=str(PROGRAM.parent))
    n_ranks, n_tasks = 9, 32
    limit = n_tasks**2  # task k has 2 k + 1 starts, of 1 ms each
    asked, split = (
        emulated(source, n_ranks, args=flags(limit, n_tasks, *way), platform=path) for way in ((), ("--static",))
    )
    asked_s, split_s = (float(TIME.search(ran.out).group(1)) for ran in (asked, split))
    last_share = range((n_ranks - 1) * n_tasks // n_ranks, n_tasks)
    assert split_s == pytest.approx(sum(2 * k + 1 for k in last_share) * 1e-3, abs=1e-4)
    ideal_s = limit * 1e-3 / (n_ranks - 1)
    assert ideal_s <= asked_s < 1.1 * ideal_s
    assert asked_s < 0.7 * split_s


def test_a_slow_worker_is_given_less(emulated: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "uneven.xml"
    path.write_text(UNEVEN)
    ran = emulated(COSTLY.format(folder=str(PROGRAM.parent)), 3, args=flags(64**2, 64), platform=path)
    _, by_slow, by_fast = tasks_by_rank(ran.out)
    assert 2 * by_slow < by_fast
    together_s = 64**2 * 1e-3 / (0.25 + 1)
    assert float(TIME.search(ran.out).group(1)) == pytest.approx(together_s, rel=0.05)
