"""Time of imports inside functions: each rank takes the time of a module once, whoever has executed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import smpy

PROGRAM = """
import sys
from mpi4py import MPI

def late():
    began = MPI.Wtime()
    IMPORT
    return MPI.Wtime() - began

first, second = late(), late()
print(MPI.COMM_WORLD.rank, first, second)
"""
COMPUTES = "n = sum(range(1_000_000))\n"
"""Body of a module that computes for some 20 ms."""
SHARED = f"__smpy_shared__ = True\n{COMPUTES}"
LEAST_S = 3e-3
NESTED = ["outer", "inner"]


def times_s(folder: Path, statement: str, files: Mapping[str, str] = {}, **options: object) -> list[tuple[float, ...]]:
    """Time of each rank's first and second import."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("IMPORT", statement))
    run = smpy.simulate(program, ranks=4, **options)
    return [tuple(map(float, line.split()[1:])) for line in sorted(run.stdout.splitlines())]


def write_nested(folder: Path) -> None:
    """Write modules of which one imports the other inside a function, and calls that."""
    (folder / "outer.py").write_text("def f():\n    import inner\nf()\n")
    (folder / "inner.py").write_text(COMPUTES)


@pytest.mark.parametrize(
    ("statement", "files"),
    [
        ("import unittest.mock", {}),
        ("from unittest import mock", {}),
        ("import importlib; importlib.import_module('unittest.mock')", {}),
        ("import importlib.util; importlib.util.find_spec('unittest.mock'); import unittest.mock", {}),
        ("import own", {"own.py": COMPUTES}),
        ("import package.own", {"package/__init__.py": "", "package/own.py": COMPUTES}),
        ("from package import own", {"package/__init__.py": "", "package/own.py": COMPUTES}),
        ("import own", {"own.py": "import inner", "inner.py": COMPUTES}),
        ("import own", {"own.py": "import inner", "inner.py": SHARED}),
        ("import own", {"own.py": SHARED}),
        ("import importlib; importlib.import_module('own')", {"own.py": COMPUTES}),
        ("import own", {"own.py": f"from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n{COMPUTES}"}),
    ],
    ids=[
        *("shared", "part of a shared one", "import_module", "behind find_spec"),
        *("own", "in a package", "part of an own package", "imported by an own one", "shared one of an own one"),
        *("own one that says it is shared", "own by import_module", "own that calls MPI"),
    ],
)
def test_each_rank_takes_the_time_of_a_module_once(tmp_path: Path, statement: str, files: dict[str, str]):
    times = times_s(tmp_path, statement, files, compute="measured")
    assert len(times) == 4
    for first_s, second_s in times:
        assert first_s == pytest.approx(max(times)[0], rel=0.6)
        assert first_s > LEAST_S
        assert second_s < first_s / 10


@pytest.mark.parametrize("options", [{"compute": "measured", "free_imports": True}, {"compute": "none"}])
@pytest.mark.parametrize("statement", ["import unittest.mock", "import own"])
def test_imports_are_free_if_told_so_and_where_computing_is(tmp_path: Path, statement: str, options: dict[str, object]):
    times = times_s(tmp_path, statement, {"own.py": COMPUTES}, **options)
    assert max(first_s for first_s, _ in times) < 1e-3


def test_an_import_inside_an_import_counts_once(tmp_path: Path):
    """A shared module computes in a module that it imports inside a function: it takes as long as that one alone."""
    write_nested(tmp_path)
    (both_s, _), *_ = times_s(tmp_path, "import outer", compute="measured", shared=NESTED)
    (alone_s, _), *_ = times_s(tmp_path, "import inner", compute="measured", shared=NESTED)
    assert both_s == pytest.approx(alone_s, rel=0.4)


@pytest.mark.parametrize(
    "statement", ["import colorsys", "import own", "import outer", "import unittest\nfrom unittest import mock"]
)
def test_module_that_a_module_imports_is_free(tmp_path: Path, statement: str):
    (tmp_path / "own.py").write_text(COMPUTES)
    write_nested(tmp_path)
    (tmp_path / "program.py").write_text(
        f"from mpi4py import MPI\nbegan = MPI.Wtime()\n{statement}\nprint(MPI.Wtime() - began)\n"
    )
    times = smpy.simulate(tmp_path / "program.py", ranks=2, shared=NESTED).stdout.split()
    assert max(map(float, times)) < 1e-3


def test_modules_that_smpy_imports_for_a_call_are_free(smpy_run: Callable):
    """Iterations are skipped with numpy, which this program does not import."""
    source = """
        from mpi4py import MPI
        import smpy
        began = MPI.Wtime()
        for k in smpy.iterations("x", range(30)):
            MPI.COMM_WORLD.barrier()
        print(MPI.Wtime() - began)
    """
    ran = smpy_run(source, 2, "--iterations", "skip")
    assert max(map(float, ran.out.split())) < 5e-3
