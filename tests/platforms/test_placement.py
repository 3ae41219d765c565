"""Placement of ranks on hosts, with and without a hostfile, and the machine of a run that names none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy import options
from smpy.engine.platform import Platform
from smpy.errors import PlatformError, UsageError
from smpy.platforms import (
    Cluster,
    Description,
    FullZone,
    Host,
    NumberedNames,
    default_cluster,
    place,
    read_hostfile,
)
from smpy.platforms.default_cluster import CORES_PER_HOST, SWITCH_PORTS, tree_for
from smpy.platforms.placement.host_order import HOST_ORDERS, ordered_hosts
from smpy.platforms.placement.placement import MAPPINGS
from smpy.platforms.topologies.flat_cluster import FlatCluster
from smpy.records.inputs import SPELT_OUT_MAX, mapping_of


def machine(n_hosts: int = 12, cores: int = 1, *, sockets: int = 1, fills_hosts: bool = False) -> Platform:
    """Hosts h0, h1, ..."""
    cluster = Cluster(
        name="c",
        hosts=NumberedNames("h", (range(n_hosts),)),
        cores=cores,
        sockets=sockets,
        speed_flop_per_s=1e9,
        bandwidth_bytes_per_s=1e9,
        latency_s=0,
    )
    return Description("machine", FlatCluster(cluster), fills_hosts=fills_hosts).build()


def mixed(*cores: int) -> Platform:
    """Hosts h0, h1, ... with so many cores."""
    hosts = tuple(Host(f"h{i}", 1e9, n, sockets=n // 2 if n > 1 else 1) for i, n in enumerate(cores))
    return Description("mixed", FullZone("z", hosts)).build()


def names(platform: Platform, hosts: list[int]) -> list[str]:
    return [platform.host_names[host] for host in hosts]


# ---- without a hostfile ----


def test_without_a_hostfile_ranks_go_to_hosts_in_the_order_of_their_names() -> None:
    platform = machine(12)
    assert names(platform, place(platform, 5)) == ["h0", "h1", "h10", "h11", "h2"]


def test_ranks_beyond_the_hosts_start_again_at_the_first_one_while_there_are_cores() -> None:
    platform = machine(3, cores=2)
    assert names(platform, place(platform, 5)) == ["h0", "h1", "h2", "h0", "h1"]


def test_more_ranks_than_cores_are_refused_without_a_hostfile() -> None:
    with pytest.raises(UsageError, match=r"7 ranks do not fit on machine: it has 6 cores on 3 hosts.*--hostfile"):
        place(machine(3, cores=2), 7)
    with pytest.raises(UsageError, match=r"2 ranks do not fit on machine: it has 1 core on 1 host\."):
        place(machine(1, cores=1), 2)


def test_a_machine_that_fills_hosts_takes_ranks_host_by_host() -> None:
    assert place(machine(3, cores=2, fills_hosts=True), 5) == [0, 0, 1, 1, 2]


def test_no_ranks_cannot_be_placed() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        place(machine(), 0)


# ---- with one ----


@pytest.fixture
def hostfile(tmp_path: Path) -> Path:
    return tmp_path / "hosts"


def test_rank_i_runs_on_the_host_of_line_i(hostfile: Path) -> None:
    hostfile.write_text("h3\nh1\n\n# the last one\nh3  # again\n")
    assert place(machine(), 3, hostfile) == [3, 1, 3]


def test_lines_are_counted_around_when_there_are_more_ranks(hostfile: Path) -> None:
    hostfile.write_text("h3\nh1\n")
    assert place(machine(), 5, hostfile) == [3, 1, 3, 1, 3]


def test_fewer_ranks_than_lines_leave_lines_unused(hostfile: Path) -> None:
    hostfile.write_text("h3\nh1\n")
    assert place(machine(), 1, hostfile) == [3]


def test_a_number_after_a_colon_repeats_the_host(hostfile: Path) -> None:
    hostfile.write_text("h3:2\nh1\nh0:1\n")
    assert read_hostfile(hostfile, machine()) == [3, 3, 1, 0]


def test_a_hostfile_that_names_an_unknown_host_is_refused_with_the_line_and_a_suggestion(hostfile: Path) -> None:
    hostfile.write_text("h3\nh100\n")
    with pytest.raises(PlatformError, match=r"hosts:2: unknown host 'h100': did you mean 'h10'\?"):
        read_hostfile(hostfile, machine())
    hostfile.write_text("nothing-like-it:2\n")
    with pytest.raises(
        PlatformError, match=r"hosts:1: unknown host 'nothing-like-it': machine has 12 hosts \(h0, h1, "
    ):
        read_hostfile(hostfile, machine())


@pytest.mark.parametrize("line", ["h3 2", "h[1-3]", "h1,h2"])
def test_a_line_of_a_hostfile_that_is_not_one_host_is_told_what_it_can_be(hostfile: Path, line: str) -> None:
    hostfile.write_text(f"h3\n{line}\n")
    with pytest.raises(PlatformError, match=r"hosts:2: unknown host '.*': a line has one host, as NAME, NAME:4 or"):
        read_hostfile(hostfile, machine())


@pytest.mark.parametrize("count", ["", "0", "-1", "two", "1.5"])
def test_a_number_of_ranks_that_is_none_is_refused(hostfile: Path, count: str) -> None:
    hostfile.write_text(f"h3:{count}\n")
    with pytest.raises(PlatformError, match="no number of ranks: write h3:4"):
        read_hostfile(hostfile, machine())


def test_a_hostfile_without_hosts_is_refused(hostfile: Path) -> None:
    hostfile.write_text("# nobody\n\n")
    with pytest.raises(PlatformError, match="lists no hosts"):
        read_hostfile(hostfile, machine())


def test_a_hostfile_that_cannot_be_read_is_refused(hostfile: Path) -> None:
    with pytest.raises(PlatformError, match=r"cannot read hostfile .*No such file"):
        read_hostfile(hostfile, machine())
    hostfile.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PlatformError, match="not a text file"):
        read_hostfile(hostfile, machine())


def test_slots_are_another_way_to_write_the_number(hostfile: Path) -> None:
    hostfile.write_text("h3 slots=2\nh1\nh0  slots = 1 # mpiexec's way\n")
    assert read_hostfile(hostfile, machine()) == [3, 3, 1, 0]


@pytest.mark.parametrize("line", ["h3 max_slots=4", "h3 slots=2 max-slots=4", "h3 binding=0"])
def test_other_options_of_a_host_are_refused(hostfile: Path, line: str) -> None:
    hostfile.write_text(f"{line}\n")
    with pytest.raises(PlatformError, match=r"hosts:1: .*(only slots=4 is known|no number of ranks)"):
        read_hostfile(hostfile, machine())


# ---- mappings ----


def test_each_mapping_places_the_example_of_the_documentation() -> None:
    platform = machine(2, cores=4, sockets=2, fills_hosts=True)
    assert place(platform, 6, map_by="core") == [0, 0, 0, 0, 1, 1]
    assert place(platform, 6, map_by="socket") == [0, 0, 1, 1, 0, 0]
    assert place(platform, 6, map_by="host") == [0, 1, 0, 1, 0, 1]
    assert place(platform, 3, ranks_per_host=2) == [0, 0, 1]
    assert place(platform, 4, ranks_per_host=2, map_by="host") == [0, 1, 0, 1]


def test_a_host_that_is_full_is_passed_by() -> None:
    assert place(mixed(1, 4, 2), 7, map_by="host") == [0, 1, 2, 1, 2, 1, 1]
    assert place(mixed(1, 4, 2), 7, map_by="socket") == [0, 1, 1, 2, 1, 1, 2]
    assert place(mixed(1, 4, 2), 7, map_by="core") == [0, 1, 1, 1, 1, 2, 2]


@given(
    st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=9),
    st.integers(1, 40),
    st.sampled_from(["core", "host", "socket", "random"]),
    st.integers(0, 9),
)
def test_no_core_gets_two_ranks_while_there_are_cores(cores, n_ranks, map_by, seed) -> None:
    platform = mixed(*cores)
    if n_ranks > sum(cores):
        with pytest.raises(UsageError, match=f"it has {sum(cores)} cores? on {len(cores)} hosts?"):
            place(platform, n_ranks, map_by=map_by, seed=seed)
        return
    hosts = place(platform, n_ranks, map_by=map_by, seed=seed)
    assert len(hosts) == n_ranks
    assert all(hosts.count(host) <= n for host, n in enumerate(cores))


def test_placement_at_random_is_uniform_and_repeats_with_its_seed() -> None:
    platform = mixed(1, 2, 4, 1)
    assert place(platform, 8, map_by="random", seed=5) == place(platform, 8, map_by="random", seed=5)
    assert place(platform, 8, map_by="random", seed=5) != place(platform, 8, map_by="random", seed=6)
    for n_ranks in (1, 3, 8):  # few of many, and all
        hosts = [host for seed in range(400) for host in place(platform, n_ranks, map_by="random", seed=seed)]
        for host, share in enumerate([1 / 8, 2 / 8, 4 / 8, 1 / 8]):
            assert hosts.count(host) / len(hosts) == pytest.approx(share, abs=0.06)


def test_ranks_beyond_the_slots_are_refused(hostfile: Path) -> None:
    with pytest.raises(UsageError, match=r"7 ranks do not fit on machine: it has 6 slots \(--ppn 2\) on 3 hosts"):
        place(machine(3, cores=4), 7, ranks_per_host=2)
    hostfile.write_text("h1:2\nh0\n")
    with pytest.raises(UsageError, match=r"4 ranks do not fit on hostfile .* it has 3 slots on 2 hosts"):
        place(machine(3), 4, hostfile, map_by="host")


def test_more_ranks_on_a_host_than_it_has_cores_are_refused() -> None:
    with pytest.raises(UsageError, match="--ppn 3: host 'h0' has 2 cores for 3 ranks"):
        place(machine(3, cores=2), 4, ranks_per_host=3)
    assert place(mixed(4, 1), 5, ranks_per_host=4) == [0, 0, 0, 0, 1]
    with pytest.raises(UsageError, match="host 'h1' has 1 core for 2 ranks"):
        place(mixed(4, 1), 6, ranks_per_host=4)


def test_a_hostfile_with_a_mapping_says_which_hosts_there_are_and_how_many_ranks_each_takes(hostfile: Path) -> None:
    hostfile.write_text("h2:2\nh0\nh2\n")
    assert place(machine(), 4, hostfile, map_by="core") == [2, 2, 2, 0]
    assert place(machine(), 4, hostfile, map_by="host") == [2, 0, 2, 2]
    assert sorted(place(machine(), 4, hostfile, map_by="random")) == [0, 2, 2, 2]
    hostfile.write_text("h2\nh0\n")
    assert place(machine(cores=2), 3, hostfile, ranks_per_host=2) == [2, 2, 0]


def test_options_that_contradict_each_other_are_refused(hostfile: Path) -> None:
    hostfile.write_text("h2:2\nh0\n")
    platform = machine(cores=2)
    with pytest.raises(UsageError, match=r"how many ranks host 'h2' takes, and so does --ppn 2"):
        place(platform, 3, hostfile, ranks_per_host=2)
    with pytest.raises(UsageError, match="both say in which order"):
        place(platform, 3, hostfile, host_order="natural")
    with pytest.raises(UsageError, match="at random"):
        place(platform, 3, map_by="random", host_order="natural")
    with pytest.raises(UsageError, match="wants the file"):
        place(platform, 3, map_by="file")
    with pytest.raises(UsageError, match="which --ppn cannot change"):
        place(platform, 3, hostfile, map_by="file", ranks_per_host=2)
    with pytest.raises(UsageError, match="--seed -1 is not a number from 0"):
        place(platform, 3, map_by="random", seed=-1)
    with pytest.raises(UsageError, match="say at least 1"):
        place(platform, 3, ranks_per_host=0)


def test_sockets_share_the_cores_of_a_host_equally() -> None:
    platform = machine(2, cores=4, sockets=2)
    assert (platform.sockets(1), mixed(8, 1).sockets(0)) == (2, 4)
    for sockets in (0, 3, 8):
        with pytest.raises(PlatformError, match=f"has 4 cores on {sockets} sockets: each has the same number"):
            machine(2, cores=4, sockets=sockets)


def test_the_command_line_knows_every_mapping_and_order() -> None:
    assert options.MAPPINGS == MAPPINGS
    assert options.HOST_ORDERS == HOST_ORDERS


# ---- the order of hosts ----


def test_hosts_are_taken_in_the_order_that_is_asked_for() -> None:
    hosts = tuple(Host(name, 1e9) for name in ("h10", "h9", "a", "h09", "H1"))
    platform = Description("p", FullZone("z", hosts)).build()
    assert names(platform, place(platform, 5)) == ["H1", "a", "h09", "h10", "h9"]
    assert names(platform, place(platform, 5, host_order="natural")) == ["H1", "a", "h09", "h9", "h10"]
    assert names(platform, place(platform, 5, host_order="platform")) == ["h10", "h9", "a", "h09", "H1"]
    assert place(platform, 5, host_order="natural", map_by="core") == place(platform, 5, host_order="natural")


@given(st.lists(st.text(st.sampled_from("a1209-\u0664"), max_size=6)))
def test_the_natural_order_counts_numbers_as_numbers_and_depends_on_the_names_alone(host_names: list[str]) -> None:
    ordered = [host_names[host] for host in ordered_hosts(host_names, "natural")]
    backwards = [host_names[::-1][host] for host in ordered_hosts(host_names[::-1], "natural")]
    assert ordered == backwards
    assert sorted(ordered) == sorted(host_names)
    plain = [name for name in ordered if name.isascii() and name.isdigit()]
    assert [int(name) for name in plain] == sorted(map(int, plain))


def test_names_with_endless_numbers_have_an_order() -> None:
    assert ordered_hosts(["1" * 9000, "9" * 8999], "natural") == [1, 0]


# ---- rank files ----


def test_a_rank_file_gives_each_rank_its_host(hostfile: Path) -> None:
    platform = machine(4, cores=4, sockets=2)
    hostfile.write_text("rank 1=h3 slot=0\nrank 0=h1  # the first\n\nrank 2 = h3 slots=1:0\n")
    assert place(platform, 3, hostfile, map_by="file") == [1, 3, 3]
    hostfile.write_text("rank\t1=h3\nrank\t0=h1\nrank  2=h0\n")
    assert place(platform, 3, hostfile, map_by="file") == [1, 3, 0]
    hostfile.write_text("h2\nh0:2\n")
    assert place(platform, 3, hostfile, map_by="file") == [2, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("h2\nh0\n", r"has 2 ranks and the run 3: with --map-by file each rank has a line of its own"),
        ("rank 0=h1\nrank 1=h1\n", r"leaves out rank 2: give each of the 3 a line"),
        ("rank 0=h1\nrank 0=h2\n", r"hosts:2: rank 0 has a host already"),
        ("rank 3=h1\n", r"hosts:1: there is no rank 3: the run has 3"),
        ("rank 0=h9\n", r"hosts:1: unknown host 'h9'"),
        ("rank 0=h1\nh2\nh3\n", r"hosts:2: 'h2' is not a line such as 'rank 0=name'"),
        ("rank 0=h1 slot=8\n", r"slot=8: host 'h1' has 2 sockets and 8 cores, counted from 0"),
        ("rank 0=h1 slot=1:4\n", r"slot=1:4: host 'h1' has 2 sockets and 8 cores, counted from 0"),
        ("rank 0=h1 slot=2:0\n", r"slot=2:0: host 'h1' has 2 sockets"),
        ("rank 0=h1 slot=0-3\n", r"slot=0-3 is not one core"),
        ("rank 0=h1 slot=1:0\nrank 1=h1 slot=4\n", r"hosts:2: ranks 0 and 1 would share core 4 of 'h1'"),
        ("", "lists no hosts"),
    ],
)
def test_a_rank_file_that_does_not_place_every_rank_is_refused(hostfile: Path, text: str, message: str) -> None:
    hostfile.write_text(text)
    with pytest.raises(PlatformError, match=message):
        place(machine(4, cores=8, sockets=2), 3, hostfile, map_by="file")


def test_a_rank_file_that_is_taken_for_a_host_file_is_known(hostfile: Path) -> None:
    hostfile.write_text("rank 0=h1\n")
    with pytest.raises(PlatformError, match=r"hosts:1: 'rank 0=h1' is a line of a rank file: say --map-by file, too"):
        place(machine(4), 1, hostfile)


# ---- in the summary ----


def test_a_small_placement_is_recorded_host_by_host_and_a_large_one_in_ranges() -> None:
    host_names = [f"rack1-h{number:03}.org" for number in range(SPELT_OUT_MAX + 1)]
    few = list(range(SPELT_OUT_MAX))
    assert mapping_of(few, host_names) == [(host_names[host], 1) for host in few]
    assert mapping_of([*few, SPELT_OUT_MAX], host_names) == [("rack1-h[000-4096].org", 1)]
    assert mapping_of([9, *few, 7, 7], host_names) == [
        *(("rack1-h009.org", 1), ("rack1-h[000-4095].org", 1), ("rack1-h007.org", 2)),
    ]
    assert mapping_of([0, *range(2, SPELT_OUT_MAX + 2), 1], ["a", "b", *host_names]) == [
        *(("a", 1), ("rack1-h[000-4095].org", 1), ("b", 1)),
    ]


# ---- the default cluster ----


@pytest.mark.parametrize(
    ("n_ranks", "n_hosts", "n_levels"),
    [(1, 1, 1), (128, 1, 1), (129, 2, 1), (2560, 20, 1), (4096, 32, 2), (65536, 520, 2), (102_400, 800, 2),
     (150_000, 1200, 3)],
)  # fmt: skip
def test_the_default_cluster_grows_with_the_run(n_ranks: int, n_hosts: int, n_levels: int) -> None:
    platform = default_cluster(n_ranks).build()
    assert platform.n_hosts == n_hosts
    assert platform.n_cores == n_hosts * CORES_PER_HOST >= n_ranks
    assert tree_for(-(-n_ranks // CORES_PER_HOST)).n_levels == n_levels


def test_the_default_cluster_of_4096_ranks_has_two_leaf_switches() -> None:
    platform = default_cluster(4096).build()
    hosts = place(platform, 4096)
    assert hosts == [rank // 128 for rank in range(4096)]
    near, far = platform.route(hosts[0], hosts[2047]), platform.route(hosts[0], hosts[2048])
    assert (len(near.link_names), len(far.link_names)) == (2, 4)
    assert platform.route(0, 0).link_names == ("default_link_0_loopback", "default_link_0_memory")


def test_no_ranks_need_no_cluster() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        default_cluster(0)


@given(st.integers(1, 40_000))
def test_the_default_tree_can_be_built_of_its_switches_and_halves_no_bandwidth(n_hosts: int) -> None:
    tree = tree_for(n_hosts)
    assert n_hosts <= tree.n_hosts <= n_hosts * 1.2 + SWITCH_PORTS
    uplinks = [parents * cables for parents, cables in zip(tree.parents, tree.cables, strict=True)]
    downlinks = [children * cables for children, cables in zip(tree.children, tree.cables, strict=True)]
    assert uplinks[0] == 1
    for level in range(tree.n_levels):
        ports_up = uplinks[level + 1] if level + 1 < tree.n_levels else 0
        assert downlinks[level] + ports_up <= SWITCH_PORTS
        assert ports_up == 0 or ports_up >= downlinks[level]
