"""Sequences of messages that are drawn, and the two ways of performing one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import smpy
from smpy.mpi import MPI

N_RANKS, N_ROWS = 4, 6


def one_by_one(sequence: smpy.experimental.MessageProgram, comm: MPI.Comm, *arrays: Any, **named: Any) -> None:
    sequence._perform(comm, *arrays, **named)


def at_once(sequence: smpy.experimental.MessageProgram, comm: MPI.Comm, *arrays: Any, **named: Any) -> None:
    sequence.perform(comm, *arrays, **named)


# In each round all ranks do what fits together.
ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ring", "chain", "started", "relayed", "look", "tag", "within", "call", "execute", "overwritten",
             "handed over"]
        ),
        st.integers(1, N_RANKS - 1),
        st.tuples(st.integers(0, N_ROWS - 1), st.integers(0, N_ROWS - 1), st.integers(1, N_ROWS)),
    ),
    min_size=1,
    max_size=8,
)  # fmt: skip


def written(rank: int, rounds: list[Any], *arrays: Any) -> smpy.experimental.MessageProgram:  # noqa: C901  # a branch a form
    """The steps of one rank; rows of array 0 are sent, rows of array 1 or 0 received, and functions write to both."""

    turns: list[int] = []

    def overwrite(array: int, first: int, end: int, number: int) -> None:  # each time with something else
        turns.append(number)
        arrays[array][first:end] = (61 * len(turns) + 7 * number + rank) % 256

    sequence = smpy.experimental.MessageProgram()
    for number, (form, shift, (first, other, n)) in enumerate(rounds):
        to, source, partner = (rank + shift) % N_RANKS, (rank - shift) % N_RANKS, rank ^ 1
        out = (0, first, min(first + n, N_ROWS))
        length = out[2] - out[1]
        start = min(other, N_ROWS - length)
        into = (1, start, start + length)
        if form == "ring":
            receive = sequence.Irecv(into, source, number)
            sequence.Send(out, to, number)
            sequence.Wait(receive)
        elif form == "chain":  # each rank sends on what it has received
            if rank > 0:
                sequence.Recv(out, rank - 1, number)
            if rank + 1 < N_RANKS:
                sequence.Send(out, rank + 1, number)
        elif form == "started":
            receive = sequence.Irecv(into, MPI.ANY_SOURCE, number)
            sequence.Send(out, partner, number)
            sequence.Wait(receive)
        elif form == "relayed":  # the received data are sent on, behind a look
            receive = sequence.Irecv(into, source, number)
            sequence.Send(out, to, number)
            sequence.Look()
            sequence.Wait(receive)
            receive = sequence.Irecv(out, source, number)
            sequence.Send(into, to, number)
            sequence.Wait(receive)
        elif form == "within":  # its requests are complete at its end
            inner = smpy.experimental.MessageProgram()
            inner.Irecv(into, source, number)
            inner.Send(out, to, number)
            inner.Call(smpy.execute, 10**4 * shift, 0)
            sequence.Perform(inner)
            sequence.Perform(inner)
        elif form == "overwritten":  # sent data, and received data once they have been sent on
            if rank % 2 == 0:
                sequence.Send(out, partner, number)
                sequence.Call(overwrite, *out, number)
                sequence.Recv(into, partner, number)
            else:
                sequence.Recv(into, partner, number)
                sequence.Send(into, partner, number)
                sequence.Call(overwrite, *into, number)
        elif form == "handed over":  # a send may be all that comes last, and may be over at once
            inner = smpy.experimental.MessageProgram()
            if rank % 2 == 0:
                sequence.Send(out, partner, number)
                inner.Send(out, partner, number)
                sequence.Perform(inner)
            else:
                for _ in range(2):
                    sequence.Recv(into, partner, number)
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
