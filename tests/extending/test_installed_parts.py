"""A topology and an algorithm of an installed package are used by their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.extending.test_a_topology import BANDWIDTH_BYTES_PER_S, LATENCY_S, N_BYTES, PROGRAM, XML

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).with_name("own_parts")
RAW = "--set=network/model=raw"  # a message takes its latencies and its bytes
Smpy = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def smpy(tmp_path: Path) -> Smpy:
    """A command beside an installed package, in a folder with a program and a machine."""
    package = tmp_path / "package"
    about = package / "own-1.0.dist-info"
    about.mkdir(parents=True)
    for name in ("ring.py", "algorithms.py"):
        (package / name).write_text((OWN / name).read_text())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[smpy.topologies]\nring = ring\n[smpy.algorithms]\nmine = algorithms\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "bcast.py").write_text(f"from mpi4py import MPI\nMPI.COMM_WORLD.Bcast(bytearray({N_BYTES}))\n")
    (tmp_path / "ring.xml").write_text(XML)
    (tmp_path / "ring.toml").write_text('topology.kind = "ring"\nhost.count = 8\n')

    def command(*line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "smpy", *line],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(package)])},
            capture_output=True,
            text=True,
            check=False,
        )

    return command


def test_a_file_names_the_topology_and_a_replay_knows_it(smpy: Smpy, tmp_path: Path) -> None:
    line = ("-np=5", "--compute=none", "--platform=ring.xml", RAW)
    ran = smpy("run", *line, "--json=out.json", "--trace=it", "program.py")
    assert ran.returncode == 0, ran.stderr
    makespan_s = json.loads((tmp_path / "out.json").read_text())["makespan_s"]
    assert makespan_s == pytest.approx(4 * LATENCY_S + N_BYTES / BANDWIDTH_BYTES_PER_S, rel=1e-4)
    replayed = smpy("replay", "it", "--json=again.json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads((tmp_path / "again.json").read_text())["makespan_s"] == makespan_s


@pytest.mark.parametrize("machine", ["ring.toml", "ring host.count=8", "ring"])
def test_a_machine_of_ours_names_the_topology(smpy: Smpy, machine: str) -> None:
    ended = smpy("run", "-np=5", "--compute=none", "--ppn=1", f"--platform={machine}", "program.py")
    assert ended.returncode == 0, ended.stderr


def test_an_unknown_topology_is_refused_with_those_that_are_installed(smpy: Smpy, tmp_path: Path) -> None:
    (tmp_path / "ring.xml").write_text(XML.replace("'ring'", "'rung'"))
    ended = smpy("run", "-np=5", "--platform=ring.xml", "program.py")
    assert (ended.returncode, "'rung' is none of DRAGONFLY, FAT_TREE, FLAT, RING, TORUS" in ended.stderr) == (2, True)


def test_a_run_and_its_replay_name_the_algorithm(smpy: Smpy, tmp_path: Path) -> None:
    line = ("--compute=none", "--platform=flat hosts=7 cores=1", "--algorithm=bcast=alphabet_chain")
    ran = smpy("run", "-np=7", *line, "--json=out.json", "--trace=it", "bcast.py")
    assert ran.returncode == 0, ran.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["algorithms"]["bcast"] == ["alphabet_chain"]
    replayed = smpy("replay", "it", "--json=again.json")
    assert replayed.returncode == 0, replayed.stderr
    assert json.loads((tmp_path / "again.json").read_text())["makespan_s"] == out["makespan_s"]


def test_an_unknown_algorithm_is_refused_with_those_that_are_installed(smpy: Smpy) -> None:
    ended = smpy("run", "-np=5", "--algorithm=bcast=alphabet_chains", "bcast.py")
    assert (ended.returncode, "bcast has no algorithm 'alphabet_chains': it has " in ended.stderr) == (2, True)
    assert " alphabet_chain," in ended.stderr


def test_a_package_that_cannot_be_imported_is_named(smpy: Smpy, tmp_path: Path) -> None:
    (tmp_path / "package" / "algorithms.py").write_text("1 / 0\n")
    ended = smpy("run", "-np=5", "--algorithm=bcast=alphabet_chain", "bcast.py")
    told = "the algorithm 'mine' of own cannot be imported: ZeroDivisionError: division by zero"
    assert (ended.returncode, told in ended.stderr) == (2, True)
