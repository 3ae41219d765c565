"""A sequence that is wrong, or that fails or waits for ever, says in which step."""

from __future__ import annotations

import re

import numpy as np
import pytest

import smpy
from smpy.mpi import MPI
from tests.mpi.requests.drawn_sequences import at_once, one_by_one


def within_one_another(n: int) -> smpy.experimental.MessageProgram:
    sequence = smpy.experimental.MessageProgram()
    for _ in range(n - 1):
        inner, sequence = sequence, smpy.experimental.MessageProgram()
        sequence.Perform(inner)
    return sequence


def test_a_sequence_that_another_performs_does_not_change():
    inner, outer = smpy.experimental.MessageProgram(), within_one_another(2)
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
        (lambda sequence: sequence.Wait(0), "an Irecv before it"),
        (lambda sequence: sequence.Wait(sequence.Send(0, 0) or 0), "an Irecv before it"),
        (lambda sequence: sequence.Send((0, 2, -1), 0), "a part's rows"),
        (lambda sequence: sequence.Send((0, 2), 0), "is no part"),
        (lambda sequence: sequence.Send("0", 0), "is no part"),
        (lambda sequence: sequence.Send(None, 0), "is no part"),
        (lambda sequence: sequence.Call(print, *range(9)), "a step has at most 8 numbers"),
        (lambda sequence: sequence.Call(print, (-1, 2)), "places are counted from 0"),
        (lambda sequence: sequence.Call(print, 1.5), "is no number"),
        (lambda sequence: sequence.Call(print, 2**63), "at most 64 bits"),
        (lambda sequence: sequence.Perform(sequence), "does not perform itself"),
        (lambda sequence: sequence.Perform(within_one_another(16)), "at most 16"),
    ],
)
def test_a_wrong_step_is_refused_when_it_is_written(write, wrong):
    with pytest.raises(ValueError, match=wrong):
        write(smpy.experimental.MessageProgram())


@pytest.mark.parametrize(
    ("write", "arrays", "wrong"),
    [
        (lambda sequence: sequence.Send((0, 0, 9), 0), [np.zeros(8)], "rows 0 to 9 of array 0, which has 8"),
        (
            lambda sequence: sequence.Send((0, 0, 3 * 10**9), 0),
            [np.zeros(8)],
            "rows 0 to 3000000000 of array 0, which has 8",
        ),
        (lambda sequence: sequence.Send((0, 2**62, 2**62), 0), [np.zeros(8)], f"rows {2**62} to {2**62} of array 0"),
        (lambda sequence: sequence.Send((1, 0, 1), 0), [np.zeros(8)], "takes array 1, and perform was given 1"),
        (lambda sequence: sequence.Send(0, 5), [np.zeros(8)], "rank"),
        (lambda sequence: sequence.Send(0, 0, -3), [np.zeros(8)], "tag"),
    ],
)
def test_a_step_that_does_not_fit_says_why(run_ranks, write, arrays, wrong):
    def main(rank):
        sequence = smpy.experimental.MessageProgram()
        write(sequence)
        sequence.perform(MPI.COMM_WORLD, *arrays)

    with pytest.raises(Exception, match=wrong):
        run_ranks(1, main)


@pytest.mark.parametrize("perform", [one_by_one, at_once])
@pytest.mark.parametrize("form", ["Send", "Recv", "Irecv"])
@pytest.mark.parametrize("way", ["Call", "Look", "within"])
def test_a_communicator_that_a_function_has_freed_is_null(run_ranks, perform, form, way):
    def main(rank):
        own, rows = MPI.COMM_WORLD.Dup(), np.full((2, 50_000), rank)
        sequence, inner = smpy.experimental.MessageProgram(), smpy.experimental.MessageProgram()
        inner.Call(own.Free)
        receive = sequence.Irecv((0, 1, 2), 1 - rank)
        sequence.Send((0, 0, 1), 1 - rank)
        if way == "Call":
            sequence.Call(own.Free)
        elif way == "Look":
            sequence.Look()
        else:
            sequence.Perform(inner)
        sequence.Wait(receive)
        getattr(sequence, form)(0, 1 - rank)
        with pytest.raises(MPI.Exception, match=f"{form}: the communicator is null") as told:
            perform(sequence, own, rows, arrival=smpy.experimental.AwaitedMessage(MPI.COMM_WORLD, None, 0, inner))
        return told.value.Get_error_class() == MPI.ERR_COMM, set(rows[1].tolist())

    assert run_ranks(2, main).returned == [(True, {1}), (True, {0})]


@pytest.mark.parametrize("perform", [one_by_one, at_once])
def test_an_array_without_dimensions_has_no_rows(run_ranks, perform):
    def main(rank):
        whole, rows, one = (
            smpy.experimental.MessageProgram(),
            smpy.experimental.MessageProgram(),
            np.full((), rank + 1.0),
        )
        whole.Irecv(1, rank)
        whole.Send(0, rank)
        perform(whole, MPI.COMM_WORLD, one, came := np.zeros(()))
        rows.Send((0, 0, 1), rank)
        with pytest.raises(TypeError):
            perform(rows, MPI.COMM_WORLD, one)
        return float(came)

    assert run_ranks(1, main).returned == [1]


def test_numbers_of_numpy_are_numbers(run_ranks):
    def main(rank):
        one, got = np.int64(1), np.zeros((2, 2))
        sequence = smpy.experimental.MessageProgram()
        receive = sequence.Irecv((one, 0, one), one - rank, one)
        sequence.Send(one * 0, np.int32(1 - rank), one)
        sequence.Wait(np.int8(receive))
        sequence.perform(MPI.COMM_WORLD, np.full(2, rank + 1.0), got)
        return got.tolist()

    assert run_ranks(2, main).returned == [[[2, 2], [0, 0]], [[1, 1], [0, 0]]]


def test_a_performed_sequence_does_not_change(run_ranks):
    def main(rank):
        sequence = smpy.experimental.MessageProgram()
        sequence.perform(MPI.COMM_WORLD)
        with pytest.raises(ValueError, match="has been performed"):
            sequence.Look()

    run_ranks(1, main)


def test_a_message_that_is_too_long_raises_what_its_receive_raises(run_ranks):
    def main(rank):
        sequence, room = smpy.experimental.MessageProgram(), np.zeros(4)
        if rank == 0:
            sequence.Send(0, 1)
            sequence.perform(MPI.COMM_WORLD, np.zeros(5))
            return None
        sequence.Recv(0, 0)
        with pytest.raises(MPI.Exception) as told:
            sequence.perform(MPI.COMM_WORLD, room)
        return told.value.Get_error_class() == MPI.ERR_TRUNCATE, "has 40 bytes" in str(told.value)

    assert run_ranks(2, main).returned[1] == (True, True)


@pytest.mark.parametrize("form", ["Recv", "Irecv"])
def test_a_message_that_is_too_long_names_its_step(run_ranks, form):
    def main(rank):
        sequence, rows, room = smpy.experimental.MessageProgram(), np.zeros(8), np.zeros(4)
        for row in range(3):
            sequence.Irecv((1, row, row + 1), 1 - rank, row)
            sequence.Send((0, row, row + 1), 1 - rank, row)
        if rank == 0:
            sequence.Send(0, 1, 5)
        else:
            getattr(sequence, form)(1, 0, 5)
        sequence.Send((0, 3, 4), 1 - rank, 3)
        sequence.Recv((1, 3, 4), 1 - rank, 3)
        try:
            sequence.perform(MPI.COMM_WORLD, rows, room)
        except MPI.Exception as told:
            return str(told)
        return ""

    told = f"{form}, step 6 of a MessageProgram: the message from rank 0 with tag 5 has 64 bytes"
    assert told in run_ranks(2, main).returned[1]


def test_a_deadlock_in_a_sequence_says_where(smpy_run):
    ran = smpy_run(
        """
        import smpy
        from mpi4py import MPI

        sequence = smpy.experimental.MessageProgram()
        sequence.Recv(0, 1 - MPI.COMM_WORLD.rank, 7)
        sequence.perform(MPI.COMM_WORLD, bytearray(8))
        """,
        2,
        "--compute",
        "none",
    )
    assert ran.code != 0
    assert "rank 0: Recv(source=1, tag=7), step 0 of a MessageProgram   program.py:7" in ran.err


def test_a_deadlock_names_the_step_that_is_waited_for(smpy_run):
    forms = {
        "sequence.Recv(0, peer, 9)": "Recv(source={}, tag=9), step 2 of a MessageProgram",
        "sequence.Irecv(0, peer, 9)": "Wait(Irecv(source={}, tag=9)), step 2 of a MessageProgram",
        "sequence.Send(1, peer, 9)": "Send(dest={}, tag=9) of 1,000,000 bytes, step 2 of a MessageProgram",
    }
    ran = smpy_run(
        f"""
        import smpy
        from mpi4py import MPI

        rank, peer = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.rank ^ 1
        sequence = smpy.experimental.MessageProgram()
        sequence.Irecv(2, peer, 7)
        sequence.Send(0, peer, 7)
        exec({list(forms)}[rank // 2])
        sequence.perform(MPI.COMM_WORLD, bytearray(8), bytearray(10**6), bytearray(8))
        """,
        6,
        "--compute",
        "none",
    )
    for form, told in enumerate(forms.values()):
        for rank in (2 * form, 2 * form + 1):
            assert re.search(rf"rank {rank}: {re.escape(told.format(rank ^ 1))} +program.py:10\n", ran.err)
