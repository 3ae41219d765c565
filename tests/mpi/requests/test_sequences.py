"""A sequence of messages is its calls, made one by one: the same dates, the same matching, the same data."""

from __future__ import annotations

import gc
import math
import re
import weakref
from collections.abc import Callable
from inspect import getsource
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import smpy
from smpy.engine.kernel import surface
from smpy.mpi import MPI
from tests.mpi.conftest import World

N_RANKS, N_ROWS = 4, 6


def one_by_one(sequence: smpy.MessageSequence, comm: MPI.Comm, *arrays: Any, **named: Any) -> None:
    sequence._perform(comm, *arrays, **named)


def at_once(sequence: smpy.MessageSequence, comm: MPI.Comm, *arrays: Any, **named: Any) -> None:
    sequence.perform(comm, *arrays, **named)


# ---- random ones: in each round all ranks do what fits together ----

ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ring", "pair", "chain", "started", "all started", "relayed", "look", "tag", "within", "call", "execute"]
        ),
        st.integers(1, N_RANKS - 1),
        st.tuples(st.integers(0, N_ROWS - 1), st.integers(0, N_ROWS - 1), st.integers(1, N_ROWS)),
    ),
    min_size=1,
    max_size=8,
)


def written(rank: int, rounds: list[Any]) -> smpy.MessageSequence:  # noqa: C901  # a branch a form
    """The steps of one rank; rows of array 0 are sent, rows of array 1 or 0 are received."""
    sequence = smpy.MessageSequence()
    for number, (form, shift, (first, other, n)) in enumerate(rounds):
        to, source, partner = (rank + shift) % N_RANKS, (rank - shift) % N_RANKS, rank ^ 1
        out = (0, first, min(first + n, N_ROWS))
        length = out[2] - out[1]
        start = min(other, N_ROWS - length)
        into = (1, start, start + length)
        if form == "ring":
            sequence.Sendrecv(out, to, number, into=into, source=source, recvtag=number)
        elif form == "pair":
            receive = sequence.Irecv(into, partner, number)
            sequence.Send(out, partner, number)
            sequence.Wait(receive)
        elif form == "chain":  # each rank sends on what it has received
            if rank > 0:
                sequence.Recv(out, rank - 1, number)
            if rank + 1 < N_RANKS:
                sequence.Send(out, rank + 1, number)
        elif form == "started":
            sequence.Isend(out, to, number)
            sequence.Recv(into, MPI.ANY_SOURCE, number)
        elif form == "all started":
            sequence.Irecv(into, source, number)
            sequence.Isend(out, to, number)
            sequence.Waitall()
        elif form == "relayed":  # what has come is sent on, behind a look
            receive, sent = sequence.Irecv(into, source, number), sequence.Isend(out, to, number)
            sequence.Look()
            sequence.Wait(receive)
            sequence.Wait(sent)
            sequence.Isend(into, to, number)
            sequence.Recv(out, source, number)
            sequence.Waitall()
        elif form == "within":  # what it starts is over at its end
            inner = smpy.MessageSequence()
            inner.Isend(out, to, number)
            inner.Irecv(into, source, number)
            inner.Call(smpy.execute, 10**4 * shift, 0)
            sequence.Perform(inner)
            sequence.Perform(inner)
        elif form == "call":
            sequence.Call(smpy.execute, (0, 1000 * first))
        elif form == "execute":
            sequence.Execute(0.1, (0, 1000 * first), 7)
        elif form == "tag":
            if rank % 2 == 0:
                sequence.Send(out, partner, None)
            else:
                sequence.Recv(into, partner, None)
        else:
            sequence.Look()
    return sequence


def program(perform: Callable[..., None], rounds: list[Any], row_bytes: int, make: Callable[..., Any]) -> Any:
    def main(rank: int) -> Any:
        world = MPI.COMM_WORLD.Dup()
        mine, others, late = make((N_ROWS, row_bytes), "B"), make((N_ROWS, row_bytes), "B"), make(9, "B")
        mine[...] = np.arange(N_ROWS)[:, None] * 16 + rank
        take = smpy.MessageSequence()
        if rank:
            take.Recv(0, 0, None)
        elif rank == 0:
            for other in range(1, N_RANKS):
                take.Send(0, other, None)
        late[...] = rank + 1
        arrival = smpy.Arrival(world, 0 if rank else None, 77, take, late)
        smpy.execute(10**5 * (rank * 7 % 5))
        sequence, dates = written(rank, rounds), []
        for _ in range(2):
            perform(sequence, world, mine, others, tag=99, arrival=arrival, numbers=(10**5,))
            dates.append(MPI.Wtime())
        arrival.wait()
        return dates, mine.tolist(), others.tolist(), late.tolist()

    return main


def counts(world: World) -> tuple[int, ...]:
    told = world.engine.statistics()
    return told.messages, told.bytes, told.events


@given(ROUNDS, st.sampled_from([1, 200, 20_000]))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("platform", [None, "cluster.xml"], ids=["polls notice", "polls grow"])
def test_a_sequence_is_its_calls_one_by_one(run_ranks, platform, rounds, row_bytes):
    single, whole = (
        run_ranks(N_RANKS, program(perform, rounds, row_bytes, np.zeros), platform) for perform in (one_by_one, at_once)
    )
    assert whole.returned == single.returned
    assert whole.finish_s == single.finish_s
    assert counts(whole) == counts(single)
    assert whole.engine.spent_s() == single.engine.spent_s()


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
        sequence, arrival = smpy.MessageSequence(), None
        first = sequence.Irecv((0, 0, 1), 0, 0)
        if between == "a send of received bytes":
            sequence.Recv((0, 1, 2), 0, 1)
            sequence.Send((0, 1, 2), 0, 1)
        elif between == "a look":
            sequence.Look()
            arrival = smpy.Arrival(world, 0, 99, smpy.MessageSequence())
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
        sequence, follow = smpy.MessageSequence(), smpy.MessageSequence()
        sequence.Recv((0, 0, 1), 0)
        sequence.Look()
        sequence.Recv((0, 1, 2), 0)
        follow.Send((0, 0, 1), 0)
        sequence.perform(world, rows, arrival=smpy.Arrival(world, None, 0, follow, rows))
        return int(rows[0].min())

    assert run_ranks(2, main).returned == [0, 0]


# ---- sequences within others, and functions ----


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_a_function_sees_what_was_received_before_it(run_ranks, perform):
    def main(rank):
        world, rows, seen = MPI.COMM_WORLD, np.full((2, 3), rank + 1), []
        inner, sequence = smpy.MessageSequence(), smpy.MessageSequence()
        inner.Sendrecv((0, 0, 1), 1 - rank, into=(0, 1, 2), source=1 - rank)
        sequence.Perform(inner)
        sequence.Call(lambda *numbers: seen.append((numbers, rows[1, 0])), 7, (1, -2), (0, 0))
        sequence.Perform(inner)
        smpy.execute(1e6 * rank)
        perform(sequence, world, rows, numbers=(10**12, 5))
        return seen

    assert run_ranks(2, main).returned == [[((7, 3, 10**12), 2)], [((7, 3, 10**12), 1)]]


def test_what_a_function_computes_in_a_sequence_is_measured(smpy_run):
    ran = smpy_run(
        """
        import smpy
        from mpi4py import MPI

        def compute(n):  # some ten milliseconds
            sum(range(n))

        sequence = smpy.MessageSequence()
        sequence.Call(compute, (0, 10))
        sequence.Sendrecv(0, 1 - MPI.COMM_WORLD.rank, into=1, source=1 - MPI.COMM_WORLD.rank)
        start_s = MPI.Wtime()
        sequence.perform(MPI.COMM_WORLD, bytearray(8), bytearray(8), numbers=(2 * 10**6,))
        print(MPI.Wtime() - start_s >= 0.004)
        """,
        2,
    )
    assert ran.out.splitlines()[:2] == ["True", "True"]


def test_the_error_of_a_function_is_the_performances(run_ranks):
    def main(rank):
        sequence, rows = smpy.MessageSequence(), np.zeros((2, 3))
        sequence.Irecv((0, 0, 1), 1 - rank)
        sequence.Call({}.__getitem__, (0, 0))
        with pytest.raises(KeyError, match="3"):
            sequence.perform(MPI.COMM_WORLD, rows, numbers=(3,))
        MPI.COMM_WORLD.Send(np.ones(3), 1 - rank)  # for the receive, whose memory nobody writes to any more
        return rows.sum()

    assert run_ranks(2, main).returned == [0, 0]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_computing_in_a_sequence_is_that_of_execute(run_ranks, perform):
    def main(rank):
        sequence = smpy.MessageSequence()
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
            exchange, sequence = smpy.MessageSequence(), smpy.MessageSequence()
            exchange.Sendrecv(0, 1 - rank, into=1, source=1 - rank)
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


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_a_number_that_is_not_given_is_missed(run_ranks, perform):
    def main(rank):
        sequence, outer = smpy.MessageSequence(), smpy.MessageSequence()
        sequence.Call(smpy.execute, (1, 0))
        outer.Perform(sequence)
        with pytest.raises(smpy.errors.UsageError, match="takes number 1, and perform was given 1"):
            perform(outer, MPI.COMM_WORLD, numbers=(3,))

    run_ranks(1, main)


def test_a_sequence_and_a_function_that_know_each_other_are_forgotten_together():
    class Function:
        def __call__(self, number: int) -> None: ...

    sequence, function = smpy.MessageSequence(), Function()
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
        piece, take = smpy.MessageSequence(), smpy.MessageSequence()
        piece.Call(smpy.execute, (0, 0))
        take.Recv(0, 0, None)
        if rank == 0:
            smpy.execute(late_s * 1e9)
            world.Send(np.ones(3), 1, 5)
            return None
        arrival = smpy.Arrival(world, 0, 5, take, rows)
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


# ---- what it is for ----


def test_rows_travel_along_a_chain_in_one_call(run_ranks):
    def main(rank):
        sequence, rows = smpy.MessageSequence(), np.full((3, 1000), float(rank))
        for row in range(3):
            if rank:
                sequence.Recv((0, row, row + 1), rank - 1)
            if rank < 3:
                sequence.Send((0, row, row + 1), rank + 1)
        sequence.perform(MPI.COMM_WORLD, rows)
        return rows.sum()

    assert run_ranks(4, main).returned == [0.0] * 4


def test_ranks_and_arrays_of_several_sizes_share_one(run_ranks):
    shift = smpy.MessageSequence()
    shift.Sendrecv(0, 1, into=1, source=1)

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
    if surface is None:
        pytest.skip("the plain surface makes the calls one by one")
    monkeypatch.setattr(smpy.MessageSequence, "_perform", None)  # what the compiled call hands over to

    def main(rank):
        sequence = smpy.MessageSequence()
        for turn in range(50):
            receive = sequence.Irecv((0, turn, turn + 1), 1 - rank, turn)
            sequence.Send((1, turn, turn + 1), 1 - rank, turn)
            sequence.Wait(receive)
        sequence.perform(MPI.COMM_WORLD, into := np.zeros(50), np.arange(50.0))
        return into.tolist()

    assert run_ranks(2, main).returned == [list(range(50))] * 2


# ---- what is wrong ----


def within_one_another(n: int) -> smpy.MessageSequence:
    sequence = smpy.MessageSequence()
    for _ in range(n - 1):
        inner, sequence = sequence, smpy.MessageSequence()
        sequence.Perform(inner)
    return sequence


def test_a_sequence_that_another_performs_does_not_change():
    inner, outer = smpy.MessageSequence(), within_one_another(2)
    outer.Perform(inner)
    with pytest.raises(ValueError, match="has been performed"):
        inner.Look()
    with pytest.raises(ValueError, match="has been performed"):
        inner.Perform(outer)
    assert outer._steps()[1][1] is inner


@pytest.mark.parametrize(
    ("write", "wrong"),
    [
        (lambda sequence: sequence.Send((0, 3, 2), 0), "a part's rows"),
        (lambda sequence: sequence.Send((0, -1, 2), 0), "a part's rows"),
        (lambda sequence: sequence.Send((16, 0, 1), 0), "at most 16 arrays"),
        (lambda sequence: sequence.Wait(0), "an Isend or Irecv before it"),
        (lambda sequence: sequence.Wait(sequence.Send(0, 0) or 0), "an Isend or Irecv before it"),
        (lambda sequence: sequence.Send((0, 2, -1), 0), "a part's rows"),
        (lambda sequence: sequence.Send((0, 2), 0), "is no part"),
        (lambda sequence: sequence.Send("0", 0), "is no part"),
        (lambda sequence: sequence.Send(None, 0), "is no part"),
        (lambda sequence: sequence.Call(print, *range(9)), "a step has at most 8 numbers"),
        (lambda sequence: sequence.Call(print, (-1, 2)), "places are counted from 0"),
        (lambda sequence: sequence.Call(print, 1.5), "is no number"),
        (lambda sequence: sequence.Perform(sequence), "does not perform itself"),
        (lambda sequence: sequence.Perform(within_one_another(16)), "at most 16"),
    ],
)
def test_a_wrong_step_is_refused_when_it_is_written(write, wrong):
    with pytest.raises(ValueError, match=wrong):
        write(smpy.MessageSequence())


@pytest.mark.parametrize(
    ("write", "arrays", "wrong"),
    [
        (lambda sequence: sequence.Send((0, 0, 9), 0), [np.zeros(8)], "rows 0 to 9 of array 0, which has 8"),
        (lambda sequence: sequence.Send((1, 0, 1), 0), [np.zeros(8)], "takes array 1, and perform was given 1"),
        (lambda sequence: sequence.Send(0, 5), [np.zeros(8)], "rank"),
        (lambda sequence: sequence.Send(0, 0, -3), [np.zeros(8)], "tag"),
    ],
)
def test_a_step_that_does_not_fit_says_why(run_ranks, write, arrays, wrong):
    def main(rank):
        sequence = smpy.MessageSequence()
        write(sequence)
        sequence.perform(MPI.COMM_WORLD, *arrays)

    with pytest.raises(Exception, match=wrong):
        run_ranks(1, main)


def test_a_sendrecv_that_is_refused_leaves_nothing_behind(run_ranks):
    def main(rank):
        sequence, got = smpy.MessageSequence(), np.zeros(1)
        with pytest.raises(ValueError, match="a part's rows"):
            sequence.Sendrecv(0, 0, into=(1, 5, 2), source=0)
        assert sequence._steps() == []
        sequence.Sendrecv(0, 1 - rank, into=1, source=1 - rank)
        sequence.perform(MPI.COMM_WORLD, np.full(1, float(rank)), got)
        return got[0]

    assert run_ranks(2, main).returned == [1, 0]


def test_numbers_of_numpy_are_numbers(run_ranks):
    def main(rank):
        one, got = np.int64(1), np.zeros((2, 2))
        sequence = smpy.MessageSequence()
        receive = sequence.Irecv((one, 0, one), one - rank, one)
        sequence.Isend(one * 0, np.int32(1 - rank), one)
        sequence.Wait(np.int8(receive))
        sequence.perform(MPI.COMM_WORLD, np.full(2, rank + 1.0), got)
        return got.tolist()

    assert run_ranks(2, main).returned == [[[2, 2], [0, 0]], [[1, 1], [0, 0]]]


def test_a_performed_sequence_does_not_change(run_ranks):
    def main(rank):
        sequence = smpy.MessageSequence()
        sequence.perform(MPI.COMM_WORLD)
        with pytest.raises(ValueError, match="has been performed"):
            sequence.Look()

    run_ranks(1, main)


def test_a_message_that_is_too_long_raises_what_its_receive_raises(run_ranks):
    def main(rank):
        sequence, room = smpy.MessageSequence(), np.zeros(4)
        if rank == 0:
            sequence.Send(0, 1)
            sequence.perform(MPI.COMM_WORLD, np.zeros(5))
            return None
        sequence.Recv(0, 0)
        with pytest.raises(MPI.Exception) as told:
            sequence.perform(MPI.COMM_WORLD, room)
        return told.value.Get_error_class() == MPI.ERR_TRUNCATE, "has 40 bytes" in str(told.value)

    assert run_ranks(2, main).returned[1] == (True, True)


@pytest.mark.parametrize("form", ["Recv", "Irecv", "Sendrecv"])
def test_a_message_that_is_too_long_names_its_step(run_ranks, form):
    if surface is None:
        pytest.skip("the plain surface makes the calls one by one, and names them")

    def main(rank):
        sequence, rows, room = smpy.MessageSequence(), np.zeros(8), np.zeros(4)
        for row in range(3):
            sequence.Sendrecv((0, row, row + 1), 1 - rank, row, into=(1, row, row + 1), source=1 - rank, recvtag=row)
        if rank == 0:
            sequence.Send(0, 1, 5)
        elif form == "Sendrecv":
            sequence.Sendrecv((0, 0, 0), 0, 6, into=1, source=0, recvtag=5)
        else:
            getattr(sequence, form)(1, 0, 5)
        if rank == 0 and form == "Sendrecv":
            sequence.Recv((0, 0, 0), 1, 6)
        sequence.Sendrecv((0, 3, 4), 1 - rank, 3, into=(1, 3, 4), source=1 - rank, recvtag=3)
        try:
            sequence.perform(MPI.COMM_WORLD, rows, room)
        except MPI.Exception as told:
            return str(told)
        return ""

    step = 7 if form == "Sendrecv" else 6
    told = f"{form}, step {step} of a MessageSequence: the message from rank 0 with tag 5 has 64 bytes"
    assert told in run_ranks(2, main).returned[1]


def test_a_deadlock_in_a_sequence_says_where(smpy_run):
    ran = smpy_run(
        """
        import smpy
        from mpi4py import MPI

        sequence = smpy.MessageSequence()
        sequence.Recv(0, 1 - MPI.COMM_WORLD.rank, 7)
        sequence.perform(MPI.COMM_WORLD, bytearray(8))
        """,
        2,
        "--compute",
        "none",
    )
    assert ran.code != 0
    assert "rank 0: Recv(source=1, tag=7), step 0 of a MessageSequence   program.py:7" in ran.err


@pytest.mark.skipif(surface is None, reason="the plain surface makes the calls one by one, and names them")
def test_a_deadlock_names_the_step_that_is_waited_for(smpy_run):
    forms = {
        "sequence.Recv(0, peer, 9)": "Recv(source={}, tag=9), step 2 of a MessageSequence",
        "sequence.Irecv(0, peer, 9)": "Wait(Irecv(source={}, tag=9)), step 2 of a MessageSequence",
        "sequence.Send(1, peer, 9)": "Send(dest={}, tag=9) of 1,000,000 bytes, step 2 of a MessageSequence",
        "sequence.Sendrecv(0, peer, 9, into=0, source=peer, recvtag=8)": (
            "Sendrecv(source={}, tag=8), step 3 of a MessageSequence"
        ),
    }
    ran = smpy_run(
        f"""
        import smpy
        from mpi4py import MPI

        rank, peer = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.rank ^ 1
        sequence = smpy.MessageSequence()
        sequence.Sendrecv(0, peer, 7, into=2, source=peer, recvtag=7)
        exec({list(forms)}[rank // 2])
        sequence.perform(MPI.COMM_WORLD, bytearray(8), bytearray(10**6), bytearray(8))
        """,
        8,
        "--compute",
        "none",
    )
    for form, told in enumerate(forms.values()):
        for rank in (2 * form, 2 * form + 1):
            assert re.search(rf"rank {rank}: {re.escape(told.format(rank ^ 1))} +program.py:9\n", ran.err)


# ---- elsewhere ----

PROGRAM = """
import numpy as np
from mpi4py import MPI

import smpy

world = MPI.COMM_WORLD
rank, n = world.rank, world.size
sequence, take = smpy.MessageSequence(), smpy.MessageSequence()
sequence.Sendrecv((0, 0, 2), (rank + 1) % n, 5, into=(1, 0, 2), source=(rank - 1) % n, recvtag=5)
receive = sequence.Irecv((1, 2, 4), (rank - 1) % n, None)
sequence.Isend((0, 2, 4), (rank + 1) % n, None)
sequence.Wait(receive)
sequence.Look()
if rank:
    take.Recv(0, 0, None)
else:
    for other in range(1, n):
        take.Send(0, other, None)
mine, others, late = np.full((4, 3), rank), np.zeros((4, 3), int), np.full(3, 7 if rank == 0 else 0)
arrival = smpy.Arrival(world, 0 if rank else None, 9, take, late)
sequence.perform(world, mine, others, tag=8, arrival=arrival)
arrival.wait()
told = world.gather([others.tolist(), late.tolist(), arrival.is_done])
if rank == 0:
    print(told)
"""


def test_a_program_prints_the_same_under_a_real_mpi(mpiexec, smpy_run, tmp_path):
    path = tmp_path / "sequences.py"
    path.write_text(PROGRAM)
    assert mpiexec(3, str(path)) == smpy_run(PROGRAM, 3, "--compute", "none", "--quiet").out


DRAWN = """
import random
from typing import Any

import numpy as np
from mpi4py import MPI

import smpy

N_RANKS, N_ROWS = 4, 6
WRITTEN
draw, world = random.Random(20), MPI.COMM_WORLD
forms = ["ring", "pair", "chain", "started", "all started", "relayed", "look", "tag", "within", "call", "execute"]
for turn in range(25):
    rounds = [
        (draw.choice(forms), draw.randint(1, 3), (draw.randrange(6), draw.randrange(6), draw.randint(1, 6)))
        for _ in range(8)
    ]
    mine, others, late = np.zeros((N_ROWS, 100), "B"), np.zeros((N_ROWS, 100), "B"), np.full(9, world.rank + 1, "B")
    mine[...] = np.arange(N_ROWS)[:, None] * 16 + world.rank
    take = smpy.MessageSequence()
    if world.rank:
        take.Recv(0, 0, None)
    else:
        for other in range(1, N_RANKS):
            take.Send(0, other, None)
    arrival = smpy.Arrival(world, 0 if world.rank else None, 77, take, late)
    sequence = written(world.rank, rounds)
    for _ in range(2):
        sequence.perform(world, mine, others, tag=99, arrival=arrival, numbers=(9,))
    arrival.wait()
    told = world.gather((mine[:, ::50].tolist(), others[:, ::50].tolist(), late.tolist()))
    if world.rank == 0:
        print(told)
"""


def test_drawn_sequences_print_the_same_under_a_real_mpi(mpiexec, smpy_run, tmp_path):
    path, source = tmp_path / "drawn.py", DRAWN.replace("WRITTEN", getsource(written))
    path.write_text(source)
    assert mpiexec(4, str(path)) == smpy_run(source, 4, "--compute", "none", "--quiet").out
