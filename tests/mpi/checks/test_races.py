"""Receives from any source that could take another message are named, with both senders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

RACES = {
    "both messages wait": "comm.Barrier(); comm.recv(); comm.recv()",
    "the other one comes later": "comm.Recv(x)\n    comm.Recv(x); comm.Barrier()",
    "the other one is meant for a later receive": "comm.Recv(x); comm.Recv(x, 1); comm.Barrier()",
    "any tag": "comm.Recv(x, MPI.ANY_SOURCE, MPI.ANY_TAG); comm.Recv(x); comm.Barrier()",
    "started receives": "r = [comm.Irecv(x), comm.Irecv(y)]; MPI.Request.Waitall(r); comm.Barrier()",
}


@pytest.mark.parametrize("receive", RACES.values(), ids=RACES)
def test_a_receive_that_could_take_another_message_is_named_with_both_senders(checked: Callable, receive: str):
    send = "comm.send(1, 0); comm.Barrier()" if "recv()" in receive else "comm.Send(x, 0); comm.Barrier()"
    program = f"x, y = np.zeros(1), np.zeros(1)\nif rank == 0:\n    {receive}\nelse:\n    {send}\n"
    n_lines = receive.count("\n")
    sides = checked(program, 3)["any source"][0]
    assert sides[0] == (0, 3)
    assert sorted(sides[1:]) == [(1, 5 + n_lines), (2, 5 + n_lines)]


def test_messages_of_one_tag_in_a_row_of_ranks_do_not_hide_a_race(checked: Callable):
    program = (
        "x = np.zeros(1)\nif rank == 2:\n    comm.Recv(x)\n    comm.Recv(x)\nelif rank == 1:\n    comm.Recv(x, 0)\n"
        "    comm.Send(x, 2)\nelse:\n    comm.Send(x, 2)\n    comm.Send(x, 1)\n"
    )
    assert checked(program, 3)["any source"] == [[(2, 3), (0, 9), (1, 7)]]


SURE = {
    "one sender": "comm.Recv(x) if rank == 0 else comm.Send(x, 0) if rank == 1 else None",
    "one sender twice": ("for _ in range(2):\n    if rank == 0: comm.Recv(x)\n    if rank == 1: comm.Send(x, 0)"),
    "tags tell who": "[comm.Recv(x, tag=i) for i in (1, 2)] if rank == 0 else comm.Send(x, 0, rank)",
    "sources are named": "[comm.Recv(x, i) for i in (2, 1)] if rank == 0 else comm.Send(x, 0)",
    "the second sends when the first has been received": (
        "if rank == 0: comm.Recv(x); comm.Send(x, 2); comm.Recv(x)\n"
        "elif rank == 1: comm.Send(x, 0)\n"
        "else: comm.Recv(x, 0); comm.Send(x, 0)"
    ),
    "a barrier is between": (
        "if rank == 0: comm.Recv(x)\nif rank == 1: comm.Send(x, 0)\ncomm.Barrier()\n"
        "if rank == 0: comm.Recv(x)\nif rank == 2: comm.Send(x, 0)"
    ),
    "another communicator": (
        "other = comm.Dup()\n"
        "if rank == 0: comm.Recv(x); other.Recv(x)\n"
        "else: (comm if rank == 1 else other).Send(x, 0)\n"
        "other.Free()"
    ),
}


@pytest.mark.parametrize("program", SURE.values(), ids=SURE)
def test_a_receive_that_only_one_message_fits_is_left_alone(checked: Callable, program: str):
    assert checked(f"x = np.zeros(1)\n{program}\n", 3) == {}


ASKING = {
    "a receive with a status": "comm.Recv(x, MPI.ANY_SOURCE, 0, s)",
    "an object with a status": "comm.recv(source=MPI.ANY_SOURCE, status=s)",
    "a wait with a status": "comm.Irecv(x).Wait(s)",
    "a wait for all with statuses": "MPI.Request.Waitall([comm.Irecv(x)], [s])",
}


@pytest.mark.parametrize("receive", ASKING.values(), ids=ASKING)
def test_a_program_that_asks_who_has_sent_is_told_without_a_fault(emulated: Callable, receive: str):
    send = "comm.send(1, 0)" if "comm.recv" in receive else "comm.Send(x, 0)"
    ran = emulated(
        "from mpi4py import MPI\nimport numpy as np\ncomm = MPI.COMM_WORLD\nx = np.zeros(1)\ns = MPI.Status()\n"
        f"for _ in range(2):\n    if comm.rank == 0: {receive}\nif comm.rank: {send}\n",
        3,
        checks=True,
        strict=True,
    )
    assert ran.code == 0
    assert [remark.topic for remark in ran.outcome.summary.remarks if "first" in remark.facts] == ["arrival order"]


PROBES = {
    "matched probes": ("comm.Mprobe().Recv(x)", "any source"),
    "matched probes of objects": ("comm.mprobe().recv()", "any source"),
    "matched probes in a loop": ("while not (m := comm.Improbe()): pass\n        m.Recv(x)", "any source"),
    "matched probes with a status": ("comm.Mprobe(status=s).Recv(x)", "arrival order"),
    "a status at the receive": ("comm.Mprobe().Recv(x, s)", "arrival order"),
    "probes, and receives from their source": ("comm.Probe(status=s); comm.Recv(x, s.source)", "arrival order"),
    "probes in a loop": ("while not comm.Iprobe(status=s): pass\n        comm.Recv(x, s.source)", "arrival order"),
}


@pytest.mark.parametrize(("probe", "topic"), PROBES.values(), ids=PROBES)
def test_a_probe_that_could_find_another_message_is_named(checked: Callable, probe: str, topic: str):
    send = "comm.send(1, 0)" if ".recv()" in probe else "comm.Send(x, 0)"
    program = (
        f"x, s = np.zeros(1), MPI.Status()\nif rank:\n    {send}\nelse:\n    for _ in range(2):\n        {probe}\n"
    )
    found = checked(program, 3)
    assert list(found) == [topic]
    assert [sorted(sides) for sides in found[topic]] == [[(0, 6), (1, 3), (2, 3)]]


SURE_PROBES = {
    "a source": "comm.Mprobe(1).Recv(x); comm.Mprobe(2).Recv(x)",
    "a probe that only waits": "comm.Probe(); comm.Recv(x, 1); comm.Recv(x, 2)",
    "a tag": "comm.Mprobe(tag=1).Recv(x); comm.Mprobe(tag=2).Recv(x)",
}


@pytest.mark.parametrize("probes", SURE_PROBES.values(), ids=SURE_PROBES)
def test_a_probe_that_takes_no_other_message_is_left_alone(checked: Callable, probes: str):
    assert checked(f"x = np.zeros(1)\nif rank:\n    comm.Send(x, 0, rank)\nelse:\n    {probes}\n", 3) == {}
