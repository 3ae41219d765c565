"""Messages under LogGOPS take what its closed forms say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.running import current
from smpy.mpi import MPI
from smpy.platforms import default_cluster
from smpy.platforms.models.loggp import LogGP
from tests.mpi.conftest import World, run_world

NS = 1e-9
L, O_CPU, GAP = 2500 * NS, 1500 * NS, 4000 * NS
FIXED = LogGP(
    latency_s=L,
    overhead_s=O_CPU,
    gap_s=GAP,
    gap_s_per_byte=6 * NS,
    overhead_s_per_byte=0.0,
    eager_bytes=65535.0,
)


def run(n_ranks: int, rank_main: Callable[[int], Any], **changes: float) -> World:
    """Run the ranks, each on a host of its own as far as the model goes, under changed numbers."""
    models = replace(default_cluster(n_ranks).models, network=replace(FIXED, **changes))  # type: ignore[arg-type]
    return run_world(n_ranks, rank_main, models=models)


def send(dest: int, n_bytes: int = 1) -> None:
    MPI.COMM_WORLD.Send(np.zeros(n_bytes, "u1"), dest)


def recv(source: int, n_bytes: int = 1) -> None:
    MPI.COMM_WORLD.Recv(np.zeros(n_bytes, "u1"), source)


def sleep(seconds: float) -> None:
    current().sleep(seconds)


def close(seconds: float) -> Any:
    return pytest.approx(seconds, rel=1e-9)


@settings(max_examples=25)
@given(
    n=st.integers(1, 20_000),
    o_ns=st.integers(10, 5000),
    latency_ns=st.integers(0, 5000),
    byte_ns=st.integers(0, 9),
    cpu_byte_ns=st.integers(0, 9),
)
def test_a_message_that_is_waited_for_takes_two_overheads_the_latency_and_its_bytes(
    n: int, o_ns: int, latency_ns: int, byte_ns: int, cpu_byte_ns: int
) -> None:
    def main(rank: int) -> None:
        for turn in range(3):
            if rank == turn % 2:
                send(1 - rank, n)
            else:
                recv(1 - rank, n)

    finish_s = run(
        2,
        main,
        overhead_s=o_ns * NS,
        latency_s=latency_ns * NS,
        gap_s=0.0,
        gap_s_per_byte=byte_ns * NS,
        overhead_s_per_byte=cpu_byte_ns * NS,
    ).finish_s
    assert finish_s[1] == close(3 * (2 * o_ns + latency_ns + (n - 1) * max(byte_ns, cpu_byte_ns)) * NS)


@pytest.mark.parametrize(("gap_s", "overhead_s"), [(4000 * NS, 1500 * NS), (1000 * NS, 1500 * NS)])
def test_sends_in_a_row_leave_a_gap_or_an_overhead_apart(gap_s: float, overhead_s: float) -> None:
    n = 9

    def main(rank: int) -> None:
        for _ in range(n):
            send(1) if rank == 0 else recv(0)

    finish_s = run(2, main, gap_s=gap_s, overhead_s=overhead_s).finish_s
    apart_s = max(gap_s, overhead_s)
    assert finish_s[0] == close((n - 1) * apart_s + overhead_s)
    assert finish_s[1] == close((n - 1) * apart_s + 2 * overhead_s + L)


def test_an_interface_is_busy_for_the_bytes_of_a_message() -> None:
    n, n_bytes = 5, 10_000

    def main(rank: int) -> None:
        for _ in range(n):
            send(1, n_bytes) if rank == 0 else recv(0, n_bytes)

    finish_s = run(2, main).finish_s
    busy_s = GAP + (n_bytes - 1) * 6 * NS
    assert finish_s[0] == close((n - 1) * busy_s + O_CPU)
    assert finish_s[1] == close((n - 1) * busy_s + 2 * O_CPU + L + (n_bytes - 1) * 6 * NS)


def test_a_send_above_s_waits_for_its_receive_and_one_of_s_does_not() -> None:
    def main(rank: int, n_bytes: int) -> None:
        if rank == 0:
            send(1, n_bytes)
        else:
            sleep(1e-3)
            recv(0, n_bytes)

    eager = run(2, lambda rank: main(rank, 1000), eager_bytes=1000.0).finish_s
    assert eager[0] == close(O_CPU)
    waits = run(2, lambda rank: main(rank, 1001), eager_bytes=1000.0).finish_s
    assert waits[0] == close(1e-3)
    assert waits[1] == close(1e-3 + O_CPU + 1000 * 6 * NS)


def test_a_message_that_arrives_while_its_receiver_is_busy_is_taken_when_that_waits() -> None:
    def main(rank: int) -> None:
        if rank == 0:
            send(1)
        else:
            sleep(1e-3)
            recv(0)

    assert run(2, main).finish_s[1] == close(1e-3 + O_CPU)


def test_a_wait_for_another_message_hides_the_overhead_of_one() -> None:
    def main(rank: int) -> None:
        if rank == 0:
            send(2)
        elif rank == 1:
            sleep(1e-3)
            send(2)
        else:
            recv(1)
            recv(0)

    assert run(3, main).finish_s[2] == close(1e-3 + 2 * O_CPU + L)


def test_messages_that_arrive_at_once_are_taken_one_after_the_other() -> None:
    n = 6

    def main(rank: int) -> None:
        if rank:
            send(0)
        else:
            MPI.Request.Waitall([MPI.COMM_WORLD.Irecv(np.zeros(1, "u1"), each) for each in range(1, n + 1)])

    finish_s = run(n + 1, main, gap_s=0.0).finish_s
    assert finish_s[0] == close(O_CPU + L + n * O_CPU)


def test_a_rank_that_polls_takes_messages() -> None:
    def main(rank: int) -> None:
        if rank == 0:
            send(1)
        else:
            request = MPI.COMM_WORLD.Irecv(np.zeros(1, "u1"), 0)
            while not request.Test():
                pass

    finish_s = run(2, main).finish_s
    assert 2 * O_CPU + L <= finish_s[1] <= 2 * O_CPU + L + 2e-6


def test_a_collective_is_its_messages() -> None:
    finish_s = run(2, lambda rank: MPI.COMM_WORLD.Bcast(np.zeros(500, "u1"), 0)).finish_s
    assert finish_s == [close(O_CPU), close(2 * O_CPU + L + 499 * 6 * NS)]


def test_an_access_to_a_window_needs_no_cpu_of_its_target() -> None:
    def main(rank: int) -> None:
        window = MPI.Win.Create(np.zeros(1000, "u1"), comm=MPI.COMM_WORLD)
        window.Fence()
        if rank == 0:
            window.Put(np.ones(1000, "u1"), 1)
        window.Fence()
        window.Free()

    assert run(2, main).finish_s[1] > 999 * 6 * NS
