"""Which rank runs on which host, with and without a hostfile, and the machine a run gets when it names none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.errors import PlatformError, UsageError
from smpy.platforms import Cluster, Description, NumberedNames, Platform, default_cluster, place, read_hostfile
from smpy.platforms.default_cluster import CORES_PER_HOST, SWITCH_PORTS, tree_for
from smpy.platforms.topologies.flat_cluster import FlatCluster


def machine(n_hosts: int = 12, cores: int = 1, *, fills_hosts: bool = False) -> Platform:
    """Hosts h0, h1, ..."""
    cluster = Cluster(
        name="c",
        hosts=NumberedNames("h", (range(n_hosts),)),
        cores=cores,
        speed_flop_per_s=1e9,
        bandwidth_bytes_per_s=1e9,
        latency_s=0,
    )
    return Description("machine", FlatCluster(cluster), fills_hosts=fills_hosts).build()


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
    assert platform.route(0, 0).link_names == ("default_link_0_loopback",)


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
