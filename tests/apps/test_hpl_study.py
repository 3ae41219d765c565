"""HPL's skeleton takes the time that published studies and the C program under SMPI take on the same machines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran

ROOT = Path(__file__).parents[2]
ORACLE = json.loads((ROOT / "tests" / "oracle" / "hpl.json").read_text())
RESULT = re.compile(r"^W\S+ +\d+ +\d+ +\d+ +\d+ +(\d+\.\d+) ", re.MULTILINE)

FOR_EVERY_CHANGE = ("default",)
VARIANTS = [
    pytest.param(variant, id=variant["name"], marks=() if variant["name"] in FOR_EVERY_CHANGE else pytest.mark.campaign)
    for variant in ORACLE["capacity"]["variants"]
]

STUDY = (
    "--n 50000 --nb 120 --p 16 --q 32 --depth 0 --bcast 1ring --swap mix --swap-threshold 64 --pfact left --rfact left "
    "--nbmin 2 --ndiv 2 --skeleton --dgemm-s 1.083438511e-9 --dtrsm-s 5.532401341e-10"
)
SECOND = (
    "--nb 128 --depth 1 --bcast 2ring --swap bin-exch --pfact crout --rfact right --nbmin 2 --ndiv 2 --skeleton "
    "--dgemm-s 1.742435e-10 --dtrsm-s 8.897459e-11"
)

# Steps of the C program around its timed part, and one left out in it: its matrix of zeros is singular, so it skips
# the back substitution.
AS_IN_C = """
import sys
sys.path.insert(0, {apps!r})
import numpy as np
from mpi4py import MPI
import hpl
from linpack import solve
from linpack.grid import agree, tell
from linpack.kernels import Skeleton
from linpack.settings import Settings

solve.BackSubstitution.run = lambda self: None
world = MPI.COMM_WORLD
agree(world, np.zeros(1, np.int32))  # is the file good
agree(world, np.zeros(1))  # the precision
tell(world, np.zeros(1))  # the threshold
tell(world, np.zeros(15, np.int32))  # how many values of each setting
tell(world, np.zeros(11, np.int32))  # the values
settings = Settings({n}, 128, 8, 8, "row", "crout", 2, 2, "right", "2ring", 1, "bin-exch")
hpl.perform(world, settings, Skeleton(1.742435e-10, 8.897459e-11))
"""


def fat_tree(folder: Path, variant: dict[str, Any], n_top_switches: int = 16) -> Path:
    """The study's machine: 512 hosts of one core, 16 a switch, 32 switches under 16, or fewer."""
    path = folder / f"{variant['name']}.xml"
    path.write_text(
        '<platform version="4.1"><cluster id="c" prefix="host-" suffix="" radical="0-511" '
        f'speed="{variant["speed"]}" core="{variant.get("cores", 1)}" '
        f'bw="{variant["bandwidth"]}" lat="{variant["latency"]}" '
        'loopback_bw="5120MiBps" loopback_lat="1.5ns" topology="FAT_TREE" '
        f'topo_parameters="2;16,32;1,{n_top_switches};1,1"/>'
        "</platform>"
    )
    return path


def hpl_s(platform: Path, n_ranks: int, arguments: str, *options: str, per_host: int = 1) -> float:
    """Time that HPL prints, in seconds, on the first hosts in order."""
    hosts = platform.with_suffix(".hosts")
    hosts.write_text("".join(f"host-{host}:{per_host}\n" for host in range(n_ranks // per_host)))
    smpy = [str(Path(sys.executable).with_name("smpy")), "run", "--quiet", "--compute", "none", "-np", str(n_ranks)]
    program = [str(ROOT / "apps" / "hpl.py"), *arguments.split()]
    done = subprocess.run(
        [*smpy, *options, "--platform", str(platform), "--hostfile", str(hosts), *program],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = RESULT.search(done.stdout)
    assert found, done.stdout
    return float(found.group(1))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.timeout(1800)
def test_each_what_if_takes_the_time_of_the_study(variant: dict[str, Any], tmp_path: Path) -> None:
    time_s = hpl_s(fat_tree(tmp_path, variant), 512, STUDY)
    assert time_s == pytest.approx(variant["hpl_s"], rel=ORACLE["capacity"]["tolerance"])


@pytest.mark.campaign
@pytest.mark.parametrize("n_top_switches", ["16", "1"])
@pytest.mark.timeout(3600)
def test_slow_links_take_the_time_of_the_study_by_the_rule_of_its_year(n_top_switches: str, tmp_path: Path) -> None:
    study = ORACLE["topology"]
    link = {"name": f"R{n_top_switches}", "speed": "1Gf", "bandwidth": "10Mbps", "latency": "24us"}
    platform = fat_tree(tmp_path, link, int(n_top_switches))
    time_s = hpl_s(platform, 512, STUDY, "--compat", "simgrid-2017")
    assert time_s == pytest.approx(study["hpl_s"]["10Mb/s"][n_top_switches], rel=study["tolerance"])


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_large_run_takes_the_time_of_the_study(tmp_path: Path) -> None:
    study = ORACLE["scalability"]
    large = STUDY.replace("--n 50000", "--n 500000").replace("--p 16 --q 32", "--p 8 --q 64")
    time_s = hpl_s(fat_tree(tmp_path, study["machine"]), 512, large, per_host=8)
    assert time_s == pytest.approx(study["hpl_s"], rel=study["tolerance"])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_million_unknowns_take_the_time_of_the_study_from_few_panels(tmp_path: Path) -> None:
    study = ORACLE["scalability"]
    large = STUDY.replace("--n 50000", "--n 1000000").replace("--p 16 --q 32", "--p 8 --q 64")
    record = tmp_path / "run.json"
    options = ("--iterations", "skip", f"--json={record}")
    time_s = hpl_s(fat_tree(tmp_path, study["machine"]), 512, large, *options, per_host=8)
    assert time_s == pytest.approx(study["million_s"], rel=0.01)
    (panels,) = json.loads(record.read_text())["iterations"]
    assert panels["count"] == 8334
    assert panels["simulated"] <= 70


def test_every_poll_and_message_is_as_in_the_c_program_under_smpi(smpy_run: Callable[..., Ran], tmp_path: Path) -> None:
    """Run in a process of its own: the program changes objects that other tests would use."""
    second = ORACLE["second"]
    platform = fat_tree(tmp_path, ORACLE["capacity"]["variants"][0])
    hosts, record = tmp_path / "hosts", tmp_path / "run.json"
    hosts.write_text("".join(f"host-{host}\n" for host in range(64)))
    program = AS_IN_C.format(apps=str(ROOT / "apps"), n=10000)
    ran = smpy_run(
        program, 64, f"--platform={platform}", f"--hostfile={hosts}", "--compute=none", "--quiet", f"--json={record}"
    )
    assert ran.code == 0, ran.err
    assert json.loads(record.read_text())["makespan_s"] == pytest.approx(second["all_s"], abs=0.5e-6)


@pytest.mark.slow
def test_the_time_is_that_of_the_c_program_under_smpi(tmp_path: Path) -> None:
    second = ORACLE["second"]
    platform = fat_tree(tmp_path, ORACLE["capacity"]["variants"][0])
    time_s = hpl_s(platform, 64, f"--n 10000 --p 8 --q 8 {SECOND}")
    assert time_s == pytest.approx(second["hpl_s"], rel=second["tolerance"])
