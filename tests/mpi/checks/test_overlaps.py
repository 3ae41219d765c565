"""Buffers of operations under way that overlap are named, with both lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

OVERLAPS = {
    "two receives into one buffer": "r = [comm.Irecv(x[:4], left),\n     comm.Irecv(x[:4], left)]",
    "receives into parts that overlap": "r = [comm.Irecv(x[:4], left),\n     comm.Irecv(x[3:7], left)]",
    "a receive and a send": "r = [comm.Isend(x[:4], right),\n     comm.Irecv(x[2:6], left)]",
    "vectors that share an element": "r = [comm.Irecv([x, 1, V], left),\n     comm.Irecv([x[2:], 1, V], left)]",
    "a part of a vector": "r = [comm.Irecv([x, 1, V], left),\n     comm.Irecv(x[2:3], left)]",
}
HEAD = "x = np.zeros(12); V = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()\n"
TAIL = "\nfor _ in r: comm.Send(np.zeros(1), right)\nMPI.Request.Waitall(r)\n"


@pytest.mark.parametrize("start", OVERLAPS.values(), ids=OVERLAPS)
def test_buffers_that_overlap_are_named_by_both_lines(checked: Callable, start: str):
    found = checked(HEAD + start + TAIL + "while comm.Iprobe(): comm.Recv(np.zeros(4))\n")
    assert found["overlap"] == [[(0, 2), (0, 3)]]


def test_a_send_and_a_receive_of_one_call_that_overlap_are_named(checked: Callable):
    assert checked("x = np.zeros(9)\ncomm.Sendrecv(x[:4], right, 0, x[3:7], left)\n")["overlap"] == [[(0, 2), (0, 2)]]


def test_a_receive_that_blocks_overlaps_one_under_way(checked: Callable):
    program = (
        "x = np.zeros(4)\nif rank:\n    r = comm.Irecv([x, 4, MPI.DOUBLE], 0, 1)\n"
        "    comm.Sendrecv(x, 0, 0, x[1:], 0, 2)\n    r.Wait()\n"
        "else:\n    comm.Recv(np.zeros(4), 1)\n    comm.Send(x[:1], 1, 2); comm.Send(x, 1, 1)\n"
    )
    assert [(1, 3), (1, 4)] in checked(program)["overlap"]


APART = {
    "two sends of one buffer": "r = [comm.Isend(x[:4], right), comm.Isend(x[:4], right)]",
    "buffers side by side": "r = [comm.Irecv(x[:4], left), comm.Irecv(x[4:8], left)]",
    "vectors one in the other": "r = [comm.Irecv([x, 1, V], left), comm.Irecv([x[1:], 1, V], left)]",
    "one after the other": ("r = []\nfor _ in range(3): q = comm.Irecv(x, left); comm.Send(x * 0, right); q.Wait()"),
    "no entries": (
        "r = [comm.Irecv(x[:4], left, 0)]; q = comm.Irecv(x[2:2], left, 1); comm.Send(x[:0], right, 1); q.Wait()"
    ),
    "exchanged in place": "r = []; comm.Sendrecv_replace(x, right, 0, left)",
}


@pytest.mark.parametrize("start", APART.values(), ids=APART)
def test_buffers_apart_are_left_alone(checked: Callable, start: str):
    found = checked(HEAD + start + TAIL + "while comm.Iprobe(): comm.Recv(np.zeros(4))\n")
    assert "overlap" not in found
