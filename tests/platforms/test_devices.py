"""Devices of hosts in machines: the tables [[host.gpu]], groups, changes, and bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from smpy.cli.main import main
from smpy.errors import PlatformError, UsageError
from smpy.platforms import Description, read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.models.devices import Device, devices_text, read_devices
from smpy.platforms.own_format.writing import write_toml

FAST = Device(
    4,
    speed_64_flop_per_s=9.7e12,
    speed_16_flop_per_s=78e12,
    memory_bytes=40e9,
    memory_bandwidth_bytes_per_s=1.5e12,
    link_bandwidth_bytes_per_s=32e9,
    link_latency_s=1e-6,
    peer_bandwidth_bytes_per_s=300e9,
    peer_latency_s=5e-7,
    direct=True,
)
SLOW = Device(speed_32_flop_per_s=2e12, link_bandwidth_bytes_per_s=8e9)
TABLES = """
[[host.gpu]]
count = 4
speed_64 = "9.7Tf"
speed_16 = "78Tf"
memory = "40GB"
memory_bandwidth = "1.5TB/s"
link_bandwidth = "32GB/s"
link_latency = "1us"
peer_bandwidth = "300GB/s"
peer_latency = "0.5us"
direct = true

[[host.gpu]]
speed_32 = "2Tf"
link_bandwidth = "8GB/s"
"""


def machine(tmp_path: Path, text: str, *options: tuple[str, str]) -> Description:
    path = tmp_path / "machine.toml"
    path.write_text(text)
    return read_machine(path, 1, options)


def devices(described: Description) -> list[tuple[range, tuple[Device, ...]]]:
    return list(described.build().devices())


def test_hosts_have_the_devices_of_all_tables(tmp_path: Path):
    assert devices(machine(tmp_path, "[host]\ncount = 3\n" + TABLES)) == [(range(3), (FAST, SLOW))]


def test_one_table_or_a_line_describes_one_kind(tmp_path: Path):
    keys = 'speed_32 = "2Tf"\nlink_bandwidth = "8GB/s"\n'
    assert devices(machine(tmp_path, f"[host]\ncount = 1\n[host.gpu]\n{keys}")) == [(range(1), (SLOW,))]
    line = "flat hosts=1 host.gpu.speed_32=2Tf host.gpu.link_bandwidth=8GB/s"
    assert devices(read_machine(line, 1)) == [(range(1), (SLOW,))]


def test_groups_have_devices_of_their_own_those_of_all_hosts_or_none(tmp_path: Path):
    groups = (
        "[group.a]\ncount = 2\n[group.b]\ncount = 1\ngpu = []\n[group.c]\ncount = 1\n"
        '[[group.c.gpu]]\nspeed_32 = "2Tf"\nlink_bandwidth = "8GB/s"\n'
    )
    assert devices(machine(tmp_path, TABLES + groups)) == [(range(2), (FAST, SLOW)), (range(3, 4), (SLOW,))]


def test_a_machine_without_devices_has_none(tmp_path: Path):
    assert devices(machine(tmp_path, "[host]\ncount = 3\n")) == []


def test_devices_are_written_as_they_are_read(tmp_path: Path):
    text = "name = 'mine'\n[host]\ncount = 3\n" + TABLES + '[power]\nidle = "90W"\nbusy = "300W"\n'
    text += '[host.busy_speed]\n"2" = 0.9\n[host.properties]\ncolour = "red"\n'
    described = machine(tmp_path, text)
    written = write_toml(described)
    assert "gpu = [" in written
    assert machine(tmp_path, written).zone == described.zone


def test_devices_belong_to_the_fingerprint(tmp_path: Path):
    prints = {
        machine(tmp_path, "[host]\ncount = 3\n" + tables).fingerprint
        for tables in ("", TABLES, TABLES + 'memory = "1GB"')
    }
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("key", "value", "field", "number"),
    [
        ("host.gpu.speed_64", "x2", "speed_64_flop_per_s", 19.4e12),
        ("host.gpu.memory_bandwidth", "1TB/s", "memory_bandwidth_bytes_per_s", 1e12),
        ("host.gpu.link_latency", "x0.5", "link_latency_s", 5e-7),
        ("host.gpu.count", "2", "count", 2),
        ("host.gpu.direct", "false", "direct", False),
    ],
)
def test_set_changes_devices_of_all_hosts(tmp_path: Path, key: str, value: str, field: str, number: float):
    ((_, (changed, *_)),) = devices(machine(tmp_path, "[host]\ncount = 3\n" + TABLES, (key, value)))
    assert getattr(changed, field) == number


def test_set_multiplies_the_speeds_with_all_types_of_numbers(tmp_path: Path):
    ((_, (changed, other)),) = devices(machine(tmp_path, "[host]\ncount = 3\n" + TABLES, ("host.gpu.speed", "x2")))
    assert changed == replace(FAST, speed_64_flop_per_s=19.4e12, speed_16_flop_per_s=156e12)
    assert other == replace(SLOW, speed_32_flop_per_s=4e12)


@pytest.mark.parametrize(
    ("key", "value", "field", "number"),
    [
        ("speed_64", "x2", "speed_64_flop_per_s", 19.4e12),
        ("speed", "x0.5", "speed_16_flop_per_s", 39e12),
        ("memory_bandwidth", "1TB/s", "memory_bandwidth_bytes_per_s", 1e12),
        ("peer_latency", "x0.5", "peer_latency_s", 2.5e-7),
        ("count", "x2", "count", 8),
        ("direct", "false", "direct", False),
    ],
)
def test_set_changes_devices_of_hosts_by_name(tmp_path: Path, key: str, value: str, field: str, number: float):
    described = machine(tmp_path, "[host]\ncount = 3\n" + TABLES, (f"host[*-1].gpu.{key}", value))
    before, after, same = devices(described)
    assert [before, same] == [(range(1), (FAST, SLOW)), (range(2, 3), (FAST, SLOW))]
    assert (after[0], getattr(after[1][0], field)) == (range(1, 2), number)
    assert devices(machine_from_json(machine_to_json(described).encode())) == [before, after, same]


def test_a_pattern_changes_the_devices_of_the_hosts_that_have_some(tmp_path: Path):
    groups = TABLES + "[group.a]\ncount = 2\n[group.b]\ncount = 2\ngpu = []\n"
    twice = replace(FAST, count=8), replace(SLOW, count=2)
    assert devices(machine(tmp_path, groups, ("host[*].gpu.count", "x2"))) == [(range(2), twice)]
    assert devices(machine(tmp_path, groups, ("host[*0].gpu.count", "x2"), ("host[*0].gpu.count", "x0.5"))) == [
        (range(2), (FAST, SLOW))
    ]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("host[b-0].gpu.count", "x2", "no host that it names has a device: give it one"),
        ("host[a-0].gpu.count", "x0.1", "it makes 0.4 of 4, which is no whole number"),
        ("host[a-0].gpu.count", "x1e3", "a host has 4000 devices of a kind: give 1 to 1024"),
        ("host[a-0].gpu.direct", "x2", "it cannot be multiplied: give true or false"),
        ("host[a-0].gpu.direct", "maybe", "'maybe' is neither true nor false"),
        ("host[a-0].gpu.speed", "1Tf", "multiply all, as in x2, or give speed_64, speed_32 or speed_16"),
        ("host[a-0].gpu.speed_64", "1T", "speed_64"),
        ("host[a-0].gpu.speeds", "x2", "did you mean 'gpu.speed'"),
        ("host[a-9].gpu.speed", "x2", "the machine has no host 'a-9'"),
        ("link[*].gpu.speed", "x2", "of a single link, bandwidth and latency can be set"),
    ],
)
def test_a_change_of_devices_that_cannot_be_made_is_refused(tmp_path: Path, key: str, value: str, says: str):
    groups = TABLES + "[group.a]\ncount = 2\n[group.b]\ncount = 2\ngpu = []\n"
    with pytest.raises(UsageError) as refused:
        machine(tmp_path, groups, (key, value)).build()
    assert says in str(refused.value)
    assert key in str(refused.value)


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ('[[host.gpu]]\nlink_bandwidth = "8GB/s"', "a device has no speed: give speed_64, speed_32 or speed_16"),
        ('[[host.gpu]]\nspeed_64 = "1Tf"', "a device has no link to its host: give link_bandwidth"),
        ('[[host.gpu]]\nspeed_64 = "1Tf"\nlink_bandwith = "8GB/s"', "did you mean 'link_bandwidth'?"),
        ('[[host.gpu]]\nspeed_64 = "1T"\nlink_bandwidth = "8GB/s"', "speed_64"),
        ('[[host.gpu]]\ncount = 0\nspeed_64 = "1Tf"\nlink_bandwidth = "8GB/s"', "must be at least 1"),
        ('[[host.gpu]]\ncount = 2000\nspeed_64 = "1Tf"\nlink_bandwidth = "8GB/s"', "give 1 to 1024"),
        ("[host]\ngpu = 4", "it is a list of tables: write [[host.gpu]]"),
    ],
)
def test_a_wrong_device_is_refused_at_its_key(tmp_path: Path, tables: str, says: str):
    with pytest.raises(PlatformError) as refused:
        machine(tmp_path, f"{tables}\n").build()
    assert says in str(refused.value)
    assert "machine.toml:" in str(refused.value)


def test_a_change_of_devices_that_nobody_has_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match=r"^--set host.gpu.speed_64=x2: .* no host that it names has a device: give"):
        machine(tmp_path, "[host]\ncount = 1\n", ("host.gpu.speed_64", "x2"))
    with pytest.raises(UsageError, match="a device has no 'sped_64': did you mean 'speed_64'"):
        machine(tmp_path, TABLES, ("host.gpu.sped_64", "x2"))
    keys = '[host.gpu]\nspeed_64 = "1Tf"\nlink_bandwidth = "8GB/s"\n'
    with pytest.raises(PlatformError, match="no device has this number"):
        machine(tmp_path, keys, ("host.gpu.speed_64", "x2"), ("host.gpu.memory", "x2"))


def test_a_wrong_machine_ends_with_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    (tmp_path / "machine.toml").write_text("[[host.gpu]]\ncount = 1\n")
    (tmp_path / "program.py").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["run", "-np", "1", "--platform", "machine.toml", "program.py"])
    assert ended.value.code == 2
    assert "a device has no speed" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "4",
            "[4]",
            '[{"speed": 1}]',
            '[{"count": true}]',
            '[{"count": 1.5}]',
            '[{"direct": 1}]',
            '[{"count": 1}]',
        ),
        f'[{{"speed_64_flop_per_s": 1{400 * "0"}, "link_bandwidth_bytes_per_s": 1}}]',
        '[{"speed_64_flop_per_s": 1, "link_bandwidth_bytes_per_s": 1e-320}]',
    ],
)
def test_a_property_that_describes_no_devices_is_refused(text: str):
    with pytest.raises(PlatformError, match="gpu"):
        read_devices(text)


def test_the_property_keeps_all_numbers():
    assert read_devices(devices_text((FAST, SLOW))) == (FAST, SLOW)


def test_platform_show_tells_the_devices(tmp_path: Path, capsys: pytest.CaptureFixture):
    (tmp_path / "machine.toml").write_text("[host]\ncount = 3\n" + TABLES)
    with pytest.raises(SystemExit):
        main(["platform", "show", str(tmp_path / "machine.toml")])
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "devices 4 on 3 hosts: 9.7 Tf with 64 bits, 78 Tf with 16 bits, 40 GB; link 32 GB/s, 1 us; messages direct"
        in shown
    )
    assert "1 on 3 hosts: 2 Tf with 32 bits; link 8 GB/s, 0 s; messages through the host" in shown
