"""Machines in our own formats: TOML files, presets, one line; what is refused names its place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.emulate.config import description_of
from smpy.errors import PlatformError
from smpy.options import RunConfig
from smpy.platforms import (
    Cluster,
    Description,
    Dragonfly,
    DragonflyShape,
    FatTree,
    FlatCluster,
    HyperX,
    Models,
    NetworkModel,
    NumberedNames,
    Overhead,
    Step,
    Torus,
    TreeShape,
    Zone,
    default_cluster,
    read_machine,
)
from smpy.platforms.default_cluster import MODELS
from smpy.platforms.own_format.toml_lines import lines_of_keys
from smpy.platforms.presets import Preset, presets

MACHINE = """# ours
name = "nova"
[host]
count = 48
names = "nova-*.site"
cores = "64 cores"
speed = "40Gf"

[nic]
bandwidth = "100 Gb/s"
latency = "1us"
[topology]
kind = "fat-tree"
ports = 36
oversubscription = 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "machine.toml"
    path.write_text(MACHINE)
    return path


def read(path: Path, text: str, n_ranks: int = 1, **options: str) -> Description:
    path.write_text(text)
    return read_machine(path, n_ranks, options.items())


def cluster(**more: Any) -> Cluster:
    known = {
        "name": "cluster",
        "hosts": NumberedNames("nova-", (range(48),), ".site"),
        "cores": 64,
        "sockets": 2,
        "speed_flop_per_s": 40e9,
        "bandwidth_bytes_per_s": 12.5e9,
        "latency_s": 1e-6,
        "loopback_bandwidth_bytes_per_s": None,
        "messages_share_memory": True,
        "loopback_latency_s": 0.1e-6,
    }
    return Cluster(**(known | more))


# ---- what is read ----


def test_the_loopback_can_be_multiplied_where_it_is_written() -> None:
    twice = ("host.loopback_bandwidth", "x2")
    platform = read_machine("flat hosts=2 host.loopback_bandwidth=7GB/s", 1, [twice]).build()
    assert platform.link(platform.route_links(1, 1)[0][0])[0] == 14e9
    with pytest.raises(PlatformError, match=r"host\.loopback_bandwidth: the machine does not say it"):
        read_machine("flat hosts=2", 1, [twice])


def test_a_file_of_a_few_lines_describes_a_machine(file: Path) -> None:
    machine = read_machine(file, 1)
    assert machine == Description("nova", FatTree(cluster(), TreeShape((24, 2), (1, 1), (1, 12))), MODELS, True)
    assert machine.build().n_hosts == 48


def test_one_line_describes_the_same_machine(file: Path) -> None:
    line = "fat-tree hosts=48 names=nova-*.site cores=64 speed=40Gf nic=100Gb/s latency=1us ports=36 oversubscription=2"
    assert read_machine(line, 1).zone == read_machine(file, 1).zone
    dotted = (
        line.replace("hosts=", "host.count=").replace("nic=", "nic.bandwidth=").replace("ports=", "topology.ports=")
    )
    assert read_machine(dotted, 1).zone == read_machine(file, 1).zone


@pytest.mark.parametrize("n_ranks", [1, 129, 4096, 150_000])
def test_the_preset_default_is_the_machine_of_a_run_without_platform(n_ranks: int) -> None:
    assert read_machine("default", n_ranks) == default_cluster(n_ranks)


def test_what_a_machine_does_not_say_is_the_default_clusters(file: Path) -> None:
    machine, default = read(file, ""), default_cluster(1)
    assert machine.models == default.models
    assert machine.zone == read_machine("fat-tree", 1).zone
    assert read(file, "[topology]\nname = 'default'", 5000).zone == default_cluster(5000).zone


def test_a_machine_that_does_not_say_how_many_hosts_it_has_is_sized_to_the_run() -> None:
    assert read_machine("flat cores=10", 95).n_hosts == 10
    assert read_machine("flat cores=10 hosts=run", 95).n_hosts == 10
    assert read_machine("flat cores=10 hosts=7", 95).n_hosts == 7


def test_a_machine_that_is_sized_to_the_run_has_room_for_so_many_ranks_a_host() -> None:
    assert read_machine("flat cores=10", 95, ranks_per_host=2).n_hosts == 48
    assert read_machine("flat cores=10", 95, ranks_per_host=20).n_hosts == 10
    assert description_of(RunConfig(64, "p", ranks_per_host=4)).n_hosts == 16


def test_a_fat_tree_has_as_many_hosts_as_are_asked_for() -> None:
    for n_hosts in (1, 19, 997, 1000, 20_011):
        machine = read_machine(f"fat-tree hosts={n_hosts} oversubscription=3", 1)
        assert machine.n_hosts == n_hosts
        assert machine.build().n_hosts == n_hosts


def test_a_bare_word_gives_the_shape_of_a_tree() -> None:
    zone = read_machine("fat-tree 4x4 parents=1,2 cables=1x2", 1).zone
    assert isinstance(zone, FatTree)
    assert zone.shape == TreeShape((4, 4), (1, 2), (1, 2))
    assert zone.n_hosts == 16


def test_hosts_have_the_names_of_a_list_in_its_order(file: Path) -> None:
    text = "[host]\nnames = 'n[9-11,2].site'\n[topology]\nkind = 'flat'\nbackbone_bandwidth = '1GB/s'"
    zone = read(file, text).zone
    assert isinstance(zone, FlatCluster)
    assert list(zone.cluster.hosts) == ["n9.site", "n10.site", "n11.site", "n2.site"]
    assert zone.cluster.backbone_bandwidth_bytes_per_s == 1e9


def test_network_and_calls_are_what_their_tables_say(file: Path) -> None:
    text = """
[network]
envelope = "50B"
latency_factor = 1.5
bandwidth_factor = {"0" = 0.9, "64KiB" = 0.8}
tcp_window = "4MiB"
[mpi]
eager_limit = "16KiB"
send_overhead = {"0" = "1us", "8KiB" = ["2us", "0.5ns"]}
recv_overhead = "0:1us:1ns;4KiB:3us"
overhead = "0us"
copy_bandwidth = 0
test = "2us"
polls = "grow"
collectives = "smpi"
[mpi.algorithms]
alltoall = "ring"
"""
    models = read(file, text).models
    assert models.network.latency_factor == (Step(0, 1.5),)
    assert models.network.bandwidth_factor == (Step(0, 0.9), Step(65536, 0.8))
    assert (models.network.envelope_bytes, models.network.tcp_gamma_bytes) == (50, 4194304)
    assert models.calls.detached_below_bytes == 16385
    assert models.calls.send_overhead == (Overhead(0, 1e-6, 0), Overhead(8192, 2e-6, 0.5e-9))
    assert models.calls.recv_overhead == (Overhead(0, 1e-6, 1e-9), Overhead(4096, 3 * 1e-6, 0))
    assert models.calls.isend_overhead == ()
    assert (models.polling.test_s, models.polling.polls_grow, models.polling.polls_notice) == (2e-6, True, False)
    assert models.collectives.table == "smpi"
    assert models.collectives.algorithms == (("alltoall", "ring"),)


def test_a_larger_eager_limit_moves_what_depends_on_it(file: Path) -> None:
    models = read(file, "mpi.eager_limit = '64KiB'").models
    assert models.network.latency_factor == (Step(65536 + 34, 3),)
    assert models.calls.send_overhead == (Overhead(0, 0.2e-6, 1e-10), Overhead(65536, 0.2e-6 + 65536e-10, 0))


def test_a_machine_can_have_the_models_of_smpi(file: Path) -> None:
    assert read(file, "network.model = 'smpi'\nmpi.costs = 'smpi'").models == Models()
    assert read(file, "network.model = 'smpi'").models.network == NetworkModel()


def test_what_a_host_draws_and_costs_are_its_properties(file: Path) -> None:
    text = """
host = {cores = 8, sockets = 4, memory_bandwidth = "400GB/s"}
topology.kind = "flat"
power = {idle = "0.2kW", busy = "700W", off = "9W"}
price = {host_eur = 12_000}
"""
    zone = read(file, text).zone
    assert isinstance(zone, FlatCluster)
    assert (zone.cluster.sockets, zone.cluster.memory_bandwidth_bytes_per_s) == (4, 400e9)
    assert dict(zone.cluster.properties) == {
        "wattage_per_state": "200.0:700.0",
        "wattage_off": "9.0",
        "price_per_host": "12000.0",
    }


@pytest.mark.parametrize("kind", ["fat-tree hosts=16", "flat hosts=16", "torus 4x4", "hyperx 4x2 hosts_per_switch=2"])
def test_hosts_have_several_network_cards(kind: str) -> None:
    one, two = (read_machine(f"{kind} rails={rails}", 1).build() for rails in (1, 2))
    assert (one.n_hosts, two.n_hosts) == (16, 16)
    assert two.n_links == 2 * one.n_links
    assert {two.route(0, target).link_names[0][:6] for target in range(1, 16)} == {"rail0_", "rail1_"}


# ---- files that are included ----


def test_a_file_stands_above_those_that_it_includes(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "calibration.toml").write_text("include = 'nic.toml'\n[host]\nspeed = '3Gf'\ncores = 3")
    (tmp_path / "parts" / "nic.toml").write_text("[nic]\nlatency = '7us'\n[host]\nspeed = '1Gf'")
    text = "include = ['parts/calibration.toml']\n[host]\ncores = 5\n[topology]\nkind = 'flat'"
    zone = read(tmp_path / "machine.toml", text).zone
    assert isinstance(zone, FlatCluster)
    assert (zone.cluster.cores, zone.cluster.speed_flop_per_s) == (5, 3e9)
    assert zone.cluster.latency_s == pytest.approx(7e-6)


def test_a_preset_can_be_included_and_its_topology_replaced(file: Path) -> None:
    zone = read(file, "include = 'default'\nhost.count = 3\ntopology.kind = 'flat'").zone
    assert isinstance(zone, FlatCluster)
    assert zone.cluster.cores == 128


def test_what_goes_by_size_is_replaced_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "below.toml").write_text(
        "[host]\ncaches = { 32KiB = '100GB/s', 1MiB = '60GB/s' }\nmemory_bandwidth = '20GB/s'\n"
        "[network]\nlatency_factor = { 0 = 1, 1KiB = 2 }\nbandwidth_factor = { 0 = 0.9, 2KiB = 0.8 }\n"
        "[mpi]\nsend_overhead = { 0 = '1us', 2KiB = '50us' }\nrecv_overhead = { 0 = '1us', 2KiB = '50us' }\n"
    )
    machine = read(
        tmp_path / "machine.toml",
        "include = 'below.toml'\n[host]\ncaches = { 64KiB = '80GB/s' }\n[topology]\nkind = 'flat'\n"
        "[network]\nlatency_factor = { 0 = 3, 8KiB = 4 }\n[mpi]\nsend_overhead = { 0 = '2us', 1KiB = '3us' }\n",
    )
    assert isinstance(machine.zone, FlatCluster)
    memory = machine.zone.cluster.memory
    assert [cache.size_bytes for cache in memory.caches] == [64 << 10]
    assert memory.bandwidth_bytes_per_s == 20e9
    network, calls = machine.models.network, machine.models.calls
    assert network.latency_factor == (Step(0, 3), Step(8 << 10, 4))
    assert network.bandwidth_factor == (Step(0, 0.9), Step(2 << 10, 0.8))
    assert [step.above_bytes for step in calls.send_overhead] == [0, 1 << 10]
    assert [step.above_bytes for step in calls.recv_overhead] == [0, 2 << 10]


def test_a_latency_factor_stands_in_place_of_an_included_rendezvous(tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text("[network]\nlatency_factor = { 0 = 1, 8KiB = 2 }\n")
    machine = read(tmp_path / "machine.toml", "include = ['hdr', 'network.toml']\n")
    assert machine.models.network.latency_factor == (Step(0, 1), Step(8 << 10, 2))
    (tmp_path / "network.toml").write_text("mpi = 3\n[network]\nlatency_factor = 2\n")
    with pytest.raises(PlatformError, match=r"network.toml:1: mpi: it is a table of settings"):
        read_machine(tmp_path / "network.toml", 1)
    (tmp_path / "network.toml").write_text("[network]\nlatency_factor = 2\n[mpi]\nrendezvous = 2\n")
    with pytest.raises(PlatformError, match=r"network.toml:4: mpi.rendezvous: .* keep one of both"):
        read_machine(tmp_path / "machine.toml", 1)


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("include = 'b.toml'")
    (tmp_path / "b.toml").write_text("\ninclude = ['./a.toml']")
    with pytest.raises(PlatformError, match=r"b.toml:2: include: './a.toml' includes this file"):
        read_machine(tmp_path / "a.toml", 1)


def test_an_error_in_an_included_file_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("include = 'b.toml'")
    with pytest.raises(PlatformError, match=r"a.toml:1: include: cannot read '.*b.toml': No such file"):
        read_machine(tmp_path / "a.toml", 1)
    (tmp_path / "b.toml").write_text("[host]\n\ncors = 3")
    with pytest.raises(PlatformError, match=r"b.toml:3: host.cors: unknown key: did you mean 'cores'\?"):
        read_machine(tmp_path / "a.toml", 1)


# ---- what is refused ----

MISTAKES = {
    "[host]\ncores = 'many'": r"toml:2: host.cores: 'many' is no whole number",
    "[host]\ncores = 0": r"toml:2: host.cores: it is 0, and must be at least 1",
    "[host]\ncores = '3 hosts'": r"toml:2: host.cores: '3 hosts' is no whole number",
    "[host]\nspeed = 49.6e9": r'toml:2: host.speed: 49600000000.0 has no unit: write it such as "49.6Gf"',
    "[host]\n\nspeed = '0Gf'": r"toml:3: host.speed: it is 0, and must be above 0",
    "[host]\nnames = 'node'": r"toml:2: host.names: 'node' is no pattern of names",
    "[host]\nnames = 'n[01-16]'": r"toml:2: host.names: '01-16': numbers with zeros before them",
    "[host]\ncount = 3\nnames = 'n[1-4]'": r"toml:2: host.count: it is 3, and names lists 4 hosts",
    "[host]\ncores = 6\nsockets = 4": r"toml:3: host.sockets: 4 sockets cannot share 6 cores",
    "[power]\nidle = '3W'\nbusy = '2W'": r"toml:3: power.busy: .* all cores busy draws 2 W",
    "[network]\nmodel = 'magic'": r"toml:2: network.model: .*magic",
    "[nic]\nbandwidth = '100gbps'": r"toml:2: nic.bandwidth: .*the case of units matters",
    "[nic]\nlatency = '-1us'": r"toml:2: nic.latency: it is -1e-06, and must be at least 0",
    "[nic]\nlatency = ['1us']": r"toml:2: nic.latency: \['1us'\] is no number with a unit",
    "[nic.latency]\nvalue = '1us'": r"toml:2: nic.latency.value: nic.latency is one value, not a table",
    "[nic]\nbandwith = '1GB/s'": r"toml:2: nic.bandwith: unknown key: did you mean 'bandwidth'\?",
    "[nic]\nspeed = '1Gf'": r"toml:2: nic.speed: unknown key: it stands in \[host\]",
    "[nics]\nlatency = '1us'": r"toml:2: nics: unknown key: did you mean 'nic'\?",
    "nic = '1GB/s'": r"toml:1: nic: it is a table of settings: write \[nic\]",
    "[topology]\nkind = 'fattree'": r"toml:2: topology.kind: 'fattree' is none of .*: did you mean 'fat-tree'\?",
    "[topology]\nkind = 'flat'\nports = 4": r"toml:3: topology.ports: unknown key",
    "[topology]\noversubscription = 0.5": r"toml:2: topology.oversubscription: it is 0.5, and is from 1 to 39",
    "[topology]\nchildren = [2, 2]\nparents = [1]": r"toml:3: topology.parents: it needs 2 numbers",
    "[topology]\nchildren = [2]\nports = 4": r"toml:3: topology.ports: the numbers of children, .* keep one",
    "host.count = 5\ntopology.children = 4": r"toml:1: host.count: 5 hosts are wanted, and the topology has 4 places",
    "[network]\nbandwidth_factor = 0": r"toml:2: network.bandwidth_factor: .*must be above 0",
    "[network.latency_factor]\n0 = 1\n'8K' = 2": r"toml:3: network.latency_factor.8K: '8K' is not a size",
    "[network]\nlatency_factor = 2\n[mpi]\nrendezvous = 3": r"toml:4: mpi.rendezvous: .*keep one of both",
    "include = 'hdr'\n[network]\nmodel = 'raw'": r"mpi.rendezvous: .*, or name the model by --network",
    "[mpi]\npolls = 'sometimes'": r"toml:2: mpi.polls: 'sometimes' is none of constant, grow, notice",
    "[mpi]\n\niprobe = '1ps'": r"toml:3: mpi.iprobe: iprobe_s is 1e-12: a poll takes at least 1e-09 s, or 0",
    "[mpi]\nsend_overhead = ['1us', '1ns', '1s']": r"toml:2: mpi.send_overhead: .* is neither a time nor",
    "[host]\ncores = 3\ncores = 4": r"toml:3: not well-formed TOML, .*: Cannot overwrite a value",
    "[host\n": r"toml:1: not well-formed TOML, at column 6",
    "a = '": r"toml:1: not well-formed TOML",
    "name = 3": r"toml:1: name: 3 is no text",
    "\n\nx = " + "[" * 5000 + "]" * 5000: r"values are nested too deep",
    "[" + "a." * 30 + "a]\nb = 1": r"toml:1: tables are nested more than 20 deep",
    "\n\nhost.cores = " + "9" * 5000: r"toml:3: a value is none that can be computed with",
    "include = 3": r"toml:1: include: it lists files",
    "[include]\nfile = 'a.toml'": r"toml:2: include: it lists files",
    "[network]\nlatency_factor = {'8KiB' = 2, '8192B' = 3}": r"toml:2: .*_factor.8KiB: '8KiB' is there twice",
    "[topology]\nhosts = 4": r"toml:2: topology.hosts: unknown key: did you mean 'host.count'\?",
    "[host]\nnodes = 4": r"toml:2: host.nodes: unknown key: did you mean 'host.count'\?",
    "[network]\nbandwith = '1GB/s'": r"toml:2: network.bandwith: unknown key: did you mean 'nic.bandwidth'\?",
    "[topology]\nkind = 'graph'\nedges = 'no.csv'": r"toml:3: topology.edges: cannot read edge list '.*no.csv'",
}


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: repr(text)[:60])
def test_a_mistake_is_refused_with_its_place_and_advice(file: Path, text: str) -> None:
    with pytest.raises(PlatformError, match=MISTAKES[text]):
        read(file, text)


LINES = {
    "fat-tre hosts=3": r"begins with 'fat-tre', and the kinds .* are .*fat-tree.*: did you mean 'fat-tree'\?",
    "fat-tree hots=3": r"hots: unknown key: did you mean 'hosts'\?",
    "fat tree hosts=3": r"begins with 'fat', .*: did you mean 'fat-tree'\?",
    "fat-tree nodes=3": r"nodes: unknown key: did you mean 'hosts'\?",
    "fat-tree bandwidth=1GB/s": r"bandwidth: unknown key: did you mean 'nic'\?",
    "fat-tree hosts=1,500": r"hosts: '1,500' is no whole number: write 1500",
    "fat-tree oversubscription=2:1": r"oversubscription: '2:1' is no number: write 2",
    "fat-tree 48 hosts": r"'hosts' is no KEY=VALUE, and children is said by '48'",
    "torus 4x4 x8": r"'x8' is no KEY=VALUE, and dimensions is said by '4x4'",
    "fat-tree nic=200": r"nic: '200' has no unit",
    "fat-tree nic=200Gbit/s": r"nic: '200Gbit/s' is not a bandwidth: unknown unit 'Gbit/s'; did you mean 'Gb/s'\?",
    "fat-tree speed=3GHz": r"speed: '3GHz' is not a speed: .* a clock's rate times the operations of a cycle",
    "flat cores=4 host.cores=3": r"host.cores is given twice",
    "flat 3x4": r"'3x4' is no KEY=VALUE, and flat takes no word",
    "flat 'hosts=4": r"a quote is never closed",
    "flat host.=4": r"a part of this key is empty",
    "flat topology.kind.x=4": r"kind is a value, not a table",
    "defalt": r"A machine is FILE.xml, FILE.toml, FILE.cfg, a preset \(.*default.*\), .*: did you mean 'default'\?",
    "nothing.toml": r"cannot read platform file 'nothing.toml': No such file",
    "": "no machine is named by ''",
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_describes_no_machine_is_refused(line: str) -> None:
    with pytest.raises(PlatformError, match=LINES[line]):
        read_machine(line, 1)


# ---- lines of TOML ----

KEYS = st.sampled_from(["a", "b-1", "'x.y'", '"q\\"\\u00e9"', '"#"', "'='"])
VALUES = st.recursive(
    st.sampled_from(
        ["1", "'#'", '"]\\""', "true", "1979-05-27 07:32:00", '"""\n#"\n\\""""', "'''\n[x]\n'''", "-1.5e3", '""']
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", # ]\n".join(items) + "\n]")
        | st.lists(inner, max_size=2).map(
            lambda items: "{" + ", ".join(f"k{i} = {item}" for i, item in enumerate(items)) + "}"
        )
    ),
    max_leaves=5,
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[tuple[Any, ...], int]]:
    """A document, and the line of each key and header in it."""
    text, lines = "", {}
    for i in range(draw(st.integers(0, 4))):
        text += draw(st.sampled_from(["", "\n", "# [no] a = 1\n", "  \n"]))
        path: tuple[Any, ...] = ()
        if i:
            is_array = draw(st.booleans())
            lines[(f"t{i}", 0) if is_array else (f"t{i}",)] = text.count("\n") + 1
            path = (f"t{i}", 0) if is_array else (f"t{i}",)
            text += f"[[ t{i} ]] # x\n" if is_array else f" [t{i}]\n"
        for key in draw(st.lists(KEYS, unique=True, max_size=3)):
            (name,) = tomllib.loads(f"{key} = 0")
            lines[(*path, name)] = text.count("\n") + 1
            text += f"{key} = {draw(VALUES)}{draw(st.sampled_from(['', ' # [x]', '  ']))}\n"
    return text, lines


@given(documents())
def test_the_line_of_each_key_is_found(document: tuple[str, dict[tuple[Any, ...], int]]) -> None:
    text, expected = document
    tomllib.loads(text)
    found = lines_of_keys(text)
    assert {path: found[path] for path in expected} == expected


def test_lines_of_windows_and_of_dotted_keys_are_found() -> None:
    assert lines_of_keys("a.b.c = 1\r\n\r\n[d.e]\r\nf = 1")[("d", "e", "f")] == 4
    assert lines_of_keys("[[a]]\n[[a]]\n[a.b]\nc = 1")[("a", 1, "b", "c")] == 4


# ---- presets ----


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_a_preset_is_a_machine_of_the_runs_size_with_its_sources(preset: Preset) -> None:
    assert preset.about
    assert preset.sources
    for n_ranks in (1, 200_000):
        machine = read_machine(preset.name, n_ranks)
        assert machine.build().n_cores >= n_ranks
        assert machine.sha256 is None


def test_the_network_of_a_preset_is_its_own_and_the_rest_the_default_clusters() -> None:
    default, slow = read_machine("default", 100_000), read_machine("eth25", 100_000)
    assert isinstance(slow.zone, FatTree)
    assert isinstance(default.zone, FatTree)
    assert slow.zone.cluster.bandwidth_bytes_per_s == 24.5e9 / 8
    assert slow.zone.cluster.cores == default.zone.cluster.cores
    assert slow.models.calls == default.models.calls
    assert read_machine("hdr", 5000) == default_cluster(5000)
    parents, cables = slow.zone.shape.parents, slow.zone.shape.cables
    assert slow.zone.shape.children[0] <= 1.5 * parents[1] * cables[1]


# ---- topologies that have places for a fixed number of hosts ----

HOSTS = cluster(hosts=NumberedNames("node-", (range(48),)), cores=128, speed_flop_per_s=49.6e9)


@pytest.mark.parametrize(
    ("line", "zone"),
    [
        (
            "torus 4x4x3 nic=12.5GB/s latency=1us",
            Torus(HOSTS, (4, 4, 3)),
        ),
        (
            "hyperx 4x3 hosts_per_switch=4 cables=2x1 routing=valiant seed=7 nic=12.5GB/s latency=1us",
            HyperX(
                HOSTS,
                (4, 3),
                4,
                (2, 1),
                "valiant",
                7,
            ),
        ),
        (
            (
                "dragonfly groups=3 chassis_per_group=2 routers_per_chassis=4 hosts_per_router=2 blue=3 "
                "nic=100Gb/s latency=1us"
            ),
            Dragonfly(
                HOSTS,
                DragonflyShape(3, 2, 4, 2, blue=3),
            ),
        ),
    ],
)
def test_lattices_and_groups_fit_on_a_line(line: str, zone: Zone) -> None:
    machine = read_machine(line, 1)
    assert machine.zone == zone
    assert machine.build().n_hosts == 48


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("torus nic=100Gb/s", "topology.dimensions: it is missing"),
        ("torus 4x4 hosts=15", "the topology has 16 places, none of which can be empty: change one of them"),
        ("torus 4x4 hosts=17", "17 hosts are wanted, and the topology has 16 places"),
        ("hyperx 4x4", "hosts_per_switch: it is missing"),
        ("hyperx 4x4 hosts_per_switch=2 cables=1x1x1", "2 dimensions and 3 numbers of cables"),
        ("dragonfly groups=33", "routers_per_chassis: it is missing: add routers_per_chassis = 33"),
        ("dragonfly groups=33 chassis_per_group=6", "add routers_per_chassis = 6"),
        ("dragonfly 3x2", "'3x2' is no KEY=VALUE, and dragonfly takes no word without a key"),
        ("torus 4x4 routing=valiant", "unknown key"),
    ],
)
def test_a_shape_that_does_not_add_up_is_refused(line: str, message: str) -> None:
    with pytest.raises(PlatformError, match=re.escape(message)):
        read_machine(line, 1).build()


def test_a_graph_is_an_edge_list_whose_leaves_are_hosts(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b,bandwidth\nh1,s,10GBps\nh2,s,\ns,t,\nh3,t,\n")
    machine = read_machine(f"graph {tmp_path}/edges.csv cores=8 nic=100Gb/s latency=1us", 1).build()
    assert machine.host_names == ["h1", "h2", "h3"]
    assert machine.route(0, 2).latency_s == pytest.approx(3e-6)
    other = read(tmp_path / "m.toml", '[topology]\nkind = "graph"\nedges = "edges.csv"\nhost_pattern = "h[12]"')
    assert other.build().host_names == ["h1", "h2"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("graph nowhere.csv", "cannot read edge list"),
        ("graph {edges} hosts=4", "4 hosts are wanted, and the topology has 2 places"),
        ("graph {edges} names=node-*", "the topology names its hosts itself"),
        ("graph {edges} host_pattern=x*", "no node has a name like 'x*'"),
    ],
)
def test_a_graph_that_does_not_add_up_is_refused(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\nh1,s\nh2,s\n")
    with pytest.raises(PlatformError, match=re.escape(message)):
        read_machine(line.format(edges=tmp_path / "edges.csv"), 1).build()
