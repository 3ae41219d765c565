"""Persistent requests: described once, started many times."""

import gc
import sys

import numpy as np
import pytest

from smpy.mpi import MPI
from smpy.mpi.requests.persistent import new_prequest


def test_an_inactive_persistent_request_completes_at_once_and_stays(run_ranks):
    def main(rank):
        request = MPI.COMM_WORLD.Recv_init(np.zeros(1), rank)
        status = MPI.Status()
        status.source = 5
        assert request.Wait(status)
        assert (status.source, status.tag, status.count) == (MPI.ANY_SOURCE, MPI.ANY_TAG, 0)
        assert request.Test()
        assert request.Get_status()
        assert MPI.Request.Waitall([request])
        assert MPI.Request.Waitany([request]) == MPI.UNDEFINED
        assert MPI.Request.Testsome([request]) is None
        assert request
        assert request != MPI.REQUEST_NULL

    assert run_ranks(1, main).finish_s == [0]


def test_a_persistent_pair_carries_what_the_buffers_hold_at_each_start(run_ranks):
    def main(rank):
        world, out, into = MPI.COMM_WORLD, np.zeros(3), np.zeros(3)
        requests = [world.Send_init(out, 1 - rank, 7), world.Recv_init(into, 1 - rank, 7)]
        seen = []
        for turn in range(4):
            out[:] = 10 * rank + turn
            MPI.Prequest.Startall(requests)
            if turn % 2:
                MPI.Request.Waitall(requests, statuses := [])
                assert statuses[1].source == 1 - rank
            else:
                MPI.Request.Waitall(requests)
            out[:] = -1
            seen.append(into[0])
        for request in requests:
            request.Free()
            assert request == MPI.REQUEST_NULL
        return seen

    assert run_ranks(2, main).returned == [[10, 11, 12, 13], [0, 1, 2, 3]]


@pytest.mark.parametrize("kind", ["Send_init", "Ssend_init", "Bsend_init", "Rsend_init"])
def test_each_persistent_send_delivers_a_strided_message(run_ranks, kind):
    def main(rank):
        world = MPI.COMM_WORLD
        column = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
        out, into = np.arange(6.0), np.zeros(3)
        MPI.Attach_buffer(bytearray(1000))
        send = getattr(world, kind)([out, 1, column], rank)
        receive = world.Recv_init(into, rank)
        for _ in range(2):
            receive.Start()
            send.Start()
            send.Wait()
            receive.Wait()
            out += 1
        MPI.Detach_buffer()
        return into.tolist()

    assert run_ranks(1, main).returned == [[1, 3, 5]]


def test_starting_a_persistent_request_that_is_under_way_is_an_error(run_ranks):
    def main(rank):
        request = MPI.COMM_WORLD.Recv_init(np.zeros(1), rank)
        request.Start()
        with pytest.raises(MPI.Exception, match="under way already: wait for it first") as caught:
            request.Start()
        assert caught.value.Get_error_class() == MPI.ERR_REQUEST
        MPI.COMM_WORLD.Send(np.zeros(1), rank)
        request.Wait()
        request.Start()
        request.Cancel()
        request.Wait()
        request.Free()
        with pytest.raises(MPI.Exception, match="the request is null"):
            request.Start()

    run_ranks(1, main)


def test_a_persistent_request_that_is_freed_while_active_still_delivers(run_ranks):
    def main(rank):
        world, into = MPI.COMM_WORLD, np.zeros(1)
        request = world.Recv_init(into, rank)
        request.Start()
        request.Free()
        assert not request
        world.Ssend(np.ones(1), rank)
        return into[0]

    assert run_ranks(1, main).returned == [1]


def test_a_persistent_request_keeps_its_buffer_until_it_is_freed(run_ranks):
    def main(rank):
        buffer = np.zeros(4)
        before = sys.getrefcount(buffer)
        request = MPI.COMM_WORLD.Send_init(buffer, rank)
        assert sys.getrefcount(buffer) > before
        request.Free()
        gc.collect()
        assert sys.getrefcount(buffer) == before

    run_ranks(1, main)


def test_persistent_requests_with_nobody_start_and_complete(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        kinds = [world.Send_init, world.Ssend_init, world.Bsend_init, world.Rsend_init, world.Recv_init]
        for kind in kinds:
            request = kind(None, MPI.PROC_NULL)
            for _ in range(2):
                request.Start()
                request.Wait(status)
            request.Free()
        return status.source

    assert run_ranks(1, main).returned == [MPI.PROC_NULL]


def test_handles_of_a_persistent_request_are_equal_and_are_found_by_number(run_ranks):
    def main(rank):
        request = MPI.COMM_WORLD.Send_init(b"", MPI.PROC_NULL)
        assert MPI.Prequest(request) == request
        assert type(MPI.Request(request)) is MPI.Request
        assert MPI.Request(request) == request
        assert MPI.Prequest.fromhandle(request.handle) == request
        assert MPI.COMM_WORLD.Send_init(b"", MPI.PROC_NULL) != request
        with pytest.raises(TypeError):
            MPI.Grequest(request)

    run_ranks(1, main)


def test_a_collective_becomes_persistent_with_what_starts_it(run_ranks):
    def main(rank):
        world, into = MPI.COMM_WORLD, np.zeros(1)
        request = new_prequest(lambda: world.Irecv(into, 1 - rank))
        for turn in range(3):
            request.Start()
            world.Send(np.full(1, float(turn)), 1 - rank)
            request.Wait()
            assert into[0] == turn

    run_ranks(2, main)


def test_a_started_send_costs_what_a_send_costs(run_ranks):
    def main(started):
        def body(rank):
            world, out = MPI.COMM_WORLD, np.zeros(20000)
            if rank == 1:
                world.Recv(out, 0)
            elif started:
                request = world.Send_init(out, 1)
                request.Start()
                request.Wait()
            else:
                world.Send(out, 1)

        return body

    assert run_ranks(2, main(True)).finish_s == run_ranks(2, main(False)).finish_s
