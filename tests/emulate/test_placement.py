"""Placement of ranks is the same for the program, for collectives, for the clock and in the summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-2" speed="1Gf" core="4" bw="1GBps" lat="10us"
         loopback_bw="10GBps" loopback_lat="1us"/></platform>
"""
PROGRAM = """
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    here = world.Split_type(MPI.COMM_TYPE_SHARED)
    print(MPI.Get_processor_name(), here.rank, here.size, world.bcast(here.allreduce(world.rank), 0))
"""
PLACED = {
    "host": ["n0", "n1", "n2", "n0", "n1", "n2"],
    "core": ["n0", "n0", "n0", "n0", "n1", "n1"],
    "random": None,
}


@pytest.mark.parametrize("map_by", PLACED)
def test_a_programs_view_agrees_with_the_placement(emulated: Callable[..., Any], tmp_path: Path, map_by: str) -> None:
    (tmp_path / "p.xml").write_text(PLATFORM)
    ran = emulated(PROGRAM, 6, platform=tmp_path / "p.xml", map_by=map_by, seed=3, compute="none")
    seen = [line.split() for line in sorted(ran.out.splitlines())]
    mapping = [name for name, n_ranks in ran.outcome.summary.inputs.mapping for _ in range(n_ranks)]
    hosts = [mapping[rank % len(mapping)] for rank in range(6)]
    assert hosts == (PLACED[map_by] or hosts)
    assert [name for name, *_ in seen] == sorted(hosts)
    for name in set(hosts):
        beside = [line for line in seen if line[0] == name]
        assert [int(line[1]) for line in beside] == list(range(hosts.count(name)))
        assert {int(line[2]) for line in beside} == {hosts.count(name)}
    assert {int(line[3]) for line in seen} == {sum(rank for rank in range(6) if hosts[rank] == hosts[0])}


def test_ranks_of_one_host_are_nearer_to_each_other(emulated: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(PLATFORM)
    program = """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        world.Sendrecv(bytearray(8), world.rank ^ 1, 0, bytearray(8), world.rank ^ 1, 0)
    """
    together_s, apart_s = (
        emulated(program, 2, platform=tmp_path / "p.xml", compute="none", **placed).outcome.summary.makespan_s
        for placed in ({"ranks_per_host": 2}, {"ranks_per_host": 1})
    )
    assert together_s < apart_s / 5
