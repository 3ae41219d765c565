"""Changes of single links and hosts: `--set 'link[NAME].bandwidth=x4'`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.errors import PlatformError, UsageError
from smpy.option_texts import change
from smpy.platforms.inspection.inspection import overview
from smpy.platforms.machine import changed, read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.own_format.writing import write_toml
from smpy.replay import replay

LINE = "flat hosts=3 cores=2 nic=10Gb/s latency=10us speed=1Gf"
XML = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
  <host id="fast" speed="4Gf,2Gf"/><host id="slow/0" speed="1Gf"/>
  <link id="near/0" bandwidth="1GBps" latency="1us" sharing_policy="SPLITDUPLEX"/>
  <link id="far" bandwidth="100MBps" latency="1ms"/>
  <link id="varying" bandwidth="100MBps" latency="1ms" bandwidth_file="links.txt"/>
  <route src="fast" dst="slow/0">
    <link_ctn id="near/0" direction="UP"/><link_ctn id="far"/><link_ctn id="varying"/>
  </route>
</zone></platform>
"""


def numbers(what: str | Path, *options: str) -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Bandwidth and latency of all links, and speed of all hosts, by name, of a machine with these options."""
    built = read_machine(what, 3, [change(option) for option in options]).build()
    links = {built.link_name(link): built.link(link)[:2] for link in range(built.n_links)}
    return links, {name: built.speed_flop_per_s(host) for host, name in enumerate(built.host_names)}


@pytest.fixture
def xml(tmp_path: Path) -> Path:
    path = tmp_path / "machine.xml"
    path.write_text(XML)
    (tmp_path / "links.txt").write_text("1 50000000\n")
    return path


def test_one_link_changes_and_no_other() -> None:
    before, _ = numbers(LINE)
    after, _ = numbers(LINE, "link[cluster_link_1_UP].bandwidth=x4", "link[cluster_link_1_UP].latency=5us")
    changes = {name: after[name] for name in before if after[name] != before[name]}
    assert changes == {"cluster_link_1_UP": (5e9, pytest.approx(5e-6))}


def test_one_host_changes_and_no_other() -> None:
    assert numbers(LINE, "host[node-1].speed=x0.5")[1] == {"node-0": 1e9, "node-1": 0.5e9, "node-2": 1e9}


def test_a_pattern_changes_all_that_it_meets() -> None:
    assert numbers(LINE, "host[node-?].speed=3Gf", "host[*2].speed=x2")[1] == {
        "node-0": 3e9,
        "node-1": 3e9,
        "node-2": 6e9,
    }
    after, _ = numbers(LINE, "link[cluster_link_*_UP].bandwidth=1GB/s")
    assert {name for name, (bandwidth, _) in after.items() if bandwidth == 1e9} == {
        f"cluster_link_{host}_UP" for host in range(3)
    }


def test_the_name_of_a_split_link_means_both_its_halves(xml: Path) -> None:
    links, hosts = numbers(xml, "link[near/0].bandwidth=x2", "link[far].latency=0", "host[slow/0].speed=x3")
    assert links["near/0_UP"] == links["near/0_DOWN"] == (2e9, 1e-6)
    assert links["far"] == (1e8, 0.0)
    assert hosts == {"fast": 4e9, "slow/0": 3e9}


def test_brackets_in_a_name_are_no_pattern(tmp_path: Path) -> None:
    path = tmp_path / "machine.xml"
    path.write_text(XML.replace("slow/0", "slow[0]").replace(' bandwidth_file="links.txt"', ""))
    assert numbers(path, "host[slow[0]].speed=x3")[1]["slow[0]"] == 3e9


def test_states_of_a_host_are_multiplied_with_its_speed(xml: Path, emulated: Callable) -> None:
    source = "import smpy\nsmpy.execute(8e9)\n"
    for governor, makespan_s in (("performance", 1.0), ("powersave", 2.0)):
        options = {"options": (("host[fast].speed", "x2"),), "governor": (governor, 0.1)}
        ran = emulated(source, 1, platform=xml, **options)
        assert ran.outcome.summary.makespan_s == pytest.approx(makespan_s, rel=0.1)  # the governor looks at 0.1 s
    with pytest.raises(PlatformError, match="'fast' has several speeds: multiply them, as in x2"):
        numbers(xml, "host[fast].speed=3Gf")


def test_a_run_of_a_faster_host_has_its_closed_form(emulated: Callable) -> None:
    source = "import smpy\nsmpy.execute(2e9)\n"
    for factor, makespan_s in (("x4", 2.0), ("x0.5", 4.0)):
        ran = emulated(source, 5, platform=LINE, options=(("host[node-0].speed", factor),))
        assert ran.outcome.summary.makespan_s == pytest.approx(makespan_s, rel=1e-9)


def test_all_links_changed_by_a_pattern_are_all_links_changed_by_the_machines_key() -> None:
    by_pattern, _ = numbers(LINE, "link[cluster_link_*].bandwidth=x2")
    by_key, _ = numbers(LINE, "network.bandwidth=x2")
    wires = [name for name in by_key if name.endswith(("_UP", "_DOWN"))]
    assert wires
    assert [by_pattern[name] for name in wires] == [by_key[name] for name in wires]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("link[cluster_link_9_UP].bandwidth=x2", r"the machine has no link 'cluster_link_9_UP': did you mean 'cluster"),
        ("link[spine*].bandwidth=x2", r"no link 'spine\*'; its links are cluster_link_0_UP, .* \(\* stands for any"),
        ("host[node-7].speed=x2", r"the machine has no host 'node-7': did you mean 'node-\d'\?"),
        ("link[*].bandwith=x2", r"of a single link, bandwidth and latency can be set: did you mean 'bandwidth'\?"),
        ("host[*].cores=x2", r"of a single host, speed, gpu.speed, gpu.count, .* and gpu.direct can be set"),
        ("link[*].bandwidth=fast", r"link\[\*\].bandwidth: .*fast"),
        ("link[*0_UP].bandwidth=x0", r"it makes 0 of 1.25e\+09 for 'cluster_link_0_UP', which is out of range"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(option: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        numbers(LINE, option)


def test_a_link_that_follows_a_profile_is_not_changed(xml: Path) -> None:
    with pytest.raises(PlatformError, match="'varying' follows a profile: change the profile"):
        numbers(xml, "link[varying].bandwidth=x2")
    assert numbers(xml, "link[varying].latency=x2")[0]["varying"] == (1e8, 2e-3)


def test_a_changed_machine_is_another_one_and_is_kept_as_text() -> None:
    plain = read_machine(LINE, 3)
    machine = changed(plain, [("host[node-1].speed", "x0.5")])
    assert machine != plain
    assert machine.fingerprint != plain.fingerprint
    assert machine_from_json(machine_to_json(machine).encode()) == machine
    with pytest.raises(PlatformError, match="changes of single links or hosts"):
        write_toml(machine)


def test_a_text_with_a_number_that_no_such_part_has_is_refused() -> None:
    text = machine_to_json(changed(read_machine(LINE, 3), [("host[node-1].speed", "x0.5")]))
    with pytest.raises(PlatformError, match="a host has no 'bandwidth' to change"):
        machine_from_json(text.replace('"quantity": "speed"', '"quantity": "bandwidth"').encode())


def test_the_bisection_of_a_machine_with_other_links_is_not_told() -> None:
    machine = read_machine(LINE, 3, [("link[cluster_link_0_UP].bandwidth", "x0.5")])
    assert overview(machine, machine.build()).bisection is None
    machine = read_machine(LINE, 3, [("host[node-0].speed", "x0.5")])
    assert overview(machine, machine.build()).bisection is not None


def test_a_replay_on_a_changed_machine_is_the_run_on_it(emulated: Callable, tmp_path: Path) -> None:
    source = """
import numpy as np, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
smpy.execute(1e8 * (comm.rank + 1))
comm.Allreduce(np.zeros(10**5), np.zeros(10**5))
"""
    options = (("link[*_1_*].bandwidth", "x0.25"), ("host[node-0].speed", "x0.5"))
    emulated(source, 6, platform=LINE, trace=Path("plain"))
    ran = emulated(source, 6, platform=LINE, options=options, trace=Path("changed"))
    makespan_s = ran.outcome.summary.makespan_s
    assert replay(tmp_path / "plain", options=options).makespan_s == pytest.approx(makespan_s, rel=1e-9)
    assert replay(tmp_path / "changed").makespan_s == pytest.approx(makespan_s, rel=1e-9)


def test_the_command_line_refuses_a_link_that_no_pattern_meets(smpy_run: Callable) -> None:
    ran = smpy_run("print()", 2, "--set", "link[spine].bandwidth=x2")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("smpy: --set link[spine].bandwidth: the machine has no link 'spine'")
