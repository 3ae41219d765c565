"""pytest on several ranks with the plugin that reports once."""

from collections.abc import Callable

import pytest

TESTS = """
import pytest
from mpi4py import MPI
comm = MPI.COMM_WORLD

class TestSums:
    def test_alike(self):
        assert comm.allreduce(1) == comm.size

def test_fails_on_one():
    assert comm.rank != 1

def test_fails_alike():
    comm.Barrier()
    assert object() == "an address"

def test_fails_differently():
    assert comm.rank > 5

def test_is_skipped_on_one():
    if comm.rank == 2:
        pytest.skip("not here")

@pytest.fixture
def broken():
    yield
    assert comm.rank != 0

def test_has_a_broken_end(broken):
    pass
"""


@pytest.fixture
def tested(smpy_run: Callable) -> Callable[..., tuple[int, str]]:
    """Runs the tests on three ranks and returns exit code and output."""

    def here(*args: str) -> tuple[int, str]:
        options = ("--quiet", "--compute", "none", "-m", "pytest")
        args = ("-p", "no:cacheprovider", "-p", "smpy.pytest_ranks", *args, "test_it.py")
        ran = smpy_run(None, 3, *options, files={"test_it.py": TESTS}, args=args)
        return ran.code, ran.out

    return here


def test_each_test_is_reported_once_and_ranks_are_named_where_they_differ(tested: Callable):
    code, out = tested()
    assert code == 1
    assert out.count("test session starts") == 1
    assert out.count("3 failed, 3 passed, 1 error in ") == 1
    differing = out.partition("ranks that differ")[2].splitlines()[1:4]
    assert differing == [
        "test_it.py::test_fails_on_one: failed on rank 1, passed on ranks 0, 2",
        "test_it.py::test_is_skipped_on_one: passed on ranks 0, 1, skipped on rank 2",
        "test_it.py::test_has_a_broken_end: failed on rank 0, passed on ranks 1, 2",
    ]
    assert ">       assert comm.rank != 1\nE       assert 1 != 1\n" in out


def test_failures_with_other_messages_are_told_by_rank(tested: Callable):
    _, out = tested("-k", "alike or differently")
    told = [line for line in out.splitlines() if line.startswith("rank ")]
    assert told == [f"rank {rank}: assert {rank} > 5" for rank in range(3)]


def test_all_ranks_stop_after_a_failure_of_one(tested: Callable):
    code, out = tested("-x")
    assert (code, out.count("1 failed, 1 passed in ")) == (1, 1)


def test_tests_that_pass_on_all_ranks_pass(tested: Callable):
    code, out = tested("-k", "test_alike")
    assert (code, out.count("1 passed, 5 deselected in "), "differ" in out) == (0, 1, False)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("if comm.rank == 1:\n    def test_b(): pass\ndef test_c(): pass", "test_it.py::test_b on rank 1 alone"),
        ("def test_a(): pass\nassert comm.rank != 2", "test_it.py fails (assert 2 != 2) on rank 2 alone"),
        (
            "for name in ['test_a', 'test_b'][:: -1 if comm.rank else 1]:\n    globals()[name] = lambda: None",
            "their order differs",
        ),
    ],
)
def test_ranks_that_collect_different_tests_do_not_begin(smpy_run: Callable, source: str, told: str):
    files = {"test_it.py": f"from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n{source}\n"}
    args = ("-p", "no:cacheprovider", "-p", "smpy.pytest_ranks", "test_it.py")
    ran = smpy_run(None, 3, "--quiet", "--compute", "none", "-m", "pytest", files=files, args=args)
    assert (ran.code, ran.out.count("ranks collect different tests: ")) == (2, 1)
    assert told in ran.out
    assert "passed" not in ran.out
