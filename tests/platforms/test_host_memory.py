"""The memory of hosts: kept with a machine however it is described, and changed by no key of the network."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from smpy.cli.main import main
from smpy.errors import PlatformError, UsageError
from smpy.platforms import (
    Cabinet,
    Cache,
    CacheLevel,
    Cluster,
    Description,
    FlatCluster,
    FullZone,
    Host,
    Memory,
    NumberedNames,
    Peer,
    RandomAccess,
    StarZone,
    VivaldiZone,
    read_machine,
)
from smpy.platforms.machine import changed
from smpy.platforms.own_format.writing import write_toml

TOML = """
[host]
count = 2
memory_bandwidth = "400GB/s"
core_memory_bandwidth = "25GB/s"
caches = {"1MiB" = "60GB/s", "32KiB" = "100GB/s"}
random_access = {"1GiB" = "0.5GB/s", "32KiB" = "5GB/s"}
cache_cores = {"32KiB" = 1, "8MiB" = 8}
"""
MEASURED = TOML + 'messages_bandwidth = "30GB/s"\n'
LINE = (
    "fat-tree hosts=2 memory_bandwidth=400GB/s host.core_memory_bandwidth=25GB/s host.caches=1MiB:60GB/s;32KiB:100GB/s "
    "host.random_access=32KiB:5GB/s;1GiB:0.5GB/s host.cache_cores=32KiB:1;8MiB:8"
)
RANDOM_ACCESS = RandomAccess(32 * 1024, 5e9), RandomAccess(1024**3, 0.5e9)
MEMORY = Memory(
    400e9,
    25e9,
    (Cache(32 * 1024, 100e9), Cache(1024**2, 60e9)),
    random_access=RANDOM_ACCESS,
    cache_levels=(CacheLevel(32 * 1024, 1), CacheLevel(8 * 1024**2, 8)),
)


def test_messages_inside_a_host_share_what_was_measured_or_a_quarter_of_its_memory(tmp_path: Path) -> None:
    for text, messages_bytes_per_s in ((TOML, 100e9), (MEASURED, 30e9)):
        (tmp_path / "m.toml").write_text(text)
        machine = read_machine(tmp_path / "m.toml", 1)
        assert machine.build().memory(1).messages_bytes_per_s == messages_bytes_per_s
        (tmp_path / "again.toml").write_text(write_toml(machine))
        assert read_machine(tmp_path / "again.toml", 1) == machine


def test_a_file_and_a_line_describe_the_same_memory(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(TOML)
    machine, other = read_machine(tmp_path / "m.toml", 1), read_machine(LINE, 1)
    assert machine.build().memory(1) == MEMORY
    assert machine == other == pickle.loads(pickle.dumps(machine))
    assert machine.fingerprint == other.fingerprint
    bare = read_machine("fat-tree hosts=2", 1)
    assert bare.build().memory(0) == Memory()
    doubled = changed(machine, [("host.memory_bandwidth", "x2")])
    assert len({machine.fingerprint, bare.fingerprint, doubled.fingerprint}) == 3


def test_hosts_of_every_kind_keep_their_own_memory() -> None:
    known: dict[str, object] = {
        "memory_bandwidth_bytes_per_s": 2e9,
        "core_memory_bandwidth_bytes_per_s": 1e9,
        "caches": MEMORY.caches,
    }
    known["random_access"] = RANDOM_ACCESS
    desks = Host("a", 1e9, **known), Host("b", 1e9), Host("c", 1e9, **known)  # type: ignore[arg-type]
    cabinet = Cabinet(NumberedNames("d", (range(2),)), 1e9, 1e9, 0.0, **known)  # type: ignore[arg-type]
    cluster = Cluster("x", NumberedNames("n", (range(2),)), 1e9, 1e9, 0.0, memory_bandwidth_bytes_per_s=3e9)
    parts = FullZone("office", desks), StarZone("rack", (cabinet,)), FlatCluster(cluster)
    machine = Description("all", FullZone("world", parts))
    platform = machine.build()
    memory, none, other = Memory(2e9, 1e9, MEMORY.caches, random_access=RANDOM_ACCESS), Memory(), Memory(3e9)
    assert [platform.memory(host) for host in range(7)] == [memory, none, memory, memory, memory, other, other]
    doubled = changed(machine, [("host.memory_bandwidth", "8GB/s")]).build()
    assert [doubled.memory(host).bandwidth_bytes_per_s for host in range(7)] == [8e9] * 7
    peer = VivaldiZone("far", (Peer("p", 1e9, 1e9, 1e9, (0, 0, 0), memory_bandwidth_bytes_per_s=7e9),))
    assert Description("net", peer).build().memory(0) == Memory(7e9)


@given(st.sampled_from(["network.bandwidth", "network.latency", "host.speed"]))
def test_no_other_key_changes_the_memory(key: str) -> None:
    machine = read_machine(LINE, 1)
    assert changed(machine, [(key, "x2")]).build().memory(0) == MEMORY
    assert read_machine(LINE, 1, [(key, "x2")]).build().memory(0) == MEMORY


def test_the_memory_of_a_machine_is_set_or_multiplied_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(TOML)
    options = [
        ("host.memory_bandwidth", "x2"),
        ("host.core_memory_bandwidth", "30GB/s"),
        ("host.caches.1MiB", "70GB/s"),
    ]
    machine = read_machine(tmp_path / "m.toml", 1, options)
    caches = MEMORY.caches[0], replace(MEMORY.caches[1], core_bandwidth_bytes_per_s=70e9)
    assert machine.build().memory(0) == replace(
        MEMORY, bandwidth_bytes_per_s=800e9, core_bandwidth_bytes_per_s=30e9, caches=caches
    )
    assert read_machine("flat", 1, [("host.caches", "1KiB:1GB/s")]).build().memory(0).caches == (Cache(1024, 1e9),)


def test_memory_that_is_written_down_is_read_back(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(write_toml(read_machine(LINE, 1)))
    assert read_machine(tmp_path / "m.toml", 1) == read_machine(LINE, 1)


def test_the_command_tells_the_memory_of_each_kind_of_host() -> None:
    shown = CliRunner().invoke(main, ["platform", "show", LINE]).stdout
    known = "memory 400 GB/s, 25 GB/s a core, caches of a core 32.77 kB at 100 GB/s, 1.049 MB at 60 GB/s"
    levels = "cache 8.389 MB shared by 8 cores"
    random = "random access to 32.77 kB at 5 GB/s, 1.074 GB at 500 MB/s: node-[0-1]"
    assert f"at 49.6 Gf, {known}, {levels}, {random}" in shown


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            ("host.memory_bandwidth", "20GB/s"),
            "core_memory_bandwidth: one core has a memory bandwidth of 25 GB/s, and all",
        ),
        (("host.caches.1024KiB", "1GB/s"), "caches: a cache of 1.049 MB follows one of 1.049 MB: list each size once"),
        (("host.caches.0", "1GB/s"), "caches: a cache of 0 bytes"),
        (("host.caches.32KiB", "fast"), "host.caches.32KiB: 'fast' is not a bandwidth"),
        (("host.caches.32KiB", "x2"), "host.caches.32KiB: it cannot be multiplied"),
        (("host.caches.big", "1GB/s"), "host.caches.big: 'big' is not a size"),
        (("host.cache_cores.8MiB", "0"), "cache_cores: a cache of 8.38861e\\+06 bytes that 0 cores share"),
        (("host.cache_cores.8192KiB", "4"), "cache_cores: a cache of 8.389 MB follows one of 8.389 MB"),
        (("host.cache_cores.8MiB", "many"), "host.cache_cores.8MiB: 'many' is no whole number"),
    ],
)
def test_memory_that_cannot_be_is_refused_by_its_key(tmp_path: Path, change: tuple[str, str], what: str) -> None:
    (tmp_path / "m.toml").write_text(TOML)
    with pytest.raises((UsageError, PlatformError), match=what):
        read_machine(tmp_path / "m.toml", 1, [change])


@pytest.mark.parametrize("what", ["flat", Path(__file__).parents[1] / "peer" / "platforms" / "full.xml"])
def test_memory_that_nobody_told_cannot_be_multiplied(what: str | Path) -> None:
    with pytest.raises(
        UsageError, match=r"host.memory_bandwidth: .*(does not say it|has no memory bandwidth), and nothing times"
    ):
        read_machine(what, 1, [("host.memory_bandwidth", "x2")])


@pytest.mark.parametrize(
    ("memory", "what"),
    [
        ({"memory_bandwidth_bytes_per_s": -1.0}, "host 'a': memory has a bandwidth of -1 bytes/s"),
        ({"core_memory_bandwidth_bytes_per_s": float("nan")}, "host 'a': memory of a core has a bandwidth of nan"),
        ({"caches": (Cache(2e6, 1e9), Cache(1e6, 1e9))}, "host 'a': a cache of 1 MB follows one of 2 MB"),
        ({"random_access": RANDOM_ACCESS[::-1]}, "host 'a': random access to 32.77 kB follows that to 1.074 GB"),
        ({"random_access": (RandomAccess(1e6, 0.0),)}, "host 'a': random access to 1e.06 bytes at 0 bytes/s"),
    ],
)
def test_a_host_made_in_python_is_checked_when_it_is_built(memory: dict[str, float], what: str) -> None:
    host: Callable[..., Host] = Host
    with pytest.raises(PlatformError, match=what):
        Description("m", FullZone("z", (host("a", 1e9, **memory),))).build()
