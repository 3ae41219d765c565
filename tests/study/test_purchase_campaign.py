"""A purchase among 200 machines finds what runs on all of them find."""

from __future__ import annotations

from pathlib import Path

import pytest

import smpy
from smpy.study.candidates import candidates
from smpy.study.points import Point
from smpy.study.purchase import MachineSearch, affordable

PROGRAM = """
import sys
import smpy
from mpi4py import MPI

world = MPI.COMM_WORLD
n_steps, flop, size = map(int, sys.argv[1:])
block = bytearray(size)
for _ in range(n_steps):
    smpy.execute(flop / world.size)
    world.Alltoall(bytearray(size // world.size * world.size), bytearray(size // world.size * world.size))
    world.Allreduce(bytearray(8), bytearray(8))
"""


@pytest.mark.campaign
@pytest.mark.timeout(2 * 3600)
def test_forty_runs_among_200_machines_find_the_best_of_all(tmp_path: Path):
    """About 400 small runs: 25 sizes of eight kinds of machines."""
    (tmp_path / "program.py").write_text(PROGRAM)
    program = str(tmp_path / "program.py")
    table = {
        "name": "workload",
        "programs": {
            "compute": {"program": program, "args": [3, 40_000_000_000, 4096], "runs_per_week": 100},
            "talk": {"program": program, "args": [3, 1_000_000_000, 400_000], "runs_per_week": 100},
        },
        "options": {"ranks": "all", "ppn": 1, "compute": "none"},
        "prices": {"host_eur": 5000, "switch_port_eur": 100, "cable_eur": 50},
        "axes": {
            "set.host.count": [8, 32],
            "platform": ["fat-tree cores=1 ports=12", "fat-tree cores=1 ports=12 oversubscription=3"],
            "set.nic.bandwidth": ["100Mb/s", "400Mb/s"],
            "cores": {
                "slow": {"set.host.speed": "2Gf", "set.price.host_eur": 3500},
                "fast": {"set.host.speed": "4Gf"},
            },
        },
    }
    whole = smpy.Study(table, tmp_path / "whole")
    found = candidates(whole.definition)
    assert len(found.machines) == 200
    for budget_eur in (120_000, 1_000_000):
        machines = affordable(found, budget_eur)
        search = MachineSearch(whole.definition, found.first, machines, 40)
        study = smpy.Study(table, tmp_path / f"{budget_eur}")
        study.run(search=search)
        purchase = search.purchase(study.state(search.points))
        assert purchase.n_runs <= 40
        whole.run(search=AllAtOnce(search))
        best = search.purchase(whole.state(search.points))
        assert len(best.machines) == len(machines)
        assert purchase.machines[0].candidate is best.machines[0].candidate


class AllAtOnce:
    """Chooses all points of a search."""

    def __init__(self, search: MachineSearch) -> None:
        self.points = search.points
        self._left = [self.points]

    def next(self, state: object) -> list[Point]:
        return self._left.pop() if self._left else []
