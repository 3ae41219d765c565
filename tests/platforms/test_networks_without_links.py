"""Networks without links: what a machine says of them, what comes from its links, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.errors import PlatformError, UsageError
from smpy.platforms import read_machine
from smpy.platforms.machine import changed
from smpy.platforms.models.dimemas import Dimemas
from smpy.platforms.models.loggp import LogGP
from smpy.platforms.own_format.writing import write_toml

LINE = "flat hosts=4 cores=1 nic=8Gb/s latency=1us"
XML = """<platform version="4.1"><zone id="z" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="500MBps" latency="7us"/>
<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"""
TOML = """
topology.kind = "flat"
host.count = 2
[loggp]
L = "2500ns"
o = "1500ns"
g = "1000ns"
G = "6ns"
O = "1ns"
S = "65535B"
"""


def test_a_machine_has_a_table_of_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(TOML)
    assert isinstance(
        read_machine(tmp_path / "m.toml", 2).models.network, type(read_machine("default", 2).models.network)
    )
    network = read_machine(tmp_path / "m.toml", 2, network="loggp").models.network
    assert isinstance(network, LogGP)
    assert network.parameters() == pytest.approx(
        {
            "latency_s": 2500e-9,
            "overhead_s": 1500e-9,
            "gap_s": 1e-6,
            "gap_s_per_byte": 6e-9,
            "overhead_s_per_byte": 1e-9,
        }
    )
    assert network.eager_bytes == 65535
    assert network.about == ""


def test_its_model_may_be_named_in_the_file_and_changed_by_the_run(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(TOML + '[network]\nmodel = "loggp"\n')
    network = read_machine(tmp_path / "m.toml", 2, [("loggp.L", "x2")]).models.network
    assert isinstance(network, LogGP)
    assert network.latency_s == pytest.approx(5e-6)
    assert network.gap_s == pytest.approx(1e-6)


def test_numbers_that_are_not_said_come_from_the_links_and_the_model_tells(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(XML)
    network = read_machine(tmp_path / "m.xml", 2, [("smpi/os", "0:2us:1e-9")], network="loggp").models.network
    assert isinstance(network, LogGP)
    assert network.latency_s == pytest.approx(7e-6)
    assert network.gap_s_per_byte == pytest.approx(2e-9)
    assert network.overhead_s == pytest.approx(2.001e-6)
    assert network.overhead_s_per_byte == pytest.approx(1e-9)
    assert network.eager_bytes == 65535
    assert network.about == "L, G from the links from a to b; o, O, S from the machine's costs of a send; g is 0"


def test_a_run_sets_some_numbers_of_a_machine_of_simgrids(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(XML)
    network = read_machine(
        tmp_path / "m.xml", 2, [("loggp.L", "3us"), ("loggp.g", "1us")], network="loggp"
    ).models.network
    assert isinstance(network, LogGP)
    assert (network.latency_s, network.gap_s) == (pytest.approx(3e-6), pytest.approx(1e-6))
    assert network.about.startswith("G from the links from a to b; ")


def test_a_machine_that_is_timed_by_one_is_written_and_read_again(tmp_path: Path) -> None:
    machine = read_machine(LINE, 4, network="loggp:L=2us")
    (tmp_path / "again.toml").write_text(write_toml(machine))
    again = read_machine(tmp_path / "again.toml", 4)
    assert again.models.network == machine.models.network


@pytest.mark.parametrize(
    ("options", "network", "message"),
    [
        ((("loggp.L", "-1us"),), "loggp", "loggp.L: it is -1e-06, and must be at least 0 and finite"),
        ((("loggp.G", "inf"),), "loggp", "loggp.G: 'inf' "),
        ((("loggp.S", "-1B"),), "loggp", "loggp.S: it is -1, and must be at least 0 and finite"),
        ((("loggp.o", "soon"),), "loggp", "loggp.o: 'soon' is not a time"),
        ((("loggp.o", "x2"),), "loggp", "loggp.o: "),
        ((("loggp.l", "1us"),), "loggp", r"loggp.l: unknown key: \[loggp\] takes L, o, g, G, O, S"),
        ((), "loggp:S=-1B", "eager_bytes is -1.0: it cannot be negative"),
        ((), "loggp:L=nan", "L"),
        ((), "loggp:K=1us", "'K' is no parameter of it: L, o, g, G, O, S are"),
        ((("dimemas.buses", "-1"),), "dimemas", "dimemas.buses: it is -1, and must be at least 0 and finite"),
        ((("dimemas.buses", "1.5"),), "dimemas", "dimemas.buses: buses is 1.5, and must be a whole number"),
        ((("dimemas.input_links", "0"),), "dimemas", "input_links is 0: nobody could receive"),
        ((("dimemas.bus", "1"),), "dimemas", "dimemas.bus: unknown key: did you mean 'buses'"),
        ((), "ideal:latency", None),
    ],
)
def test_wrong_numbers_are_refused(options: tuple[tuple[str, str], ...], network: str, message: str | None) -> None:
    if message is None:
        with pytest.raises(UsageError, match="its parts are overhead under the network model loggp"):
            read_machine(LINE + " network=loggp", 4, options, network=network)
        return
    with pytest.raises((PlatformError, UsageError), match=message):
        read_machine(LINE, 4, options, network=network)


def test_the_numbers_of_dimemas_come_from_two_routes() -> None:
    network = read_machine(LINE, 4, network="dimemas").models.network
    assert isinstance(network, Dimemas)
    assert network.latency_s == pytest.approx(2e-6)
    assert network.bandwidth_bytes_per_s == pytest.approx(1e9)
    assert network.buses == 0
    assert network.about == (
        "latency, bandwidth from the links from node-0 to node-3; "
        "local_latency, local_bandwidth from those from node-0 to node-0; eager from the machine's costs of a send"
    )


def test_dimemas_can_be_ideal_in_parts() -> None:
    network = read_machine(
        LINE + " network=dimemas", 4, [("dimemas.buses", "3")], network="ideal:contention"
    ).models.network
    assert network.parameters()["buses"] == 0
    assert network.parameters()["input_links"] == 0
    assert network.parameters()["latency_s"] == pytest.approx(2e-6)


def test_links_of_a_machine_that_is_timed_without_them_are_not_changed_in_vain() -> None:
    lacking = read_machine(LINE, 4, [("network.latency", "x2")], network="loggp").models.network
    assert isinstance(lacking, LogGP)
    assert lacking.latency_s == pytest.approx(4e-6)
    timed = read_machine(LINE, 4, network="loggp")
    with pytest.raises(UsageError, match="knows no links, and that would change nothing"):
        changed(timed, [("network.latency", "x2")])
    assert changed(timed, [("loggp.L", "x2")]).models.network.parameters()["latency_s"] == pytest.approx(4e-6)
