"""Slow-downs by neighbours are those that were planted; whatever disturbs them leaves them out, in a sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from os import sysconf
from pathlib import Path

import numpy as np
import pytest

from smpy.calibrate import neighbours as module
from smpy.calibrate.memory import CallRate, sum_of_arrays
from smpy.calibrate.neighbours import (
    beside_load,
    busy_counts,
    by_core,
    measure_neighbours,
    neighbours,
)
from smpy.calibrate.this_machine import one_core, stolen_share, stolen_ticks
from smpy.engine import processors
from smpy.engine.processors import processors_beside, siblings_of, usable_processors

CORES = [0, 1, 2, 3]
PRODUCT_S, SUM_S = 1e-3, 2e-3


class PlantedMachine:
    """Cores that take longer for a call while others call; a load that stretches calls beside it."""

    share = {1: 1.0, 2: 0.9, 4: 0.6}  # noqa: RUF012  # read only
    core_slowdown, memory_slowdown = 1.1, 1.7
    processor_share, load_share = 1.0, 1.0

    def __init__(self) -> None:
        self.is_on = False
        self.used_s, self.now_s = 0.0, 0.0

    def rates_together(
        self, cores: Sequence[int], prepare: Callable[[], Callable[[], object]], duration_s: float
    ) -> list[CallRate]:
        is_product = prepare is module._product
        call_s = PRODUCT_S / self.share[len(cores)] if is_product else SUM_S * max(1, len(cores) / 2)
        return [CallRate(1 / call_s, self.processor_share) for _ in cores]

    def processor_time(self, run: Callable[[], object], n_calls: int) -> float:
        is_product = n_calls == module._PRODUCTS
        alone_s = n_calls * (PRODUCT_S if is_product else SUM_S)
        slowdown = self.core_slowdown if is_product else self.memory_slowdown
        passed_s = alone_s * (slowdown if self.is_on else 1.0)
        self.now_s += passed_s
        self.used_s += passed_s * self.load_share * self.is_on
        return passed_s

    def start(self, most_s: float) -> None:
        self.is_on = True

    def stop(self) -> None:
        self.is_on = False

    def processor_s(self) -> float:
        return self.used_s


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> PlantedMachine:
    machine = PlantedMachine()
    monkeypatch.setattr(module, "rates_together", machine.rates_together)
    monkeypatch.setattr(module, "_processor_s", machine.processor_time)
    monkeypatch.setattr(module, "NeighbourLoad", lambda _nbytes, _processors: machine)
    monkeypatch.setattr(module, "perf_counter", lambda: machine.now_s)
    monkeypatch.setattr(module, "stolen_ticks", lambda: (0, round(machine.now_s * 1e9)))
    monkeypatch.setattr(processors, "_PROCESSORS", processors.Path("/nowhere"))
    return machine


def test_the_curve_and_the_slow_downs_beside_the_load_are_the_planted_ones(planted: PlantedMachine):
    samples, left_out = measure_neighbours(CORES, 1 << 20)
    assert not left_out
    measured = neighbours(samples, 1 << 20)
    assert measured.busy_shares == pytest.approx(planted.share)
    assert measured.core_slowdown == pytest.approx(planted.core_slowdown)
    assert measured.memory_slowdown == pytest.approx(planted.memory_slowdown)
    together = [measured.busy_bytes_per_s[n] / measured.busy_bytes_per_s[1] for n in (1, 2, 4)]
    assert together == pytest.approx([1.0, 2.0, 2.0])


def test_a_core_is_not_taken_to_be_faster_beside_more_busy_ones(planted: PlantedMachine):
    planted.share = {1: 1.0, 2: 0.9, 4: 0.95}
    samples, _ = measure_neighbours(CORES, 1 << 20)
    assert neighbours(samples, 1 << 20).busy_shares == pytest.approx({1: 1.0, 2: 0.9, 4: 0.9})


def test_a_load_is_not_taken_to_speed_code_up(planted: PlantedMachine):
    planted.core_slowdown = 0.95
    samples, _ = measure_neighbours(CORES, 1 << 20)
    assert neighbours(samples, 1 << 20).core_slowdown == 1.0


def test_one_core_has_no_neighbours():
    assert measure_neighbours([3], 1 << 20) == (
        [],
        ["this machine has one core: host.busy_speed and [calibration.load] are left out"],
    )


def test_a_loaded_machine_leaves_neighbours_out():
    samples, (sentence,) = measure_neighbours(CORES, 1 << 20, is_loaded=True)
    assert not samples
    assert sentence.endswith("other processes here: host.busy_speed and [calibration.load] are left out")


def test_busy_cores_that_others_took_leave_the_curve_out(planted: PlantedMachine):
    planted.processor_share = 0.7
    samples, left_out = measure_neighbours(CORES, 1 << 20)
    assert left_out == ["other processes took cores that were to be busy: host.busy_speed is left out"]
    measured = neighbours(samples, 1 << 20)
    assert not measured.busy_shares
    assert measured.memory_slowdown == pytest.approx(planted.memory_slowdown)


def test_a_load_without_a_core_leaves_the_load_out(planted: PlantedMachine):
    planted.load_share = 0.5
    samples, (sentence,) = measure_neighbours(CORES, 1 << 20)
    assert sentence.startswith("other processes took the core of the load in 18 of 18 measurements")
    measured = neighbours(samples, 1 << 20)
    assert np.isnan(measured.memory_slowdown)
    assert measured.busy_shares == pytest.approx(planted.share)


def test_stolen_time_leaves_neighbours_out(planted: PlantedMachine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "stolen_ticks", lambda: (round(planted.now_s * 100), round(planted.now_s * 1000)))
    samples, (sentence,) = measure_neighbours(CORES, 1 << 20)
    assert not samples
    assert sentence == (
        "other virtual machines took 10% of the processors: host.busy_speed and [calibration.load] are left out"
    )


def test_stolen_ticks_are_a_part_of_all_ticks():
    assert stolen_share((10, 100), (15, 200)) == 0.05
    assert stolen_share(None, (15, 200)) == stolen_share((10, 100), (10, 100)) == 0.0
    ticks = stolen_ticks()
    assert ticks is None or 0 <= ticks[0] <= ticks[1]


def test_siblings_get_busy_after_one_of_each_core(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(processors, "_PROCESSORS", tmp_path)
    for processor, siblings in enumerate(("0-1", "0-1", "2,4", "3", "2,4")):
        folder = tmp_path / f"cpu{processor}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    assert [sorted(siblings_of(processor)) for processor in range(6)] == [[0, 1], [0, 1], [2, 4], [3], [2, 4], [5]]
    assert by_core(range(5)) == [0, 2, 3, 1, 4]
    assert busy_counts(range(5)) == [1, 2, 3, 4, 5]
    assert busy_counts([0, 1]) == [1, 2]
    assert busy_counts([2, 3]) == [1, 2]
    assert processors_beside(0, range(5)) == (2, 3, 4)
    assert processors_beside(0, (0, 1)) == (1,)
    assert processors_beside(-1, (0, 1)) == (0, 1)


# ---- the real load ----


@pytest.mark.skipif(module.surface is None, reason="no compiled surface, which has the load")
def test_the_load_moves_memory_between_start_and_stop_alone():
    load = module.NeighbourLoad(1 << 20, usable_processors())
    assert load.moved_bytes() == 0
    load.start(60.0)
    end_s = time.monotonic() + 30
    while not load.moved_bytes() and time.monotonic() < end_s:
        time.sleep(1e-3)
    load.stop()
    assert load.processor_s() > 0
    time.sleep(0.05)
    moved_bytes = load.moved_bytes()
    assert moved_bytes > 0
    time.sleep(0.05)
    assert load.moved_bytes() == moved_bytes


@pytest.mark.skipif(module.surface is None, reason="no compiled surface, which has the load")
def test_the_load_stops_by_itself_and_starts_again():
    load = module.NeighbourLoad(1 << 20, usable_processors())
    for _ in range(3):
        before = load.moved_bytes()
        load.start(0.2)  # long enough for a busy machine to run the thread
        end_s = time.monotonic() + 30
        while load.moved_bytes() == before and time.monotonic() < end_s:
            time.sleep(1e-3)
        time.sleep(0.3)
        moved_bytes = load.moved_bytes()
        assert moved_bytes > before
        time.sleep(0.05)
        assert load.moved_bytes() == moved_bytes


@pytest.mark.skipif(module.surface is None, reason="no compiled surface, which has the load")
@pytest.mark.parametrize("n_bytes", [0, -1, 1000])
def test_a_load_of_no_size_is_refused(n_bytes: int):
    with pytest.raises(ValueError, match="too small"):
        module.NeighbourLoad(n_bytes, (0,))


@pytest.mark.timed
def test_memory_slows_down_beside_the_load_at_least_as_far_as_a_core_does():
    if len(usable_processors()) < 2:
        pytest.skip("one core")
    with one_core() as cores:  # threads of BLAS would take the core of the load
        samples, left_out = beside_load(module.NeighbourLoad(1 << 27, cores), 1 << 30)
    if left_out:
        pytest.skip(left_out[0])
    measured = neighbours(samples, 1 << 27)
    assert 0.9 < measured.core_slowdown < 2
    assert 0.9 * measured.core_slowdown < measured.memory_slowdown < 5


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc/self/statm")
def test_every_page_of_the_arrays_that_are_added_is_in_memory() -> None:
    def resident_pages() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])

    n_words = 5 << 20  # blocks above 32 MiB are never memory that was freed before
    before = resident_pages()
    add = sum_of_arrays(n_words)
    add()
    assert (resident_pages() - before) * sysconf("SC_PAGE_SIZE") > 0.9 * 2 * 8 * n_words
