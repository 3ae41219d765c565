"""Links are shown by the nodes that they join: along every route, the nodes make a path from source to target."""

from __future__ import annotations

import pytest

from smpy.errors import SmpyError
from smpy.platforms import read_machine

MACHINES = [
    "flat hosts=4",
    "fat-tree children=4,2 parents=1,2 cables=1,2",
    "fat-tree children=2,2,2 parents=1,2,2",
    "fat-tree children=2,2,2,2 parents=1,1,1,1",
    "fat-tree children=3 hosts=2",
    "torus 4x3x2",
    "torus 2x1x3",
    "hyperx 3x2 hosts_per_switch=2 cables=2,1",
    "hyperx 3x2 hosts_per_switch=2 routing=valiant",
    "dragonfly groups=3 chassis_per_group=1 routers_per_chassis=3 hosts_per_router=2 blue=2",
    "dragonfly groups=6 routers_per_chassis=2 hosts_per_router=1",
    "dragonfly groups=3 routers_per_chassis=3 hosts_per_router=2 routing=valiant",
    "flat hosts=3 nic.rails=2",
]


@pytest.mark.parametrize("line", MACHINES)
@pytest.mark.parametrize("duplex", ["full", "half"])
def test_the_nodes_of_a_route_are_a_path_from_its_source_to_its_target(line: str, duplex: str) -> None:
    platform = read_machine(f"{line} nic.duplex={duplex}", 1).build()
    for source in range(platform.n_hosts):
        for target in set(range(platform.n_hosts)) - {source}:
            at = platform.host_names[source]
            for link in platform.route_links(source, target)[0]:
                ends = platform.link_label(link).partition(", ")[0].split(" to ")
                assert at in (ends if duplex == "half" else ends[:1])
                at = ends[1 - ends.index(at)]
            assert at == platform.host_names[target]


@pytest.mark.parametrize("line", [line for line in MACHINES if "torus" not in line])  # rings of two have two
def test_labels_tell_links_apart(line: str) -> None:
    platform = read_machine(line, 1).build()
    labels = [platform.link_label(link) for link in range(platform.n_links)]
    assert len(set(labels)) == len(labels)


def test_switches_have_the_usual_names_of_their_levels() -> None:
    def labels(children: str, parents: str) -> set[str]:
        platform = read_machine(f"fat-tree children={children} parents={parents}", 1).build()
        ends = {end for link in range(platform.n_links) for end in platform.link_label(link).split(" to ")}
        return {end.rpartition(" ")[0] for end in ends if not end.startswith(("node", "inside", "memory"))}

    assert labels("2", "1") == {"switch"}
    assert labels("2,2", "1,1") == {"leaf", "spine"}
    assert labels("2,2,2", "1,1,1") == {"leaf", "spine", "core"}
    assert labels("2,2,2,2", "1,1,1,1") == {f"level {level} switch" for level in (1, 2, 3, 4)}


def test_the_nodes_of_a_graph_keep_their_names(tmp_path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\nh0,west\nwest,east\neast,h1\n")
    platform = read_machine(f"graph {tmp_path}/edges.csv", 1).build()
    labels = [platform.link_label(link) for link in platform.route_links(0, 1)[0]]
    assert labels == ["h0 to west", "west to east", "east to h1"]


def test_hosts_of_several_groups_keep_their_names() -> None:
    groups = {"fat": "2", "thin": "4"}
    options = [(f"group.{name}.count", count) for name, count in groups.items()]
    options += [(f"group.{name}.names", f"{name}-*") for name in groups]
    platform = read_machine("flat", 1, options).build()
    labels = [platform.link_label(link) for link in range(0, 12, 2)]
    assert labels == [f"{name} to switch" for name in platform.host_names]


def test_a_link_of_a_simgrid_file_is_shown_by_its_name(tmp_path) -> None:
    (tmp_path / "m.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route>'
        "</zone></platform>"
    )
    platform = read_machine(tmp_path / "m.xml", 1).build()
    assert platform.link_label(platform.route_links(0, 1)[0][0]) == "l"


# ---- changes of switches ----

TREE = "fat-tree children=2,2 parents=1,2 nic=1GB/s latency=1us"


def _changed_links(key: str, value: str) -> dict[str, tuple[float, float]]:
    """Bandwidth and latency of links that are not the cluster's any more, by label."""
    platform = read_machine(TREE, 1, [(key, value)]).build()
    links = {platform.link_label(link): platform.link(link)[:2] for link in range(8 + 8)}
    return {label: numbers for label, numbers in links.items() if numbers != (1e9, 1e-6)}


def test_a_change_of_a_switch_is_one_of_all_its_links() -> None:
    changed = _changed_links("switch[leaf 1].bandwidth", "x0.5")
    nodes = ("node-2", "node-3", "spine 0", "spine 1")
    assert set(changed) == {f"{a} to {b}" for node in nodes for a, b in ((node, "leaf 1"), ("leaf 1", node))}
    assert set(changed.values()) == {(0.5e9, 1e-6)}


def test_a_link_between_two_changed_switches_changes_once() -> None:
    changed = _changed_links("switch[*].latency", "x3")
    assert len(changed) == 16
    assert [latency_s for _, latency_s in changed.values()] == pytest.approx([3e-6] * 16)


def test_a_link_at_a_switch_that_follows_a_profile_is_not_changed(tmp_path) -> None:
    (tmp_path / "m.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        '<zone id="z" routing="Full"><cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" '
        'lat="1us"/>'
        '<trace id="t">1 5e8</trace><trace_connect kind="BANDWIDTH" trace="t" element="c_link_1_UP"/></zone></platform>'
    )
    with pytest.raises(SmpyError, match=r"'c_link_1_UP' follows a profile: change the profile"):
        read_machine(tmp_path / "m.xml", 1, [("switch[*].bandwidth", "x2")]).build()
    platform = read_machine(tmp_path / "m.xml", 1, [("switch[*].latency", "x2")]).build()
    latency_s = {platform.link_name(link): platform.link(link)[1] for link in range(platform.n_links)}
    assert latency_s["c_link_1_UP"] == pytest.approx(2e-6)


@pytest.mark.parametrize(
    ("machine", "key", "complaint"),
    [
        (TREE, "switch[leef 1].bandwidth", "the machine has no switch 'leef 1': did you mean 'leaf 1'"),
        (TREE, "switch[x].latency", "its switches are leaf 0, leaf 1, spine 0, ..."),
        (TREE, "switch[leaf 0].speed", "of a single switch, bandwidth and latency can be set"),
        ("torus 2x2", "switch[*].latency", "no switch of this machine has a name: name its links"),
    ],
)
def test_a_switch_that_no_pattern_meets_is_told(machine: str, key: str, complaint: str) -> None:
    with pytest.raises(SmpyError, match=complaint):
        read_machine(machine, 1, [(key, "x2")]).build()
