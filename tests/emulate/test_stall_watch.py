"""A thread that waits in compiled code, where nobody else can go on, is named."""

import os
from collections.abc import Callable

import pytest

from smpy.emulate.run import stall_watch, surroundings


def test_a_thread_that_stands_in_compiled_code_is_named(emulated: Callable, monkeypatch: pytest.MonkeyPatch):
    reader, writer = os.pipe()
    told = []

    def tell(outlet: object, text: str) -> None:
        told.append(text)
        os.write(writer, b"x")  # ends the wait

    monkeypatch.setattr(surroundings, "_tell_at_once", tell)
    monkeypatch.setattr(stall_watch, "_INTERVAL_S", 0.01)
    monkeypatch.setattr(stall_watch, "_IDLE_S", 1.0)
    program = f"""
import ctypes, threading
from mpi4py import MPI
buffer = ctypes.create_string_buffer(1)
def wait():
    ctypes.CDLL(None).read({reader}, buffer, 1)
if MPI.COMM_WORLD.rank == 1:
    thread = threading.Thread(target=wait, name="stuck")
    thread.start()
    thread.join()
    assert buffer.raw == b"x"
"""
    assert emulated(program, 2).error == ""
    assert told[0].startswith("smpy: rank 1, thread stuck, waits in compiled code at program.py:6, and no rank")
    os.close(reader)
    os.close(writer)
