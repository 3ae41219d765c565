"""The share of measured bursts that the system took, from counters of the ranks' thread."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from smpy.compute.clock import system_time
from smpy.compute.clock.system_time import SystemTime, hypervisor_takes_free_pages


@pytest.fixture
def usage(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    counters = SimpleNamespace(ru_utime=5.0, ru_stime=2.0, ru_minflt=1000)
    monkeypatch.setattr(system_time, "getrusage", lambda _whose: SimpleNamespace(**vars(counters)))
    return counters


def test_a_burst_has_all_that_the_system_took_if_the_thread_did_nothing_else(usage: SimpleNamespace):
    taken = SystemTime()
    usage.ru_utime, usage.ru_stime, usage.ru_minflt = 5.6, 2.4, 1800
    taken.take(1.0)
    assert (taken.seconds, taken.system_s, taken.page_faults) == pytest.approx((1.0, 0.4, 800))


def test_work_between_long_bursts_has_its_own_part_of_the_systems_time(usage: SimpleNamespace):
    taken = SystemTime()
    usage.ru_utime, usage.ru_stime, usage.ru_minflt = 8.0, 3.0, 1100
    taken.take(1.0)
    assert (taken.seconds, taken.system_s, taken.page_faults) == pytest.approx((1.0, 0.25, 25))


def test_a_burst_has_never_more_than_the_counters_tell_nor_fails_where_they_stand(usage: SimpleNamespace):
    taken = SystemTime()
    taken.take(1.0)
    usage.ru_utime, usage.ru_stime, usage.ru_minflt = 5.1, 2.1, 1010
    taken.take(1.0)
    assert (taken.seconds, taken.system_s, taken.page_faults) == pytest.approx((0.2, 0.1, 10))


def test_a_burst_that_stands_for_many_leaves_the_systems_share_as_it_was(usage: SimpleNamespace):
    taken = SystemTime()
    usage.ru_utime, usage.ru_stime, usage.ru_minflt = 5.6, 2.4, 1800
    taken.take(100.0)
    assert taken.system_s / taken.seconds == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("device", "features", "is_taken"),
    [("0x0005", "01100100", True), ("0x0005", "01100000", False), ("0x0005", "", False), ("0x0002", "01100100", False)],
)
def test_a_balloon_that_reports_free_pages_takes_them(
    tmp_path: Path, device: str, features: str, is_taken: bool
) -> None:
    assert not hypervisor_takes_free_pages(tmp_path / "none")
    (tmp_path / "virtio0").mkdir()
    assert not hypervisor_takes_free_pages(tmp_path)
    (tmp_path / "virtio0" / "device").write_text(f"{device}\n")
    (tmp_path / "virtio0" / "features").write_text(f"{features}\n")
    assert hypervisor_takes_free_pages(tmp_path) == is_taken
