"""Completing requests, one and several."""

import numpy as np
import pytest

import smpy.mpi as MPI


def test_a_request_is_true_until_it_has_completed(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        into = np.zeros(4)
        receive = world.Irecv(into, rank)
        assert receive
        send = world.Isend(np.ones(4), rank)
        assert send
        send.Wait()
        receive.Wait()
        assert not send
        assert not receive
        assert send == receive == MPI.REQUEST_NULL
        return into.sum()

    assert run_ranks(1, main).returned == [4]


def test_test_says_no_until_the_message_is_there_and_moves_time(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        into = np.zeros(1)
        if rank == 1:
            world.recv(source=0)
            world.Send(np.ones(1), 0)
            return None
        request = world.Irecv(into, 1)
        first = request.Test()
        world.send("now", 1)
        looks = 1
        while not request.Test():
            looks += 1
        return first, looks > 0, request == MPI.REQUEST_NULL, into[0]

    assert run_ranks(2, main).returned[0] == (False, True, True, 1)


def test_null_requests_complete_at_once(run_ranks):
    def main(rank):
        null, status = MPI.REQUEST_NULL, MPI.Status()
        status.source, status.tag, status.count = 5, 5, 5
        request = MPI.Request
        assert null.Wait(status)
        assert (status.source, status.tag, status.count) == (MPI.ANY_SOURCE, MPI.ANY_TAG, 0)
        assert null.Test()
        assert null.wait() is None
        assert null.test() == (True, None)
        for requests in ([], [null]):
            n = len(requests)
            assert request.Waitany(requests) == MPI.UNDEFINED
            assert request.Testany(requests) == (MPI.UNDEFINED, True)
            assert request.Waitsome(requests) is None
            assert request.Testsome(requests) is None
            assert request.Waitall(requests)
            assert request.Testall(requests)
            assert request.waitany(requests) == (MPI.UNDEFINED, None)
            assert request.testany(requests) == (MPI.UNDEFINED, True, None)
            assert request.waitsome(requests) == (None, None)
            assert request.testsome(requests) == (None, None)
            assert request.waitall(requests) == [None] * n
            assert request.testall(requests) == (True, [None] * n)

    assert run_ranks(1, main).finish_s == [0]


def exchange(rank, n_messages):
    """Receives from rank 0 at rank 1, in the order of tags; the messages arrive in the opposite order."""
    world = MPI.COMM_WORLD
    if rank == 0:
        for tag in reversed(range(n_messages)):
            world.Ssend(np.full(2, tag), 1, tag)
        return [], []
    rooms = [np.zeros(2, int) for _ in range(n_messages)]
    return rooms, [world.Irecv(room, 0, tag) for tag, room in enumerate(rooms)]


def test_waitall_fills_all_buffers_and_statuses(run_ranks):
    def main(rank):
        rooms, requests = exchange(rank, 5)
        statuses = []
        MPI.Request.Waitall(requests, statuses)
        assert not any(requests)
        return [int(room[0]) for room in rooms], [status.tag for status in statuses]

    assert run_ranks(2, main).returned[1] == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4])


def test_waitany_gives_requests_in_the_order_of_completion(run_ranks):
    def main(rank):
        rooms, requests = exchange(rank, 4)
        order, status = [], MPI.Status()
        for _ in rooms:
            order.append(MPI.Request.Waitany(requests, status))
            assert status.tag == order[-1]
        assert MPI.Request.Waitany(requests) == MPI.UNDEFINED
        return order

    assert run_ranks(2, main).returned[1] == [3, 2, 1, 0]


def test_waitsome_gives_those_that_have_completed(run_ranks):
    def main(rank):
        rooms, requests = exchange(rank, 4)
        seen = []
        while (indices := MPI.Request.Waitsome(requests, statuses := [])) is not None:
            assert [status.tag for status in statuses] == indices
            seen += indices
        return sorted(seen), [int(room[0]) for room in rooms]

    assert run_ranks(2, main).returned[1] == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_testall_completes_none_before_all(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            world.Send(np.ones(1), 1, 0)
            world.recv(source=1)
            world.Send(np.ones(1), 1, 1)
            return None
        rooms = [np.zeros(1), np.zeros(1)]
        requests = [world.Irecv(room, 0, tag) for tag, room in enumerate(rooms)]
        for _ in range(20):
            assert not MPI.Request.Testall(requests)
        assert all(requests)
        assert rooms[0][0] == 1
        world.send("go on", 0)
        while not MPI.Request.Testall(requests, statuses := []):
            assert all(requests)
        return any(requests), [status.tag for status in statuses], rooms[1][0]

    assert run_ranks(2, main).returned[1] == (False, [0, 1], 1)


def test_testany_and_testsome_find_what_has_completed(run_ranks):
    def main(rank):
        rooms, requests = exchange(rank, 3)
        found = []
        while len(found) < len(rooms):
            index, flag = MPI.Request.Testany(requests)
            if flag:
                found.append(index)
            found += MPI.Request.Testsome(requests) or []
        return sorted(found)

    assert run_ranks(2, main).returned[1] == [0, 1, 2]


def test_objects_come_with_their_requests(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            for tag in range(6):
                world.ssend({"tag": tag}, 1, tag)
            return None
        requests = [world.irecv(source=0, tag=tag) for tag in range(6)]
        one = requests[0].wait()
        index, two = MPI.Request.waitany(requests[1:2])
        indices, three = MPI.Request.waitsome(requests[2:3])
        rest = MPI.Request.waitall(requests[3:])
        assert (index, indices) == (0, [0])
        return [one, two, *three, *rest]

    assert run_ranks(2, main).returned[1] == [{"tag": tag} for tag in range(6)]


def test_a_truncated_message_among_several_is_raised_when_all_have_ended(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        if rank == 0:
            world.Send(np.zeros(2), 1, 0)
            world.Send(np.ones(1), 1, 1)
            return None
        small, room = np.zeros(1), np.zeros(1)
        requests = [world.Irecv(small, 0, 0), world.Irecv(room, 0, 1)]
        statuses = []
        with pytest.raises(MPI.Exception, match="message truncated"):
            MPI.Request.Waitall(requests, statuses)
        return any(requests), room[0], [status.error for status in statuses]

    assert run_ranks(2, main).returned[1] == (False, 1, [MPI.ERR_TRUNCATE, 0])


def test_a_list_of_statuses_grows_to_what_is_needed_and_keeps_its_own(run_ranks):
    def main(rank):
        world = MPI.COMM_WORLD
        mine = MPI.Status()
        statuses = [mine]
        requests = [world.Irecv(bytearray(1), rank, tag) for tag in (5, 6)]
        for tag in (5, 6):
            world.Send(b"x", rank, tag)
        MPI.Request.Waitall(requests, statuses)
        return statuses[0] is mine, [status.tag for status in statuses]

    assert run_ranks(1, main).returned == [(True, [5, 6])]
