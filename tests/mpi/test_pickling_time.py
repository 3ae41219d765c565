"""Pickling is work of the rank: where computing is measured, calls on objects take the time of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PROGRAM = """
    import resource
    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    def spent_s():
        "Processor time, of which smpy knows nothing."
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime

    def work(seconds):
        began_s = spent_s()
        while spent_s() - began_s < seconds:
            pass

    class Slow:
        "An object that takes 20 ms to pickle, 30 ms to unpickle, and 50 ms to add."

        def __getstate__(self):
            work(0.02)
            return {{"a": 1}}

        def __setstate__(self, state):
            work(0.03)

        def __add__(self, other):
            work(0.05)
            return other

    slow = Slow()
    comm.Barrier()
    began_s = MPI.Wtime()
    {call}
    comm.Barrier()
    if comm.rank == 0:
        print(MPI.Wtime() - began_s)
"""
PICKLED, UNPICKLED, ADDED = 0.02, 0.03, 0.05
CALLS = {
    "comm.send(slow, 1) if comm.rank == 0 else comm.recv(source=0)": PICKLED + UNPICKLED,
    "comm.isend(slow, 1).wait() if comm.rank == 0 else comm.irecv(source=0).wait()": PICKLED + UNPICKLED,
    "comm.sendrecv(slow, 1 - comm.rank, source=1 - comm.rank)": PICKLED + UNPICKLED,
    "comm.bcast(slow, 0)": PICKLED + UNPICKLED,
    "comm.gather(slow, 0)": PICKLED + 2 * UNPICKLED,
    "comm.scatter([slow, slow], 0)": 2 * PICKLED + UNPICKLED,
    "comm.allgather(slow)": PICKLED + 2 * UNPICKLED,
    "comm.alltoall([slow, slow])": 2 * PICKLED + 2 * UNPICKLED,
    "comm.reduce(slow, root=0)": 2 * (PICKLED + UNPICKLED) + ADDED,  # each copies its own by pickling; one is sent
    "comm.Barrier()": 0.0,
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_on_objects_take_the_time_of_pickling(smpy_run: Callable, call: str):
    ran = smpy_run(PROGRAM.format(call=call), 2, "--quiet")
    assert (ran.code, ran.err) == (0, "")
    took_s = float(ran.out)
    assert CALLS[call] <= took_s + 1e-4
    assert took_s < CALLS[call] * 1.3 + 0.01


def test_pickling_is_free_where_computing_is(smpy_run: Callable):
    ran = smpy_run(PROGRAM.format(call="comm.alltoall([slow, slow])"), 2, "--quiet", "--compute", "none")
    assert (ran.code, ran.err) == (0, "")
    assert float(ran.out) < 1e-3
