"""Sending and receiving buffers."""

from dataclasses import replace

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.errors import DeadlockError
from smpy.mpi import MPI
from smpy.platforms import default_cluster
from tests.mpi.conftest import run_world

EAGER, RENDEZVOUS = 100, 100_000  # doubles


@pytest.fixture(params=[EAGER, RENDEZVOUS], ids=["eager", "rendezvous"])
def n(request):
    return request.param


@pytest.mark.parametrize("send", ["Send", "Ssend"])
def test_a_receive_gets_what_the_buffer_held_when_it_was_sent(run_ranks, send, n):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            data = np.arange(n, dtype=float)
            getattr(world, send)(data, dest=1)
            data[:] = -1
        else:
            data = np.zeros(n)
            world.Recv(data, source=0)
        return data

    received = run_ranks(2, main).returned[1]
    assert (received == np.arange(n)).all()


@pytest.mark.parametrize("send", ["Isend", "Issend"])
def test_a_started_send_leaves_the_buffer_alone_after_wait(run_ranks, send, n):
    def main(rank):
        world = MPI.COMM_WORLD
        data = np.full(n, float(rank))
        if rank == 0:
            getattr(world, send)(data, 1).Wait()
            data[:] = 7
        else:
            world.Recv(data, 0)
        return data[0]

    assert run_ranks(2, main).returned == [7, 0]


def test_a_synchronous_send_waits_for_its_receive_and_a_small_standard_one_does_not(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 1:
            for source in (2, 3):
                world.recv(source=source)  # the senders are far ahead by now
            world.Recv(bytearray(8), 2, 5)
            world.Recv(bytearray(8), 3, 5)
        if rank == 0:
            return 0.0
        if rank >= 2:
            world.send("about to", 1)
            began_s = MPI.Wtime()
            (world.Ssend if rank == 2 else world.Send)(bytes(8), 1, 5)
            return MPI.Wtime() - began_s
        return 0.0

    waited_s = run_ranks(4, main).returned
    assert waited_s[2] > 5e-7
    assert waited_s[3] < 3e-7  # its overhead, and what asking for the time costs


def test_messages_from_one_sender_do_not_overtake(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            requests = [world.Isend(np.full(size, i), 1, 3) for i, size in enumerate((RENDEZVOUS, 1, RENDEZVOUS, 1))]
            MPI.Request.Waitall(requests)
            return None
        seen = []
        for _ in range(4):
            room = np.zeros(RENDEZVOUS, int)
            world.Recv(room, MPI.ANY_SOURCE, MPI.ANY_TAG)
            seen.append(int(room[0]))
        return seen

    assert run_ranks(2, main).returned[1] == [0, 1, 2, 3]


def test_a_status_tells_source_tag_and_size(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        if rank == 2:
            world.Send(np.zeros(3), 0, 11)
        if rank == 0:
            world.Recv(np.zeros(10), MPI.ANY_SOURCE, MPI.ANY_TAG, status)
        return status.source, status.tag, status.count, status.Get_count(MPI.DOUBLE), status.error

    assert run_ranks(3, main).returned[0] == (2, 11, 24, 3, MPI.SUCCESS)


def test_a_message_that_does_not_fit_is_an_error_that_names_it(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            world.Send(np.zeros(3), 1, 4)
        else:
            with pytest.raises(MPI.Exception, match=r"rank 0 with tag 4 has 24 bytes.* room for 16") as caught:
                world.Recv(np.zeros(2), 0)
            return caught.value.Get_error_class()
        return None

    assert run_ranks(2, main).returned[1] == MPI.ERR_TRUNCATE


def test_nobody_is_a_peer_that_takes_no_time(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        room = np.full(2, 3.0)
        world.Send(room, MPI.PROC_NULL)
        world.Recv(room, MPI.PROC_NULL, status=status)
        told = [(status.source, status.tag, status.count)]
        world.Irecv(room, MPI.PROC_NULL).Wait(status)
        told.append((status.source, status.tag, status.count))
        world.Isend(room, MPI.PROC_NULL).Wait()
        world.Sendrecv(room, MPI.PROC_NULL, 0, room, MPI.PROC_NULL, 0, status)
        told.append((status.source, status.tag, status.count))
        assert world.Probe(MPI.PROC_NULL)
        assert world.Iprobe(MPI.PROC_NULL)
        assert world.recv(source=MPI.PROC_NULL) is None
        assert room.tolist() == [3, 3]
        return told

    world = run_ranks(2, main)
    assert world.returned[0] == [(MPI.PROC_NULL, MPI.ANY_TAG, 0)] * 3
    assert world.finish_s == [0, 0]


def test_sendrecv_exchanges_around_a_ring_without_waiting_for_ever(run_ranks, n):
    def main(rank):
        world = MPI.COMM_WORLD
        into = np.zeros(n)
        world.Sendrecv(np.full(n, rank), (rank + 1) % 3, 0, [into, MPI.DOUBLE], (rank - 1) % 3)
        return into[-1]

    def typed(rank):
        world = MPI.COMM_WORLD
        into = np.zeros(n)
        world.Sendrecv(np.full(n, float(rank)), (rank + 1) % 3, recvbuf=into, source=(rank - 1) % 3)
        return into[-1]

    assert run_ranks(3, typed).returned == [2, 0, 1]
    run_ranks(3, main)


def test_sendrecv_with_oneself_is_a_copy_in_no_time(run_ranks, n):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        into = np.zeros(n)
        world.Sendrecv(np.full(n, 5.0), rank, 3, into, rank, 3, status)
        return into.sum(), status.source, status.tag

    world = run_ranks(2, main)
    assert world.returned == [(5 * n, 0, 3), (5 * n, 1, 3)]
    assert world.finish_s == [0, 0]


def test_a_probe_finds_the_message_that_the_next_receive_gets(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        if rank:
            world.Send(np.full(rank, rank), 0, rank)
            return None
        sizes = []
        for _ in range(2):
            world.Probe(status=status)
            room = np.zeros(status.Get_count(MPI.LONG), int)
            world.Recv(room, status.source, status.tag)
            sizes.append(room.tolist())
        assert not world.Iprobe()
        return sorted(sizes)

    assert run_ranks(3, main).returned[0] == [[1], [2, 2]]


def test_a_loop_on_iprobe_moves_simulated_time_until_the_message_comes(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        began_s = MPI.Wtime()
        if rank == 0:
            world.Send(b"x", 1)
        if rank == 1:
            world.Recv(bytearray(1), 0)
            world.Ssend(b"x", 2)
        if rank == 2:
            while not world.Iprobe(1):
                pass
            world.Recv(bytearray(1), 1)
        return MPI.Wtime() - began_s

    assert run_ranks(3, main).returned[2] > 1e-6  # one look


@pytest.mark.parametrize(
    ("arguments", "error_class", "text"),
    [
        ((3,), "ERR_RANK", r"Send\(dest=3, tag=0\): the communicator has ranks 0 to 1"),
        ((-7,), "ERR_RANK", "ranks 0 to 1"),
        ((0, -1), "ERR_TAG", "between 0 and"),
    ],
)
def test_a_send_to_what_cannot_be_is_an_error_of_its_class(run_ranks, arguments, error_class, text):
    def main(rank):
        with pytest.raises(MPI.Exception, match=text) as caught:
            MPI.COMM_WORLD.Send(np.zeros(1), *arguments)
        return caught.value == getattr(MPI, error_class)

    assert all(run_ranks(2, main).returned)


@pytest.mark.parametrize("arguments", [(9,), (-7,)])
def test_a_receive_from_what_cannot_be_is_an_error(run_ranks, arguments):
    def main(rank):
        with pytest.raises(MPI.Exception, match="invalid rank") as caught:
            MPI.COMM_WORLD.Irecv(np.zeros(1), *arguments)
        return caught.value.Get_error_class()

    assert run_ranks(1, main).returned == [MPI.ERR_RANK]


def test_a_null_communicator_is_an_error_in_every_call(run_ranks):
    def main(rank):
        null = MPI.COMM_NULL
        calls = [
            lambda: null.Send(b"", 0),
            null.recv,
            null.Get_rank,
            lambda: null.size,
            null.Barrier,
            lambda: null.bcast(1),
            null.Dup,
            null.Free,
        ]
        for call in calls:
            with pytest.raises(MPI.Exception, match="the communicator is null") as caught:
                call()
            assert caught.value == MPI.ERR_COMM

    run_ranks(1, main)


def test_a_rank_or_tag_may_come_out_of_a_division(run_ranks):
    def main(rank):
        half, box = MPI.COMM_WORLD.size / 2, np.zeros(1)
        if rank == 0:
            MPI.COMM_WORLD.Send(np.array([7.0]), dest=half, tag=4 / 2)
        else:
            MPI.COMM_WORLD.Recv(box, source=half - 1, tag=2.0)
        return box[0]

    assert run_ranks(2, main).returned == [0.0, 7.0]


def with_free_probes(n_ranks, polls_notice):
    """Models of a cluster on which a look for a message takes no time."""
    models = default_cluster(n_ranks).build().models
    return replace(models, polling=replace(models.polling, iprobe_s=0.0, polls_notice=polls_notice))


@pytest.mark.parametrize("polls_notice", [False, True])
def test_a_probe_that_takes_no_time_waits_for_its_message(n, polls_notice):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        if rank:
            current().sleep(1e-3 * rank)
            current().block("sleep")
            world.Send(np.zeros(n), 0, rank)
            return MPI.Wtime()
        dates_s = []
        for tag in (2, 1, 3):  # the message of rank 1 waits for the second probe
            world.Probe(MPI.ANY_SOURCE, tag, status)
            dates_s.append(MPI.Wtime())
            world.Recv(np.zeros(n), status.source, tag)
        return dates_s

    first_s, second_s, third_s = run_world(4, main, models=with_free_probes(4, polls_notice)).returned[0]
    assert first_s == pytest.approx(2e-3, rel=0.01)
    assert first_s < second_s < 3e-3
    assert third_s == pytest.approx(3e-3, rel=0.01)


@pytest.mark.parametrize("polls_notice", [False, True])
def test_a_probe_that_takes_no_time_and_finds_nothing_is_a_deadlock(polls_notice):
    def main(rank):
        MPI.COMM_WORLD.Probe(1 - rank)

    with pytest.raises(DeadlockError):
        run_world(2, main, models=with_free_probes(2, polls_notice))
