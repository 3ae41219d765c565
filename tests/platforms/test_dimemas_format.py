"""Machine files of Dimemas: machines of ours with their numbers, or one error with file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smpy.engine.platform import Platform
from smpy.errors import PlatformError, SmpyError
from smpy.platforms import read_machine
from smpy.platforms.cluster import Cluster
from smpy.platforms.description import Description
from smpy.platforms.models.collective_models import SCHEDULES
from smpy.platforms.models.dimemas import Dimemas
from smpy.platforms.own_format.writing import write_toml
from tests.platforms.mutations import mutate

MIB = float(1 << 20)
MACHINE = '"environment information" {"mn", 7, "power9", 3, 100.0, 2, 1};;'
NODES = '"multi node information" {7, 3, "", 4, 2.0, 1e-6, 1000.0, 5, 1, 0, 5e-6, 2, 3, 0.0};;'
TEXT = f"""#DIMEMAS_CONFIGURATION
/* RECORDS
 "environment information" {{
  1: char[] "machine name"
}};; */
"wide area network information" {{"", 1, 0, 4, 0.0, 0.0, 1}};;  // one machine
{MACHINE}
{NODES}
"configuration files" {{"", "", "", ""}};;
"file system parameters" {{0.0, 0.0, 8.0, 0, 1.0}};;
"""
TWO_KINDS = TEXT.replace(
    NODES,
    '"multi node information" {7, 2, "", 4, 2.0, 1e-6, 1000.0, 5, 1, 0, 5e-6, 2, 3, 0.0};;\n'
    '"node information" {7, "", 2, 0.5, 1e-6, 1000.0, 5, 1, 0, 5e-6, 2, 3, 0.0};;',
)


def read(folder: Path, text: str, *options: tuple[str, str], network: str | None = None) -> Description:
    """The machine of a file with that text."""
    (folder / "m.cfg").write_text(text)
    return read_machine(folder / "m.cfg", 2, options, network=network)


def built(folder: Path, text: str) -> Platform:
    return read(folder, text).build()


def test_its_numbers_are_those_of_the_network_model_in_binary_megabytes(tmp_path: Path) -> None:
    network = read(tmp_path, TEXT).models.network
    assert isinstance(network, Dimemas)
    assert network.parameters() == {
        "latency_s": 5e-6,
        "bandwidth_bytes_per_s": 100 * MIB,
        "buses": 2,
        "input_links": 2,
        "output_links": 3,
        "local_latency_s": 1e-6,
        "local_bandwidth_bytes_per_s": 1000 * MIB,
        "local_buses": 5,
        "local_input_links": 1,
        "local_output_links": 0,
        "collective_model": SCHEDULES,
    }


def test_its_nodes_are_hosts_with_their_processors_and_a_speed_relative_to_the_default_cluster(tmp_path: Path) -> None:
    machine = read(tmp_path, TEXT)
    cluster = machine.zone.cluster  # type: ignore[attr-defined]  # of a flat network
    assert isinstance(cluster, Cluster)
    assert (machine.name, cluster.hosts.n_names, cluster.cores) == ("mn", 3, 4)
    assert cluster.speed_flop_per_s == pytest.approx(2 * 49.6e9)
    assert list(machine.build().host_names) == ["node-0", "node-1", "node-2"]


def test_nodes_of_several_records_are_numbered_through(tmp_path: Path) -> None:
    cluster = read(tmp_path, TWO_KINDS).zone.cluster  # type: ignore[attr-defined]  # of a flat network
    kinds = [(group.n_hosts, group.cores, group.speed_flop_per_s) for group in cluster.groups]
    assert kinds == [(2, 4, pytest.approx(2 * 49.6e9)), (1, 2, pytest.approx(49.6e9 / 2))]
    assert list(built(tmp_path, TWO_KINDS).host_names) == ["node-0", "node-1", "node-2"]


def test_a_file_is_known_by_its_first_line_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "machine.txt").write_text(TEXT)
    assert isinstance(read_machine(tmp_path / "machine.txt", 2).models.network, Dimemas)


def test_other_networks_find_links_of_its_latency_and_bandwidth(tmp_path: Path) -> None:
    machine = read(tmp_path, TEXT, network="loggp")
    numbers = machine.models.network.parameters()
    assert numbers["latency_s"] == pytest.approx(5e-6)
    assert numbers["gap_s_per_byte"] == pytest.approx(1 / (100 * MIB))


def test_a_bandwidth_of_0_takes_no_time(tmp_path: Path) -> None:
    network = read(tmp_path, TEXT.replace("3, 100.0", "3, 0.0").replace("1000.0", "0.0")).models.network
    assert network.parameters()["bandwidth_bytes_per_s"] == 0
    assert network.parameters()["local_bandwidth_bytes_per_s"] == 0


def test_options_change_its_numbers(tmp_path: Path) -> None:
    machine = read(tmp_path, TEXT, ("dimemas.latency", "x2"), ("host.cores", "8"), ("dimemas.buses", "9"))
    assert machine.models.network.parameters()["latency_s"] == pytest.approx(1e-5)
    assert machine.models.network.parameters()["buses"] == 9
    assert machine.zone.cluster.cores == 8  # type: ignore[attr-defined]  # of a flat network


def test_a_machine_is_written_in_toml_and_read_again(tmp_path: Path) -> None:
    machine = read(tmp_path, TWO_KINDS)
    (tmp_path / "again.toml").write_text(write_toml(machine))
    again = read_machine(tmp_path / "again.toml", 2)
    assert (again.models.network, again.zone) == (machine.models.network, machine.zone)


@pytest.mark.parametrize(
    ("record", "fills_hosts"),
    [("", True), ('{"FILL_NODES"};;', True), ('{"INTERLEAVED"};;', False), ('{"a.dim", "1 TASKS_PER_NODE"};;', False)],
)
def test_its_predefined_mapping_says_whether_ranks_fill_hosts(tmp_path: Path, record: str, fills_hosts: bool) -> None:
    mapping = f'"predefined mapping information" {record}\n' if record else ""
    assert read(tmp_path, TEXT + mapping).fills_hosts is fills_hosts


WRONG = {
    "an unknown record": (TEXT + '"multi nodes" {1};;', r":11: 'multi nodes' is no record of Dimemas': .*did you mean"),
    "a short array": (
        TEXT + '"mapping information" {"a.dim", 3, [3] {0, 1}};;',
        ":11: an array of 2 values says that it has 3",
    ),
    "a mapping": (TEXT + '"mapping information" {"a.dim", 2, [2] {0, 1}};;', ":11: .*: place ranks by --hostfile"),
    "a mapping of several a node": (
        TEXT + '"predefined mapping information" {"2 TASKS_PER_NODE"};;',
        ":11: map .*: '2 TASKS_PER_NODE' is not supported here: place ranks by --hostfile, --ranks-per-host",
    ),
    "a negative number": (
        TEXT.replace("5e-6", "-5e-6"),
        ":8: inter-node latency in .*: it is -5e-06: it cannot be neg",
    ),
    "a negative count": (TEXT.replace("100.0, 2", "100.0, -2"), ":7: inter-node buses in .*: it is -2: it cannot be"),
    "a fixed time": (TEXT.replace("4, 2.0", "4, -2.0"), ":8: processor speed in .*: it is -2: a fixed time is not"),
    "a speed of 0": (TEXT.replace("4, 2.0", "4, 0.0"), ":8: processor speed in .*: it is 0: run with --compute none"),
    "a model of collectives that there is not": (
        TEXT.replace("100.0, 2, 1", "100.0, 2, 4"),
        r":7: collective model in .*: it is 4, and the models are 0 \(none\), 1 \(const\), 2 \(linear\), 3 \(log\)",
    ),
    "a fraction": (
        TEXT.replace("100.0, 2", "100.0, 2.5"),
        ":7: inter-node buses in .*: 2.5 is there, and must be a who",
    ),
    "no number": (TEXT.replace("100.0", "nan"), ":7: 'nan' is no number"),
    "a number too large": (TEXT.replace("100.0", "1e400"), ":7: inter-node bandwidth in .*: it is inf, and can be 1e"),
    "a text for a number": (TEXT.replace("100.0", '"fast"'), ":7: inter-node bandwidth .*: 'fast' is there, and must"),
    "a value too few": (
        TEXT.replace("100.0, ", ""),
        ":7: 'environment information' has 6 values, and takes name, mach",
    ),
    "no comma": (TEXT.replace("100.0,", "100.0"), ":7: '}' is expected, and '2, 1};;' is there"),
    "an end in a record": (
        TEXT[: TEXT.index('"configuration')] + '"configuration files" {"",',
        ":9: a value is expected: .*, and the file ends",
    ),
    "an open comment": (TEXT + "/* 1", r":11: a record is expected: .*, and '/\* 1' is there"),
    "two machines": (
        TEXT.replace('"", 1, 0, 4', '"", 2, 0, 4'),
        ":6: machines in .*: it is 2, and 1 alone is supported",
    ),
    "a record twice": (TEXT + MACHINE, ":11: 'environment information': there is one before it already"),
    "another machine's nodes": (
        TEXT.replace("{7, 3", "{8, 3"),
        ":8: machine in .*: it is 8, and the only machine is 7",
    ),
    "nodes that are missing": (TEXT.replace("{7, 3", "{7, 2"), ":7: nodes in .*: it is 3, and the file describes 2"),
    "no nodes": (TEXT.replace(NODES, ""), "it has no record 'multi node information'"),
    "no processors": (
        TEXT.replace('"", 4, 2.0', '"", 0, 2.0'),
        ":8: processors in .*: it is 0, and must be at least 1",
    ),
    "nobody receives": (
        TEXT.replace("5e-6, 2, 3", "5e-6, 0, 3"),
        ":8: inter-node input links in .*nobody could receive",
    ),
    "nodes that differ": (
        TWO_KINDS.replace('5e-6, 2, 3, 0.0};;\n"conf', '4e-6, 2, 3, 0.0};;\n"conf'),
        ":9: inter-node latency in .*: it is 4e-06, and 5e-06 in line 8: all hosts have the same",
    ),
    "drawn factors": (TEXT.replace('"", "", ""}', '"", "", "r.cfg"}'), ":9: sensitivity in .*: factors drawn for each"),
    "modules": (TEXT + '"modules information" {1, 2, 0.5};;', ":11: 'modules information': computing is not scaled"),
    "another header": (
        TEXT.replace("#DIMEMAS", "#PARAVER"),
        ":1: a machine file of Dimemas' begins with #DIMEMAS_CONF",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_no_machine_of_ours_is_refused_with_its_line(tmp_path: Path, case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(PlatformError, match=re.escape(str(tmp_path / "m.cfg")) + ".*" + message):
        read(tmp_path, text)


def refusal(folder: Path) -> str:
    """Refusal of a file; empty when it is a machine. Any other error fails the test."""
    try:
        read_machine(folder / "m.cfg", 2)
    except SmpyError as error:
        return str(error)
    return ""


def test_a_mutated_file_is_a_machine_or_is_refused_in_a_few_words(tmp_path: Path) -> None:
    for seed in range(100):
        (tmp_path / "m.cfg").write_bytes(mutate(TWO_KINDS.encode(), seed))
        assert len(refusal(tmp_path)) < 3000, f"seed {seed}"
