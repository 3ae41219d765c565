"""Mistakes are remarks with --check, and errors with --strict beside it; without --check nobody looks for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PROGRAM = "from mpi4py import MPI\nimport numpy as np\nnew = MPI.COMM_WORLD.Dup()\n"


@pytest.mark.parametrize(
    ("options", "code", "is_told"),
    [
        ({}, 0, False),
        ({"strict": True}, 0, False),
        ({"checks": True}, 0, True),
        ({"checks": True, "strict": True}, 1, True),
    ],
)
def test_mistakes_are_errors_with_both_options(emulated: Callable, options: dict, code: int, is_told: bool):
    ran = emulated(PROGRAM, 2, **options)
    assert ran.code == code
    assert ("ranks 0-1: communicator made by Dup" in ran.outcome.summary.render()) == is_told
    assert ("program.py:3" in ran.error) == (code == 1)


def test_a_run_without_checks_does_not_import_them(smpy_run: Callable):
    program = "import sys\nfrom mpi4py import MPI\nprint('smpy.mpi.checks' in sys.modules)"
    assert smpy_run(program, 1, "--quiet").out == "False\n"
    assert smpy_run(program, 1, "--quiet", "--check").out == "True\n"


def test_dates_do_not_depend_on_checks(emulated: Callable):
    program = (
        "from mpi4py import MPI\nimport numpy as np\nc = MPI.COMM_WORLD\nx = np.zeros(9999)\n"
        "for n in (3, 9999):\n"
        "    r = [c.Irecv(np.zeros(n)), c.Isend(x[:n], (c.rank + 1) % c.size)]\n"
        "    MPI.Request.Waitall(r); c.Bcast(x); c.allreduce(1)\n"
        "    c.Sendrecv(x[:n], 1 - c.rank, 0, np.zeros(n), 1 - c.rank)\n"
    )
    dates = [list(emulated(program, 2, checks=checks).outcome.summary.finish_s) for checks in (False, True)]
    assert dates[0] == dates[1]


def test_a_run_that_follows_is_not_checked(emulated: Callable):
    emulated(PROGRAM, 2, checks=True)
    assert not emulated(PROGRAM, 2).outcome.summary.remarks
