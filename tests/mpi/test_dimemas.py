"""Messages under Dimemas' network take what one works out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.mpi import MPI
from smpy.platforms import read_machine
from smpy.platforms.models.dimemas import Dimemas
from tests.mpi.conftest import World, run_world

LATENCY_S, BANDWIDTH = 10e-6, 1e8
N = 1000
TRAVELS_S = N / BANDWIDTH
FIXED = Dimemas(
    latency_s=LATENCY_S,
    bandwidth_bytes_per_s=BANDWIDTH,
    local_latency_s=1e-6,
    local_bandwidth_bytes_per_s=1e9,
    eager_bytes=65536.0,
)


def run(n_ranks: int, rank_main: Callable[[int], Any], cores: int = 1, **changes: Any) -> World:
    """Run the ranks, each on a host of its own unless hosts have more cores."""
    machine = read_machine(f"flat hosts={n_ranks} cores={cores}", n_ranks)
    machine = replace(machine, models=replace(machine.models, network=replace(FIXED, **changes)))
    return run_world(n_ranks, rank_main, machine=machine)


def send(dest: int, n_bytes: int = N) -> None:
    MPI.COMM_WORLD.Send(np.zeros(n_bytes, "u1"), dest)


def recv(source: int, n_bytes: int = N) -> None:
    MPI.COMM_WORLD.Recv(np.zeros(n_bytes, "u1"), source)


def sleep(seconds: float) -> None:
    current().sleep(seconds)


def close(seconds: float) -> Any:
    return pytest.approx(seconds, rel=1e-9)


def in_pairs(rank: int) -> None:
    """Each even rank sends to the next one."""
    recv(rank - 1) if rank % 2 else send(rank + 1)


def test_an_eager_send_costs_the_latency_and_its_message_the_bytes_after_it() -> None:
    finish_s = run(2, in_pairs).finish_s
    assert finish_s == [close(LATENCY_S), close(LATENCY_S + TRAVELS_S)]


def test_a_message_travels_before_it_is_received() -> None:
    def main(rank: int) -> None:
        if rank == 0:
            send(1)
        else:
            sleep(1e-3)
            recv(0)

    assert run(2, main).finish_s[1] == close(1e-3)


def test_a_long_send_waits_for_its_receive_and_then_travels() -> None:
    def main(rank: int) -> None:
        if rank == 0:
            send(1)
        else:
            sleep(1e-3)
            recv(0)

    assert run(2, main, eager_bytes=999.0).finish_s == [close(1e-3 + TRAVELS_S)] * 2


@pytest.mark.parametrize(("buses", "rounds"), [(0, [1, 1, 1, 1, 1]), (2, [1, 1, 2, 2, 3]), (1, [1, 2, 3, 4, 5])])
def test_buses_limit_the_messages_that_travel_at_once(buses: int, rounds: list[int]) -> None:
    finish_s = run(10, in_pairs, buses=buses).finish_s
    assert sorted(finish_s[1::2]) == [close(LATENCY_S + n * TRAVELS_S) for n in rounds]


@pytest.mark.parametrize(("input_links", "rounds"), [(1, [1, 2, 3, 4]), (2, [1, 1, 2, 2]), (4, [1, 1, 1, 1])])
def test_input_links_limit_what_a_host_receives_at_once(input_links: int, rounds: list[int]) -> None:
    def main(rank: int) -> float:
        if rank:
            send(0)
            return 0.0
        requests = [MPI.COMM_WORLD.Irecv(np.zeros(N, "u1"), source) for source in range(1, 5)]
        for _ in requests:
            MPI.Request.Waitany(requests)
            dates_s.append(MPI.Wtime())
        return 0.0

    dates_s: list[float] = []
    run(5, main, input_links=input_links)
    assert dates_s == [pytest.approx(LATENCY_S + n * TRAVELS_S, abs=1e-7) for n in rounds]


def test_output_links_limit_what_a_host_sends_at_once() -> None:
    def main(rank: int) -> None:
        if rank:
            recv(0)
        else:
            for dest in range(1, 5):
                MPI.COMM_WORLD.Isend(np.zeros(N, "u1"), dest)

    fast = {"latency_s": 1e-6}
    assert run(5, main, **fast).finish_s[1:] == [close(1e-6 + n * TRAVELS_S) for n in (1, 2, 3, 4)]
    free = run(5, main, **fast, input_links=0, output_links=0).finish_s[1:]
    assert free == [close(n * 1e-6 + TRAVELS_S) for n in (1, 2, 3, 4)]


def test_a_half_duplex_host_sends_or_receives() -> None:
    def main(rank: int) -> None:
        request = MPI.COMM_WORLD.Irecv(np.zeros(N, "u1"), 1 - rank)
        send(1 - rank)
        request.Wait()

    assert run(2, main).finish_s == [close(LATENCY_S + TRAVELS_S)] * 2
    assert max(run(2, main, output_links=0).finish_s) == close(LATENCY_S + 2 * TRAVELS_S)


def test_a_message_that_could_travel_is_not_held_up_by_an_older_one() -> None:
    def main(rank: int) -> None:
        if rank in (0, 1):
            send(2)
        elif rank == 3:
            sleep(1e-6)
            send(4)
        elif rank == 2:
            recv(0)
            recv(1)
        else:
            recv(3)

    finish_s = run(5, main, buses=2).finish_s
    assert finish_s[2] == close(LATENCY_S + 2 * TRAVELS_S)
    assert finish_s[4] == close(1e-6 + LATENCY_S + TRAVELS_S)


def test_messages_within_a_host_have_numbers_of_their_own() -> None:
    finish_s = run(4, in_pairs, cores=4).finish_s
    assert sorted(finish_s[1::2]) == [close(1e-6 + N / 1e9), close(1e-6 + 2 * N / 1e9)]
    wide = run(4, in_pairs, cores=4, local_input_links=0, local_output_links=0)
    assert wide.finish_s[1::2] == [close(1e-6 + N / 1e9)] * 2


def test_a_bandwidth_of_nothing_takes_no_time() -> None:
    assert run(2, in_pairs, bandwidth_bytes_per_s=0.0).finish_s[1] == close(LATENCY_S)


def test_a_collective_is_its_messages() -> None:
    finish_s = run(2, lambda rank: MPI.COMM_WORLD.Bcast(np.zeros(N, "u1"), 0)).finish_s
    assert finish_s[1] == close(LATENCY_S + TRAVELS_S)


def test_a_message_takes_the_latency_and_the_bandwidth_of_a_machine_file_of_dimemas(tmp_path: Path) -> None:
    (tmp_path / "m.cfg").write_text(
        "#DIMEMAS_CONFIGURATION\n"
        '"environment information" {"", 0, "", 2, 100.0, 0, 1};;\n'
        '"multi node information" {0, 2, "", 1, 1.0, 0.0, 0.0, 1, 1, 0, 5e-6, 1, 1, 0.0};;\n'
    )

    def main(rank: int) -> None:
        recv(0, 1 << 20) if rank else send(1, 1 << 20)

    assert run_world(2, main, machine=read_machine(tmp_path / "m.cfg", 2)).finish_s[1] == close(5e-6 + 0.01)
