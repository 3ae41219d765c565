"""Functions as programs."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import smpy
from smpy.errors import UsageError
from tests.conftest import write_files

SOLVER = """
    from helpers import scaled
    seen = []
    def solve(values, factor=1):
        from mpi4py import MPI
        seen.append(MPI.COMM_WORLD.rank)
        total = MPI.COMM_WORLD.allreduce(sum(values))
        print(seen, scaled(total, factor))
        if factor < 0:
            raise ValueError("negative")
    class Methods:
        @staticmethod
        def run():
            print("a method")
"""


@pytest.fixture(params=["project", "site-packages"])
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """A module beside another one that it imports."""
    folder = tmp_path / request.param
    write_files(folder, {"a_solver.py": SOLVER, "helpers.py": "def scaled(x, by): return x * by\n"})
    write_files(folder, {"no_mpi.py": "calls = []\ndef count():\n    calls.append(1)\n    print(len(calls))\n"})
    monkeypatch.syspath_prepend(folder)
    yield import_module("a_solver")
    for name in ("a_solver", "helpers", "no_mpi"):
        sys.modules.pop(name, None)


def test_a_function_of_a_module_is_called_by_each_rank_in_its_own_copy_of_the_module(module: ModuleType):
    run = smpy.simulate(module.solve, [1, 2], 10, ranks=2, compute="none")
    assert sorted(run.stdout.splitlines()) == ["[0] 60", "[1] 60"]
    assert module.seen == []
    assert run.summary.inputs.program == "a_solver.solve"
    assert run.summary.inputs.args == ("[1, 2]", "10")
    assert smpy.simulate(module.Methods.run, ranks=1).stdout == "a method\n"
    assert smpy.simulate(import_module("no_mpi").count, ranks=2).stdout == "1\n1\n"


def test_the_traceback_of_a_function_of_a_module_names_its_file(module: ModuleType):
    with pytest.raises(smpy.RunError, match=r'a_solver.py", line 10, in solve\n.*\nValueError: negative'):
        smpy.simulate(module.solve, [1], -1, ranks=2)


SCRIPT = """
    from __future__ import annotations
    import collections as c
    from dataclasses import dataclass
    from functools import partial
    import numpy as np
    import smpy

    offset = np.arange(3)

    @dataclass
    class Point:
        x: int

    def doubled(n: NotThere):
        return 2 * n
    twice = doubled

    def main(point: NotThere, n, fails=False):
        from mpi4py import MPI
        comm = MPI.COMM_WORLD
        print(comm.rank, twice(n), point, offset.sum(), type(c.deque()).__name__)
        if fails:
            raise ValueError("as asked")
        return Point(twice(comm.rank))

    run = smpy.simulate(main, Point(4), 5, ranks=2, compute="none")
    print(run.stdout, end="")
    print(run.returned == (Point(0), Point(2)))
    for program, *args in ((main, Point(4), 5, True), (lambda: None,), (main, open(__file__)), (partial(main, 1),)):
        try:
            smpy.simulate(program, *args, ranks=1, compute="none")
        except smpy.errors.SmpyError as error:
            print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_function_of_the_script_that_runs_is_sent_with_what_it_names(tmp_path: Path):
    write_files(tmp_path, {"script.py": SCRIPT})
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    first, second, returned, *rest = done.stdout.splitlines()
    assert {first, second} == {f"{rank} 10 Point(x=4) 3 deque" for rank in (0, 1)}
    assert returned == "True"
    told = "\n".join(rest)
    assert f'File "{tmp_path / "script.py"}", line 24, in main\n    raise ValueError("as asked")' in told
    assert "UsageError a lambda cannot be a program" in told
    assert "UsageError function main: argument <_io.Text" in told
    assert "UsageError functools.partial(" in told


def test_a_function_that_uses_variables_of_the_one_around_it_is_refused(program: Callable[[str], str]):
    size = 3

    def inner() -> int:
        return size

    with pytest.raises(UsageError, match="function inner uses size of the function around it: give it as an argument"):
        smpy.simulate(inner, ranks=1)


RETURNING = """
    import sys
    import numpy as np
    from dataclasses import dataclass

    def world():  # this process may have no MPI
        from mpi4py import MPI
        return MPI.COMM_WORLD

    @dataclass
    class Part:
        rank: int
        values: list

    def part(values, combine=sum):
        comm = world()
        part = Part(comm.rank, [comm.allreduce(combine(values)), np.full(2, comm.rank)])
        return part

    def changed_later():
        kept = [world().rank]
        import atexit
        atexit.register(kept.clear)
        return kept

    def last_one_leaves():
        if world().rank == world().size - 1:
            sys.exit()
        return True

    def stream():
        return sys.stdout.buffer if world().rank else None

    class Stubborn:
        def __reduce__(self):
            return int, ("x",)

    def stubborn():
        return Stubborn()

    def rank():
        return world().rank

    class Slow:
        def __reduce__(self):
            return int, (sum(range(10**7)),)  # a tenth of a second

    def slowly_pickled():
        return Slow()
"""


@pytest.fixture
def returning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module with functions that return values."""
    write_files(tmp_path, {"a_returning.py": RETURNING})
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("a_returning")
    del sys.modules["a_returning"]


def test_a_run_has_the_value_that_each_rank_has_returned(returning: ModuleType):
    run = smpy.simulate(returning.part, [1, 2], max, ranks=3, compute="none")
    assert [part.rank for part in run.returned] == [0, 1, 2]
    assert all(type(part) is returning.Part and part.values[0] == 6 for part in run.returned)
    assert [part.values[1].tolist() for part in run.returned] == [[0, 0], [1, 1], [2, 2]]


def test_a_value_is_kept_as_it_was_when_it_was_returned(returning: ModuleType):
    assert smpy.simulate(returning.changed_later, ranks=2, compute="none").returned == ([0], [1])


def test_a_rank_that_exits_has_returned_nothing(returning: ModuleType):
    assert smpy.simulate(returning.last_one_leaves, ranks=3, compute="none").returned == (True, True, None)


def test_a_program_in_a_file_returns_nothing(program: Callable[[str], str]):
    assert smpy.simulate(program("x = 1"), ranks=2).returned == ()


def test_a_value_that_cannot_be_sent_fails_the_run_and_names_the_rank(returning: ModuleType):
    with pytest.raises(
        smpy.RunError, match=r"(?s)rank 1 failed at .*it returned <.*which cannot be sent to the caller"
    ):
        smpy.simulate(returning.stream, ranks=2, compute="none")


def test_a_value_that_cannot_be_read_fails_the_call_and_keeps_the_summary(returning: ModuleType):
    with pytest.raises(
        smpy.RunError, match="the value that rank 0 returned cannot be read here: invalid lit"
    ) as raised:
        smpy.simulate(returning.stubborn, ranks=1, compute="none")
    assert raised.value.summary is not None


def test_pickling_a_value_is_no_computing_of_the_rank(returning: ModuleType):
    run = smpy.simulate(returning.slowly_pickled, ranks=1, compute="measured")
    assert run.returned == (49_999_995_000_000,)
    assert run.makespan_s < 0.05


def test_a_thousand_ranks_return_values(returning: ModuleType):
    assert smpy.simulate(returning.rank, ranks=1000, compute="none").returned == tuple(range(1000))
