"""The compiled surface holds a program's memory while the kernel may touch it, and no longer."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from greenlet import GreenletExit, getcurrent

from smpy.engine import _surface
from smpy.engine.engine import Engine
from smpy.errors import DeadlockError
from tests.mpi.surface.surface_world import DOUBLE, WORLD, Recorder, Request, Status, Truncated, new_engine, run

LARGE = 100_000


class Watched(np.ndarray):
    """An array that can be weakly referenced and asked for by what it exports."""


def watched(nbytes: int) -> Watched:
    return np.zeros(nbytes, np.uint8).view(Watched)


def is_free(buffer: bytearray) -> bool:
    """Whether nobody has the buffer exported: only then can it change its size."""
    try:
        buffer.append(0)
        buffer.pop()
    except BufferError:
        return False
    return True


def exchange(buffer: bytearray, call: Callable[[bytearray], Any], nbytes: int) -> None:
    """Run `call` as rank 0; rank 1 sends it a message and receives one."""

    def partner() -> None:
        sent = WORLD.Isend(bytes(nbytes), 0)
        WORLD.Recv(bytearray(nbytes))
        sent.Wait()

    def caller() -> None:
        call(buffer)
        if call in SENDS:
            WORLD.Recv(bytearray(nbytes))
        elif call in RECEIVES:
            WORLD.Send(bytes(nbytes), 1)

    run(caller, partner)


SENDS: list[Callable[[bytearray], Any]] = [
    lambda b: WORLD.Send(b, 1),
    lambda b: WORLD.Send([b, DOUBLE], 1),
    lambda b: WORLD.Isend(b, 1).Wait(),
    lambda b: WORLD.Isend((b, DOUBLE), 1).Wait(Status()),
    lambda b: Request.Waitall([WORLD.Isend(b, 1)]),
]
RECEIVES: list[Callable[[bytearray], Any]] = [
    lambda b: WORLD.Recv(b, 1),
    lambda b: WORLD.Recv([b, DOUBLE], 1, status=Status()),
    lambda b: WORLD.Irecv(b).Wait(),
    lambda b: Request.Waitall((WORLD.Irecv(b),)),
    lambda b: poll(WORLD.Irecv([b, DOUBLE])),
]
EXCHANGES: list[Callable[[bytearray], Any]] = [lambda b: WORLD.Sendrecv(b, 1, 0, bytearray(len(b)), 1)]


def poll(request: Any) -> None:
    while not request.Test():
        pass


@pytest.mark.parametrize("nbytes", [0, 128, LARGE * 8])
@pytest.mark.parametrize("call", [*SENDS, *RECEIVES, *EXCHANGES])
def test_no_reference_is_left_when_a_call_has_completed(call: Callable[[bytearray], Any], nbytes: int) -> None:
    buffer = bytearray(nbytes)
    before = sys.getrefcount(buffer)
    exchange(buffer, call, nbytes)
    assert sys.getrefcount(buffer) == before
    assert is_free(buffer)
    assert Recorder.handed_over == []


def test_an_array_is_held_by_its_request_until_it_completes() -> None:
    array = np.zeros(LARGE)
    before = sys.getrefcount(array)
    counts = []

    def body() -> None:
        request = WORLD.Irecv(array, 0)
        counts.append(sys.getrefcount(array))
        assert request._buffer is array
        WORLD.Isend(np.ones(LARGE), 0).Wait()
        request.Wait()
        counts.append(sys.getrefcount(array))
        assert request._buffer is None
        small = WORLD.Isend(array[:4], 0)
        assert small._buffer is None
        small.Wait()

    run(body)
    assert counts == [before + 1, before]
    assert (array == 1).all()


@pytest.mark.parametrize("given", [(None,), ("x", 1), ([3, DOUBLE], 1), (bytearray(4), 7), (bytearray(4), 1, -1)])
def test_handing_over_leaves_no_reference(given: tuple[Any, ...]) -> None:
    def body() -> None:
        for call in 1000 * (WORLD.Send, WORLD.Isend, WORLD.Recv, WORLD.Irecv):
            call(*given)

    Recorder.handed_over.clear()
    gc.collect()  # objects left by earlier tests may refer to None and 1, too
    before = [sys.getrefcount(x) for x in given]
    run(body)
    Recorder.handed_over.clear()
    after = [sys.getrefcount(x) for x in given]
    assert all(abs(x - y) < 500 for x, y in zip(before, after, strict=True)), (before, after)  # None is others', too


def test_odd_lengths_and_foreign_types_are_not_kept_exported() -> None:
    buffer = bytearray(12)

    def body() -> None:
        WORLD.Send([buffer, DOUBLE], 0)
        WORLD.Isend(memoryview(buffer).cast("B")[::2], 0)
        WORLD.Sendrecv(buffer, 1, 0, b"read-only", 1)

    run(body, lambda: None)
    Recorder.handed_over.clear()
    assert is_free(buffer)


def test_a_truncated_message_leaves_no_reference() -> None:
    buffer = bytearray(1)
    before = sys.getrefcount(buffer)
    with pytest.raises(Truncated):
        run(lambda: WORLD.Recv(buffer), lambda: WORLD.Send(b"12", 0))
    assert sys.getrefcount(buffer) == before


def test_a_request_that_is_dropped_keeps_its_memory_until_the_message_is_there() -> None:
    dead: list[str] = []

    def receiver() -> None:
        array = watched(8 * LARGE)
        weakref.finalize(array, dead.append, "memory")
        request = WORLD.Irecv(array, 1)
        weakref.finalize(request, dead.append, "request")
        del array, request
        gc.collect()
        WORLD.Isend(b"", 1).Wait()
        assert "memory" not in dead
        WORLD.Recv(bytearray(0), 1)
        assert "memory" in dead

    def sender() -> None:
        WORLD.Recv(bytearray(0))
        WORLD.Send(np.ones(8 * LARGE, np.uint8), 0)
        WORLD.Send(b"", 0)

    run(receiver, sender)
    assert sorted(dead) == ["memory", "request"]


def test_a_large_send_that_is_dropped_still_arrives() -> None:
    def sender() -> None:
        WORLD.Isend(np.full(LARGE, 5.0), 1)
        np.full(LARGE, 6.0)  # would take the place of freed memory
        WORLD.Send(b"", 1, 1)

    def receiver() -> None:
        got = np.zeros(LARGE)
        WORLD.Recv(bytearray(0), 0, 1)
        WORLD.Recv(got, 0, 0)
        assert (got == 5).all()

    run(sender, receiver)


def test_what_is_dropped_and_never_matched_is_freed_with_the_world() -> None:
    buffers = [bytearray(8) for _ in range(5)]

    def body() -> None:
        for buffer in buffers:
            WORLD.Irecv(buffer, 0, 3)
        assert not any(map(is_free, buffers))

    run(body)
    assert all(map(is_free, buffers))


def test_a_request_kept_beyond_its_world_frees_its_memory_when_it_goes() -> None:
    buffer = bytearray(8)
    kept: list[Any] = []
    run(lambda: kept.append(WORLD.Irecv(buffer)))
    assert not is_free(buffer)
    kept.clear()
    assert is_free(buffer)


def test_a_request_in_a_cycle_is_collected_when_its_transfer_has_ended() -> None:
    buffer = bytearray(8)

    def receiver() -> None:
        request = WORLD.Irecv(buffer, 1)
        request._envelope = [request]
        del request
        gc.collect()
        assert not is_free(buffer)
        WORLD.Send(b"", 1)
        WORLD.Recv(bytearray(LARGE), 1, 1)  # takes longer
        gc.collect()
        assert is_free(buffer)
        assert buffer == b"received"

    def sender() -> None:
        WORLD.Recv(bytearray(0))
        WORLD.Send(b"received", 0)
        WORLD.Send(bytes(LARGE), 0, 1)

    run(receiver, sender)


def test_another_handle_on_a_dropped_request_can_still_wait() -> None:
    def receiver() -> None:
        got = bytearray(2)
        first = WORLD.Irecv(got, 1)
        second = Request()
        second._share(first)
        del first
        assert second.Wait() is True
        assert got == b"ok"
        assert is_free(got)

    run(receiver, lambda: WORLD.Send(b"ok", 0))


def test_a_request_that_is_ended_frees_the_memory() -> None:
    buffer = bytearray(8)

    def body() -> None:
        request = WORLD.Isend(buffer, 0)
        WORLD.Recv(bytearray(8), 0)
        shared = Request()
        shared._share(request)
        request._let_go()
        assert request._kernel_request == -1
        assert shared._buffer is request._buffer is None
        assert is_free(buffer)

    run(body)


@pytest.mark.parametrize("call", ["Recv", "Send", "Sendrecv", "Wait", "Waitall"])
def test_a_rank_thrown_out_of_its_call_takes_its_memory_along(call: str) -> None:
    buffer, large = bytearray(8), bytearray(8 * LARGE)
    engine = new_engine(2)

    def waits() -> None:
        if call == "Recv":
            WORLD.Recv(buffer, 1)
        elif call == "Send":
            WORLD.Send(large, 1)
        elif call == "Sendrecv":
            WORLD.Sendrecv(large, 1, 0, buffer, 1)
        elif call == "Wait":
            WORLD.Irecv(buffer, 1).Wait()
        else:
            Request.Waitall([WORLD.Irecv(buffer, 1), WORLD.Isend(large, 1)])

    def throws() -> None:
        waiting = engine._greenlets[0]
        assert waiting is not None
        waiting.parent = getcurrent()
        waiting.throw(GreenletExit())
        got = np.zeros(LARGE)
        if call == "Send":
            WORLD.Recv(got, 0)  # nothing is read that may be gone
        elif call == "Recv":
            WORLD.Send(b"12345678", 0)
        assert (got == 0).all()

    with pytest.raises((GreenletExit, DeadlockError)):  # the message it waited for may never come
        run(waits, throws, engine=engine)
    assert is_free(large)
    assert is_free(buffer)
    assert buffer == bytes(8)


def test_worlds_and_failures_leave_no_references_behind() -> None:
    def fails() -> None:
        raise LookupError

    def one_run() -> None:
        engine = new_engine(2)
        reference = weakref.ref(engine)

        def body() -> None:
            engine.note(fails)
            WORLD.Recv(bytearray(1))

        with pytest.raises(LookupError):
            run(body, body, engine=engine)
        references.append(reference)

    references: list[weakref.ref[Engine]] = []
    counts = []
    for _ in range(5):
        one_run()
        gc.collect()
        counts.append((sys.getrefcount(LookupError), sys.getrefcount(getcurrent())))
    assert [reference() for reference in references] == [None] * 5
    assert counts[1:] == [counts[1]] * 4


def test_the_surface_itself_costs_a_steady_number_of_objects() -> None:
    def traffic() -> None:
        status, got, large = Status(), np.zeros(4), np.zeros(LARGE)
        for _ in range(50):
            requests = [
                WORLD.Irecv(got, 0),
                WORLD.Isend(np.ones(4), 0),
                WORLD.Irecv(large, 0, 1),
                WORLD.Isend(large + 1, 0, 1),
            ]
            requests[0].Wait(status)
            Request.Waitall(requests)
            WORLD.Send(b"", 9)
            WORLD.Irecv(got, 0)
            WORLD.Send(got, 0)
        Recorder.handed_over.clear()

    counts = []
    for _ in range(4):
        run(traffic)
        gc.collect()
        counts.append(len(gc.get_objects()))
    assert counts[-1] - counts[1] < 50
    assert _surface.rank() == -1
