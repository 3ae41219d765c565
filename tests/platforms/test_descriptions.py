"""Machines as plain data: made in Python or read from a file, compared, printed, sent to other processes."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from smpy.emulate.run.run import run
from smpy.errors import PlatformError
from smpy.options import RunConfig
from smpy.platforms import (
    Cluster,
    DeclaredRoute,
    Description,
    Direction,
    FatTree,
    FlatCluster,
    FullZone,
    Hop,
    Host,
    Link,
    NumberedNames,
    Router,
    Sharing,
    TreeShape,
    default_cluster,
    read_simgrid_xml,
)

XML = """<platform version='4.1'><zone id='world' routing='Full'>
<host id='desk' speed='2Gf' core='8'/><router id='door'/>
<link id='cord' bandwidth='1GBps' latency='1us' sharing_policy='SPLITDUPLEX'/>
<route src='desk' dst='door'><link_ctn id='cord' direction='UP'/></route>
<cluster id='flat' prefix='n' suffix='.org' radical='0-3,7' speed='1Gf' bw='1GBps' lat='1us' router_id='out'/>
<cluster id='tree' prefix='t' suffix='' radical='0-3' speed='1Gf' bw='1GBps' lat='1us' topology='FAT_TREE'
         topo_parameters='2;2,2;1,2;1,1'/>
</zone></platform>
"""
WORLD = FullZone(
    "world",
    (
        Host("desk", 2e9, cores=8),
        Router("door"),
        Link("cord", 1e9, 1e-6, Sharing.SPLITDUPLEX),
        DeclaredRoute("desk", "door", (Hop("cord", Direction.UP),)),
        FlatCluster(Cluster("flat", NumberedNames("n", (range(4), range(7, 8)), ".org"), 1e9, 1e9, 1e-6), "out"),
        FatTree(Cluster("tree", NumberedNames("t", (range(4),)), 1e9, 1e9, 1e-6), TreeShape((2, 2), (1, 2), (1, 1))),
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "machine.xml"
    path.write_text(XML)
    return path


def test_a_machine_made_in_python_equals_the_one_that_a_file_describes(file: Path) -> None:
    described = read_simgrid_xml(file)
    assert described == Description(str(file), WORLD)
    assert described != Description(str(file), replace(WORLD, parts=WORLD.parts[:-1]))
    assert hash(described.zone) == hash(WORLD)


def test_both_are_built_alike(file: Path) -> None:
    described, made = read_simgrid_xml(file).build(), Description(str(file), WORLD).build()
    assert made.host_names == described.host_names
    assert [made.link_name(link) for link in range(made.n_links)] == [
        described.link_name(link) for link in range(described.n_links)
    ]
    assert made.route(1, 4) == described.route(1, 4)


def test_a_description_can_be_sent_to_another_process(file: Path) -> None:
    described = read_simgrid_xml(file)
    assert pickle.loads(pickle.dumps(described)) == described


def test_a_cluster_is_one_value_however_many_hosts_it_has() -> None:
    machine = default_cluster(128 * 65_536)
    assert machine.n_hosts >= 65_536
    assert len(pickle.dumps(machine)) < 4000
    assert repr(machine) == "<Description of the default cluster: 68400 hosts>"
    assert len(repr(machine.zone)) < 800


def test_what_does_not_fit_is_refused_when_the_machine_is_built(file: Path) -> None:
    file.write_text(XML.replace("dst='door'", "dst='window'"))
    described = read_simgrid_xml(file)
    with pytest.raises(PlatformError, match=r"machine.xml:4: <route .*>: unknown host or router 'window'"):
        described.build()
    with pytest.raises(PlatformError, match=r"^unknown host or router 'window'"):
        Description("mine", FullZone("z", (DeclaredRoute("window", "window", (Hop("x"),)),))).build()


def test_a_program_runs_on_a_machine_made_in_python(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    cluster = Cluster("flat", NumberedNames("n", (range(4),)), 1e9, 1e9, 1e-6)
    outcome = run(RunConfig(4, str(program), compute="none", platform=Description("my machine", FlatCluster(cluster))))
    assert outcome.error is None
    assert outcome.summary.platform == "my machine"
    assert outcome.summary.inputs.platform_file is None
