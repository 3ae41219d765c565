"""Extra-P gets a call path for each kind of time and each kernel of a study that keeps profiles."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main

PROGRAM = """
import sys, smpy
from mpi4py import MPI
comm, n = MPI.COMM_WORLD, int(sys.argv[1])

@smpy.kernel(flop="1e6*n*n")
def stencil(n): ...

@smpy.kernel(flop=1e6)
def control(): ...

stencil(n)
if comm.rank == 0:
    control()
comm.Barrier()
"""


@pytest.fixture(scope="module")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("study")
    (folder / "program.py").write_text(PROGRAM)
    definition = {
        "program": str(folder / "program.py"), "args": ["{n}"], "keep": ["profile"],
        "options": {"compute": "models", "platform": "flat hosts=4 cores=1 speed=1Gf"},
        "axes": {"ranks": [2, 4], "args.n": [1, 2, 3]},
    }  # fmt: skip
    smpy.Study(definition, folder=folder / "study").run(workers=1)
    done = CliRunner().invoke(main, ["export", str(folder / "study"), "--to", "extrap", "-o", str(folder / "x.json")])
    assert done.exit_code == 0, done.output
    return json.loads((folder / "x.json").read_text())["measurements"]


def values_of(measurements: dict[str, Any], path: str) -> dict[tuple[float, ...], list[float]]:
    return {tuple(entry["point"]): entry["values"] for entry in measurements[path]["time"]}


def test_a_kernel_takes_the_mean_time_of_the_ranks(measurements: dict[str, Any]):
    stencil = values_of(measurements, "program->compute->stencil")
    assert stencil == {(p, n): [pytest.approx(1e-3 * n * n)] for p in (2, 4) for n in (1, 2, 3)}
    control = values_of(measurements, "program->compute->control")
    assert control == {(p, n): [pytest.approx(1e-3 / p)] for p in (2, 4) for n in (1, 2, 3)}


def test_kinds_of_time_add_up_to_the_time_of_the_program(measurements: dict[str, Any]):
    kinds = [path for path in measurements if path.count("->") == 1]
    assert {"program->compute", "program->wait at collective"} <= set(kinds)
    whole = values_of(measurements, "program")
    for point, (time_s,) in whole.items():
        assert sum(values_of(measurements, kind)[point][0] for kind in kinds) == pytest.approx(time_s, rel=1e-3)
