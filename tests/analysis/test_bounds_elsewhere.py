"""Bounds on a changed machine are those of a run there, and links are named by the nodes that they join."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("pyarrow")

from smpy.cli.main import main
from smpy.runs.simulate import simulate

PROGRAM = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
data = np.zeros(1 << 20, "B")
for _ in range(3):
    comm.Sendrecv(data, (comm.rank + 2) % 4, recvbuf=data.copy(), source=(comm.rank + 2) % 4)
"""
MACHINE = "fat-tree children=2,2 parents=1,1 cores=1 nic=1GB/s latency=100us"
CHANGE = "switch[spine 0].bandwidth=x4"


def _bounds(folder: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(main, ["analyze", "bounds", str(folder), "--json", "-", *words])
    assert done.exit_code == 0, done.output
    return json.loads(done.output)  # type: ignore[no-any-return]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Traces of a program on a machine, and on the machine with a change."""
    (tmp_path / "program.py").write_text(PROGRAM)
    for name, options in (("own", {}), ("changed", dict([CHANGE.split("=", 1)]))):
        simulate(
            *(tmp_path / "program.py",),
            ranks=4,
            platform=MACHINE,
            set=options,
            compute="none",
            trace=tmp_path / name,
        )
    return tmp_path / "own", tmp_path / "changed"


def test_bounds_on_a_changed_machine_are_those_of_a_run_there(folders: tuple[Path, Path]) -> None:
    own, changed = folders
    here, there, run_there = _bounds(own), _bounds(own, "--set", CHANGE), _bounds(changed)
    assert there["makespan_s"] == run_there["makespan_s"] < here["makespan_s"]
    shares = [
        {each["part"]: each["share"] for each in record["bounds"] if each["part"] != "link"}
        for record in (there, run_there)
    ]
    assert shares[0] == shares[1]


def test_links_are_named_by_their_nodes_and_keep_their_names(folders: tuple[Path, Path]) -> None:
    links = [each for each in _bounds(folders[0])["bounds"] if each["part"] == "link"]
    assert links
    assert {each["joins"] for each in links} <= {f"{a} to {b}" for a, b in (
        ("leaf 0", "spine 0"), ("leaf 1", "spine 0"), ("spine 0", "leaf 0"), ("spine 0", "leaf 1"),
    )}  # fmt: skip
    for each in links:
        assert each["name"].startswith("link_from_")
        assert each["words"] == f"the bandwidth of link {each['joins']}"
