"""Reductions in which ranks give different operations are named, with two of the lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

DIFFERENT = {
    "allreduce of objects": "comm.allreduce(rank, MPI.SUM if rank else MPI.MAX)",
    "reduce of objects": "comm.reduce(rank, MPI.SUM if rank else MPI.PROD)",
    "scan of objects": "comm.scan(rank, MPI.SUM if rank else MPI.MAX)",
    "functions": "comm.allreduce(rank, (lambda a, b: a + b) if rank else (lambda a, b: a * b))",
    "built-in functions": "comm.allreduce(rank, min if rank else max)",
    "operations of one name": (
        "op = MPI.Op.Create((lambda a, b, t: a) if rank else (lambda a, b, t: b))"
        "; comm.Allreduce(np.zeros(1), np.zeros(1), op); op.Free()"
    ),
}


@pytest.mark.parametrize("program", DIFFERENT.values(), ids=DIFFERENT)
def test_different_operations_are_named_by_both_lines(checked: Callable, program: str):
    assert checked(f"\n{program}\n")["operations"] == [[(0, 2), (1, 2)]]


@pytest.mark.parametrize("call", ["Allreduce", "Reduce", "Scan"])
def test_different_operations_on_buffers_are_an_error_in_any_run(emulated: Callable, call: str):
    program = "from mpi4py import MPI\nimport numpy as np\nc = MPI.COMM_WORLD\nx, y = np.zeros(2), np.zeros(2)\n"
    ran = emulated(program + f"c.{call}(x, y, MPI.SUM if c.rank else MPI.MAX)\n", checks=True)
    assert "op=MPI_MAX" in ran.error
    assert "op=MPI_SUM" in ran.error
    assert ran.error.count("program.py:5") == 2


ONE = {
    "one of the standard": "comm.allreduce(rank, MPI.SUM); comm.reduce(rank, MPI.MAX)",
    "one function": "comm.allreduce(rank, lambda a, b: a + b)",
    "one function at two places": (
        "comm.reduce(rank, lambda a, b: a + b) if rank else comm.reduce(rank, lambda a, b: a + b)"
    ),
    "another one later": "for op in (MPI.SUM, MPI.MAX, MPI.SUM): comm.reduce(rank, op)",
    "another one elsewhere": "part = comm.Split(rank); part.allreduce(1, MPI.SUM if rank else MPI.MAX); part.Free()",
    "on buffers": "comm.Allreduce(np.zeros(2), np.zeros(2), MPI.MAX)",
}


@pytest.mark.parametrize("program", ONE.values(), ids=ONE)
def test_one_operation_is_left_alone(checked: Callable, program: str):
    assert checked(program) == {}
