"""Sequences within others, functions, computing and pieces of work in a sequence."""

from __future__ import annotations

import contextlib
import gc
import math
import weakref

import numpy as np
import pytest

import smpy
from smpy.mpi import MPI
from tests.mpi.requests.drawn_sequences import at_once, one_by_one


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_a_function_sees_what_was_received_before_it(run_ranks, perform):
    def main(rank):
        world, rows, seen = MPI.COMM_WORLD, np.full((2, 3), rank + 1), []
        inner, sequence = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        inner.Irecv((0, 1, 2), 1 - rank)
        inner.Send((0, 0, 1), 1 - rank)
        sequence.Perform(inner)
        sequence.Call(lambda *numbers: seen.append((numbers, rows[1, 0])), 7, (1, -2), (0, 0))
        sequence.Perform(inner)
        smpy.execute(1e6 * rank)
        perform(sequence, world, rows, numbers=(10**12, 5))
        return seen

    assert run_ranks(2, main).returned == [[((7, 3, 10**12), 2)], [((7, 3, 10**12), 1)]]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
@pytest.mark.parametrize("form", ["Send", "Send within", "Send, Look"])
def test_a_function_writes_to_what_was_sent_before_it(run_ranks, perform, form):
    """A message as long as this is read when its receive has begun, which here is late."""

    def main(rank):
        world, sent, came, answer = MPI.COMM_WORLD, np.full(100_000, 7), np.zeros(100_000, int), np.zeros(1)
        sequence, inner = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        if rank == 1:
            smpy.execute(1e9)
            sequence.Recv(1, 0)
            sequence.Send(2, 0)
            perform(sequence, world, sent, came, answer)
            return set(came.tolist())
        (inner if form == "Send within" else sequence).Send(0, 1)
        if form == "Send within":
            sequence.Perform(inner)
        arrival = None
        if form == "Send, Look":
            inner.Call(sent.fill, -99)
            arrival = smpy.experimental.AwaitedMessage(world, None, 0, inner)
            sequence.Look()
        else:
            sequence.Call(sent.fill, -99)
        sequence.Recv(2, 1)
        perform(sequence, world, sent, came, answer, arrival=arrival)
        return set(sent.tolist())

    assert run_ranks(2, main).returned == [{-99}, {7}]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_what_was_sent_before_a_function_fails_arrives(run_ranks, perform):
    def main(rank):
        world, numbers, sequence = MPI.COMM_WORLD, np.full(100_000, 7 - 7 * rank), smpy.experimental.MessageProgram()
        if rank == 1:
            smpy.execute(1e9)
            world.Recv(numbers, 0)
            return set(numbers.tolist())
        sequence.Send(0, 1)
        sequence.Call({}.__getitem__, 3)
        sequence.Recv(0, 1)
        with pytest.raises(KeyError, match="3"):
            perform(sequence, world, numbers)
        return None

    assert run_ranks(2, main).returned[1] == {7}


def test_what_a_function_computes_in_a_sequence_is_measured(smpy_run):
    ran = smpy_run(
        """
        import smpy
        from mpi4py import MPI

        def compute(n):  # some ten milliseconds
            sum(range(n))

        sequence = smpy.experimental.MessageProgram()
        sequence.Call(compute, (0, 10))
        sequence.Irecv(1, 1 - MPI.COMM_WORLD.rank)
        sequence.Send(0, 1 - MPI.COMM_WORLD.rank)
        start_s = MPI.Wtime()
        sequence.perform(MPI.COMM_WORLD, bytearray(8), bytearray(8), numbers=(2 * 10**6,))
        print(MPI.Wtime() - start_s >= 0.004)
        """,
        2,
    )
    assert ran.out.splitlines()[:2] == ["True", "True"]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
@pytest.mark.parametrize("n", [3, 100_000])
def test_the_error_of_a_function_is_the_performances(run_ranks, perform, n):
    def main(rank):
        world, sequence, rows = MPI.COMM_WORLD, smpy.experimental.MessageProgram(), np.zeros((2, n))
        rows[1] = rank + 1
        sequence.Irecv((0, 0, 1), 1 - rank)
        sequence.Send((0, 1, 2), 1 - rank)
        sequence.Call({}.__getitem__, (0, 0))
        with pytest.raises(KeyError, match="3"):
            perform(sequence, world, rows, numbers=(3,))
        smpy.execute(1e9)
        world.Barrier()
        return rows[0].tolist()  # all started requests are complete

    assert run_ranks(2, main).returned == [[2.0] * n, [1.0] * n]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_what_a_failed_sequence_has_started_keeps_its_memory(run_ranks, perform):
    def main(rank):
        world, sequence, room = MPI.COMM_WORLD, smpy.experimental.MessageProgram(), bytearray(8)
        if rank == 1:
            smpy.execute(1e9)
            world.Send(b"received", 0)
            world.Send(b"likewise", 0)
            world.Barrier()
            return None
        into = np.zeros(8, "B")
        is_alive = weakref.ref(into)
        sequence.Irecv(1, 1)
        sequence.Irecv(0, 1)
        sequence.Call({}.__getitem__, 3)
        with contextlib.suppress(KeyError):
            perform(sequence, world, room, into)
        del into
        with pytest.raises(BufferError):
            room.clear()
        was_alive = is_alive() is not None
        world.Barrier()
        came = bytes(room)
        room.clear()
        return was_alive, is_alive(), came

    assert run_ranks(2, main).returned[0] == (True, None, b"likewise")


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_what_was_started_before_a_message_that_is_too_long_arrives(run_ranks, perform):
    def main(rank):
        world, sequence, numbers = MPI.COMM_WORLD, smpy.experimental.MessageProgram(), np.full(100_000, 7 - 7 * rank)
        if rank == 1:
            smpy.execute(1e9)
            world.Recv(numbers, 0)
            world.Send(numbers[:2], 0)
            return set(numbers.tolist())
        sequence.Send(0, 1)
        sequence.Recv((1, 0, 1), 1)
        sequence.Call(pytest.fail)
        with pytest.raises(MPI.Exception, match="has 16 bytes"):
            perform(sequence, world, numbers, np.zeros(1, int))
        return None

    assert run_ranks(2, main).returned[1] == {7}


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_what_is_waited_for_before_computing_that_fails_is_over(run_ranks, perform):
    def main(rank):
        sequence, numbers = smpy.experimental.MessageProgram(), np.full((2, 100_000), rank)
        if rank == 1:
            smpy.execute(1e9)
        receive = sequence.Irecv((0, 1, 2), 1 - rank)
        sequence.Send((0, 0, 1), 1 - rank)
        sequence.Wait(receive)
        sequence.Execute(-1.0)
        sequence.Recv((0, 1, 2), 1 - rank)
        with pytest.raises(ValueError, match="cannot compute"):
            perform(sequence, MPI.COMM_WORLD, numbers)
        return set(numbers[1].tolist())

    assert run_ranks(2, main).returned == [{1}, {0}]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_computing_in_a_sequence_is_that_of_execute(run_ranks, perform):
    def main(rank):
        sequence = smpy.experimental.MessageProgram()
        sequence.Execute(0.1 + 0.2, (1, -1), 3, (0, 7))
        perform(sequence, MPI.COMM_WORLD, numbers=(0, 10**8))
        with pytest.raises(ValueError, match=r"cannot compute -.* operations: give a finite number of at least 0"):
            perform(sequence, MPI.COMM_WORLD, numbers=(-8, 2))
        return MPI.Wtime()

    def by_hand(rank):
        smpy.execute((0.1 + 0.2) * (10**8 - 1) * 3 * 7)
        return MPI.Wtime()

    assert run_ranks(1, main).returned == run_ranks(1, by_hand).returned


@pytest.mark.parametrize("step", ["Execute", "Call"])
def test_the_clock_behind_computing_that_ends_a_sequence_is_that_of_the_calls(run_ranks, step):
    """Two ends of computing less than a nanosecond apart are one date, and each rank's clock tells its own."""

    def program(perform):
        def main(rank):
            exchange, sequence = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
            exchange.Irecv(1, 1 - rank)
            exchange.Send(0, 1 - rank)
            sequence.Perform(exchange)
            if step == "Execute":
                sequence.Execute(10**6 - 0.5 * rank)
            else:
                sequence.Call(lambda: smpy.execute(10**6 - 0.5 * rank))
            perform(sequence, MPI.COMM_WORLD, np.zeros(1), np.zeros(1))
            return MPI.Wtime()

        return main

    together, single = (run_ranks(2, program(perform)).returned for perform in (at_once, one_by_one))
    assert together == single
    assert 0 < single[0] - single[1] < 1e-9


@pytest.mark.parametrize("ending", ["Send", "Send within"])
def test_the_clock_behind_a_send_that_ends_a_sequence_is_that_of_the_calls(run_ranks, ending):
    """Likewise: a send that is complete at once is not waited for."""

    def program(perform):
        def main(rank):
            sequence, inner, out = (
                smpy.experimental.MessageProgram(),
                smpy.experimental.MessageProgram(),
                (0, 0, 101 - rank),
            )
            sequence.Wait(sequence.Irecv((1, 0, 8), 1 - rank))
            (inner if ending == "Send within" else sequence).Send(out, 1 - rank)
            if ending == "Send within":
                sequence.Perform(inner)
            MPI.COMM_WORLD.Isend(bytes(8), 1 - rank)
            perform(sequence, MPI.COMM_WORLD, bytes(101), bytearray(8))
            return MPI.Wtime()

        return main

    together, single = (run_ranks(2, program(perform)).returned for perform in (at_once, one_by_one))
    assert together == single
    assert 0 < single[0] - single[1] < 1e-9


@pytest.mark.parametrize("perform", [one_by_one, at_once])
@pytest.mark.parametrize(
    ("number", "given", "value"),
    [
        ((0, 2**62), 2**62, 2**63),
        ((0, -1), -(2**63), -(2**63) - 1),
        ((0, 1), 2**80, 2**80 + 1),
    ],
)
def test_sums_of_numbers_may_be_of_any_size(run_ranks, perform, number, given, value):
    def main(rank):
        sequence, inner, seen = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram(), []
        inner.Call(lambda *numbers: seen.append(numbers), 2**63 - 1, number)
        sequence.Perform(inner)
        sequence.Execute(1e-20, number, number)
        perform(sequence, MPI.COMM_WORLD, numbers=(given,))
        took_s = MPI.Wtime()
        smpy.execute(1e-20 * value * value)
        return seen, (MPI.Wtime() - took_s) / took_s

    assert run_ranks(1, main).returned == [([(2**63 - 1, value)], pytest.approx(1))]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_a_number_that_is_not_given_is_missed(run_ranks, perform):
    def main(rank):
        sequence, outer = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        sequence.Call(smpy.execute, (1, 0))
        outer.Perform(sequence)
        with pytest.raises(smpy.errors.UsageError, match="takes number 1, and perform was given 1"):
            perform(outer, MPI.COMM_WORLD, numbers=(3,))

    run_ranks(1, main)


def test_a_sequence_and_a_function_that_know_each_other_are_forgotten_together():
    class Function:
        def __call__(self, number: int) -> None: ...

    sequence, function = smpy.experimental.MessageProgram(), Function()
    function.sequence = sequence
    sequence.Call(function, 1)
    is_alive = weakref.ref(function)
    del sequence, function
    gc.collect()
    assert is_alive() is None


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("late_s", [0.0, 0.95, 7.5, 100.0])
def test_pieces_of_work_overlap_with_a_message_until_it_is_there(run_ranks, is_compiled, late_s):
    def main(rank):
        world, rows = MPI.COMM_WORLD, np.zeros(3)
        piece, take = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        piece.Call(smpy.execute, (0, 0))
        take.Recv(0, 0, None)
        if rank == 0:
            smpy.execute(late_s * 1e9)
            world.Send(np.ones(3), 1, 5)
            return None
        arrival = smpy.experimental.AwaitedMessage(world, 0, 5, take, rows)
        overlap = arrival.overlap if is_compiled else arrival._overlap
        n = overlap(piece, 10, (10**9,))
        at_s, was_done = MPI.Wtime(), arrival.is_done
        arrival.wait()
        return n, at_s, was_done, rows.sum(), overlap(piece, 10, (10**9,))

    def by_hand(rank):
        world, rows, n = MPI.COMM_WORLD, np.zeros(3), 0
        if rank == 0:
            smpy.execute(late_s * 1e9)
            world.Send(np.ones(3), 1, 5)
            return None
        is_there = False
        while n < 10 and not is_there:
            smpy.execute(10**9)
            is_there = world.Iprobe(0, 5)
            if is_there:
                world.Recv(rows, 0, 5)
            n += 1
        return n, MPI.Wtime(), is_there

    n, at_s, was_done, total, again = run_ranks(2, main).returned[1]
    assert (n, at_s, was_done) == run_ranks(2, by_hand).returned[1]
    assert (n, was_done) == (min(10, max(1, math.ceil(late_s))), late_s < 10)
    assert (total, again) == (3, 0)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("tag", [MPI.ANY_TAG, np.int64(5), None])
@pytest.mark.parametrize("way", ["look", "wait", "overlap", "no source"])
def test_an_arrival_may_have_any_tag(run_ranks, is_compiled, tag, way):
    def main(rank):
        world, rows = MPI.COMM_WORLD, np.zeros(3)
        take = smpy.experimental.MessageProgram()
        take.Recv(0, 0, 5)
        take.Recv(0, MPI.ANY_SOURCE, None)
        if rank == 0:
            world.Send(np.ones(3), 1, 5)
            world.Send(np.full(3, 2.0), 1, 0 if tag is None else 5)
            return None
        arrival = smpy.experimental.AwaitedMessage(
            world, None if way == "no source" or tag is None else 0, tag, take, rows
        )
        if way == "overlap":
            (arrival.overlap if is_compiled else arrival._overlap)(smpy.experimental.MessageProgram(), 10**6)
        elif way == "wait":
            (arrival.wait if is_compiled else arrival._wait)()
        else:
            while not (arrival.look if is_compiled else arrival._look)():
                pass
        return arrival.is_done, rows.tolist(), MPI.Wtime()

    is_done, rows, at_s = run_ranks(2, main).returned[1]
    assert (is_done, rows, at_s < 1e-3) == (True, [2] * 3, True)
