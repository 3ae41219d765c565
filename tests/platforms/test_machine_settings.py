"""--set and the record of a run: changes of any number of a machine for one run, and which machine it was."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from smpy.cli.main import main
from smpy.errors import PlatformError, UsageError
from smpy.platforms import (
    Cluster,
    Description,
    FatTree,
    FlatCluster,
    FullZone,
    Graph,
    Host,
    Link,
    NumberedNames,
    Sharing,
    TreeShape,
    default_cluster,
    read_machine,
    read_simgrid_xml,
)
from smpy.platforms.canonical import canonical_text
from smpy.platforms.declared_parts import ProfileConnection
from smpy.platforms.default_cluster import MODELS
from smpy.platforms.machine import changed
from smpy.platforms.own_format.changes import ALIKE
from smpy.platforms.profiles import Changing, Profile
from smpy.platforms.topologies.vivaldi import Peer, VivaldiZone

XML = """<platform version='4.1'><zone id='world' routing='Full'>
<host id='desk' speed='2Gf' core='8'/>
<link id='cord' bandwidth='1GBps' latency='0' sharing_policy='SPLITDUPLEX'/>
<cluster id='flat' prefix='n' suffix='' radical='0-3' speed='1Gf' bw='1GBps' lat='1us' bb_bw='2GBps' bb_lat='5us'
         loopback_bw='9GBps' loopback_lat='1us' router_id='out'/>
</zone></platform>
"""


@pytest.fixture
def xml(tmp_path: Path) -> Path:
    path = tmp_path / "machine.xml"
    path.write_text(XML)
    return path


def parts(machine: Description) -> tuple[Host, Link, Cluster]:
    assert isinstance(machine.zone, FullZone)
    host, link, flat = machine.zone.parts
    assert isinstance(host, Host)
    assert isinstance(link, Link)
    assert isinstance(flat, FlatCluster)
    return host, link, flat.cluster


def cluster_of(what: str, **options: str) -> Cluster:
    zone = read_machine(what, 1, [(key.replace("__", "."), value) for key, value in options.items()]).zone
    assert isinstance(zone, FlatCluster | FatTree)
    return zone.cluster


# ---- changes ----


def test_every_link_of_a_platform_file_is_scaled_and_no_loopback(xml: Path) -> None:
    *_, flat_before = parts(read_machine(xml, 1))
    machine = read_machine(xml, 1, [("network.bandwidth", "x2"), ("network.latency", "x3")])
    _, link, flat = parts(machine)
    assert (link.bandwidth_bytes_per_s, link.latency_s, link.sharing) == (2e9, 0, Sharing.SPLITDUPLEX)
    assert (flat.bandwidth_bytes_per_s, flat.latency_s) == (2e9, 3e-6)
    assert (flat.backbone_bandwidth_bytes_per_s, flat.backbone_latency_s) == (4e9, 3 * flat_before.backbone_latency_s)
    assert (flat.loopback_bandwidth_bytes_per_s, flat.loopback_latency_s) == (9e9, 1e-6)


def test_every_link_or_host_of_a_platform_file_is_set_to_a_value(xml: Path) -> None:
    options = [("network.latency", "7us"), ("host.speed", "3Gf"), ("host.cores", "x2"), ("smpi/test", "5us")]
    machine = read_machine(xml, 1, options)
    host, link, flat = parts(machine)
    assert (host.speed_flop_per_s, host.cores) == (3e9, 16)
    assert (flat.speed_flop_per_s, flat.cores) == (3e9, 2)
    assert link.latency_s == flat.latency_s == flat.backbone_latency_s == pytest.approx(7e-6)
    assert machine.models.polling.test_s == pytest.approx(5e-6)


def test_a_link_that_is_not_there_is_not_made() -> None:
    cluster = cluster_of("flat", network__latency="7us", network__bandwidth="1GB/s")
    assert (cluster.backbone_bandwidth_bytes_per_s, cluster.limiter_bandwidth_bytes_per_s) == (0, 0)
    assert cluster.backbone_latency_s == 0
    assert cluster.bandwidth_bytes_per_s == 1e9


def test_profiles_of_links_are_scaled_with_them() -> None:
    profile, state = Profile(((0.0, 1e9), (2.0, 5e8)), 4.0), Profile(((1.0, 0.0),))
    link = Link("cord", 1e9, 1e-6, bandwidth_profile=profile, state_profile=state)
    desk = Host("desk", 1e9, speed_profile=Profile(((1.0, 0.5),)))
    late = ProfileConnection(Changing.LATENCY, "cord", Profile(((3.0, 2e-6),)))
    machine = Description("mine", FullZone("office", (desk, link, late)))
    doubled = Link("cord", 2e9, 3e-6, bandwidth_profile=Profile(((0.0, 2e9), (2.0, 1e9)), 4.0), state_profile=state)
    later = ProfileConnection(Changing.LATENCY, "cord", Profile(((3.0, 3 * 2e-6),)))
    factors = [("network.bandwidth", "x2"), ("network.latency", "x3")]
    assert changed(machine, factors).zone == FullZone("office", (desk, replace(doubled, latency_s=3 * 1e-6), later))
    with pytest.raises(UsageError, match=r"--set network.latency=1us: .*follows a profile: multiply it"):
        changed(machine, [("network.latency", "1us")])


def test_peers_and_hosts_with_coordinates_are_scaled_with_the_links(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text("""<platform version='4.1'><zone id='w' routing='Vivaldi'>
<peer id='a' speed='1Gf' bw_in='1GBps' bw_out='2GBps' coordinates='3 0 1'/>
<peer id='b' speed='1Gf' bw_in='1GBps' bw_out='2GBps' coordinates='0 -4 1'/>
</zone></platform>""")
    factors = [("network.bandwidth", "x2"), ("network.latency", "x3"), ("host.speed", "x4")]
    before, after = (read_machine(tmp_path / "m.xml", 1, options) for options in ([], factors))
    assert after.build().route(0, 1).latency_s == pytest.approx(3 * before.build().route(0, 1).latency_s, rel=1e-12)
    assert isinstance(after.zone, VivaldiZone)
    peer = after.zone.parts[0]
    assert isinstance(peer, Peer)
    assert (peer.bandwidth_in_bytes_per_s, peer.bandwidth_out_bytes_per_s, peer.speed_flop_per_s) == (2e9, 4e9, 4e9)
    with pytest.raises(UsageError, match=r"--set network.latency=1us: .*Vivaldi zone is their distance: multiply it"):
        read_machine(tmp_path / "m.xml", 1, [("network.latency", "1us")])


def test_cables_of_a_graph_that_say_their_own_numbers_are_scaled(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b,bandwidth,latency\nh0,s,,5us\nh1,s,1GB/s,\nh2,s,,\n")
    line, factors = f"graph {tmp_path}/edges.csv", [("network.bandwidth", "x2"), ("network.latency", "x2")]
    before, after = (read_machine(line, 1, options).zone for options in ([], factors))
    assert isinstance(before, Graph)
    assert isinstance(after, Graph)
    assert after.edges == (
        replace(before.edges[0], latency_s=2 * (before.edges[0].latency_s or 0)),
        replace(before.edges[1], bandwidth_bytes_per_s=2e9),
        before.edges[2],
    )
    assert after.cluster.latency_s == 2 * before.cluster.latency_s


def test_any_number_of_our_own_machines_can_be_set_or_multiplied() -> None:
    assert cluster_of("default", host__cores="64").cores == 64
    assert cluster_of("flat cores=6", host__cores="x2").cores == 12
    assert cluster_of("flat nic=1GB/s", nic__bandwidth="x1.5").bandwidth_bytes_per_s == 1.5e9
    assert cluster_of("flat", nic__latency="x2").latency_s == 2 * 0.3e-6
    machine = read_machine("default", 1, [("mpi.eager_limit", "1KiB"), ("mpi.eager_limit", "x4")])
    assert machine.models.calls.detached_below_bytes == 4097
    assert (
        read_machine("default", 1, [("topology.kind", "flat")]).zone
        == read_machine("flat topology.name=cluster", 1).zone
    )


def test_the_last_change_of_a_key_holds_and_factors_multiply() -> None:
    changes = [("host.cores", "x2"), ("host.cores", "3"), ("host.cores", "x2"), ("host.cores", "x3")]
    zone = read_machine("flat cores=6", 1, changes).zone
    assert isinstance(zone, FlatCluster)
    assert zone.cluster.cores == 18


def test_a_machine_made_in_python_can_be_changed(tmp_path: Path) -> None:
    from smpy.emulate.config import description_of
    from smpy.options import RunConfig

    machine = Description("mine", FlatCluster(Cluster("c", NumberedNames("n", (range(4),)), 1e9, 1e9, 1e-6)))
    changed = description_of(RunConfig(1, "p", platform=machine, options=(("network.bandwidth", "x2"),)))
    assert isinstance(changed.zone, FlatCluster)
    assert changed.zone.cluster.bandwidth_bytes_per_s == 2e9
    default = description_of(RunConfig(1, "p", options=(("host.cores", "64"), ("smpi/test", "9us"))))
    assert default == read_machine("default", 1, [("host.cores", "64"), ("smpi/test", "9us")])
    assert description_of(RunConfig(300, "p")) == default_cluster(300)
    with pytest.raises(PlatformError, match="no machine is named by ''"):  # a variable of a shell that is not set
        description_of(RunConfig(300, "p", platform=""))


WRONG = {
    ("host.coers", "3"): r"--set host.coers=3: host.coers: unknown key: did you mean 'cores'\?",
    ("host.cores", "x1.3"): r"--set host.cores=x1.3: host.cores: 128 times 1.3 is no whole number",
    ("host.cores", "xx"): r"--set host.cores=xx: host.cores: 'xx' is no whole number",
    ("name", "3"): r"'name' is neither a dotted key of the machine, .* nor one of SimGrid's",
    ("host.names", "x2"): r"host.names: it cannot be multiplied",
    ("network.latency", "3"): r"network.latency: '3' has no unit",
    ("network.bandwidth", "x0"): r"it makes 0 of 2.4e\+10, which is out of range",
    ("network.latency_factor", "x2"): r"network.latency_factor: it cannot be multiplied",
    ("host.cores.x", "2"): r"cores is a value, not a table",
    ("mpi", "2"): r"neither a dotted key",
    ("smpi/nothing", "2"): r"--set smpi/nothing=2: smpy does not have it",
}


@pytest.mark.parametrize("option", WRONG)
def test_a_change_that_cannot_be_made_is_refused_with_the_option(option: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=WRONG[option]):
        read_machine("default", 1, [option])


def test_of_a_platform_file_only_what_every_machine_has_can_be_set(xml: Path) -> None:
    with pytest.raises(UsageError, match=r"only network.bandwidth, .* can be set: did you mean 'host.speed'\?"):
        read_machine(xml, 1, [("host.sped", "3Gf")])
    with pytest.raises(UsageError, match=r"it makes 1.5 of 1, which is no whole number"):
        read_machine(xml, 1, [("host.cores", "x1.5")])


@given(st.sampled_from(sorted(ALIKE)), st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_a_factor_and_its_inverse_leave_the_machine_as_it_was(key: str, factor: float) -> None:
    known = [("host.memory_bandwidth", "400GB/s"), ("host.core_memory_bandwidth", "25GB/s")]
    machine = changed(default_cluster(1), known)
    options = [(key, f"x{factor}"), (key, f"x{1 / factor}")]
    assert changed(machine, options) == machine
    assert changed(machine, options[:1]) != machine


# ---- which machine it is ----


def test_equal_machines_have_one_fingerprint_whatever_described_them(xml: Path, tmp_path: Path) -> None:
    machine = read_machine("fat-tree hosts=4 nic=1GB/s names=n*", 1)
    file = tmp_path / "x.toml"
    file.write_text("nic.bandwidth = '8Gb/s'\nhost = {names = 'n*', count = 4}")
    made = FatTree(replace(cluster_of("fat-tree hosts=4 nic=1GB/s names=n*")), TreeShape((4,), (1,), (1,)))
    for other in (read_machine(file, 9), Description("mine", made, MODELS, True), pickle.loads(pickle.dumps(machine))):
        assert machine == other
        assert machine.fingerprint == other.fingerprint
    before = read_simgrid_xml(xml)
    assert before.fingerprint == read_machine(str(xml), 1).fingerprint


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    code = "from smpy.platforms import default_cluster as d; print(d(1).fingerprint)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.strip() == default_cluster(1).fingerprint


def test_a_name_that_is_no_text_has_a_fingerprint() -> None:
    names = [read_machine(f"flat hosts=2 names={name}", 1).fingerprint for name in ("n*", "\udcee*", "\udcef*")]
    assert len(set(names)) == 3


@pytest.mark.parametrize("option", ["host.cores=6", "nic.latency=x1.0001", "mpi.polls=grow", "host.names=m*"])
def test_machines_that_differ_have_other_fingerprints(option: str) -> None:
    key, _, value = option.partition("=")
    assert read_machine("default", 1, [(key, value)]).fingerprint != default_cluster(1).fingerprint


def test_machines_that_differ_in_profiles_alone_have_other_fingerprints() -> None:
    machine = Description("m", FullZone("z", (Host("a", 1e9), Link("cord", 1e9, 1e-6))))
    profiles = [Profile(((date_s, 0.5),)) for date_s in (1.0, 2.0)]
    machines = [replace(machine, connections=(ProfileConnection(Changing.SPEED, "a", each),)) for each in profiles]
    assert len({each.fingerprint for each in (machine, *machines)}) == 3


VALUES = st.recursive(
    st.sampled_from([0, 1, 1.0, 0.1, "a", 'b"', "\\", (), range(0), range(3), range(0, 3, 2), range(0, 4, 2), None])
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(Link, st.just("l"), inner, inner),
    max_leaves=4,
)


@given(VALUES, VALUES)
def test_canonical_texts_are_equal_when_and_only_when_the_values_are(one: Any, other: Any) -> None:
    assert (canonical_text(one) == canonical_text(other)) == (one == other)


def test_the_summary_records_machine_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.py").write_text("from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n")
    line = "flat hosts=2 cores=2"
    command = ["run", "-np", "4", "--platform", line, "--set", "nic.latency=x2", "--cfg", "smpi/test=1us"]
    result = CliRunner().invoke(main, [*command, "--compute", "none", "--json", "s.json", "program.py"])
    assert result.exit_code == 0, result.output
    record = json.loads(Path("s.json").read_text())
    options = [("nic.latency", "x2"), ("smpi/test", "1us")]
    assert record["platform"] == line
    assert record["platform_file"] is None
    assert record["settings"] == [list(option) for option in options]
    assert record["platform_fingerprint"] == read_machine(line, 4, options).fingerprint


def test_the_command_line_refuses_a_machine_that_is_none(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("")
    result = CliRunner().invoke(main, ["run", "-np", "1", "--platform", "fat-tree coers=3", str(program)])
    assert result.exit_code == 2
    assert result.stderr == "smpy: 'fat-tree coers=3': coers: unknown key: did you mean 'cores'?\n"


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "peer" / "platforms").glob("*.xml")), ids=lambda path: path.stem
)
def test_every_platform_file_has_a_fingerprint_that_changes_with_it(path: Path) -> None:
    machine = read_simgrid_xml(path)
    assert pickle.loads(pickle.dumps(machine)).fingerprint == machine.fingerprint
    assert changed(machine, [("host.speed", "x2")]).fingerprint != machine.fingerprint
