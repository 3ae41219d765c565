"""The ring's sums are those of the closed form, and a hop takes one message however many ranks there are."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RING = Path(__file__).parents[2] / "apps" / "ring.py"
HOP = re.compile(r"^time: \S+ s, (\S+) us a hop$", re.MULTILINE)

LATENCY_S, BANDWIDTH_BYTES_PER_S, ENVELOPE_BYTES = 20e-6, 1.25e9, 16
CLUSTER = """
<platform version="4.1"><config id="General"><prop id="smpi/wtime" value="0"/></config>
<cluster id="c" prefix="n" suffix="" radical="0-63" speed="1Gf" bw="1.25GBps" lat="20us"/></platform>
"""
MISCOUNTED = """
import sys
sys.path.insert(0, {folder!r})
import ring

as_it_should = ring.pass_all

def miscounted(comm, token, rounds):
    token = as_it_should(comm, token, rounds)
    token[-1] += comm.rank == 2
    return token

ring.pass_all = miscounted
ring.main()
"""


def hop_s(printed: str) -> float:
    """The time a hop."""
    found = HOP.search(printed)
    assert found, printed
    return float(found.group(1)) * 1e-6


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER)
    return path


@pytest.mark.parametrize("tokens", ["one", "all"])
@pytest.mark.parametrize(("n_ranks", "length"), [(1, 20000), (2, 1), (7, 20000), (33, 5)])
def test_each_number_grows_by_the_sum_of_the_ranks(
    emulated: Callable[..., Any], n_ranks: int, length: int, tokens: str
) -> None:
    arguments = ("--rounds", "4", "--length", str(length), "--tokens", tokens)
    ran = emulated(None, n_ranks, program=str(RING), args=arguments)
    grown = 4 * sum(range(n_ranks))
    expected = f"{n_ranks} ranks, 4 rounds, tokens: {tokens}, {grown} added to each number, 0 numbers wrong"
    assert ran.code == 0, ran.error + ran.err
    assert ran.out.splitlines()[0] == f"ring: {expected}"


@pytest.mark.slow
@pytest.mark.parametrize("tokens", ["one", pytest.param("all", marks=pytest.mark.campaign)])
def test_1024_ranks_pass_it_on(emulated: Callable[..., Any], tokens: str) -> None:
    ran = emulated(None, 1024, program=str(RING), args=("--rounds", "1", "--tokens", tokens))
    assert f"{1024 * 1023 // 2} added to each number, 0 numbers wrong" in ran.out, ran.error


def test_one_wrong_number_on_one_rank_is_seen(emulated: Callable[..., Any]) -> None:
    ran = emulated(MISCOUNTED.format(folder=str(RING.parent)), 4, args=("--tokens", "all", "--length", "3"))
    assert ran.code == 1
    assert "18 added to each number, 1 numbers wrong" in ran.out


@pytest.mark.parametrize("tokens", ["one", "all"])
def test_a_real_mpiexec_prints_the_same(emulated: Callable[..., Any], mpiexec: Callable[..., str], tokens: str) -> None:
    arguments = ("--tokens", tokens, "--length", "20000")
    real = mpiexec(3, str(RING), *arguments)
    ran = emulated(None, 3, program=str(RING), args=arguments)
    assert real.splitlines()[0] == ran.out.splitlines()[0]
    assert len(real.splitlines()) == 2


@pytest.mark.parametrize("n_ranks", [2, 8, 64])
def test_a_hop_takes_one_message_so_that_a_round_grows_with_the_ranks(
    emulated: Callable[..., Any], cluster: Path, n_ranks: int
) -> None:
    n_rounds = 640 // n_ranks
    ran = emulated(None, n_ranks, program=str(RING), platform=cluster, args=("--rounds", str(n_rounds)))
    message_s = 2 * LATENCY_S * 2.01467 + (8 + ENVELOPE_BYTES) / (BANDWIDTH_BYTES_PER_S * 0.812084)
    assert hop_s(ran.out) == pytest.approx(message_s, rel=0.01)  # others may leave the barrier later than rank 0
    assert ran.outcome.summary.makespan_s > n_rounds * n_ranks * message_s


def test_tokens_of_all_ranks_take_hardly_longer_than_one(emulated: Callable[..., Any], cluster: Path) -> None:
    one, every = (
        emulated(None, 32, program=str(RING), platform=cluster, args=("--tokens", tokens)) for tokens in ("one", "all")
    )
    assert every.outcome.summary.messages - one.outcome.summary.messages == 3 * 32 * 31
    assert hop_s(every.out) == pytest.approx(hop_s(one.out), rel=0.05)
