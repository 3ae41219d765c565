"""Completing requests, one and several."""

import gc
import sys

import numpy as np
import pytest

from smpy.engine.running import current
from smpy.mpi import MPI


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


def test_a_freed_receive_still_delivers_and_holds_its_memory_until_then(run_ranks):
    def main(rank):
        into = bytearray(2)
        for receive in (lambda: MPI.COMM_WORLD.Irecv(into, rank), lambda: MPI.COMM_WORLD.Irecv([into, 2, "B"], rank)):
            request = receive()
            request.Free()
            assert request == MPI.REQUEST_NULL
            gc.collect()
            with pytest.raises(BufferError):
                into.append(0)
            MPI.COMM_WORLD.Ssend(b"ab", rank)
            assert into == b"ab"
            into[:] = b"--"
        gc.collect()
        into.append(0)

    run_ranks(1, main)


def test_freed_sends_are_received(run_ranks):
    def main(rank):
        out, into = np.ones(20_000), np.zeros(20_000)
        for send in (MPI.COMM_WORLD.Isend, MPI.COMM_WORLD.Issend):
            send(out, rank).Free()
            MPI.COMM_WORLD.Recv(into, rank)
            assert into.sum() == 20_000
        with pytest.raises(MPI.Exception, match="Free: the request is null"):
            MPI.REQUEST_NULL.Free()

    run_ranks(1, main)


def test_a_cancelled_receive_gets_nothing_and_lets_go_of_its_buffer(run_ranks):
    def main(rank):
        world, into, status = MPI.COMM_WORLD, np.zeros(1), MPI.Status()
        before = sys.getrefcount(into)
        for receive in (lambda: world.Irecv(into, rank), lambda: world.Irecv([into, 1, MPI.DOUBLE], rank)):
            request = receive()
            request.Cancel()
            assert request.Get_status(status)
            assert status.Is_cancelled()
            request.Wait(status)
            assert status.Is_cancelled()
            assert not request
        requests = [world.irecv(source=rank, tag=9), world.Issend(into, rank)]
        for request in requests:
            request.cancel()
        assert MPI.Request.waitall(requests, statuses := []) == [None, None]
        assert [status.cancelled for status in statuses] == [True, True]
        gc.collect()
        assert sys.getrefcount(into) == before
        world.Isend(np.ones(1), rank)
        world.Recv(np.zeros(1), rank)
        return into[0]

    assert run_ranks(1, main).returned == [0]


def test_cancelling_what_has_matched_changes_nothing(run_ranks):
    def main(rank):
        into, status = np.zeros(1), MPI.Status()
        request = MPI.COMM_WORLD.Irecv(into, rank)
        MPI.COMM_WORLD.Ssend(np.ones(1), rank)
        request.Cancel()
        request.Wait(status)
        assert not status.Is_cancelled()
        with pytest.raises(MPI.Exception, match="null or has not been started"):
            request.Cancel()
        return into[0]

    assert run_ranks(1, main).returned == [1]


def test_a_request_that_is_named_twice_is_waited_for_once(run_ranks):
    def main(rank):
        world, into = MPI.COMM_WORLD, np.zeros(2)
        for call, statuses in enumerate((None, [MPI.Status(), MPI.Status()])):
            request = world.Irecv(into[call:], 1 - rank)
            world.Send(np.ones(1), 1 - rank)
            MPI.Request.Waitall([request, request], statuses)
            assert not request
        return into.sum()

    assert run_ranks(2, main).returned == [2, 2]


def test_cancelling_a_freed_request_that_has_completed_touches_no_other(run_ranks):
    def main(rank):
        world, room = MPI.COMM_WORLD, np.zeros(1)
        if rank == 0:
            request = world.Irecv(room, 1, 1)
            current().sleep(1)
            request.Cancel()
            request.Free()
            current().sleep(1)
            for _ in range(4):
                world.Ssend(np.zeros(1), 1, 2)
            return room[0], 0
        world.Send(np.ones(1), 0, 1)
        MPI.COMM_SELF.Isend(room, 0)
        MPI.COMM_SELF.Probe()  # until what rank 0 freed is over
        requests = [world.Irecv(np.zeros(1), 0, 2) for _ in range(4)]
        statuses = [MPI.Status() for _ in requests]
        MPI.Request.Waitall(requests, statuses)
        return 0, sum(status.Is_cancelled() for status in statuses)

    assert run_ranks(2, main).returned == [(1, 0), (0, 0)]


def test_get_status_looks_and_leaves_requests_as_they_are(run_ranks):
    def main(rank):
        world, status = MPI.COMM_WORLD, MPI.Status()
        rooms = [np.zeros(1) for _ in range(3)]
        requests = [MPI.REQUEST_NULL, *(world.Irecv(room, rank, tag) for tag, room in enumerate(rooms))]
        assert MPI.Request.Get_status_any(requests) == (MPI.UNDEFINED, False)
        assert MPI.Request.Get_status_some(requests) == []
        assert not MPI.Request.Get_status_all(requests)
        assert not requests[1].Get_status()
        world.Ssend(np.ones(1), rank, 1)
        assert MPI.Request.Get_status_any(requests, status) == (2, True)
        assert (status.tag, status.count) == (1, 8)
        assert MPI.Request.get_status_some(requests, statuses := []) == [2]
        assert statuses[0].tag == 1
        world.Ssend(np.ones(1), rank, 0)
        world.Ssend(np.ones(1), rank, 2)
        assert MPI.Request.get_status_all(requests, statuses := [])
        assert [status.tag for status in statuses] == [MPI.ANY_TAG, 0, 1, 2]
        assert all(requests[1:])
        MPI.Request.Waitall(requests)
        assert MPI.Request.Get_status_any(requests, status) == (MPI.UNDEFINED, True)
        assert MPI.Request.Get_status_some(requests) is None
        return [room[0] for room in rooms]

    assert run_ranks(1, main).returned == [[1, 1, 1]]


def test_waiting_in_turn_for_requests_that_a_generator_gives(run_ranks):
    def main(rank):
        rooms = [np.zeros(1) for _ in range(3)]
        MPI.Request.Waitall(tuple(MPI.COMM_WORLD.Irecv(room, MPI.PROC_NULL) for room in rooms), statuses := [])
        MPI.Request.Waitall(MPI.COMM_WORLD.Isend(room, rank) for room in rooms)
        return [status.source for status in statuses]

    assert run_ranks(1, main).returned == [[MPI.PROC_NULL] * 3]


@pytest.mark.parametrize("call", ["Waitany", "Testany"])
def test_how_many_calls_one_of_several_takes_does_not_depend_on_their_number(run_ranks, call):
    def n_calls(n_requests):
        calls = []

        def main(rank):
            world = MPI.COMM_WORLD
            if rank == 1:
                world.Send(bytearray(1), 0)
                world.Barrier()
                return
            requests = [world.Irecv(bytearray(1), 1) for _ in range(n_requests)]
            world.Barrier()
            sys.setprofile(lambda frame, event, _: calls.append(frame.f_code) if event == "call" else None)
            getattr(MPI.Request, call)(requests)
            sys.setprofile(None)
            for request in filter(None, requests):
                request.Free()

        run_ranks(2, main)
        return len([code for code in calls if not code.co_name.startswith("<")])

    assert n_calls(10) == n_calls(1000) > 3
