"""Calls that the compiled surface leaves to smpy.mpi: all unusual ones, as they came, before anything is posted."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from smpy.engine import _surface
from tests.mpi.described_arrays import CudaArray, Tensor
from tests.mpi.surface.surface_world import (
    DERIVED,
    DOUBLE,
    GENERAL,
    NOWHERE,
    WORLD,
    Comm,
    Recorder,
    Request,
    both,
    run,
)


def nothing() -> None:
    """A rank that ends at once."""


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
    "a negative count": ([np.zeros(2), -1], 1),
    "a numpy count": ([np.zeros(2), np.int64(1)], 1),
    "more entries than there are": ([np.zeros(2), 3, DOUBLE], 1),
    "a displacement beyond the buffer": ([np.zeros(2), 0, 3, DOUBLE], 1),
    "more entries than there are behind a displacement": ([np.zeros(2), (2, 1), DOUBLE], 1),
    "a displacement in entries with gaps": ([np.zeros(9), (1, 1), DERIVED], 1),
    "a type string with a size": ([np.zeros(2), "f8"], 1),
    "a letter of no type": ([np.zeros(2), "x"], 1),
    "three numbers": ([np.zeros(2), (1, 1, 1)], 1),
    "five items": ([np.zeros(2), 1, 0, DOUBLE, None], 1),
    "a tensor with gaps": (Tensor(np.zeros(8)[::2]), 1),
    "a tensor of half floats": (Tensor(np.zeros(8, "f2")), 1),
    "a description with a mask": (CudaArray(np.zeros(3), mask=np.zeros(3)), 1),
    "a description of the other byte order": (CudaArray(np.zeros(2, ">f8")), 1),
    "a description of gaps in memory": (CudaArray(np.zeros(8)[::2]), 1),
    "a description with fields": (CudaArray(np.zeros(2), descr=[("x", "<f4"), ("y", "<f4")]), 1),
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
    "described memory that may not be written": (CudaArray(np.broadcast_to(0.0, 1)), 0),
}


@pytest.mark.parametrize("what", UNUSUAL_TO_RECEIVE)
@pytest.mark.parametrize("call", ["Recv", "Irecv"])
def test_the_unusual_is_not_received_here(call: str, what: str) -> None:
    given = UNUSUAL_TO_RECEIVE[what]

    def body() -> None:
        assert getattr(WORLD, call)(*given) == GENERAL

    run(body, nothing)
    assert Recorder.handed_over == [(call, given, {})]


@pytest.mark.parametrize("given", [(-2,), (2,), (0, -2), (True,), (0, 0, []), (0, 0, None, 0)])
def test_an_unusual_look_for_a_message_is_handed_over(given: tuple[Any, ...]) -> None:
    def body() -> None:
        assert WORLD.Iprobe(*given) == GENERAL
        assert NOWHERE.Iprobe() == GENERAL

    run(body, nothing)
    assert Recorder.handed_over == [("Iprobe", given, {}), ("Iprobe", (), {})]


@pytest.mark.parametrize(
    "given",
    [(b"1", 0, 0, bytearray(), 0), ([np.zeros(4), DERIVED], 0, 0, bytearray(32), 0), (b"", 0, 0, bytearray(), -1),
     (b"", 1), (b"", 1, 0, b"", 1), (b"", 1, 0, bytearray(), 1, 0, "status"), (b"", 1, -1, bytearray(), 1)],
)  # fmt: skip
def test_a_truncated_exchange_with_oneself_and_other_unusual_ones_are_handed_over(given: tuple[Any, ...]) -> None:
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
        early._refer_to(0)
        early._envelope = (0, 0, 0, 0)
        owned._refer_to(0)
        owned._on_completion = print
        complete = WORLD.Isend(b"", 0)
        assert complete._kernel_request == 0
        assert null.Wait() == early.Wait() == owned.Wait() == null.Test() == complete.Test() == GENERAL
        assert Request.Waitall([complete, owned]) == GENERAL
        assert Request.Waitall([complete], []) == GENERAL
        assert Request.Waitall(iter([complete])) == GENERAL
        assert Request.Waitall([complete, "request"]) == GENERAL
        assert complete._kernel_request == 0
        assert Request.Waitall([complete, null]) is True
        assert Request.Waitall([]) is Request.Waitall(()) is True
        assert complete._kernel_request == -1

    run(body)


def test_nothing_is_done_here_outside_of_a_world() -> None:
    Recorder.handed_over.clear()
    assert [WORLD.Send(b"", 0), WORLD.Get_rank(), WORLD.size, Request().Wait()] == [GENERAL] * 4
    assert _surface.rank() == -1
    with pytest.raises(RuntimeError, match="Barrier: called where no rank runs"):
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
