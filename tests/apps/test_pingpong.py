"""Ping-pong returns its payload, and its simulated times are those of the model on paper."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

PINGPONG = Path(__file__).parents[2] / "apps" / "pingpong.py"

LATENCY_S, BANDWIDTH_BYTES_PER_S, ENVELOPE_BYTES = 50e-6, 125e6, 16
TWO_HOSTS = """
<platform version="4.1"><config id="General"><prop id="smpi/wtime" value="0"/>{}</config>
<zone id="world" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="ab" bandwidth="125MBps" latency="50us"/><route src="a" dst="b"><link_ctn id="ab"/></route></zone></platform>
"""
PLAIN = "".join(
    f'<prop id="{name}" value="{value}"/>'
    for name, value in {"smpi/lat-factor": 1, "smpi/bw-factor": 1, "network/crosstraffic": "no"}.items()
)

DAMAGED = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
import pingpong

def play_back(comm, size, repetitions):
    ball = np.zeros(size, np.uint8)
    for repetition in range(repetitions + 1):
        comm.Recv(ball, source=0)
        ball[size // 2] ^= repetition == 1
        comm.Send(ball, dest=0)

pingpong.play_back = play_back
pingpong.main()
"""


def table(printed: str) -> dict[int, tuple[float, float]]:
    """One-way seconds and bytes per second, by message size."""
    rows = [line.split() for line in printed.splitlines()[2:]]
    return {int(size): (float(one_way_us) * 1e-6, float(mb_per_s) * 1e6) for size, one_way_us, mb_per_s in rows}


@pytest.fixture
def two_hosts(emulated: Callable[..., Any], tmp_path: Path) -> Callable[..., dict[int, tuple[float, float]]]:
    """Plays between two hosts whose network has these options."""

    def played(options: str, *arguments: str) -> dict[int, tuple[float, float]]:
        path = tmp_path / "two.xml"
        path.write_text(TWO_HOSTS.format(options))
        ran = emulated(None, 2, program=str(PINGPONG), args=arguments, platform=path)
        assert ran.code == 0, ran.err
        return table(ran.out)

    return played


@pytest.mark.parametrize(("n_ranks", "peer"), [(2, 1), (8, 5)])
def test_every_byte_comes_back(emulated: Callable[..., Any], n_ranks: int, peer: int) -> None:
    ran = emulated(None, n_ranks, program=str(PINGPONG), args=("--peer", str(peer), "--repetitions", "2"))
    n_bytes = 2**23 - 1  # 1 + 2 + 4 + ... + 4 MiB
    expected = f"ranks 0 and {peer}, 23 sizes, 2 repetitions, {n_bytes} of {n_bytes} bytes came back as they were sent"
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[0] == f"pingpong: {expected}"
    assert list(table(ran.out)) == [2**k for k in range(23)]


def test_damage_on_the_way_is_seen(emulated: Callable[..., Any]) -> None:
    ran = emulated(DAMAGED.format(folder=str(PINGPONG.parent)), 2, args=("--sizes", "7", "100000"))
    assert ran.code == 1
    assert "100005 of 100007 bytes came back as they were sent" in ran.out
    assert "the payload was damaged" in ran.err


def test_a_real_mpiexec_prints_the_same_but_for_times(
    emulated: Callable[..., Any], mpiexec: Callable[..., str]
) -> None:
    arguments = ("--sizes", "1", "1000", "300000", "--peer", "2")
    real = mpiexec(3, str(PINGPONG), *arguments)
    ran = emulated(None, 3, program=str(PINGPONG), args=arguments)
    assert real.splitlines()[:2] == ran.out.splitlines()[:2]
    assert list(table(real)) == list(table(ran.out))


def test_a_message_takes_the_latency_and_its_bytes_at_the_bandwidth(
    two_hosts: Callable[..., dict[int, tuple[float, float]]],
) -> None:
    for size, (one_way_s, bytes_per_s) in two_hosts(PLAIN).items():
        expected_s = LATENCY_S + (size + ENVELOPE_BYTES) / BANDWIDTH_BYTES_PER_S
        assert one_way_s == pytest.approx(expected_s, abs=1e-9)  # three decimals of a microsecond are printed
        assert bytes_per_s == pytest.approx(size / expected_s, rel=1e-4, abs=1e3)


def test_larger_messages_take_longer_and_approach_the_bandwidth(
    two_hosts: Callable[..., dict[int, tuple[float, float]]],
) -> None:
    times_s, bandwidths = zip(*two_hosts(PLAIN, "--repetitions", "1").values(), strict=True)
    assert all(earlier < later for earlier, later in pairwise(times_s))
    assert all(earlier < later for earlier, later in pairwise(bandwidths))
    assert 0.99 * BANDWIDTH_BYTES_PER_S < bandwidths[-1] < BANDWIDTH_BYTES_PER_S


@pytest.mark.parametrize(
    ("size", "latency_factor", "bandwidth_factor"),
    [(1, 2.01467, 0.812084), (1000, 1.9503, 0.341987), (65536, 11.6436, 0.940694), (1000000, 11.6436, 0.940694)],
)
def test_the_default_model_has_factors_for_each_size(
    two_hosts: Callable[..., dict[int, tuple[float, float]]], size: int, latency_factor: float, bandwidth_factor: float
) -> None:
    shared = 1.05  # a flow also takes 5 % of the way back, which is the same link
    bytes_per_s = BANDWIDTH_BYTES_PER_S * bandwidth_factor / shared
    expected_s = LATENCY_S * latency_factor + (size + ENVELOPE_BYTES) / bytes_per_s
    assert two_hosts("", "--sizes", str(size))[size][0] == pytest.approx(expected_s, abs=1e-9)


@pytest.mark.slow
def test_1024_ranks_play_over_the_default_cluster(emulated: Callable[..., Any]) -> None:
    ran = emulated(None, 1024, program=str(PINGPONG), args=("--peer", "1023"))
    assert f"{2**23 - 1} of {2**23 - 1} bytes came back as they were sent" in ran.out


def test_ranks_that_wait_do_not_disturb(emulated: Callable[..., Any]) -> None:
    pair, crowd = (
        emulated(None, n_ranks, program=str(PINGPONG), args=("--sizes", "8", "8000", "800000")) for n_ranks in (2, 100)
    )
    there, alone = table(crowd.out), table(pair.out)
    assert there.keys() == alone.keys()
    for n_bytes, times in alone.items():  # messages of the others' barrier share the host's memory at the begin
        assert there[n_bytes] == pytest.approx(times, rel=0.005)
