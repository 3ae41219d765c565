"""Tracebacks of errors in MPI calls end at the program's line, unless smpy itself is to blame."""

import os
from collections.abc import Callable

import pytest

PROGRAM = """
from mpi4py import MPI
import sys

class Unwilling:
    def __reduce__(self):
        raise ValueError("not this one")

comm = MPI.COMM_WORLD
{call}
"""


@pytest.mark.parametrize(
    ("call", "end"),
    [
        ("comm.Send(b'x', 'a')", "TypeError: Send: dest is of type str, not an integer"),
        ("comm.Recv(b'x', 0)", "in Recv: the buffer to receive into"),
        ("comm.Send({}, 0)", "in Send: the message to send"),
        ("comm.isend(lambda: 0, 0)", "in isend: the message to send"),
        ("MPI.Request.Waitall([None])", "TypeError: Waitall: requests[0] is of type NoneType, not a Request"),
    ],
)
def test_the_traceback_of_a_wrong_argument_ends_at_the_call(emulated: Callable, call: str, end: str):
    error = emulated(PROGRAM.format(call=call), 1).error
    assert error.endswith(end)
    assert "smpy" + os.sep not in error
    assert f"    {call}" in error


def test_the_traceback_of_a_call_with_arguments_it_does_not_take_ends_there(emulated: Callable):
    error = emulated(PROGRAM.format(call="comm.Dup(1, 2, 3)"), 1).error
    assert "smpy" + os.sep not in error
    assert "    comm.Dup(1, 2, 3)" in error


def test_the_traceback_of_the_programs_own_code_inside_a_call_ends_there(emulated: Callable):
    error = emulated(PROGRAM.format(call="comm.send(Unwilling(), 0)"), 1).error
    assert "line 7, in __reduce__" in error
    assert "smpy" + os.sep not in error
    assert error.endswith("ValueError: not this one\nin send: the message to send")


def test_the_traceback_of_an_error_of_smpys_own_tells_where_it_came_from(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("smpy.mpi.comms.receives.current", None)
    error = emulated(PROGRAM.format(call="comm.Probe()"), 1).error
    assert "receives.py" in error
    assert error.endswith("TypeError: 'NoneType' object is not callable")
