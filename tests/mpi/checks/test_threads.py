"""Threads of a rank are checked as the rank is; calls that they make beside each other are no mistakes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

HEAD = "import threading, time\nfrom concurrent.futures import ThreadPoolExecutor\n"
FIRST = HEAD.count("\n") + 1

EXCHANGES = {
    "waits": "r, s = comm.Irecv(y, left, k), comm.Isend(x, right, k); r.Wait(); s.Wait()",
    "a wait for all": "MPI.Request.Waitall([comm.Irecv(y, left, k), comm.Isend(x, right, k)])",
    "waits for any": (
        "r = [comm.Irecv(y, left, k), comm.Isend(x, right, k)]\n    while MPI.Request.Waitany(r) >= 0: pass"
    ),
    "waits for some": "r = [comm.Irecv(y, left, k), comm.Isend(x, right, k)]\n    while MPI.Request.Waitsome(r): pass",
    "tests": (
        "r = [comm.Irecv(y, left, k), comm.Isend(x, right, k)]\n    while not all(each.Test() for each in r): pass"
    ),
    "exchanges": "comm.Sendrecv(x, right, k, y, left, k)",
    "objects": "r = comm.isend(x, right, k); y[:] = comm.recv(source=left, tag=k); r.wait()",
}


@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_threads_that_exchange_beside_each_other_are_left_alone(checked: Callable, exchange: str):
    program = (
        f"{HEAD}def work(k):\n  for n in (3, 9000, 4):\n    x, y = np.full(n, rank + k), np.zeros(n, int)\n"
        f"    {exchange}\n    assert (y == left + k).all(); x[:] = y[:] = -1\n"
        "with ThreadPoolExecutor(4) as pool: list(pool.map(work, range(6)))\n"
    )
    assert checked(program, 3) == {}


def test_a_request_that_one_thread_starts_and_another_one_completes_is_left_alone(checked: Callable):
    program = (
        f"{HEAD}x, y, r = np.ones(4), np.zeros(4), []\n"
        "def start(): r.extend((comm.Irecv(y, left), comm.Isend(x, right)))\n"
        "t = threading.Thread(target=start); t.start(); t.join()\n"
        "MPI.Request.Waitall(r); x[:] = y[:] = 2\n"
    )
    assert checked(program) == {}


def test_a_buffer_is_looked_at_though_another_thread_has_received_since(checked: Callable):
    """While the one tests its other requests, those of the other one have the number of the request that it has."""
    program = (
        f"{HEAD}x, a = np.zeros((200, 8)), np.ones(8)\n"
        "def some():\n"
        "  r = [comm.Irecv(x[i], 1, 10 + i) for i in range(200)]\n"
        "  for i in MPI.Request.Waitsome(r): x[i] = -1\n"
        "  comm.Send(a, 1, 4)\n"
        "  while MPI.Request.Waitsome(r): pass\n"
        "if rank == 0:\n"
        "  time.sleep(.1); t = threading.Thread(target=some); t.start()\n"
        "  for i in range(400): z = np.zeros(8); comm.Irecv(z, 1, 3).Wait(); z[:] = i; time.sleep(1e-5)\n"
        "  t.join()\n"
        "else:\n"
        "  comm.Send(a, 0, 10)\n"
        "  for i in range(400): comm.Send(a, 0, 3)\n"
        "  comm.Recv(a, 0, 4)\n"
        "  for i in range(1, 200): comm.Send(a, 0, 10 + i)\n"
    )
    assert checked(program) == {}


MISTAKES = {
    "a buffer that is changed": (
        "buffers",
        "x = np.zeros(4); r = comm.Isend(x, right); comm.Recv(np.zeros(4), left); x[0] = 1\n  r.Wait()",
        [(0, 1), (0, 2)],
    ),
    "receives that overlap": (
        "overlap",
        (
            "x = np.zeros(4); r = [comm.Irecv(x, left),\n  comm.Irecv(x[1:], left)]\n"
            "  comm.Send(np.zeros(1), right); comm.Send(np.zeros(1), right); MPI.Request.Waitall(r)"
        ),
        [(0, 1), (0, 2)],
    ),
    "a communicator that is not freed": ("not freed", "comm.Dup()", [(0, 1)]),
    "a request that nobody completes": ("requests", "comm.isend(1, right); comm.recv(source=left)", [(0, 1)]),
}


@pytest.mark.parametrize(("topic", "mistake", "sides"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_a_thread_is_named_by_its_line(checked: Callable, topic: str, mistake: str, sides: list):
    program = f"{HEAD}def work():\n  {mistake}\nt = threading.Thread(target=work); t.start(); t.join()\n"
    found = checked(program)
    assert list(found) == [topic]
    assert [(rank, line + FIRST) for rank, line in sides] in found[topic]


def test_threads_of_a_rank_with_receives_of_one_buffer_are_named(checked: Callable):
    program = (
        f"{HEAD}x = np.zeros(4)\ndef work(k):\n  r = comm.Irecv(x, left, k); comm.Barrier() if k else time.sleep(1)\n"
        "  comm.Send(x * 0, right, k); r.Wait()\n"
        "t = threading.Thread(target=work, args=(0,)); t.start(); work(1); t.join()\n"
    )
    assert checked(program)["overlap"] == [[(0, FIRST + 2), (0, FIRST + 2)]]


def test_threads_that_share_a_window_are_left_alone(checked: Callable):
    program = (
        f"{HEAD}win = MPI.Win.Allocate(320, 8, comm=comm)\ndef work(k):\n  x = np.full(2, float(k))\n"
        "  win.Put(x, right, 2 * k); win.Flush(right); win.Get(x, right, 2 * k); win.Flush(right)\n"
        "  win.Accumulate(x, 0, 30); win.Flush(0)\n"
        "win.Lock_all()\nwith ThreadPoolExecutor(4) as pool: list(pool.map(work, range(8)))\n"
        "win.Unlock_all(); win.Free()\n"
    )
    assert checked(program) == {}
