"""Sending and receiving in one call, and what programs do wrong in point-to-point calls."""

import re

import numpy as np
import pytest

from smpy.mpi import MPI

SIZES = [1, 20_000]  # below and above what is sent at once


@pytest.mark.parametrize("size", SIZES)
def test_sendrecv_replace_swaps_buffers(run_ranks, size):
    def main(rank):
        status, buffer = MPI.Status(), np.full(size, rank)
        MPI.COMM_WORLD.Sendrecv_replace(buffer, (rank + 1) % 3, 4, (rank - 1) % 3, 4, status)
        assert (buffer == (rank - 1) % 3).all()
        return status.source, status.tag

    assert run_ranks(3, main).returned == [((rank - 1) % 3, 4) for rank in range(3)]


def test_sendrecv_replace_takes_the_time_of_sendrecv(run_ranks):
    def main(is_replacing):
        def body(rank):
            out, into = np.zeros(5000), np.zeros(5000)
            if is_replacing:
                MPI.COMM_WORLD.Sendrecv_replace(out, 1 - rank, source=1 - rank)
            else:
                MPI.COMM_WORLD.Sendrecv(out, 1 - rank, recvbuf=into, source=1 - rank)

        return body

    assert run_ranks(2, main(True)).finish_s == run_ranks(2, main(False)).finish_s


def test_sendrecv_replace_with_oneself_changes_nothing_and_takes_no_time(run_ranks):
    def main(rank):
        buffer, status = np.arange(3), MPI.Status()
        MPI.COMM_WORLD.Sendrecv_replace(buffer, rank, 2, rank, 2, status)
        return buffer.tolist(), status.tag, status.Get_count(MPI.LONG)

    world = run_ranks(1, main)
    assert world.returned == [([0, 1, 2], 2, 3)]
    assert world.finish_s == [0]


def test_an_exchange_with_oneself_does_not_overtake_earlier_messages(run_ranks):
    def main(rank):
        world, first, second, got = MPI.COMM_WORLD, np.array([1]), np.array([2]), np.zeros(3, int)
        sent = [world.Isend(first, rank, 5)]
        world.Sendrecv(second, rank, 5, got[:1], rank, 5)
        world.Recv(got[1:2], rank, 5)
        received = world.Irecv(got[2:], rank, 6)
        sent.append(world.Isend(first, rank, 7))
        world.Sendrecv_replace(second, rank, 6, rank, 7)
        MPI.Request.Waitall([*sent, received])
        return got.tolist(), second.tolist()

    assert run_ranks(1, main).returned == [([1, 2, 2], [1])]


@pytest.mark.parametrize("size", SIZES)
def test_isendrecv_completes_when_both_halves_have(run_ranks, size):
    def main(rank):
        world, out, into, status = MPI.COMM_WORLD, np.full(size, float(rank)), np.zeros(size), MPI.Status()
        request = world.Isendrecv(out, 1 - rank, 1, into, 1 - rank, 1)
        replaced = world.Isendrecv_replace(out, 1 - rank, 2, 1 - rank, 2)
        while not request.Test(status):
            pass
        MPI.Request.Waitall([request, replaced])
        assert (into == 1 - rank).all()
        assert (out == 1 - rank).all()
        return status.source, status.tag, status.count

    assert run_ranks(2, main).returned == [(1, 1, 8 * size), (0, 1, 8 * size)]


def test_isendrecv_among_several_requests_is_complete_or_not_as_a_whole(run_ranks):
    def main(rank):
        world, out, into = MPI.COMM_WORLD, np.ones(20_000), np.zeros(20_000)
        if rank == 1:
            world.Recv(into, 0)
            world.send("go on", 0, 1)
            world.recv(source=0)
            world.Send(out, 0)
            return None
        both, note = world.Isendrecv(out, 1, 0, into, 1, 0), world.irecv(source=1, tag=1)
        assert MPI.Request.waitany([both, note]) == (1, "go on")
        assert MPI.Request.Testany([both]) == (MPI.UNDEFINED, False)
        assert not MPI.Request.Get_status_all([both, note])
        world.send("now you", 1)
        while MPI.Request.Testsome([both, note]) == []:
            pass
        return into.sum(), bool(both)

    assert run_ranks(2, main).returned[0] == (20_000, False)


def test_half_an_exchange_with_nobody_is_the_other_half(run_ranks):
    def main(rank):
        world, buffer, status = MPI.COMM_WORLD, np.full(1, rank), MPI.Status()
        if rank == 0:
            world.Sendrecv_replace(buffer, 1, source=MPI.PROC_NULL, status=status)
            assert status.source == MPI.PROC_NULL
            world.Isendrecv(buffer, 1, 0, None, MPI.PROC_NULL).Wait(status)
            assert status.source == MPI.PROC_NULL
        else:
            world.Sendrecv_replace(buffer, MPI.PROC_NULL, source=0)
            world.Isendrecv_replace(buffer, MPI.PROC_NULL, 0, 0).Wait()
        world.Isendrecv(None, MPI.PROC_NULL, 0, None, MPI.PROC_NULL).Wait()
        return buffer[0]

    assert run_ranks(2, main).returned == [0, 0]


def test_a_ready_send_is_a_send(run_ranks):
    def main(rank):
        into = np.zeros(1)
        for ready in (MPI.COMM_WORLD.Rsend, lambda *message: MPI.COMM_WORLD.Irsend(*message).Wait()):
            request = MPI.COMM_WORLD.Irecv(into, rank)
            ready(np.ones(1), rank)
            request.Wait()
        return into[0]

    assert run_ranks(1, main).returned == [1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda world: world.Send(b"x", "a"), TypeError, "Send: dest is of type str, not an integer"),
        (lambda world: world.Irecv(bytearray(1), None), TypeError, "Irecv: source is of type NoneType"),
        (lambda world: world.send(1, 0, 1j), TypeError, "send: tag is of type complex"),
        (lambda world: world.Bsend({}, 0), TypeError, "in Bsend: the message to send"),
        (lambda world: world.Recv(b"x", 0), BufferError, "in Recv: the buffer to receive into"),
        (lambda world: world.Recv_init([bytearray(1), "?!"]), KeyError, "in Recv_init: the buffer to receive into"),
        (lambda world: world.isend(lambda: 0, 0), AttributeError, "in isend: the message to send"),
        (lambda world: world.irecv("abc", 0), TypeError, "irecv: buf is of type str, neither a buffer nor its size"),
        (lambda world: MPI.Request.Waitall([None]), TypeError, r"Waitall: requests\[0\] is of type NoneType"),
        (lambda world: MPI.Request.Testany(7), TypeError, "Testany: requests is of type int"),
        (lambda world: MPI.Prequest.Startall([MPI.REQUEST_NULL]), TypeError, "Startall: a Request is not a Prequest"),
        (
            lambda world: world.Ssend(b"x", 1),
            MPI.Exception,
            r"Ssend\(dest=1, tag=0\): the communicator has ranks 0 to 0",
        ),
        (lambda world: world.Psend_init(b"xy", 0, 0), MPI.Exception, r"Psend_init\(partitions=0\)"),
    ],
)
def test_wrong_arguments_name_their_call(run_ranks, call, error, text):
    def main(rank):
        with pytest.raises(error) as caught:
            call(MPI.COMM_WORLD)
        return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])

    assert re.search(text, run_ranks(1, main).returned[0])
