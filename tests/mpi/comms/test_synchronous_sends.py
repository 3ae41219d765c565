"""`--synchronous-sends`: every standard send waits for its receive, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.errors import DeadlockError
from smpy.mpi import MPI
from tests.mpi.conftest import run_world

FEW = np.zeros(4, "B")


def run_synchronously(n_ranks, body):
    def main(rank):
        current().make_sends_synchronous()
        return body(MPI.COMM_WORLD)

    return run_world(n_ranks, main)


def start_persistent(comm, dest):
    request = comm.Send_init(FEW, dest)
    request.Start()
    request.Wait()


def receive_later(comm):
    comm.Recv(FEW.copy(), 1 - comm.rank)


@pytest.mark.parametrize(
    "send",
    [
        lambda comm, dest: comm.Send(FEW, dest),
        lambda comm, dest: comm.Send([FEW, 4, MPI.BYTE], dest),
        lambda comm, dest: comm.Isend(FEW, dest).Wait(),
        lambda comm, dest: comm.send(1, dest),
        lambda comm, dest: comm.isend(1, dest).wait(),
        start_persistent,
        lambda comm, dest: MPI.Request.Waitall([comm.Isend(FEW, dest)]),
    ],
)
def test_a_standard_send_waits_for_its_receive(send):
    def both_send_first(comm):
        send(comm, 1 - comm.rank)
        receive_later(comm)

    with pytest.raises(DeadlockError):
        run_synchronously(2, both_send_first)


def test_a_buffered_send_waits_for_nothing():
    def both_send_first(comm):
        MPI.Attach_buffer(bytearray(1000))
        comm.Bsend(FEW, 1 - comm.rank)
        receive_later(comm)
        MPI.Detach_buffer()

    run_synchronously(2, both_send_first)


def test_both_sides_of_an_exchange_are_under_way_at_once():
    def exchange(comm):
        comm.Sendrecv(FEW, 1 - comm.rank, 0, FEW.copy(), 1 - comm.rank)
        comm.Sendrecv(FEW, comm.rank, 0, FEW.copy(), comm.rank)
        assert comm.sendrecv(comm.rank, 1 - comm.rank) == 1 - comm.rank
        again = FEW.copy()
        comm.Sendrecv_replace(again, 1 - comm.rank, 0, 1 - comm.rank)

    run_synchronously(2, exchange)


def test_the_messages_of_collectives_are_no_standard_sends():
    def collect(comm):
        half = comm.Split(comm.rank % 2)
        both = half.Create_intercomm(0, comm, 1 - comm.rank % 2)
        for each in (comm, half, comm.Dup()):
            each.Allreduce(np.ones(3), np.zeros(3))
            each.allreduce([1], op=lambda a, b: a + b)
            each.scan(1)
            each.exscan(1)
            each.bcast([1])
            each.alltoall(range(each.size))
            each.Ibarrier().Wait()
        both.Barrier()
        both.allreduce(1)
        both.Merge()

    run_synchronously(5, collect)


def test_a_cure_is_named(smpy_run: Callable):
    ran = smpy_run(
        """
        from mpi4py import MPI
        c = MPI.COMM_WORLD
        c.Send(bytearray(8), 1 - c.rank)
        c.Recv(bytearray(8), 1 - c.rank)
        """,
        2,
        "--synchronous-sends",
    )
    assert ran.code == 1
    assert "With --synchronous-sends every standard send waits for its receive" in ran.err
