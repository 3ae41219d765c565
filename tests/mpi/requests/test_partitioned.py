"""Partitioned communication."""

import numpy as np
import pytest

from smpy.mpi import MPI


def test_a_message_in_parts_arrives_when_all_parts_are_ready(run_ranks):
    def main(rank):
        world, out, into = MPI.COMM_WORLD, np.zeros(6), np.zeros(6)
        send = world.Psend_init(out, 3, 1 - rank, 5)
        receive = world.Precv_init(into, 2, 1 - rank, 5)
        for turn in range(2):
            MPI.Prequest.Startall([send, receive])
            out[:] = np.arange(6) + 10 * rank + turn
            send.Pready(1)
            assert not receive.Parrived(0)
            send.Pready_list([2])
            send.Pready_range(0, 0)
            while not (receive.Parrived(0) and receive.Parrived(1)):
                pass
            receive.Wait(status := MPI.Status())
            send.Wait()
            assert (status.source, status.tag, status.count) == (1 - rank, 5, 48)
        return into.tolist()

    assert run_ranks(2, main).returned == [[11.0 + i for i in range(6)], [1.0 + i for i in range(6)]]


def test_waiting_for_a_send_names_the_parts_that_are_missing(run_ranks):
    def main(rank):
        send = MPI.COMM_WORLD.Psend_init(np.zeros(4), 4, rank)
        with pytest.raises(MPI.Exception, match="not under way: call Start first"):
            send.Pready(0)
        send.Start()
        send.Pready(1)
        with pytest.raises(MPI.Exception, match="partitions 0, 2, 3 are not ready"):
            send.Wait()
        for wrong in (1, 4):
            with pytest.raises(MPI.Exception, match=f"partition {wrong} is ready already, or not one of 0 to 3"):
                send.Pready(wrong)
        send.Pready_list([0, 2, 3])
        send.Wait()

    run_ranks(1, main)


def test_partitioned_messages_match_only_each_other(run_ranks):
    def main(rank):
        world, into = MPI.COMM_WORLD, np.zeros(2)
        send = world.Psend_init(np.ones(2), 1, rank, 3)
        send.Start()
        send.Pready(0)
        assert not world.Iprobe()
        receive = world.Precv_init(into, 1, rank, 3)
        receive.Start()
        receive.Wait()
        return into.tolist()

    assert run_ranks(1, main).returned == [[1, 1]]


def test_a_partitioned_send_to_nobody_completes(run_ranks):
    def main(rank):
        send = MPI.COMM_WORLD.Psend_init(np.zeros(2), 2, MPI.PROC_NULL)
        receive = MPI.COMM_WORLD.Precv_init(np.zeros(2), 2, MPI.PROC_NULL, 0)
        MPI.Prequest.Startall([send, receive])
        send.Pready_range(0, 1)
        assert receive.Parrived(1)
        MPI.Request.Waitall([send, receive])

    run_ranks(1, main)
