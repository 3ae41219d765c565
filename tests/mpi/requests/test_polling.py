"""Polls that notice: programs see what they would see if they polled all the time, in a few polls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smpy
from smpy.mpi import MPI
from smpy.platforms import Models, Polling
from tests.mpi.conftest import run_world

POLL_S = 1e-6
NOTICING = Models(polling=Polling(test_s=POLL_S, iprobe_s=POLL_S, polls_notice=True))
EVERY_TIME = Models(polling=Polling(test_s=POLL_S, iprobe_s=POLL_S, polls_grow=False))
SPEED_FLOP_PER_S = 49.6e9
BETWEEN_POLLS_S = st.integers(0, 300).map(lambda n: (n + 0.37) * POLL_S)  # at a poll's very end both answers are right


def wait_by_iprobe(world: Any, source: int) -> int:
    n = 1
    while not world.Iprobe(source, 3):
        n += 1
    world.Recv(bytearray(8), source, 3)
    return n


def wait_by_test(world: Any, source: int) -> int:
    request, n = world.Irecv(bytearray(8), source, 3), 1
    while not request.Test():
        n += 1
    return n


def wait_by_testany(world: Any, source: int) -> int:
    requests, n = [world.Irecv(bytearray(1), world.rank, 9), world.Irecv(bytearray(8), source, 3)], 1
    while not MPI.Request.Testany(requests)[1]:
        n += 1
    requests[0].Cancel()
    requests[0].Wait()
    return n


def wait_by_improbe(world: Any, source: int) -> int:
    n = 1
    while (message := world.Improbe(source, 3)) is None:
        n += 1
    message.Recv(bytearray(8))
    return n


WAITS = [wait_by_iprobe, wait_by_test, wait_by_testany, wait_by_improbe]


def pairs(models: Models, delays_s: list[float], wait: Callable[[Any, int], int]) -> list[tuple[float, int]]:
    """Even ranks send after a while, odd ones poll: when they see it, and after how many polls."""

    def main(rank: int) -> Any:
        world = MPI.COMM_WORLD
        if rank % 2 == 0:
            smpy.execute(delays_s[rank // 2] * SPEED_FLOP_PER_S)
            world.Send(bytes(8), rank + 1, 3)
            return None
        n = wait(world, rank - 1)
        return MPI.Wtime(), n

    return run_world(2 * len(delays_s), main, models=models).returned[1::2]


@pytest.mark.parametrize("wait", [wait_by_iprobe, wait_by_test, wait_by_improbe])  # SMPI's Testany grows in any case
@settings(max_examples=15)
@given(delays_s=st.lists(BETWEEN_POLLS_S, min_size=1, max_size=4))
def test_a_message_is_seen_when_polling_every_time_would_see_it(
    wait: Callable[[Any, int], int], delays_s: list[float]
) -> None:
    few, many = pairs(NOTICING, delays_s, wait), pairs(EVERY_TIME, delays_s, wait)
    for (seen_s, _), (then_s, _) in zip(few, many, strict=True):
        assert seen_s == pytest.approx(then_s, abs=1e-8)


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("delay_s", [1e-3, 1.0, 60.0])
def test_a_long_wait_is_a_few_polls(wait: Callable[[Any, int], int], delay_s: float) -> None:
    ((seen_s, n_polls),) = pairs(NOTICING, [delay_s], wait)
    assert delay_s < seen_s < delay_s + 2 * POLL_S + 2e-6
    assert n_polls <= (3 * delay_s / POLL_S) ** (1 / 3) + 4  # the k-th stands for k^2


def test_a_poll_between_other_work_takes_no_longer_than_the_first() -> None:
    def main(rank: int) -> float:
        if rank == 1:
            return 0.0
        for _ in range(1000):
            MPI.COMM_WORLD.Iprobe(1)
            smpy.execute(1e-6 * SPEED_FLOP_PER_S)
        return MPI.Wtime()

    assert run_world(2, main, models=NOTICING).returned[0] == pytest.approx(2e-3)


def test_ranks_that_poll_do_not_slow_each_other() -> None:
    def finish_s(n_pollers: int) -> float:
        def main(rank: int) -> float:
            if rank == 0:
                smpy.execute(1e-3 * SPEED_FLOP_PER_S)
                MPI.COMM_WORLD.Send(bytes(8), 1, 3)
            elif rank == 1:
                wait_by_iprobe(MPI.COMM_WORLD, 0)
                for other in range(2, n_pollers + 1):
                    MPI.COMM_WORLD.Send(bytes(8), other, 3)
            else:
                wait_by_iprobe(MPI.COMM_WORLD, 1)
            return MPI.Wtime()

        return float(run_world(n_pollers + 1, main, models=NOTICING).returned[1])

    assert finish_s(100) - finish_s(1) < 1e-4


def test_a_collective_is_seen_soon_after_it_is_complete() -> None:
    def main(rank: int) -> tuple[float, int]:
        world = MPI.COMM_WORLD
        if rank == 3:
            smpy.execute(SPEED_FLOP_PER_S)
        total = np.zeros(4)
        request, n_polls = world.Iallreduce(np.full(4, float(rank)), total), 1
        while not request.Test():
            n_polls += 1
        assert (total == 28).all()
        return MPI.Wtime(), n_polls

    returned = run_world(8, main, models=NOTICING).returned
    assert all(1.0 < seen_s < 1.0 + 5e-5 for seen_s, _ in returned)
    assert max(n_polls for _, n_polls in returned) < 200


def test_a_message_for_others_does_not_end_a_wait() -> None:
    def main(rank: int) -> float:
        world = MPI.COMM_WORLD
        if rank == 0:
            for tag in (8, 9, 3):
                smpy.execute(1e-4 * SPEED_FLOP_PER_S)
                world.Send(bytes(8), 1, tag)
        elif rank == 1:
            wait_by_iprobe(world, 0)
            for tag in (8, 9):
                world.Recv(bytearray(8), 0, tag)
        return MPI.Wtime()

    assert 3e-4 < run_world(2, main, models=NOTICING).returned[1] < 3e-4 + 10 * POLL_S


@settings(max_examples=25)
@given(delays_s=st.lists(st.floats(0, 2e-2), min_size=1, max_size=6), tests=st.booleans())
def test_whoever_asks_for_several_things_in_turn_sees_each_at_once(delays_s: list[float], tests: bool) -> None:
    late_s: list[float] = []

    def main(rank: int) -> None:
        world = MPI.COMM_WORLD
        if rank > 0:
            smpy.execute(delays_s[rank - 1] * SPEED_FLOP_PER_S)
            world.send(MPI.Wtime(), 0)
            return
        requests = {source: world.irecv(source=source) for source in range(1, world.size)} if tests else {}
        missing = set(range(1, world.size))
        while missing:
            for source in sorted(missing):
                if tests:
                    is_there, sent_s = requests[source].test()
                else:
                    is_there = world.Iprobe(source)
                    sent_s = world.recv(source=source) if is_there else None
                if is_there:
                    late_s.append(MPI.Wtime() - sent_s)
                    missing.remove(source)

    run_world(len(delays_s) + 1, main, models=NOTICING)
    n = len(delays_s)
    assert len(late_s) == n
    assert max(late_s) < (2 * n + 2) * (POLL_S + 2e-6)  # two rounds, and the messages' own time


def test_a_question_asked_once_does_not_hold_up_the_others() -> None:
    def main(rank: int) -> int:
        if rank == 0:
            smpy.execute(10 * SPEED_FLOP_PER_S)
            MPI.COMM_WORLD.Send(bytes(8), 1, 3)
            return 0
        assert not MPI.COMM_WORLD.Iprobe(0, 4)
        return wait_by_test(MPI.COMM_WORLD, 0)

    assert run_world(2, main, models=NOTICING).returned[1] < 1000


def test_fifty_failed_polls_take_less_time_than_by_smpi_s_rule() -> None:
    def main(rank: int) -> float:
        for _ in range(50):
            MPI.COMM_WORLD.Iprobe()
        return MPI.Wtime()

    ours_s, theirs_s = (run_world(1, main, models=models).returned[0] for models in (NOTICING, Models()))
    assert 50 * POLL_S <= ours_s < theirs_s
