"""A topology from outside smpy, own_parts/ring.py: n bytes over k cables take k latencies and n / bandwidth."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.emulate.run.run import run
from smpy.options import RunConfig
from smpy.platforms import (
    CallCosts,
    Cluster,
    Description,
    Models,
    NetworkModel,
    NumberedNames,
    read_simgrid_xml,
    topology,
)
from tests.extending.own_parts.ring import Ring

LATENCY_S, BANDWIDTH_BYTES_PER_S, N_BYTES = 1e-6, 1e9, 1_000_000
BARE = Models(
    NetworkModel(
        latency_factor=(), bandwidth_factor=(), weight_bytes=0, tcp_gamma_bytes=0, crosstraffic=0, envelope_bytes=0
    ),
    CallCosts(wtime_s=0),
)  # a message takes its latencies and its bytes, and calls nothing
PROGRAM = f"""
from mpi4py import MPI
world, message = MPI.COMM_WORLD, bytearray({N_BYTES})
if world.rank == 0:
    world.Send(message, world.size - 1)
elif world.rank == world.size - 1:
    world.Recv(message, 0)
"""
XML = """<platform version='4.1'>
<cluster id='c' prefix='n' suffix='' radical='0-7' speed='1Gf' bw='1GBps' lat='1us' topology='ring'/>
</platform>
"""


def ring(n_hosts: int) -> Ring:
    hosts = NumberedNames("n", (range(n_hosts),))
    return Ring(Cluster("c", hosts, 1e9, BANDWIDTH_BYTES_PER_S, LATENCY_S))


@pytest.mark.parametrize(("n_ranks", "n_cables"), [(2, 1), (3, 2), (5, 4), (6, 3), (8, 1)])
def test_a_message_goes_the_shorter_way_around(tmp_path: Path, n_ranks: int, n_cables: int) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    machine = Description("a ring", ring(8), BARE)
    outcome = run(RunConfig(n_ranks, str(program), compute="none", platform=machine))
    expected_s = n_cables * LATENCY_S + N_BYTES / BANDWIDTH_BYTES_PER_S
    assert outcome.summary.makespan_s == pytest.approx(expected_s, rel=1e-12)


def test_a_file_describes_the_same_ring(tmp_path: Path) -> None:
    file = tmp_path / "ring.xml"
    file.write_text(XML)
    assert read_simgrid_xml(file).zone == ring(8)


def test_a_second_topology_of_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"topologies.fat_tree has a topology 'FAT_TREE': give the one here another"):
        topology("FAT_TREE")(Ring)
