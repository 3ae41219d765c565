"""Cores that others slow down: closed forms, and the key of a machine that says how much."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.errors import PlatformError
from smpy.platforms import Description, FullZone, Host, read_machine
from smpy.platforms.models.busy_speed import busy_shares
from smpy.platforms.own_format.writing import write_toml

MACHINE = "flat hosts=2 cores=4 speed=1Gf"
CURVE = f"{MACHINE} host.busy_speed=2:0.8;4:0.5"
SHARES = 1.0, 0.8, 0.65, 0.5


def finish_s(emulated: Callable, source: str, n_ranks: int, platform: str, **config: object) -> list[float]:
    head = "import smpy\nfrom mpi4py import MPI\nrank = MPI.COMM_WORLD.rank\n"
    ran = emulated(head + source, n_ranks, platform=platform, compute="models", **config)
    assert ran.error == ""
    return list(ran.outcome.summary.finish_s)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_cores_have_the_part_of_their_speed_that_as_many_busy_ones_leave(emulated: Callable, n_ranks: int):
    took_s = finish_s(emulated, "smpy.execute(1e9)", n_ranks, CURVE)
    assert took_s == pytest.approx([1 / SHARES[n_ranks - 1]] * n_ranks, rel=1e-9)


def test_a_core_is_as_fast_as_alone_once_the_others_have_ended(emulated: Callable):
    took_s = finish_s(emulated, "smpy.execute(2e9 + rank * 1e9)", 2, CURVE)
    assert took_s == pytest.approx([2 / 0.8, 2 / 0.8 + 1], rel=1e-9)


def test_sleeping_ranks_slow_nobody_down(emulated: Callable):
    source = "import time\ntime.sleep(5) if rank else smpy.execute(1e9)"
    assert finish_s(emulated, source, 4, CURVE)[0] == pytest.approx(1.0, rel=1e-9)


def test_more_ranks_than_cores_share_what_all_busy_cores_do(emulated: Callable):
    crowd = {"files": {"hosts": "node-0:8"}, "hostfile": Path("hosts")}
    took_s = finish_s(emulated, "smpy.execute(1e9)", 8, CURVE, **crowd)
    assert took_s == pytest.approx([2 / 0.5] * 8, rel=1e-9)


def test_ranks_of_other_hosts_slow_nobody_down(emulated: Callable):
    assert finish_s(emulated, "smpy.execute(1e9)", 2, CURVE, map_by="host") == pytest.approx([1.0, 1.0], rel=1e-9)


def test_measured_bursts_are_slowed_down_too(emulated: Callable):
    source = "smpy.inject_seconds(1.0)"
    assert finish_s(emulated, source, 2, CURVE) == pytest.approx([1.25, 1.25], rel=1e-9)


def test_bytes_of_memory_are_not_slowed_down(emulated: Callable):
    memory = f"{CURVE} host.memory_bandwidth=8GB/s host.core_memory_bandwidth=4GB/s"
    assert finish_s(emulated, "smpy.execute(0, 4e9)", 2, memory) == pytest.approx([1.0, 1.0], rel=1e-9)


def test_a_curve_of_full_speed_changes_no_bit(emulated: Callable):
    source = "for n in range(50):\n    smpy.execute(1e8 * (1 + rank) / 3)\n    MPI.COMM_WORLD.allreduce(n)"
    plain = finish_s(emulated, source, 4, MACHINE)
    assert finish_s(emulated, source, 4, f"{MACHINE} host.busy_speed=4:1") == pytest.approx(plain, rel=1e-12)


def test_the_shares_between_points_are_on_a_line():
    assert busy_shares("1:1.0;2:0.8;4:0.5") == pytest.approx(SHARES, rel=1e-12)
    assert busy_shares("1:0.9") == (0.9,)


def test_a_file_a_line_and_python_describe_the_same_curve(tmp_path: Path):
    (tmp_path / "m.toml").write_text(
        '[topology]\nkind = "flat"\n[host]\ncount = 2\ncores = 4\nspeed = "1Gf"\nbusy_speed = {2 = 0.8, 4 = 0.5}\n'
    )
    machine, line = read_machine(tmp_path / "m.toml", 1), read_machine(CURVE, 1)
    assert (
        list(machine.build().busy_speeds())
        == list(line.build().busy_speeds())
        == [(range(2), busy_shares("2:0.8;4:0.5"))]
    )
    assert machine.fingerprint == line.fingerprint != read_machine(MACHINE, 1).fingerprint
    (tmp_path / "written.toml").write_text(write_toml(line))
    assert read_machine(tmp_path / "written.toml", 1).fingerprint == line.fingerprint
    changed = read_machine(tmp_path / "m.toml", 1, [("host.busy_speed.4", "0.6")])
    assert list(changed.build().busy_speeds()) == [(range(2), busy_shares("2:0.8;4:0.6"))]
    desk = Host("a", 1e9, properties=(("busy_speed", "2:0.5"),))
    assert list(Description("m", FullZone("z", (desk,))).build().busy_speeds()) == [(range(1), (1.0, 0.5))]


def test_a_group_of_hosts_has_a_curve_of_its_own(tmp_path: Path):
    (tmp_path / "m.toml").write_text(
        "[host]\nbusy_speed = {2 = 0.8}\n[group.a]\ncount = 2\n[group.b]\ncount = 1\nbusy_speed = {2 = 0.6}\n"
    )
    speeds = list(read_machine(tmp_path / "m.toml", 1).build().busy_speeds())
    assert speeds == [(range(2), (1.0, 0.8)), (range(2, 3), (1.0, 0.6))]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("2:1.5", "'2:1.5' is no number of busy cores and part"),
        ("2:0", "'2:0.0' is no number of busy cores and part"),
        ("0:0.5", "'0:0.5' is no number of busy cores and part"),
        ("2.5:0.5", "'2.5:0.5' is no number of busy cores and part"),
        ("2:nan", "is no number of busy cores and part|is no number"),
        ("two:0.5", "is no number"),
        ("2:0.5;2:0.4", "numbers of busy cores rise"),
    ],
)
def test_a_curve_that_cannot_be_is_refused_by_its_key(value: str, what: str):
    with pytest.raises(PlatformError, match=what):
        read_machine(f"{MACHINE} host.busy_speed={value}", 1)


def test_a_property_that_is_no_curve_is_refused(emulated: Callable):
    desk = Host("a", 1e9, properties=(("busy_speed", "fast"),))
    with pytest.raises(PlatformError, match="busy_speed 'fast'"):
        emulated("", 1, platform=Description("m", FullZone("z", (desk,))))
