"""Commands of real MPIs are looked at before anything is measured under them."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "calibration" / "real_mpi.py"
Mpis = Callable[[list[str]], dict[str, str]]


@pytest.fixture
def mpis() -> Callable[[str], Mpis]:
    """Reader of the options, where a program of two ranks prints a text."""

    def reader(printed: str) -> Mpis:
        module: dict[str, Any] = runpy.run_path(str(SCRIPT))
        module["mpis"].__globals__["run"] = lambda command: printed
        return module["mpis"]

    return reader


def test_an_mpi_that_mpi4py_has_not_loaded_is_refused(mpis: Callable[[str], Mpis]):
    with pytest.raises(SystemExit, match="mpi4py has loaded another MPI"):
        mpis("1\n1\n")(["mpich=mpiexec"])


def test_an_mpi_has_a_name_and_a_command_with_its_options(mpis: Callable[[str], Mpis]):
    words = ["mpich=mpiexec -l", "openmpi-4=env A=B mpirun"]
    assert mpis("2\n")(words) == {"mpich": "mpiexec -l", "openmpi-4": "env A=B mpirun"}


@pytest.mark.parametrize("word", ["mpiexec", "=mpiexec", "measured:mpich=mpiexec"])
def test_an_mpi_without_a_name_is_refused(mpis: Callable[[str], Mpis], word: str):
    with pytest.raises(SystemExit, match="it is no NAME=COMMAND"):
        mpis("2\n")([word])


def test_a_command_that_fails_ends_the_script_with_its_output():
    run = runpy.run_path(str(SCRIPT))["run"]
    with pytest.raises(SystemExit, match=r"(?s)sh -c .*broken"):
        run(["sh", "-c", "echo broken; exit 3"])
    with pytest.raises(SystemExit, match=r"cannot run /no/such: No such file"):
        run(["/no/such"])


def test_programs_have_one_thread_of_blas():
    run = runpy.run_path(str(SCRIPT))["run"]
    assert run(["sh", "-c", "echo $OPENBLAS_NUM_THREADS $OMP_NUM_THREADS $MKL_NUM_THREADS"]) == "1 1 1\n"
