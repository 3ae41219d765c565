"""Links between switches with a bandwidth and a latency of their own, by class: a level, a dimension, a colour."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.platform import Platform
from smpy.errors import PlatformError, UsageError
from smpy.platforms import Cluster, Description, FatTree, LinkClass, NumberedNames, TreeShape, read_machine
from smpy.platforms.own_format.writing import write_toml

TREE = "fat-tree 3x2x2 parents=1x2x2 cables=1x1x2 nic=8Gb/s latency=1us"
HYPERX = "hyperx 3x2 hosts_per_switch=2 cables=1x2 nic=8Gb/s latency=1us"
SHAPE = "groups=3 chassis_per_group=2 routers_per_chassis=3 hosts_per_router=2 blue=2 green=3"
DRAGONFLY = f"dragonfly {SHAPE} nic=8Gb/s latency=1us"
CLASSES: dict[str, Callable[[str], str]] = {
    TREE: lambda link: "" if int(link.split("_")[2]) < 12 else f"level{2 if int(link.split('_')[2]) > 19 else 3}",
    HYPERX: lambda link: (
        "" if "_link_" in link else f"dimension{int(link.split('_')[2]) // 3 != int(link.split('_')[3]) // 3:d}"
    ),
    DRAGONFLY: lambda link: link.partition("_")[0] if link.partition("_")[0] in ("green", "black", "blue") else "",
}
NAMES = {
    TREE: ("level2", "level3"),
    HYPERX: ("dimension0", "dimension1"),
    DRAGONFLY: ("green", "black", "blue"),
}


def links_between(platform: Platform) -> list[tuple[str, float, float]]:
    links = [(platform.link_name(i), *platform.link(i)[:2]) for i in range(platform.n_links)]
    return [link for link in links if "loopback" not in link[0] and "limiter" not in link[0]]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_link_has_the_numbers_of_its_class_and_every_other_one_those_of_the_hosts(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(sorted(NAMES)))
    more = data.draw(st.sampled_from(["", " nic.duplex=half", " rails=2", " nic.limit=4GB/s"]))
    numbers = st.tuples(st.integers(1, 9), st.integers(0, 9))
    own = {name: data.draw(numbers) for name in NAMES[line] if data.draw(st.booleans())}
    keys = "".join(f" {name}_bandwidth={one}GB/s {name}_latency={other}ms" for name, (one, other) in own.items())
    before, after = (read_machine(line + more + each, 1).build() for each in ("", keys))
    bundles = {"blue": 2, "green": 3}
    for was, is_now in zip(links_between(before), links_between(after), strict=True):
        name = CLASSES[line](re.sub("^rail[01]_", "", is_now[0]))
        if name in own:
            bandwidth = bundles.get(name, 1) * own[name][0] * 1e9
            assert is_now == (was[0], bandwidth, pytest.approx(own[name][1] * 1e-3))
        else:
            assert is_now == was


@pytest.mark.parametrize("line", sorted(NAMES))
def test_the_latency_of_a_route_is_the_sum_of_those_of_its_links_classes(line: str) -> None:
    own = {name: 1e-3 * 10**i for i, name in enumerate(NAMES[line])}
    keys = "".join(f" {name}_latency={latency_s}s" for name, latency_s in own.items())
    platform = read_machine(line + keys, 1).build()
    for target in range(1, platform.n_hosts):
        route = platform.route(0, target)
        latencies = [own.get(CLASSES[line](link), 1e-6) for link in route.link_names]
        assert route.latency_s == pytest.approx(sum(latencies), rel=1e-12)


@pytest.mark.parametrize("line", sorted(NAMES))
def test_what_is_said_of_switches_holds_for_the_classes_that_do_not_say_theirs(line: str) -> None:
    first, *others = NAMES[line]
    said = f" switch_bandwidth=5GB/s switch_latency=3us {first}_latency=2us"
    spelt = f" {first}_bandwidth=5GB/s {first}_latency=2us" + "".join(
        f" {name}_bandwidth=5GB/s {name}_latency=3us" for name in others
    )
    assert read_machine(line + said, 1) == read_machine(line + spelt, 1) != read_machine(line, 1)
    as_hosts = f" switch_bandwidth=1GB/s {first}_latency=1us"
    assert read_machine(line + as_hosts, 1) == read_machine(line, 1)
    assert read_machine(line + as_hosts, 1).fingerprint == read_machine(line, 1).fingerprint


@pytest.mark.parametrize("line", sorted(NAMES))
def test_classes_are_changed_for_a_run_and_written_down(tmp_path: Path, line: str) -> None:
    name = NAMES[line][-1]
    changes = [(f"topology.{name}_bandwidth", "x4"), ("topology.switch_latency", "2us"), ("network.latency", "x3")]
    machine = read_machine(line, 1, changes)
    classes = {each.name: each for each in machine.zone.link_classes}  # type: ignore[attr-defined]
    assert set(classes) == set(NAMES[line])
    assert classes[name] == LinkClass(name, 4e9, 3 * 2e-6)
    (tmp_path / "m.toml").write_text(write_toml(machine))
    again = read_machine(tmp_path / "m.toml", 1)
    assert again == machine
    assert again.fingerprint == machine.fingerprint != read_machine(line, 1).fingerprint


def test_a_message_takes_as_long_as_the_slowest_class_on_its_way(emulated: Callable[..., Any]) -> None:
    program = """
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        if world.rank == 0:
            world.Send(bytearray(10**6), 1)
        else:
            world.Recv(bytearray(10**6), 0)
    """
    line = "fat-tree 1x2 nic=1MB/s latency=0 level2_bandwidth=0.5MB/s level2_latency=1s"
    options = {"ranks_per_host": 1, "options": (("mpi.costs", "smpi"), ("network.model", "raw"))}
    seconds = emulated(program, 2, platform=line, **options).outcome.summary.finish_s[1]
    assert seconds == pytest.approx(2 + 2, rel=1e-3)  # two cables of a second each, half a megabyte a second


def test_a_tree_that_is_sized_to_the_run_may_speak_of_levels_that_few_ranks_do_not_need(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('topology = {level2_bandwidth = "1GB/s", level3_bandwidth = "2GB/s"}')
    assert read_machine(tmp_path / "m.toml", 1) == read_machine("fat-tree", 1)
    zone = read_machine(tmp_path / "m.toml", 128 * 30).zone
    assert isinstance(zone, FatTree)
    assert [(each.name, each.bandwidth_bytes_per_s) for each in zone.link_classes] == [("level2", 1e9)]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("fat-tree 4x4 level3_bandwidth=1GB/s", "level3_bandwidth: unknown key: did you mean 'level2_bandwidth'"),
        ("flat hosts=3 switch_bandwidth=1GB/s", "switch_bandwidth: unknown key"),
        ("fat-tree 4x4 level2_bandwidth=0", "level2_bandwidth: it is 0, and must be above 0"),
        ("hyperx 4x4 hosts_per_switch=1 dimension1_latency=3", "dimension1_latency: '3' has no unit"),
    ],
)
def test_a_class_that_cannot_be_is_refused_by_its_key(line: str, what: str) -> None:
    with pytest.raises((PlatformError, UsageError), match=what):
        read_machine(line, 1)


@pytest.mark.parametrize(
    ("classes", "what"),
    [
        ((LinkClass("level1", 1e9, 0.0),), "fat tree 'c' has no class 'level1' of links: its classes are level2"),
        ((LinkClass("level2", 1e9, 0.0),) * 2, "says twice what its links 'level2' are"),
        ((LinkClass("level2", 0.0, 0.0),), "its links 'level2' have a bandwidth of 0 bytes/s"),
        ((LinkClass("level2", 1e9, -1.0),), "a latency of -1 s"),
    ],
)
def test_a_class_made_in_python_is_checked_when_it_is_built(classes: tuple[LinkClass, ...], what: str) -> None:
    hosts = Cluster("c", NumberedNames("n", (range(4),)), 1e9, 1e9, 1e-6)
    with pytest.raises(PlatformError, match=what):
        Description("m", FatTree(hosts, TreeShape((2, 2), (1, 1), (1, 1)), classes)).build()
