"""`smpy platform`: what is printed, written and refused."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from smpy.cli.main import main

HEAD = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
CLUSTER = (
    HEAD + '<cluster id="c" prefix="n" suffix="" radical="0-11" speed="1Gf" core="2" bw="{bw}" lat="10us"/></platform>'
)

PRICES = "price.host_eur=9000 price.switch_port_eur=500 price.cable_eur=80 price.switch_cable_eur=120 power.idle=200W "
PRICES += "power.busy=700W power.switch=200W"


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER.format(bw="1.25GBps"))
    return str(path)


def platform(*args: str) -> Result:
    return CliRunner().invoke(main, ["platform", *args])


def shown(*args: str) -> str:
    result = platform(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_show_tells_hosts_links_diameter_latency_and_bisection(cluster: str) -> None:
    assert shown("show", cluster).splitlines() == [
        f"smpy: {cluster}, flat cluster: 12 hosts, 24 cores of 24 Gflop/s together, 24 links",
        "  hosts          12 of 2 cores at 1 Gf: n[0-11]",
        "  links          24 of 1.25 GB/s, 10 us, shared: c_link_0_UP, ...",
        "  diameter       2 links",
        "  latency        20 us (all 132 pairs)",
        "  bisection      7.5 GB/s one way (a formula: all that links can carry)",
        "  parts          12 hosts, 1 switch of 12 ports, 12 cables",
    ]


def test_show_tells_what_a_machine_costs_and_draws_as_far_as_it_is_known(cluster: str) -> None:
    options = ("price.host_eur=9000", "price.cable_eur=70.4", "power.busy=700W")
    priced = shown("show", cluster, *(f"--set={option}" for option in options))
    assert priced.splitlines()[-2:] == [
        "  price          not known: hosts 108,000 EUR, switches not known, cables 845 EUR",
        "  power          hosts 0 kW idle, 8.4 kW busy; switches not known",
    ]
    rented = "flat hosts=4 price.host_hour_eur=2.5 price.switch_eur=0"
    assert shown("show", rented).splitlines()[-1] == "  rent           10.00 EUR an hour"
    whole = shown("show", "fat-tree children=4,3 parents=1,2 " + PRICES).splitlines()
    assert whole[-3:] == [
        "  parts          12 hosts, 5 switches (3 of 6 ports, 2 of 3 ports), 18 cables",
        "  price          121,680 EUR: hosts 108,000 EUR, switches 12,000 EUR, cables 1,680 EUR",
        "  power          hosts 2.4 kW idle, 8.4 kW busy; switches 1 kW",
    ]
    record = json.loads(shown("show", cluster, "--set", "price.cable_eur=70", "--json", "-"))
    assert (record["bill"]["cables_eur"], record["bill"]["price_eur"]) == (840, None)
    assert record["parts"]["switches"] == [{"count": 1, "ports": 12}]


def test_show_tells_of_parts_that_nothing_tells(tmp_path: Path) -> None:
    world = f"{HEAD}<zone id='w' routing='Full'><host id='a' speed='1Gf'/><router id='r'/></zone></platform>"
    (tmp_path / "w.xml").write_text(world)
    assert shown("show", str(tmp_path / "w.xml")).splitlines()[-1] == "  parts          1 host, 1 switch, 0 cables"


def test_show_tells_which_kernels_have_costs(tmp_path: Path) -> None:
    kernels = "".join(f"[kernels.{name}]\nsizes = ['n']\nseconds = {{ n = 1e-9 }}\n" for name in ("daxpy", "dgemm"))
    (tmp_path / "m.toml").write_text(f"host.count = 2\n[kernels]\nreference_speed = '2Gf'\n{kernels}")
    told = "  kernels        costs of 2, measured on a core of 2 Gf: daxpy, dgemm"
    assert told in shown("show", str(tmp_path / "m.toml")).splitlines()
    record = json.loads(shown("show", str(tmp_path / "m.toml"), "--json", "-"))
    assert record["machine"]["kernels"] == ["daxpy", "dgemm"]


def test_show_tells_routes_link_by_link(cluster: str) -> None:
    assert shown("show", cluster, "--route", "n3", "n10").splitlines()[-3:] == [
        "route from n3 to n10: 2 links, 20 us, 1.25 GB/s",
        "     1.25 GB/s      10 us  n3 to switch (c_link_3_UP)",
        "     1.25 GB/s      10 us  switch to n10 (c_link_10_DOWN)",
    ]


def test_show_tells_who_sits_where(cluster: str) -> None:
    placed = shown("show", cluster, "--ranks", "5", "--ppn", "2", "--host-order", "natural").splitlines()
    assert placed[-4:] == [
        "5 ranks on 3 hosts",
        "  n0             0-1 (2)",
        "  n1             2-3 (2)",
        "  n2             4",
    ]
    assert shown("show", cluster, "--ranks", "14").splitlines()[-12:-9] == [
        "  n0             0, 12",
        "  n1             1, 13",
        "  n10            2",
    ]


def test_many_hosts_and_ranks_are_told_in_few_lines() -> None:
    text = shown("show", "default", "--ranks", "100000", "--map-by", "host")
    assert len(text.splitlines()) < 30
    assert "  node-0         0, 800, 1600, 2400, 3200, 4000, 4800, ..., 99200 (125)" in text.splitlines()
    assert "  ... and 784 more hosts (all: --json)" in text.splitlines()


def test_a_machine_can_be_changed_for_a_look(cluster: str) -> None:
    text = shown("show", cluster, "--set", "network.bandwidth=x2", "--set", "host.cores=8")
    assert "12 of 8 cores" in text
    assert "bisection      15 GB/s" in text
    assert platform("show", cluster, "--set", "cores=8").exit_code == 2
    assert platform("check", cluster, "--set", "network.latency=20s").exit_code == 1


def test_the_default_machine_is_sized_to_the_ranks() -> None:
    assert "1 host, 128 cores" in shown("show", "default", "--ranks", "1")
    assert "8 hosts, 1,024 cores" in shown("show", "default")


def test_json_has_the_same_and_more(cluster: str, tmp_path: Path) -> None:
    record = json.loads(shown("show", cluster, "--ranks", "3", "--route", "n0", "n1", "--json", "-"))
    assert record["machine"]["n_cores"] == 24
    assert record["machine"]["hosts"][0]["names"] == ["n[0-11]"]
    assert record["machine"]["bisection"] == {"bandwidth_bytes_per_s": 7.5e9, "source": "formula"}
    assert [step["link"] for step in record["routes"][0]["steps"]] == ["c_link_0_UP", "c_link_1_DOWN"]
    assert record["ranks"] == [{"host": name, "ranks": [i]} for i, name in enumerate(("n0", "n1", "n10"))]
    path = tmp_path / "machine.json"
    assert "flat cluster" in shown("show", cluster, "--json", str(path))
    assert json.loads(path.read_text())["machine"] == record["machine"]


def test_a_small_machine_is_drawn(cluster: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.svg"
    assert "flat cluster" in shown("show", cluster, "--svg", str(path))
    assert path.read_text().startswith("<svg ")
    refused = platform("show", "default", "--ranks", "100000", "--svg", str(path))
    assert refused.exit_code == 2
    assert "draw a smaller machine of the same kind" in refused.stderr


def test_check_finds_nothing_or_ends_with_1_and_says_what(cluster: str, tmp_path: Path) -> None:
    assert shown("check", cluster) == f"{cluster}: 12 hosts, 24 links, 132 routes walked: no warnings\n"
    path = tmp_path / "bits.xml"
    path.write_text(CLUSTER.format(bw="10GBps"))
    result = platform("check", str(path))
    assert result.exit_code == 1
    assert "1 warning\n  link c_link_0_UP and 23 like it: 10 GB/s with 10 us of latency: was it Eth" in result.stdout


def test_check_repeats_what_reading_the_file_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "unitless.xml"
    path.write_text(CLUSTER.format(bw="1250000000"))
    result = platform("check", str(path))
    assert result.exit_code == 1
    assert "attribute 'bw': '1250000000' has no unit" in result.stdout.splitlines()[1]


def test_list_names_the_machines_that_come_with_smpy() -> None:
    assert shown("list").lstrip().startswith("default ")
    machines = json.loads(shown("list", "--json", "-"))["machines"]
    assert "default" in [machine["name"] for machine in machines]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("show", "nowhere.xml"), "nowhere.xml"),
        (("check", "nowhere.xml"), "nowhere.xml"),
        (("show", "{cluster}", "--route", "n0", "n99"), "unknown host 'n99'"),
        (("show", "{cluster}", "--ranks", "99"), "99 ranks do not fit"),
        (("show", "{cluster}", "--map-by", "host"), "how many ranks are to be placed? Say --ranks N"),
        (("show", "{cluster}", "--json", "/nowhere/x"), "/nowhere/x"),
        (("show", ""), "no machine is named by ''. A machine is FILE.xml"),
        (("show", "HDR"), "did you mean 'hdr'?"),
        (("show", "hdr hosts=64"), "change it by --set, as in --platform hdr --set host.count=64"),
        (("show", "default", "--set", "host.cores=1"), "2 sockets cannot share 1 cores equally: change both"),
        (("show", "{cluster}", "--ranks", "2", "--ppn", "9" * 30, "--map-by", "random"), "(--ppn) are too many"),
        (("check", "flat mpi.collectives=best"), "there is no table of collectives 'best': there are "),
        (("check", "flat mpi.algorithms.alltoall=best"), "alltoall has no algorithm 'best': it has bruck"),
        (("check", "{cluster}", "--set", "smpi/async-small-thresh=1e9"), "only eager messages travel before"),
        (
            ("convert", "{cluster}", "ours.xml"),
            "'ours.xml': a machine is written as TOML: name a file that ends with .toml, or -",
        ),
        (("convert", "flat hosts=2 names=\udcff*", "-"), "cannot say this machine: a name that is no text"),
        (("show", "graph /nowhere.csv"), "edges: cannot read edge list '/nowhere.csv': No such file"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_line(cluster: str, args: tuple[str, ...], message: str) -> None:
    result = platform(*(arg.format(cluster=cluster) for arg in args))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("smpy: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_machine_is_converted_to_standard_output_too() -> None:
    toml = shown("convert", "flat hosts=3 names=\U0001f600\x7f*", "-")
    assert tomllib.loads(toml)["host"]["names"] == "\U0001f600\x7f[0-2]"


@pytest.mark.parametrize("hosts", ["hosts=2 names=\udcff\x01*", "hosts=2 'names=<&>*'"])
def test_a_drawing_is_xml_whatever_hosts_are_called(tmp_path: Path, hosts: str) -> None:
    path = tmp_path / "machine.svg"
    shown("show", f"flat {hosts}", "--svg", str(path))
    titles = [element.text for element in ET.parse(path).iter() if element.tag.endswith("title")]
    assert {"\ufffd\ufffd0", "\ufffd\ufffd1"} <= set(titles) or {"<&>0", "<&>1"} <= set(titles)


@pytest.mark.parametrize(
    "args", [("show", "flat"), ("show", "flat", "--json", "-"), ("list",), ("convert", "flat", "-")]
)
def test_output_that_nobody_can_keep_is_told_in_a_line(args: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "smpy", "platform", *args]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr == "smpy: cannot write to standard output: No space left on device; make room for it\n"


@pytest.mark.parametrize("option", ["smpi/os:0:1us;8KiB:2us", "smpi/os=0:1us;8KiB:2us"])
def test_an_option_of_simgrids_may_be_written_as_smpirun_takes_it(cluster: str, option: str) -> None:
    toml = tomllib.loads(shown("convert", cluster, "-", "--cfg", option))
    assert toml["mpi"]["send_overhead"] == {"0B": ["1us", "0s"], "8KiB": ["2us", "0s"]}
    assert platform("show", cluster, "--cfg", "host.cores:3").exit_code == 2
