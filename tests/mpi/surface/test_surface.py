"""The compiled calls over a real kernel: messages, and what goes wrong with them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from smpy.compute.folded import folded
from smpy.engine import running
from smpy.engine.kernel import lib
from smpy.engine.messages import Envelope
from smpy.errors import DeadlockError
from tests.mpi.described_arrays import CudaArray, Tensor
from tests.mpi.surface.surface_world import (
    ALONE,
    DOUBLE,
    WORLD,
    Recorder,
    Request,
    Status,
    Truncated,
    both,
    new_engine,
    run,
)

EAGER, RENDEZVOUS = 16, 100_000  # doubles


# ---- messages ----


@pytest.mark.parametrize("n_doubles", [0, 1, EAGER, 8191, 8192, RENDEZVOUS])
def test_a_ring_of_all_forms_carries_its_data(n_doubles: int) -> None:
    n_ranks = 5

    def body() -> None:
        me, n = WORLD.Get_rank(), WORLD.Get_size()
        assert n == n_ranks == WORLD.size
        assert me == WORLD.rank
        right, left = (me + 1) % n, (me - 1) % n
        mine, got = np.full(n_doubles, float(me)), np.full(n_doubles, -1.0)
        request = WORLD.Isend(mine, right)
        WORLD.Recv(got, left)
        assert request.Wait() is True
        assert (got == left).all()
        request = WORLD.Irecv(got, left, 3)
        WORLD.Send(got.copy(), right, 3)
        assert request.Wait() is True
        assert (got == (left - 1) % n).all()
        WORLD.Sendrecv(mine, right, 4, got, left, 4)
        assert (got == left).all()
        requests = [WORLD.Irecv(got, left), WORLD.Isend(mine, right)]
        while not requests[0].Test():
            pass
        assert Request.Waitall(requests) is True

    run(*[body] * n_ranks)
    assert Recorder.handed_over == []


def test_every_argument_may_be_named() -> None:
    status = Status()

    def sender() -> None:
        WORLD.Send(buf=b"one", dest=1, tag=1)
        WORLD.Isend(buf=b"two", tag=2, dest=1).Wait(status=None)
        WORLD.Sendrecv(sendbuf=b"3", dest=1, sendtag=3, recvbuf=bytearray(1), source=1, recvtag=3, status=None)

    def receiver() -> None:
        got = bytearray(3)
        WORLD.Recv(buf=got, source=0, tag=1, status=None)
        assert got == b"one"
        request = WORLD.Irecv(buf=got, tag=2, source=0)
        Request.Waitall(requests=[request], statuses=None)
        assert got == b"two"
        WORLD.Sendrecv(b"4", 0, recvbuf=got, sendtag=3, status=status)
        assert got == b"3wo"
        assert status.fields() == (0, 3, 1)

    assert both(sender, receiver) == []


def test_a_status_tells_of_the_message_received_and_of_nothing_for_a_send() -> None:
    def sender() -> None:
        status = Status()
        WORLD.Isend(np.zeros(3), 1, 7).Wait(status)
        assert status.fields() == (-1, -1, 0)
        WORLD.Isend(np.zeros(RENDEZVOUS), 1, 8).Wait(status)
        assert status.fields() == (-1, -1, 0)

    def receiver() -> None:
        status, got = Status(), np.zeros(RENDEZVOUS)
        WORLD.Recv(got, status=status)
        assert status.fields() == (0, 7, 24)
        request = WORLD.Irecv(got)
        while not request.Test(status):
            assert status.fields() == (0, 7, 24)
        assert status.fields() == (0, 8, 8 * RENDEZVOUS)

    assert both(sender, receiver) == []


def test_a_look_tells_of_the_message_it_found_and_of_nothing_else() -> None:
    def sender() -> None:
        WORLD.Send(np.zeros(3), 1, 7)

    def receiver() -> None:
        status = Status()
        assert not WORLD.Iprobe(0, 8, status)
        assert status._tag == 99  # unchanged
        while not WORLD.Iprobe(status=status):
            pass
        assert status.fields() == (0, 7, 24)
        assert WORLD.Iprobe(source=0, tag=7)
        WORLD.Recv(np.zeros(3), 0, 7)
        assert not WORLD.Iprobe()

    assert both(sender, receiver) == []


@pytest.mark.parametrize(
    "buffer", [np.arange(6.0).reshape(2, 3), [np.arange(6.0), DOUBLE], (np.arange(6.0), DOUBLE), bytes(range(48)),
               memoryview(bytearray(48)), np.arange(6, dtype="<i8"), np.ones(3, complex), np.ones(48, bool)]
)  # fmt: skip
def test_contiguous_memory_of_a_basic_type_is_sent_as_it_is(buffer: Any) -> None:
    def receiver() -> None:
        got = bytearray(48)
        WORLD.Recv(got)
        exporter = buffer[0] if isinstance(buffer, (list, tuple)) else buffer
        assert got == memoryview(exporter).tobytes()

    assert both(lambda: WORLD.Send(buffer, 1), receiver) == []


MEMORY = np.arange(6.0)


@pytest.mark.parametrize("lent", [MEMORY, Tensor(MEMORY), Tensor(MEMORY, 0), CudaArray(MEMORY)])
@pytest.mark.parametrize(
    ("items", "first", "last"),
    [([], 0, 6), ([None], 0, 6), ([2], 0, 2), (["d"], 0, 6), ([(2, None)], 0, 2), ([(None, 4)], 4, 6), ([(2, 3)], 3, 5),
     ([[2, 3], DOUBLE], 3, 5), ([(2, 3), "d"], 3, 5), ([0, 6, DOUBLE], 6, 6), ([None, 1, DOUBLE], 1, 6),
     ([2, None, None], 0, 2)]
)  # fmt: skip
def test_a_specification_selects_entries_of_memory(lent: Any, items: list[Any], first: int, last: int) -> None:
    buffer = [lent, *items] if items else lent

    def receiver() -> None:
        got, status = np.full(6, -1.0), Status()
        WORLD.Recv([got, (None, 0)], status=status)
        assert status.fields() == (0, 0, 8 * (last - first))
        assert got.tolist() == [*MEMORY[first:last], *[-1.0] * (6 - last + first)]

    assert both(lambda: WORLD.Send(buffer, 1), receiver) == []


@pytest.mark.parametrize("make", [Tensor, lambda array: Tensor(array, 0), CudaArray])
def test_described_memory_is_received_into_and_let_go(make: Any) -> None:
    def receiver() -> None:
        got = np.zeros(6)
        before = sys.getrefcount(got)
        lent = make(got)
        WORLD.Irecv([lent, 2, 1, "d"]).Wait()
        assert got.tolist() == [0, 0, 1, 0, 0, 0]
        del lent
        assert sys.getrefcount(got) == before

    assert both(lambda: WORLD.Send(MEMORY[:2], 1), receiver) == []


def test_an_exchange_with_oneself_is_a_copy_that_takes_no_time() -> None:
    def alone() -> None:
        status, both_ways = Status(), np.arange(6.0)
        WORLD.Sendrecv([both_ways, 4, 0, DOUBLE], 0, 5, [both_ways, 4, 1, DOUBLE], 0, 5, status)
        assert both_ways.tolist() == [0, 0, 1, 2, 3, 5]
        assert status.fields() == (0, 5, 32)
        WORLD.Sendrecv(b"", 0, 0, both_ways, 0, 0, status)
        assert status.fields() == (0, 0, 0)
        assert lib.sim_now_s(running.current()._sim) == 0

    assert both(alone, lambda: None) == []


@pytest.mark.parametrize("n_doubles", [EAGER, RENDEZVOUS])
def test_folded_arrays_travel_without_bytes(n_doubles: int) -> None:
    length = (2, n_doubles // 2)

    def sender() -> None:
        WORLD.Send(folded(length), 1)
        WORLD.Isend([folded(length)[0], DOUBLE], 1).Wait()
        WORLD.Send(np.ones(length), 1)

    def receiver() -> None:
        status, got = Status(), np.full(length, 7.0)
        WORLD.Recv(got, status=status)
        assert status.fields() == (0, 0, 8 * n_doubles)
        WORLD.Irecv(got[0]).Wait(status)
        assert status.fields() == (0, 0, 4 * n_doubles)
        WORLD.Recv(folded(length), status=status)
        assert status.fields() == (0, 0, 8 * n_doubles)
        assert (got == 7).all()

    assert both(sender, receiver) == []


def test_an_eager_send_leaves_its_buffer_to_the_program_at_once() -> None:
    def sender() -> None:
        mine = np.full(EAGER, 1.0)
        WORLD.Send(mine, 1)
        mine[:] = 2.0
        request = WORLD.Isend(mine, 1)
        mine[:] = 3.0
        request.Wait()

    def receiver() -> None:
        got = np.zeros(EAGER)
        for expected in (1.0, 2.0):
            WORLD.Recv(got)
            assert (got == expected).all()

    both(sender, receiver)


def test_a_large_send_waits_for_its_receive() -> None:
    order: list[str] = []

    def sender() -> None:
        WORLD.Send(np.zeros(RENDEZVOUS), 1)
        order.append("sent")

    def receiver() -> None:
        WORLD.Send(b"", 1)  # to itself: eager
        WORLD.Recv(bytearray(0), 1)
        order.append("ready")
        WORLD.Recv(np.zeros(RENDEZVOUS))

    both(sender, receiver)
    assert order == ["ready", "sent"]


def test_a_rank_is_alone_in_the_communicator_of_itself() -> None:
    def body() -> None:
        assert (ALONE.rank, ALONE.size) == (0, 1)
        got = bytearray(5)
        request = ALONE.Irecv(got, 0)
        ALONE.Send(b"hello", 0)
        request.Wait()
        assert got == b"hello"

    run(body, body)


def test_a_sender_far_ahead_lets_the_kernel_catch_up() -> None:
    n_messages, nbytes = 2000, 60_000
    alive: list[int] = []
    engine = new_engine(2)

    def sender() -> None:
        for _ in range(n_messages):
            WORLD.Send(bytes(nbytes), 1)
            lib.sim_append_sleep(engine._sim, 0, 1e-3)
            alive.append(engine.statistics().copied_bytes)

    def receiver() -> None:
        got = bytearray(nbytes)
        for _ in range(n_messages):
            WORLD.Recv(got)

    run(sender, receiver, engine=engine)
    assert max(alive) < 8 << 20


# ---- errors ----


@pytest.mark.parametrize("form", ["Recv", "Wait", "Test", "Waitall", "Sendrecv"])
def test_a_message_too_long_is_reported_with_its_call(form: str) -> None:
    def receiver() -> None:
        got, status = bytearray(2), Status()
        if form == "Recv":
            WORLD.Recv(got, 0, 5, status)
        elif form == "Sendrecv":
            WORLD.Sendrecv(b"", 0, 0, got, 0, 5, status)
        request = WORLD.Irecv(got, 0, 5)
        try:
            if form == "Wait":
                request.Wait(status)
            elif form == "Test":
                while not request.Test(status):
                    pass
            else:
                Request.Waitall([request, WORLD.Isend(b"", 0)])
        finally:
            assert request._kernel_request == -1
            got.append(0)  # the memory is the program's again

    with pytest.raises(Truncated) as caught:
        both(lambda: WORLD.Send(b"12345", 1, 5), receiver)
    assert caught.value.args == (form, Envelope(0, 5, 5, 2))


def test_a_deadlock_is_raised_by_the_run_and_names_the_calls() -> None:
    engine = new_engine(2)
    with pytest.raises(DeadlockError):
        run(lambda: WORLD.Recv(bytearray(1)), lambda: WORLD.Irecv(bytearray(1)).Wait(), engine=engine)
    assert [(rank.rank, rank.call) for rank in engine.waiting()] == [(0, "Recv"), (1, "Wait")]


def test_a_failure_between_ranks_is_the_runs_and_no_ranks() -> None:
    engine = new_engine(2)
    seen: list[str] = []

    def fails() -> None:
        raise LookupError("in a note")

    def body() -> None:
        engine.note(fails)
        try:
            WORLD.Recv(bytearray(1))
            seen.append("went on")
        except LookupError:
            seen.append("raised")

    with pytest.raises(LookupError, match="in a note"):
        run(body, body, engine=engine)
    assert seen == []
