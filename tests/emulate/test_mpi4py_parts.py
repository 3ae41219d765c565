"""Package mpi4py on a rank, beside `mpi4py.MPI`."""

from collections.abc import Callable

import pytest


def test_mpi_is_an_attribute_of_the_package(emulated: Callable):
    program = """
        import mpi4py
        from mpi4py import MPI
        import mpi4py.rc
        assert mpi4py.MPI is MPI and mpi4py.rc.threads is True
        try:
            mpi4py.MIP
        except AttributeError as error:
            assert str(error) == "module 'mpi4py' has no attribute 'MIP'"
        """
    assert emulated(program).error == ""


def test_values_that_options_do_not_take_are_warned_of_on_each_rank(smpy_run: Callable):
    program = """
        import mpi4py
        rank = __import__("os").environ["PMI_RANK"]
        mpi4py.rc.errors = "none" + rank
        mpi4py.rc(irecv_bufsz=-1, fast_reduce="no", finalize=[])
        from mpi4py import MPI
        assert MPI.COMM_WORLD.allreduce(1) == 2
        """
    ran = smpy_run(program, 2, "--quiet")
    warned = [line.partition("RuntimeWarning: ")[2] for line in ran.err.splitlines()]
    expected = [["errors", f"'none{rank}'"] for rank in (0, 1)] + [["finalize", "[]"], ["irecv_bufsz", "-1"]] * 2
    assert sorted(warned) == sorted(f"mpi4py.rc.{name}: unexpected value {value}" for name, value in expected)


@pytest.mark.parametrize("how", ["mpi4py.rc.error = 1", "mpi4py.rc(error=1)"])
def test_options_that_do_not_exist_cannot_be_set(emulated: Callable, how: str):
    assert "TypeError" in emulated(f"import mpi4py\n{how}", 1).error


def test_a_pool_of_threads_works(emulated: Callable):
    pytest.importorskip("mpi4py")
    program = """
        from mpi4py.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(abs, [-1, 2])) == [1, 2]
        """
    assert emulated(program).error == ""


def test_mpi_asked_for_as_a_library_says_that_it_is_none(emulated: Callable):
    pytest.importorskip("mpi4py._mpiabi")
    program = """
        from mpi4py import MPI, _mpiabi
        try:
            _mpiabi._get_mpiabi_from_libmpi(MPI.__file__)
        except RuntimeError as error:
            print(str(error).removeprefix(f"cannot load MPI library: {MPI.__file__} "))
        """
    ran = emulated(program, 1)
    assert (ran.error, ran.out) == ("", "is no library in C: smpy's mpi4py.MPI is Python\n")


@pytest.mark.parametrize("late", [True, False])
def test_environment_variables_set_options_when_mpi_is_imported(
    smpy_run: Callable, monkeypatch: pytest.MonkeyPatch, late: bool
):
    variables = {"MPI4PY_RC_INITIALIZE": "No", "MPI4PY_RC_IRECV_BUFSZ": "-1", "MPI4PY_RC_THREAD_LEVEL": "Single"}
    if not late:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
    program = f"""
        import os
        os.environ.update({variables if late else {}})
        from mpi4py import MPI
        assert not MPI.Is_initialized()
        MPI.Init()
        import mpi4py
        assert (mpi4py.rc.initialize, mpi4py.rc.thread_level) == (False, "single")
        assert MPI.Query_thread() == MPI.THREAD_SINGLE
        """
    ran = smpy_run(program, 2, "--quiet")
    warned = "RuntimeWarning: mpi4py.rc.irecv_bufsz: unexpected value '-1'"
    assert [line.partition(":0: ")[2] for line in ran.err.splitlines()] == [warned] * 2
