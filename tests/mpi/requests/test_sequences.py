"""A sequence of messages is its calls, made one by one: the same dates, the same matching, the same data."""

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
from tests.mpi.requests.drawn_sequences import N_RANKS, N_ROWS, ROUNDS, at_once, one_by_one, written


def program(perform: Callable[..., None], rounds: list[Any], row_bytes: int, make: Callable[..., Any]) -> Any:
    def main(rank: int) -> Any:
        world = MPI.COMM_WORLD.Dup()
        mine, others, late = make((N_ROWS, row_bytes), "B"), make((N_ROWS, row_bytes), "B"), make(9, "B")
        mine[...] = np.arange(N_ROWS)[:, None] * 16 + rank
        take = smpy.experimental.MessageProgram()
        if rank:
            take.Recv(0, 0, None)
        elif rank == 0:
            for other in range(1, N_RANKS):
                take.Send(0, other, None)
        late[...] = rank + 1
        arrival = smpy.experimental.AwaitedMessage(world, 0 if rank else None, 77, take, late)
        smpy.execute(10**5 * (rank * 7 % 5))
        sequence, dates = written(rank, rounds, mine, others), []
        for _ in range(2):
            perform(sequence, world, mine, others, tag=99, arrival=arrival, numbers=(10**5,))
            dates.append(MPI.Wtime())
        arrival.wait()
        return dates, [array.tobytes() for array in (mine, others, late) if make is np.zeros]

    return main


def counts(world: World) -> tuple[int, ...]:
    told = world.engine.statistics()
    return told.messages, told.bytes, told.events


@given(ROUNDS, st.sampled_from([1, 200, 20_000, 90_000]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("platform", [None, "cluster.xml"], ids=["polls notice", "polls grow"])
def test_a_sequence_is_its_calls_one_by_one(run_ranks, platform, rounds, row_bytes):
    single, whole = (
        run_ranks(N_RANKS, program(perform, rounds, row_bytes, np.zeros), platform) for perform in (one_by_one, at_once)
    )
    assert whole.returned == single.returned
    assert whole.finish_s == single.finish_s
    assert counts(whole) == counts(single)
    spent_s = pytest.approx(single.engine.spent_s(), rel=1e-12, abs=0)  # a sum over other call sites
    assert whole.engine.spent_s() == spent_s


@given(ROUNDS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_folded_arrays_take_the_same_time(run_ranks, rounds):
    real, folded = (run_ranks(N_RANKS, program(at_once, rounds, 2000, make)) for make in (np.zeros, smpy.folded))
    assert folded.finish_s == real.finish_s
    assert folded.engine.has_folded


# ---- bytes are sent when they have been received ----


@pytest.mark.parametrize("n_bytes", [8, 400_000])
@pytest.mark.parametrize("between", ["a send of received bytes", "a look", "many steps"])
def test_what_was_received_before_the_rank_last_waited_is_sent_on(run_ranks, between, n_bytes):
    """A receive that is started, then a reason to wait for the kernel, then its own wait; and its bytes are sent on."""

    def main(rank):
        world, rows = MPI.COMM_WORLD, np.full((3, n_bytes), rank, "B")
        if rank == 0:
            if between == "a send of received bytes":
                world.Send(rows[1], 1, 1)
                world.Recv(rows[2], 1, 1)
            for _ in range(300 if between == "many steps" else 0):
                world.Recv(rows[2, :0], 1, 5)
            smpy.execute(1e9)  # it comes late
            world.Send(rows[0], 1, 0)
            world.Recv(rows[1], 1, 2)
            world.Send(rows[0], 1, 3)
            return int(rows[1].min())
        sequence, arrival = smpy.experimental.MessageProgram(), None
        first = sequence.Irecv((0, 0, 1), 0, 0)
        if between == "a send of received bytes":
            sequence.Recv((0, 1, 2), 0, 1)
            sequence.Send((0, 1, 2), 0, 1)
        elif between == "a look":
            sequence.Look()
            arrival = smpy.experimental.AwaitedMessage(world, 0, 99, smpy.experimental.MessageProgram())
        else:
            for _ in range(300):
                sequence.Send((0, 2, 2), 0, 5)
        sequence.Wait(first)
        sequence.Send((0, 0, 1), 0, 2)
        sequence.Recv((0, 1, 2), 0, 3)
        sequence.perform(world, rows, np.zeros((1, n_bytes), "B"), arrival=arrival)
        return int(rows[0].min())

    assert run_ranks(2, main).returned == [0, 0]


def test_what_an_arrival_sends_has_been_received(run_ranks):
    def main(rank):
        world, rows = MPI.COMM_WORLD, np.full((2, 8), rank, "B")
        if rank == 0:
            smpy.execute(1e9)
            world.Send(rows[0], 1)
            world.Recv(rows[1], 1)
            world.Send(rows[0], 1)
            return int(rows[1].min())
        sequence, follow = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        sequence.Recv((0, 0, 1), 0)
        sequence.Look()
        sequence.Recv((0, 1, 2), 0)
        follow.Send((0, 0, 1), 0)
        sequence.perform(world, rows, arrival=smpy.experimental.AwaitedMessage(world, None, 0, follow, rows))
        return int(rows[0].min())

    assert run_ranks(2, main).returned == [0, 0]


# ---- a communicator may have calls of its own ----


COUNTED = ("Send", "Recv", "Irecv", "Iprobe")


def counting(how: str, made: list[str]) -> MPI.Intracomm:
    """The world, whose calls are counted."""

    class Counting(MPI.Intracomm):
        pass

    class Asked(MPI.Intracomm):
        def __getattribute__(self, name: str) -> Any:
            if name in COUNTED:
                made.append(name)
            return super().__getattribute__(name)

    def counted(name: str, *bound: Any) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            made.append(name)
            return getattr(MPI.Intracomm, name)(*bound, *arguments, **named)

        return call

    world = (Asked if how == "each attribute" else Counting)(MPI.COMM_WORLD)
    for name in COUNTED:
        if how == "the class":
            setattr(Counting, name, counted(name))
        elif how == "the handle":
            setattr(world, name, counted(name, world))
    return world


@pytest.mark.parametrize("how", ["the class", "the handle", "each attribute"])
@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_a_communicators_own_calls_are_made(run_ranks, perform, how):
    def main(rank):
        made, rows, peer = [], np.full((2, 2), rank + 1), 1 - rank
        world = counting(how, made)
        sequence, take = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        receive = sequence.Irecv((0, 1, 2), peer)
        sequence.Send((0, 0, 1), peer)
        sequence.Wait(receive)
        perform(sequence, world, rows)
        if rank == 0:
            take.Send((0, 0, 1), 1, None)
            smpy.experimental.AwaitedMessage(world, None, 5, take, rows).look()
        else:
            take.Recv((0, 0, 1), 0, None)
            smpy.experimental.AwaitedMessage(world, 0, 5, take, rows).wait()
        return [name for name in made if name != "Iprobe"], "Iprobe" in made, rows.tolist()

    calls = ["Irecv", "Send"]
    assert run_ranks(2, main).returned == [
        ([*calls, "Send"], False, [[1, 1], [2, 2]]),
        ([*calls, "Recv"], True, [[1, 1], [1, 1]]),
    ]


def test_calls_that_a_communicators_class_is_given_later_are_made(run_ranks):
    class Own(MPI.Intracomm):
        pass

    class Derived(Own):
        pass

    def main(rank):
        made, sequence = [], smpy.experimental.MessageProgram()
        sequence.Send(0, 0)
        world = Derived(MPI.COMM_SELF)
        for _ in range(2):
            sequence.perform(world, np.zeros(1))
        Own.Send = lambda self, buffer, *to: made.append(to)
        for _ in range(2):
            sequence.perform(world, np.zeros(1))
        del Own.Send
        sequence.perform(world, np.zeros(1))
        return made

    assert run_ranks(1, main).returned == [[(0, 0), (0, 0)]]


# ---- what it is for ----


def test_rows_travel_along_a_chain_in_one_call(run_ranks):
    def main(rank):
        sequence, rows = smpy.experimental.MessageProgram(), np.full((3, 1000), float(rank))
        for row in range(3):
            if rank:
                sequence.Recv((0, row, row + 1), rank - 1)
            if rank < 3:
                sequence.Send((0, row, row + 1), rank + 1)
        sequence.perform(MPI.COMM_WORLD, rows)
        return rows.sum()

    assert run_ranks(4, main).returned == [0.0] * 4


def test_ranks_and_arrays_of_several_sizes_share_one(run_ranks):
    shift = smpy.experimental.MessageProgram()
    coming = shift.Irecv(1, 1)
    shift.Send(0, 1)
    shift.Wait(coming)

    def main(rank):
        alone = MPI.COMM_WORLD.Split(rank // 2)
        got = []
        for n in (1, 10, 100_000):
            into = np.zeros(n, "i8")
            if rank % 2 == 0:
                shift.perform(alone, np.full(n, rank), into)
            else:
                alone.Sendrecv(np.full(n, rank), 0, 0, into, 0)
            got.append(set(into.tolist()))
        return got

    assert run_ranks(4, main).returned == [[{rank ^ 1}] * 3 for rank in range(4)]


def test_the_program_sleeps_through_a_sequence(run_ranks, monkeypatch):
    monkeypatch.setattr(
        smpy.experimental.MessageProgram, "_perform", None
    )  # method that the compiled call hands over to

    def main(rank):
        sequence = smpy.experimental.MessageProgram()
        for turn in range(50):
            receive = sequence.Irecv((0, turn, turn + 1), 1 - rank, turn)
            sequence.Send((1, turn, turn + 1), 1 - rank, turn)
            sequence.Wait(receive)
        sequence.perform(MPI.COMM_WORLD, into := np.zeros(50), np.arange(50.0))
        return into.tolist()

    assert run_ranks(2, main).returned == [list(range(50))] * 2
