"""The compiled calls over a real kernel: what they do themselves, and what they leave to smpy.mpi."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from smpy.compute.folded import folded
from smpy.engine import _surface
from smpy.engine.kernel import lib
from smpy.errors import DeadlockError
from tests.mpi.surface_world import (
    ALONE,
    DERIVED,
    DOUBLE,
    GENERAL,
    NOWHERE,
    WORLD,
    Comm,
    Recorder,
    Request,
    Status,
    Truncated,
    both,
    new_engine,
    run,
)

EAGER, RENDEZVOUS = 16, 100_000  # doubles


def nothing() -> None:
    """A rank that ends at once."""


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
        assert status.told() == (0, 3, 1)

    assert both(sender, receiver) == []


def test_a_status_tells_of_the_message_received_and_of_nothing_for_a_send() -> None:
    def sender() -> None:
        status = Status()
        WORLD.Isend(np.zeros(3), 1, 7).Wait(status)
        assert status.told() == (-1, -1, 0)
        WORLD.Isend(np.zeros(RENDEZVOUS), 1, 8).Wait(status)
        assert status.told() == (-1, -1, 0)

    def receiver() -> None:
        status, got = Status(), np.zeros(RENDEZVOUS)
        WORLD.Recv(got, status=status)
        assert status.told() == (0, 7, 24)
        request = WORLD.Irecv(got)
        while not request.Test(status):
            assert status.told() == (0, 7, 24)
        assert status.told() == (0, 8, 8 * RENDEZVOUS)

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
        assert status.told() == (0, 0, 8 * n_doubles)
        WORLD.Irecv(got[0]).Wait(status)
        assert status.told() == (0, 0, 4 * n_doubles)
        WORLD.Recv(folded(length), status=status)
        assert status.told() == (0, 0, 8 * n_doubles)
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
            alive.append(engine.statistics().parcels_bytes)

    def receiver() -> None:
        got = bytearray(nbytes)
        for _ in range(n_messages):
            WORLD.Recv(got)

    run(sender, receiver, engine=engine)
    assert max(alive) < 8 << 20


# ---- what is handed over ----

UNUSUAL_TO_SEND = {
    "PROC_NULL": (b"", -2),
    "a rank too high": (b"", 2),
    "a numpy integer": (b"", np.int64(1)),
    "a true value": (b"", True),
    "a wide integer": (b"", 1 << 40),
    "no integer": (b"", "1"),
    "a negative tag": (b"", 1, -1),
    "no tag": (b"", 1, None),
    "a broadcast array": (np.broadcast_to(1.0, 5), 1),
    "a gap in memory": (np.zeros(8)[::2], 1),
    "Fortran order": (np.zeros((2, 3), order="F"), 1),
    "the other byte order": (np.zeros(2, ">f8"), 1),
    "a structure": (np.zeros(2, "i4,f8"), 1),
    "objects": (np.array([None]), 1),
    "dates": (np.zeros(2, "M8[s]"), 1),
    "no buffer": (3, 1),
    "nothing": (None, 1),
    "a count": ([np.zeros(2), 1], 1),
    "a count and a type": ([np.zeros(2), 1, DOUBLE], 1),
    "a type string": ([np.zeros(2), "d"], 1),
    "a derived type": ([np.zeros(2), DERIVED], 1),
    "what is no type": ([np.zeros(2), object()], 1),
    "an entry and a half": ([bytes(12), DOUBLE], 1),
    "no destination": (b"",),
    "too much": (b"", 1, 0, 0),
    "a name no parameter has": {"buf": b"", "dest": 1, "flag": 0},
    "an argument given twice": {"dest": 1},
}


@pytest.mark.parametrize("what", UNUSUAL_TO_SEND)
@pytest.mark.parametrize("call", ["Send", "Isend"])
def test_the_unusual_is_handed_over_as_it_came(call: str, what: str) -> None:
    given = UNUSUAL_TO_SEND[what]
    args, named = (given, {}) if isinstance(given, tuple) else ((), given)
    if what == "an argument given twice":
        args = (b"", 1)

    def body() -> None:
        assert getattr(WORLD, call)(*args, **named) == GENERAL

    run(body, nothing)
    ((name, seen_args, seen_named),) = Recorder.handed_over
    assert name == call
    assert [id(x) for x in seen_args] == [id(x) for x in args]
    assert seen_named == named


UNUSUAL_TO_RECEIVE = {
    "PROC_NULL": (bytearray(), -2),
    "a rank too high": (bytearray(), 2),
    "a tag below any": (bytearray(), 0, -2),
    "memory that may not be written": (b"", 0),
    "a list of two buffers": ([bytearray(), bytearray()], 0),
}


@pytest.mark.parametrize("what", UNUSUAL_TO_RECEIVE)
@pytest.mark.parametrize("call", ["Recv", "Irecv"])
def test_the_unusual_is_not_received_here(call: str, what: str) -> None:
    given = UNUSUAL_TO_RECEIVE[what]

    def body() -> None:
        assert getattr(WORLD, call)(*given) == GENERAL

    run(body, nothing)
    assert Recorder.handed_over == [(call, given, {})]


@pytest.mark.parametrize(
    "given",
    [(b"", 0, 0, bytearray(), 0), (b"", 0, 0, bytearray(), -1), (b"", 1), (b"", 1, 0, b"", 1),
     (b"", 1, 0, bytearray(), 1, 0, "status"), (b"", 1, -1, bytearray(), 1)],
)  # fmt: skip
def test_an_exchange_with_oneself_and_other_unusual_ones_are_handed_over(given: tuple[Any, ...]) -> None:
    def body() -> None:
        assert WORLD.Sendrecv(*given) == GENERAL

    run(body, nothing)
    assert Recorder.handed_over == [("Sendrecv", given, {})]


def test_what_is_no_status_is_handed_over_before_anything_is_received() -> None:
    def receiver() -> None:
        got = bytearray(1)
        assert WORLD.Recv(got, 0, 0, []) == GENERAL
        request = WORLD.Irecv(got)
        assert request.Wait([]) == GENERAL
        assert request.Test([]) == GENERAL
        assert request.Wait() is True
        assert got == b"x"

    handed_over = both(lambda: WORLD.Send(b"x", 1), receiver)
    assert [name for name, *_ in handed_over] == ["Recv", "Wait", "Test"]


def test_requests_with_more_to_do_than_the_kernel_knows_are_handed_over() -> None:
    def body() -> None:
        null, early, owned = Request(), Request(), Request()
        early.number, early.message = 0, (0, 0, 0, 0)
        owned.number, owned.finish = 0, print
        complete = WORLD.Isend(b"", 0)
        assert complete.number == 0
        assert null.Wait() == early.Wait() == owned.Wait() == null.Test() == complete.Test() == GENERAL
        assert Request.Waitall([complete, owned]) == GENERAL
        assert Request.Waitall([complete], []) == GENERAL
        assert Request.Waitall(iter([complete])) == GENERAL
        assert Request.Waitall([complete, "request"]) == GENERAL
        assert complete.number == 0
        assert Request.Waitall([complete, null]) is True
        assert Request.Waitall([]) is Request.Waitall(()) is True
        assert complete.number == -1

    run(body)


def test_nothing_is_done_here_outside_of_a_world() -> None:
    Recorder.handed_over.clear()
    assert [WORLD.Send(b"", 0), WORLD.Get_rank(), WORLD.size, Request().Wait()] == [GENERAL] * 4
    assert _surface.rank() == -1
    with pytest.raises(RuntimeError, match="only a running rank"):
        _surface.block("Barrier")
    with pytest.raises(RuntimeError, match="no world"):
        _surface.step()


def test_nothing_is_done_here_for_a_null_communicator_or_in_another_thread() -> None:
    answers: list[Any] = []

    def body() -> None:
        answers.append(NOWHERE.Get_rank())
        answers.append(NOWHERE.Isend(b"", 0))
        thread = threading.Thread(target=lambda: answers.append(WORLD.Isend(b"", 0)))
        thread.start()
        thread.join()

    run(body)
    assert answers == [GENERAL] * 3


def test_a_request_of_an_earlier_world_is_handed_over() -> None:
    kept: list[Any] = []
    run(lambda: kept.append(WORLD.Irecv(bytearray(1))))
    run(lambda: kept.append(kept[0].Wait()))
    assert kept[1] == GENERAL


def test_only_subclasses_can_be_the_class_of_requests() -> None:
    with pytest.raises(TypeError, match="RequestBase"):
        _surface.use_request_class(Comm)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="RequestBase"):
        _surface.use_request_class("Request")  # type: ignore[arg-type]


def test_one_world_runs_at_a_time() -> None:
    def body() -> None:
        with pytest.raises(RuntimeError, match="another world"):
            _surface.attach(0, 0, object())  # type: ignore[arg-type]

    run(body)


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
            assert request.number == -1
            got.append(0)  # the memory is the program's again

    with pytest.raises(Truncated) as caught:
        both(lambda: WORLD.Send(b"12345", 1, 5), receiver)
    assert caught.value.args == (form, (0, 5, 5, 2))


def test_a_deadlock_is_raised_by_the_run_and_names_the_calls() -> None:
    engine = new_engine(2)
    with pytest.raises(DeadlockError):
        run(lambda: WORLD.Recv(bytearray(1)), lambda: WORLD.Irecv(bytearray(1)).Wait(), engine=engine)
    assert [(rank.rank, rank.call) for rank in engine.waiting()] == [(0, "Recv"), (1, "Wait")]


def test_a_failure_between_ranks_is_the_runs_and_no_ranks() -> None:
    engine = new_engine(2)
    seen: list[BaseException] = []

    def fails() -> None:
        raise LookupError("in a note")

    def body() -> None:
        engine.note(fails)
        try:
            WORLD.Recv(bytearray(1))
        except LookupError as error:
            seen.append(error)

    with pytest.raises(LookupError, match="in a note"):
        run(body, body, engine=engine)
    assert seen == []
