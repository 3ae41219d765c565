"""Buffers that a program uses while a message needs them are named by the lines of the start and of the completion."""

from __future__ import annotations

from collections.abc import Callable

import pytest

SENDERS = {
    "a small message": "x = np.zeros(4); r = comm.Isend(x, 1)",
    "a large message": "x = np.zeros(99_999); r = comm.Isend(x, 1)",
    "a synchronous send": "x = np.zeros(4); r = comm.Issend(x, 1)",
    "a part of an array": "x = np.zeros(9); r = comm.Isend(x[3:5], 1); x = x[3:]",
    "a vector": "x = np.zeros(9); r = comm.Isend([x, 1, V], 1)",
    "a persistent send": "x = np.zeros(4); r = comm.Send_init(x, 1); r.Start()",
}
VECTOR = "V = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()\n"


@pytest.mark.parametrize("start", SENDERS.values(), ids=SENDERS)
def test_a_buffer_changed_while_it_is_sent_is_named_by_its_lines(checked: Callable, start: str):
    program = (
        f"{VECTOR}if rank == 0:\n    {start}\n    x[0] = 1\n    r.Wait()\nelse:\n    comm.Recv(np.zeros(99_999))\n"
    )
    assert checked(program)["buffers"] == [[(0, 3), (0, 5)]]


PLAIN = "x = np.frombuffer(bytearray(32))"
"""Memory that has no pages of its own: checksums alone tell who writes there."""
RECEIVERS = {
    "a small message": f"{PLAIN}; r = comm.Irecv(x, 0)",
    "a part of an array": "x = np.zeros(9); r = comm.Irecv(x[:4], 0)",
    "a vector": "x = np.zeros(9); r = comm.Irecv([x, 1, V], 0)",
    "a persistent receive": f"{PLAIN}; r = comm.Recv_init(x, 0); r.Start()",
    "any source": f"{PLAIN}; r = comm.Irecv(x)",
}


@pytest.mark.parametrize("start", RECEIVERS.values(), ids=RECEIVERS)
def test_a_buffer_written_before_the_message_comes_is_named_by_its_line(checked: Callable, start: str):
    send = f"comm.Barrier(); comm.Send(np.ones({2 if 'V]' in start else 4}), 1)"
    program = f"{VECTOR}if rank == 1:\n    {start}\n    x[0] = 1\n    comm.Barrier()\n    r.Wait()\nelse:\n    {send}\n"
    assert checked(program)["buffers"] == [[(1, 3)]]


def test_a_buffer_written_after_the_message_has_come_is_named_by_both_lines(checked: Callable):
    program = (
        f"if rank == 0:\n    comm.Send(np.ones(4), 1)\n    comm.Barrier()\nelse:\n    {PLAIN}\n"
        "    r = comm.Irecv(x, 0)\n    comm.Barrier()\n    x[0] = 7\n    r.Wait()\n"
    )
    assert checked(program)["buffers"] == [[(1, 6), (1, 9)]]


@pytest.mark.parametrize(
    "start",
    ["comm.Ibcast(x)", "comm.Iallreduce(x, np.zeros(4))", "comm.Iallgather(x, np.zeros(8))"],
)
def test_a_buffer_changed_while_a_collective_sends_it_is_named_by_its_lines(checked: Callable, start: str):
    program = f"x = np.zeros(4)\nr = {start}\nif rank == 0: x[0] = 1\nr.Wait()\n"
    assert checked(program)["buffers"] == [[(0, 2), (0, 4)]]


@pytest.mark.parametrize(
    "start", ["MPI.Prequest.Startall([r, q, p])", "MPI.Prequest.Startall(requests=iter((r, q, p)))"]
)
def test_buffers_of_operations_that_are_started_together_are_those_of_each(checked: Callable, start: str):
    program = (
        "x, y, z, s, t = np.zeros((5, 4)); r, q = comm.Allreduce_init(x, y), comm.Allreduce_init(z, s)\n"
        "p = comm.Send_init(t, 1 - rank)\n"
        f"{start}\n"
        "r.Wait(); x[0] = y[0] = 1\n"
        "if rank == 0: z[0] = 1\n"
        "q.Wait()\n"
        "if rank == 0: t[0] = 1\n"
        "comm.Recv(np.zeros(4)); p.Wait()\nr.Free(); q.Free(); p.Free()\n"
    )
    assert checked(program)["buffers"] == [[(0, 3), (0, 6)], [(0, 3), (0, 8)]]


RESULTS = {
    "Ibcast": "comm.Ibcast(x)",
    "Iallgather": "comm.Iallgather(np.ones(2), x)",
    "Iallreduce in place": "comm.Iallreduce(MPI.IN_PLACE, x)",
    "Ialltoall in place": "comm.Ialltoall(MPI.IN_PLACE, x)",
    "Igather": "comm.Igather(np.ones(2), x, root=1)",
}


@pytest.mark.parametrize("start", RESULTS.values(), ids=RESULTS)
def test_a_result_of_a_collective_written_before_it_comes_is_named_by_both_lines(checked: Callable, start: str):
    program = f"x = np.arange(4.0) + rank\nr = {start}\nif rank: x[0] = 9\nr.Wait()\n"
    assert checked(program)["buffers"] == [[(1, 2), (1, 4)]]


@pytest.mark.parametrize("start", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("n_ranks", [1, 2])
def test_a_result_that_a_collective_writes_is_left_alone(checked: Callable, start: str, n_ranks: int):
    program = f"x = np.arange(4.0) + rank\nr = {start.replace('root=1', '')}\nr.Wait()\nx[0] = 9\n"
    if n_ranks == 1:
        program = program.replace("np.ones(2)", "np.ones(4)")
    assert checked(program, n_ranks) == {}


LEFT_ALONE = {
    "changed after the wait": (
        "x = np.zeros(4); r = comm.Isend(x, right); comm.Recv(np.zeros(4), left); r.Wait(); x[0] = 1"
    ),
    "changed after a blocking send": "x = np.zeros(4); comm.Send(x, right); x[0] = 1; comm.Recv(x, left)",
    "another part is changed": (
        "x = np.zeros(9); r = comm.Isend(x[3:5], right); x[2] = x[5] = 1; comm.Recv(np.zeros(4), left); r.Wait()"
    ),
    "gaps of a vector are changed": (
        "x = np.zeros(9); r = comm.Isend([x, 1, V], right); x[1] = 1; comm.Recv(np.zeros(2), left); r.Wait()"
    ),
    "the same is written": (
        "x = np.zeros(4); r = comm.Isend(x, right); x[0] = 0; comm.Recv(np.zeros(4), left); r.Wait()"
    ),
    "only Python's name is used again": (
        "x = np.zeros(4); r = comm.Isend(x, right); x = np.ones(4); comm.Recv(np.zeros(4), left); r.Wait()"
    ),
    "temporary arrays": "r = [comm.Isend(np.full(4, i), right) for i in range(9)]\n"
    "for i in range(9): comm.Recv(np.zeros(4, int), left)\n"
    "MPI.Request.Waitall(r)",
    "a copy is sent": (
        "MPI.Attach_buffer(bytearray(999)); x = np.zeros(4); r = comm.Ibsend(x, right); r.Wait(); x[0] = 1\n"
        "comm.Recv(x, left); MPI.Detach_buffer()"
    ),
    "a receive is waited for": (
        "x = np.zeros(4); r = comm.Irecv(x, left); comm.Send(np.ones(4), right); r.Wait(); x[:] += 1"
    ),
    "a receive that ends as a test succeeds": (
        "x = np.zeros(4); r = comm.Irecv(x, left); comm.Send(np.ones(4), right)\n"
        "while not r.Test(): pass\n"
        "x[0] = 5; assert x.sum() == 8"
    ),
    "the data of a receive": (
        "x = np.zeros(4); r = comm.Irecv(x, left); comm.Send(np.ones(4), right); r.Wait(); assert x.all()"
    ),
    "a shorter message": (
        "x = np.full(4, 7.0); r = comm.Irecv(x, left); comm.Send(np.ones(2), right); r.Wait(); assert x[2] == 7 == x[3]"
    ),
    "a persistent send is changed between its starts": (
        "x = np.zeros(4); r = comm.Send_init(x, right)\n"
        "for i in range(3): x[0] = i; r.Start(); comm.Recv(np.zeros(4), left); r.Wait()\n"
        "r.Free()"
    ),
    "parts of a send are filled in turn": (
        "x, y = np.zeros(4), np.zeros(4)\ns, r = comm.Psend_init(x, 2, right), comm.Precv_init(y, 2, left, 0)\n"
        "MPI.Prequest.Startall([s, r]); x[:2] = 1; s.Pready(0); x[2:] = 1; s.Pready(1)\n"
        "MPI.Request.Waitall([s, r]); assert y.all(); s.Free(); r.Free()"
    ),
    "results of collectives": (
        "x, y, z = np.ones(4), np.zeros(4), np.zeros(4 * size); r = comm.Iallreduce(x, y); r.Wait()\n"
        "r = comm.Iallgather(x, z); r.Wait(); r = comm.Ibcast(z if rank else z + 1); r.Wait()"
    ),
    "a cancelled receive": "x = np.zeros(4); r = comm.Irecv(x, left, 9); r.Cancel(); r.Wait()",
    "folded memory": (
        "import smpy; x = smpy.folded((4,)); r = comm.Isend(x, right); x[0] = 1; comm.Recv(np.zeros(4), left); r.Wait()"
    ),
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_a_program_that_waits_first_is_left_alone(checked: Callable, program: str):
    assert checked(f"{VECTOR}{program}\nV.Free()\n") == {}
