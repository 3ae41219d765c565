"""Time of imports inside functions: each rank takes as long as the first one, which executed the module."""

from __future__ import annotations

from pathlib import Path

import pytest

import smpy

PROGRAM = """
from mpi4py import MPI

def late():
    began = MPI.Wtime()
    import unittest.mock
    return MPI.Wtime() - began

first, second = late(), late()
print(MPI.COMM_WORLD.rank, first, second)
"""


def times_s(folder: Path, **options: object) -> list[tuple[float, float]]:
    """Time of each rank's first and second import."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    run = smpy.simulate(program, ranks=3, **options)
    rows = sorted(line.split() for line in run.stdout.splitlines())
    return [(float(first), float(second)) for _, first, second in rows]


def test_each_rank_takes_as_long_as_the_first_one_and_none_a_second_time(tmp_path: Path):
    (first_s, again_s), *others = times_s(tmp_path, compute="measured")
    assert first_s > 1e-3
    assert again_s < first_s / 10
    for other_s, other_again_s in others:
        assert other_s == pytest.approx(first_s, rel=0.2)
        assert other_again_s < first_s / 10


@pytest.mark.parametrize("options", [{"compute": "measured", "free_imports": True}, {"compute": "none"}])
def test_imports_are_free_if_told_so_and_where_computing_is(tmp_path: Path, options: dict[str, object]):
    assert max(first_s for first_s, _ in times_s(tmp_path, **options)) < 1e-3


def test_module_that_a_module_imports_is_free(tmp_path: Path):
    (tmp_path / "program.py").write_text(
        "from mpi4py import MPI\nbegan = MPI.Wtime()\nimport colorsys\nprint(MPI.Wtime() - began)\n"
    )
    assert float(smpy.simulate(tmp_path / "program.py", ranks=1).stdout) < 1e-4
