"""`smpy.experimental.poll_until` is a loop of polls that the program does not turn itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import smpy
from smpy.mpi import MPI
from tests.mpi.conftest import World

N_RANKS = 4


def looped(question: Callable[..., object], *arguments: Any) -> None:
    while not question(*arguments):
        pass


def statistics(world: World) -> Any:
    return world.engine.statistics()


def ring(poll: Callable[..., None], delays_flop: list[int], sizes: list[int]) -> Callable[[int], Any]:
    """Each rank polls for its neighbour's messages while others compute, and another message arrives in between."""

    def main(rank: int) -> list[float]:
        world, dates = MPI.COMM_WORLD, []
        behind, before = (rank + 1) % N_RANKS, (rank - 1) % N_RANKS
        for turn, (flop, size) in enumerate(zip(delays_flop, sizes, strict=True)):
            message, room = np.full(size, rank, "B"), np.zeros(size, "B")
            smpy.execute(flop * (1 + (rank + turn) % 3))
            sent = world.Isend(message, behind, turn)
            if turn % 3 == 0:
                world.Iprobe(before, turn)  # another question in between, which may find the message
            poll(world.Iprobe, MPI.ANY_SOURCE if turn % 2 else before, turn)
            dates.append(MPI.Wtime())
            world.Recv(room, before, turn)
            assert (room == before).all()
            sent.Wait()
        return dates

    return main


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1000, 10**5, 10**7]), st.sampled_from([1, 3000, 10**5])), min_size=1, max_size=6
    )
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("platform", [None, "cluster.xml"], ids=["polls notice", "polls grow"])
def test_its_polls_are_those_of_a_loop_date_by_date(run_ranks, platform, turns):
    delays, sizes = [flop for flop, _ in turns], [size for _, size in turns]
    by_loop, by_kernel = (
        run_ranks(N_RANKS, ring(poll, delays, sizes), platform) for poll in (looped, smpy.experimental.poll_until)
    )
    assert by_kernel.returned == by_loop.returned
    assert by_kernel.finish_s == by_loop.finish_s
    counts = [(told.messages, told.bytes, told.events) for told in map(statistics, (by_kernel, by_loop))]
    assert counts[0] == counts[1]
    assert by_kernel.engine.spent_s() == pytest.approx(by_loop.engine.spent_s(), rel=1e-12)


def test_it_asks_any_question_until_the_answer_is_yes(run_ranks):
    def main(rank):
        world, room, status = MPI.COMM_WORLD, bytearray(8), MPI.Status()
        if rank == 0:
            smpy.execute(10**6)
            world.Send(b"12345678", 1, 4)
            return None
        request = world.Irecv(room)
        smpy.experimental.poll_until(request.Test, status)
        answers = iter([0, "", [1]])
        smpy.experimental.poll_until(lambda: next(answers))
        return status.tag, bytes(room), list(answers)

    assert run_ranks(2, main).returned[1] == (4, b"12345678", [])


def test_it_fills_the_status_of_the_poll_that_succeeds(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        if rank == 0:
            world.Send(bytes(12), 1, 4)
            return None
        smpy.experimental.poll_until(world.Iprobe, status=status)
        world.Recv(bytearray(12))
        return status.source, status.tag, status.count

    assert run_ranks(2, main).returned[1] == (0, 4, 12)
