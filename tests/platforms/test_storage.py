"""Disks of SimGrid's files and the table [storage]: what is read, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.errors import PlatformError
from smpy.platforms import Description, Disk, Storage, read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.own_format.writing import write_toml
from smpy.platforms.simgrid.reader import read_simgrid_xml

DISK = "<disk id='d' read_bw='200MBps' write_bw='100MBps'>{}</disk>"


def in_xml(folder: Path, first: str, second: str = "") -> Description:
    file = folder / "machine.xml"
    file.write_text(
        "<platform version='4.1'><zone id='w' routing='Full'>\n"
        f"<host id='a' speed='1Gf'>{first}</host>\n<host id='b' speed='1Gf'>{second}</host>\n"
        "<link id='l' bandwidth='1GBps' latency='1us'/><route src='a' dst='b'><link_ctn id='l'/></route>"
        "</zone></platform>"
    )
    return read_simgrid_xml(file)


def in_toml(folder: Path, storage: str) -> Description:
    file = folder / "machine.toml"
    file.write_text(f"[host]\ncount = 4\n[topology]\nkind = 'flat'\n[storage]\n{storage}\n")
    return read_machine(str(file), n_ranks=4)


def test_disks_of_a_host_are_read_with_their_files(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("/big 1000000\n\n/small 3\n")
    props = "<prop id='mount' value='/scratch'/><prop id='content' value='files'/>"
    machine = in_xml(tmp_path, DISK.format(props), "<prop id='remote_disk' value='/far:d:a'/>")
    places = machine.build().file_places
    disk = Disk("d", 200e6, 100e6, "/scratch", (("/big", 1000000), ("/small", 3)))
    assert [(one.mount, one.disk, one.host) for one in places.mounted(0)] == [("/scratch", disk, 0)]
    assert [(one.mount, one.disk, one.host) for one in places.mounted(1)] == [("/far", disk, 0)]
    assert machine_from_json(machine_to_json(machine).encode()) == machine


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("<disk id='d' read_bw='1GBps'/>", "", "machine.xml:2: <disk id='d'>: attribute 'write_bw' is missing"),
        ("<disk id='d' read_bw='0GBps' write_bw='1GBps'/>", "", "'0GBps' is no bandwidth above 0"),
        ("<disk id='d' read_bw='1GBps' write_bw='1GBps' size='2'/>", "", "unknown attribute 'size'"),
        (DISK.format("<host/>"), "", "<host> cannot stand here"),
        (DISK.format("") * 2, "", "machine.xml:2: <host id='a'>: it has two disks 'd'"),
        (DISK.format("<prop id='content' value='missing'/>"), "", "property 'content': cannot read"),
        (DISK.format("<prop id='content' value='wrong'/>"), "", "wrong:2: '/file many' is not a path and a size"),
        ("", "<prop id='remote_disk' value='/:d'/>", "machine.xml:3: <prop id='remote_disk'>: "),
        (DISK.format(""), "<prop id='remote_disk' value='/:e:a'/>", "host 'a' has no disk 'e'"),
    ],
)
def test_a_wrong_disk_is_refused_with_its_place(tmp_path: Path, first: str, second: str, message: str) -> None:
    (tmp_path / "wrong").write_text("/file 1\n/file many\n")
    with pytest.raises(PlatformError) as refused:
        in_xml(tmp_path, first, second)
    assert message in str(refused.value)


def test_the_table_storage_is_read_and_written(tmp_path: Path) -> None:
    rest = 'write_bandwidth = "1GB/s"\nlatency = "0.5s"\nservers = ["node-0", "node-3"]\nstripe = "4MiB"'
    machine = in_toml(tmp_path, f'read_bandwidth = "2GB/s"\n{rest}')
    assert machine.storage == Storage(2e9, 1e9, 0.5, ("node-0", "node-3"), 4 << 20)
    assert machine.build().file_places.servers == (0, 3)
    (tmp_path / "again.toml").write_text(write_toml(machine))
    assert read_machine(str(tmp_path / "again.toml"), n_ranks=4) == machine
    assert machine_from_json(machine_to_json(machine).encode()) == machine


def test_machines_that_differ_in_storage_have_other_fingerprints(tmp_path: Path) -> None:
    both = 'read_bandwidth = "2GB/s"\nwrite_bandwidth = "1GB/s"'
    machines = [in_toml(tmp_path, text) for text in ("", both, f'{both}\nlatency = "1us"')]
    assert len({machine.fingerprint for machine in machines}) == 3
    assert machines[0].storage is None


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ('read_bandwidth = "2GB/s"', "storage.write_bandwidth: it is missing"),
        ('latency = "1us"', "storage.read_bandwidth: it is missing"),
        ('read_bandwidth = "0GB/s"\nwrite_bandwidth = "1GB/s"', "machine.toml:6: storage.read_bandwidth: it is 0"),
        (
            'read_bandwidth = 2e9\nwrite_bandwidth = "1GB/s"',
            "machine.toml:6: storage.read_bandwidth: 2000000000.0 has no",
        ),
        ('read_bandwith = "1GB/s"', "did you mean 'read_bandwidth'"),
    ],
)
def test_a_wrong_key_of_storage_is_refused_with_its_place(tmp_path: Path, storage: str, message: str) -> None:
    with pytest.raises(PlatformError) as refused:
        in_toml(tmp_path, storage)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('servers = ["node-0", "node-0"]', "machine.toml:8: storage.servers: host 'node-0' is named twice"),
        ('servers = ["nodes-0"]', "machine.toml:8: storage.servers: unknown host 'nodes-0': did you mean 'node-0'"),
        ('stripe = "0.5B"', "machine.toml:8: storage.stripe: 0.5 is no whole number of bytes"),
    ],
)
def test_wrong_servers_and_stripes_are_refused_with_their_place(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(PlatformError) as refused:
        in_toml(tmp_path, f'read_bandwidth = "2GB/s"\nwrite_bandwidth = "1GB/s"\n{more}').build()
    assert message in str(refused.value)
