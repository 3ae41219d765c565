"""Computing that is modelled: rooflines, kernels of the machine, seconds that are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf, pi, sqrt
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import smpy
from smpy.compute.models.roofline import cache_bandwidth_bytes_per_s, random_access_bytes_per_s
from smpy.platforms import Cache, Description, FullZone, Host, Memory, Profile, RandomAccess

MACHINE = "flat hosts=2 cores=4 speed=2Gf host.memory_bandwidth=8GB/s host.core_memory_bandwidth=4GB/s"
CACHED = f"{MACHINE} host.caches=10kB:32GB/s;1MB:16GB/s"
RANDOM = f"{CACHED} host.random_access=10kB:4GB/s;1MB:1GB/s;100MB:0.5GB/s"
KERNELS = """
[kernels]
reference_speed = "4Gf"
[kernels.dgemm]
sizes = ["m", "n", "k"]
seconds = { "m*n*k" = 1e-9, "1" = 1e-3 }
largest = [100, 100, 100]
"""


def makespan_s(emulated: Callable, source: str, n_ranks: int = 1, platform: str = MACHINE, **config: object) -> float:
    ran = emulated(f"import smpy\n{source}", n_ranks, platform=platform, **config)
    assert ran.error == ""
    return float(ran.outcome.summary.makespan_s)


# ---- rooflines ----


@pytest.mark.parametrize(
    ("n_ranks", "cpus_per_task", "mb", "gb_per_s"),
    [(1, 1, 4, 16), (2, 1, 2, 16), (4, 1, 1, 16), (2, 1, 4, 4), (1, 2, 4, 32), (1, 4, 4, 64), (1, 4, 5, 8)],
)
def test_a_core_has_more_of_a_shared_cache_while_fewer_ranks_share_it(
    emulated: Callable, n_ranks: int, cpus_per_task: int, mb: int, gb_per_s: float
) -> None:
    machine = f"{CACHED} host.cache_cores=10kB:1;4MB:4"
    source = f"smpy.execute(0, 32e9, {mb}e6)"
    ran_s = makespan_s(emulated, source, n_ranks, machine, cpus_per_task=cpus_per_task)
    assert ran_s == pytest.approx(32 / gb_per_s, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "alone_s"),
    [
        ("execute(4e9, 4e9)", 2.0),
        ("execute(2e9, 12e9)", 3.0),
        ("execute(0, bytes=4e9)", 1.0),
        ("execute(0, 32e9, 1e4)", 1.0),
        ("execute(0, 32e9, working_set_bytes=1e6)", 2.0),
        ("execute(0, 32e9, 1e5)", sqrt(2)),
        ("execute(0, 4e9, 1e6 + 1)", 1.0),
        ("execute(6e9, 32e9, 1e6)", 3.0),
    ],
)
def test_work_takes_as_long_as_the_slower_of_core_and_memory(emulated: Callable, call: str, alone_s: float) -> None:
    assert makespan_s(emulated, f"smpy.{call}", platform=CACHED) == pytest.approx(alone_s, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "alone_s"),
    [
        ("execute(0, 0, 1e3, random_bytes=4e9)", 1.0),
        ("execute(0, 0, 1e5, random_bytes=2e9)", 1.0),
        ("execute(0, 32e9, 1e4, random_bytes=4e9)", 2.0),
        ("execute(0, 0, 1e7, random_bytes=1e9)", sqrt(2)),
        ("execute(0, random_bytes=1e9)", 2.0),
        ("execute(0, random_bytes=1e9, working_set_bytes=1e12)", 2.0),
        ("execute(2e9, 4e9, random_bytes=1e9)", 3.0),
        ("execute(8e9, 4e9, random_bytes=1e9)", 4.0),
    ],
)
def test_words_at_random_addresses_take_the_time_of_their_working_set_after_streams(
    emulated: Callable, call: str, alone_s: float
) -> None:
    assert makespan_s(emulated, f"smpy.{call}", platform=RANDOM) == pytest.approx(alone_s, rel=1e-9)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_each_word_at_a_random_address_loads_a_line_of_the_memory_that_cores_share(
    emulated: Callable, n_ranks: int
) -> None:
    took_s = makespan_s(emulated, "smpy.execute(0, random_bytes=1e9)", n_ranks, RANDOM)
    assert took_s == pytest.approx(max(2.0, n_ranks * 64e9 / 8 / 8e9), rel=1e-12)
    in_caches_s = makespan_s(emulated, "smpy.execute(0, 0, 1e6, random_bytes=2e9)", n_ranks, RANDOM)
    assert in_caches_s == pytest.approx(2.0, rel=1e-12)


def test_threads_access_equal_parts_at_random(emulated: Callable) -> None:
    call = "smpy.execute(0, random_bytes=1e9, threads=2)"
    assert makespan_s(emulated, call, platform=RANDOM, cpus_per_task=2) == pytest.approx(1.0, rel=1e-12)


def test_a_kernel_states_its_random_accesses(emulated: Callable) -> None:
    gather = "@smpy.kernel(bytes='16*n', random_bytes='8*n')\ndef gather(n): pass\ngather(10**9)"
    assert makespan_s(emulated, gather, platform=RANDOM, compute="models") == pytest.approx(4 + 16, rel=1e-12)


def test_random_accesses_at_an_unknown_rate_take_no_time_and_the_summary_says_so(emulated: Callable) -> None:
    ran = emulated("import smpy\nsmpy.execute(2e9, random_bytes=3e9)", 2, platform=CACHED)
    assert ran.outcome.summary.makespan_s == 1.0
    assert "6 GB read at random in no time: host.random_access" in ran.outcome.summary.render()


@given(
    st.lists(st.tuples(st.floats(1, 1e9), st.floats(1e6, 1e12)), min_size=1, max_size=6, unique_by=lambda it: it[0]),
    st.floats(0.5, 2e9),
)
def test_the_rate_of_random_access_lies_between_those_of_the_points_around(
    points: list[tuple[float, float]], size: float
) -> None:
    points.sort()
    rate = random_access_bytes_per_s(Memory(random_access=tuple(RandomAccess(*point) for point in points)), size)
    below = [each for each in points if each[0] <= size][-1:] or points[:1]
    above = [each for each in points if each[0] >= size][:1] or points[-1:]
    around = [each for _, each in below + above]
    assert min(around) * (1 - 1e-12) <= rate <= max(around) * (1 + 1e-12)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
def test_the_cores_of_a_host_share_its_memory(emulated: Callable, n_ranks: int) -> None:
    took_s = makespan_s(emulated, "smpy.execute(1e9, 4e9)", n_ranks)
    assert took_s == pytest.approx(max(1.0, n_ranks / 2), rel=1e-12)


def test_caches_are_not_shared(emulated: Callable) -> None:
    assert makespan_s(emulated, "smpy.execute(0, 16e9, 1e6)", 4, CACHED) == pytest.approx(1.0, rel=1e-12)


def test_half_the_memory_bandwidth_is_twice_the_time(emulated: Callable) -> None:
    halved = MACHINE.replace("4GB/s", "2GB/s").replace("8GB/s", "4GB/s")
    before_s, after_s = (makespan_s(emulated, "smpy.execute(1e9, 20e9)", 3, platform) for platform in (MACHINE, halved))
    assert after_s == 2 * before_s > 0


def test_two_machines_rank_two_kernels_as_on_paper(emulated: Callable) -> None:
    flops, bytes_ = "smpy.execute(6e9, 4e9)", "smpy.execute(1e9, 8e9)"
    other = "flat hosts=1 cores=1 speed=6Gf host.memory_bandwidth=2GB/s"
    assert [makespan_s(emulated, source) for source in (flops, bytes_)] == pytest.approx([3.0, 2.0])
    assert [makespan_s(emulated, source, platform=other) for source in (flops, bytes_)] == pytest.approx([2.0, 4.0])


@given(
    st.lists(st.tuples(st.floats(1, 1e9), st.floats(1e6, 1e12)), min_size=1, max_size=6, unique_by=lambda it: it[0]),
    st.lists(st.floats(0.5, 2e9), min_size=2, max_size=20),
)
def test_bandwidth_never_rises_with_the_working_set(points: list[tuple[float, float]], sets: list[float]) -> None:
    memory = Memory(caches=tuple(Cache(*point) for point in sorted(points)))
    found = [cache_bandwidth_bytes_per_s(memory, size) for size in sorted(sets)]
    assert all(before >= after * (1 - 1e-12) for before, after in pairwise(found))
    lowest, highest = min(rate for _, rate in points), max(rate for _, rate in points)
    assert all(rate == 0 or lowest * (1 - 1e-12) <= rate <= highest * (1 + 1e-12) for rate in found)


def test_bytes_on_a_host_of_unknown_memory_take_no_time_and_the_summary_says_so(emulated: Callable) -> None:
    ran = emulated("import smpy\nsmpy.execute(2e9, 3e9)", 2, platform="flat hosts=1 cores=4 speed=2Gf")
    assert ran.outcome.summary.makespan_s == 1.0
    assert "6 GB moved in no time: --set host.memory_bandwidth=400GB/s" in ran.outcome.summary.render()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("execute(-1, 1)", "cannot compute -1 operations"),
        ("execute(1, bytes=-1)", "cannot move -1 bytes of memory"),
        ("execute(1, float('nan'))", "cannot move nan bytes"),
        ("execute(1, 1, float('inf'))", "a working set has no inf bytes"),
        ("execute(1, random_bytes=-1)", "cannot access -1 bytes at random"),
        ("inject_seconds(-1)", "cannot compute for -1 seconds"),
        ("inject_seconds('long')", "TypeError"),
    ],
)
def test_no_work_is_refused_on_a_rank(emulated: Callable, call: str, told: str) -> None:
    assert told in emulated(f"import smpy\nsmpy.{call}", 1).error


def test_sizes_of_numpy_do_not_overflow(emulated: Callable) -> None:
    source = """
import numpy as np
@smpy.kernel(flop="2*m*n*k")
def multiply(m, n, k): pass
multiply(np.int32(4000), np.int32(4000), k=np.int32(4000))"""
    assert makespan_s(emulated, source, compute="models") == pytest.approx(64.0, rel=1e-12)


# ---- seconds that are told ----


def test_injected_seconds_are_scaled_by_the_speed_of_this_machine_over_that_of_the_core(emulated: Callable) -> None:
    assert makespan_s(emulated, "smpy.inject_seconds(3)") == 3.0
    assert makespan_s(emulated, "smpy.inject_seconds(3)", host_speed_flop_per_s=5e9) == pytest.approx(7.5, rel=1e-12)


def test_injected_seconds_below_a_microsecond_are_dropped_as_measured_ones_are(emulated: Callable) -> None:
    source = "for _ in range(1000): smpy.inject_seconds(0.99e-6)\nsmpy.inject_seconds(1e-6)"
    assert makespan_s(emulated, source) == pytest.approx(1e-6, rel=1e-9)


def test_outside_a_run_nothing_takes_time_and_wrong_work_is_refused() -> None:
    smpy.execute(1e300, 1e300)
    smpy.inject_seconds(1e300)
    with pytest.raises(ValueError, match="cannot move -1 bytes"):
        smpy.execute(1, -1)


# ---- kernels of the machine ----

DGEMM = "from smpy.compute.models.kernel_models import *\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine.toml"
    path.write_text(f'{KERNELS}[host]\nspeed = "2Gf"\ncores = 4\nmemory_bandwidth = "8GB/s"\n')
    return path


def test_a_calibrated_kernel_takes_its_seconds_scaled_by_the_speed_of_the_core(
    emulated: Callable, machine: Path
) -> None:
    source = f"{DGEMM}charge_kernel('dgemm', (100, 50, 20), flop=1e30, moved_bytes=1e6)"
    assert makespan_s(emulated, source, 4, machine) == pytest.approx(2 * (1e-9 * 100 * 50 * 20 + 1e-3), rel=1e-12)


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 4])
@pytest.mark.parametrize(("s_per_byte", "alone_s", "moved_bytes"), [(1e-9, 1.0, 3e9), (5e-10, 0.5, 2e9)])
def test_calibrated_kernels_share_the_memory_of_their_host(
    emulated: Callable, tmp_path: Path, s_per_byte: float, alone_s: float, moved_bytes: float, n_ranks: int
) -> None:
    costs = tmp_path / "costs.toml"
    triad = f'[kernels.triad]\nsizes = ["bytes"]\nseconds = {{ bytes = {s_per_byte} }}\n'
    costs.write_text(f'[kernels]\nreference_speed = "2Gf"\n{triad}')
    source = "x, y = smpy.folded(125_000_000), smpy.folded(125_000_000); y += x"
    took_s = makespan_s(emulated, source, n_ranks, compute="models", kernels=costs)
    assert took_s == pytest.approx(max(alone_s, n_ranks * moved_bytes / 8e9), rel=1e-12)
    within_a_cache = f"{CACHED.replace('1MB', '4GB')}"
    took_s = makespan_s(emulated, source, n_ranks, within_a_cache, compute="models", kernels=costs)
    assert took_s == pytest.approx(alone_s, rel=1e-12)


def test_a_kernel_without_a_cost_takes_a_rooflines_time(emulated: Callable, machine: Path) -> None:
    source = f"{DGEMM}charge_kernel('dger', (100, 50), flop=2e9, moved_bytes=16e9)"
    assert makespan_s(emulated, source, 2, machine) == pytest.approx(4.0, rel=1e-12)


def test_the_summary_says_which_kernels_are_calibrated_and_which_calls_extrapolated(
    emulated: Callable, machine: Path
) -> None:
    calls = "charge_kernel('dgemm', (100, 50, n), flop=1)\ncharge_kernel('dger', (n, n), flop=4e9)"
    source = f"import smpy\n{DGEMM}for n in (100, 101, 0):\n    " + calls.replace("\n", "\n    ")
    summary = emulated(source, 1, platform=machine, compute="models").outcome.summary
    text = summary.render()
    assert "dgemm as calibrated" in text
    assert "dger by roofline: the machine's [kernels] has no cost of it" in text
    assert "dgemm: 1 of 2 calls are extrapolated beyond the sizes measured" in text
    assert "modelled; all other computing is free" in text
    record = json.loads(summary.to_json())
    (remark,) = (remark for remark in record["remarks"] if remark["topic"] == "kernels")
    dgemm_s = 2 * (5000e-9 * 201 + 2e-3)
    expected = {"is_calibrated": True, "n_calls": 2, "seconds": pytest.approx(dgemm_s), "n_extrapolated": 1}
    assert remark["kernels"]["dgemm"] == expected | {"n_without_time": 0}
    assert "take no time" not in text
    assert remark["kernels"]["dger"]["seconds"] == pytest.approx(4.0)
    assert record["compute"] == "models"
    assert record["makespan_s"] == pytest.approx(4.0 + dgemm_s)


def test_the_summary_says_which_calls_take_no_time_because_their_cost_is_not_above_0(
    emulated: Callable, machine: Path
) -> None:
    cost = '[kernels.k]\nsizes = ["n"]\nseconds = {n = 1, 1 = -10}\n'
    machine.write_text(f'[kernels]\nreference_speed = "1Gf"\n{cost}[host]\nspeed = "1Gf"\n')
    source = f"{DGEMM}for n in (5, 9, 10, 12): charge_kernel('k', (n,), flop=1, n_calls=2)"
    summary = emulated(source, 1, platform=machine, compute="models").outcome.summary
    assert summary.makespan_s == pytest.approx(2 * 2)
    assert "k: 6 of 8 calls take no time: its cost is not above 0 there" in summary.render()
    (remark,) = json.loads(summary.to_json())["remarks"]
    assert remark["kernels"]["k"]["n_without_time"] == 6


def test_a_calibration_may_be_named_beside_any_machine(emulated: Callable, tmp_path: Path) -> None:
    (tmp_path / "calibration.toml").write_text(KERNELS + '[host]\nspeed = "1Gf"\n')
    source = f"{DGEMM}charge_kernel('dgemm', (10, 10, 10), flop=1)"
    took_s = makespan_s(emulated, source, platform="flat speed=4Gf", kernels=tmp_path / "calibration.toml")
    assert took_s == pytest.approx(1.001e-3, rel=1e-12)
    (tmp_path / "none.toml").write_text("[host]\ncores = 3\n")
    with pytest.raises(smpy.errors.PlatformError, match=r"none.toml: it has no \[kernels\]"):
        emulated(source, 1, kernels=tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("'dgemm', (1, 2), flop=1", "the machine's cost of dgemm has the sizes m, n, k, and its calls have 2"),
        ("'dgemm', (1, 2, -1), flop=1", "dgemm has a size of -1"),
        ("'dger', (1, 2), flop=-1", "cannot compute -1 operations"),
    ],
)
def test_a_wrong_call_of_a_kernel_is_refused(emulated: Callable, machine: Path, call: str, told: str) -> None:
    assert told in emulated(f"{DGEMM}charge_kernel({call})", 1, platform=machine).error


@pytest.mark.parametrize(
    ("mode", "folded", "real"), [("none", False, False), ("measured", True, False), ("models", True, True)]
)
def test_what_takes_modelled_time_depends_on_how_the_run_computes(
    emulated: Callable, mode: str, folded: bool, real: bool
) -> None:
    source = f"{DGEMM}print(takes_time(is_folded=True), takes_time(is_folded=False))"
    assert emulated(source, 1, compute=mode).out == f"{folded} {real}\n"


def test_sizes_of_numpy_do_not_overflow_a_calibrated_kernel(emulated: Callable, machine: Path) -> None:
    call = "np.int32(4000), np.int32(4000), np.int32(4000)"
    expected_s = pytest.approx(2 * (1e-9 * 4000.0**3 + 1e-3), rel=1e-12)
    source = f"import numpy as np\nsmpy.KernelModels(None, 1).dgemm({call})"
    assert makespan_s(emulated, source, platform=machine) == expected_s
    source = f"import numpy as np\nsmpy.kernel()(lambda m, n, k: 0)({call})".replace("kernel()", "kernel(name='dgemm')")
    assert makespan_s(emulated, source, platform=machine, compute="models") == expected_s


@pytest.mark.parametrize(("side", "order"), [("left", 300), ("right", 40)])
def test_a_triangle_is_as_large_as_its_side(emulated: Callable, side: str, order: int) -> None:
    source = f"smpy.KernelModels(1, 2e-9).dtrsm(300, 40, side={side!r})"
    assert makespan_s(emulated, source) == pytest.approx(2e-9 * 300 * 40 * order / 2, rel=1e-12)


def test_a_triangle_has_two_sides() -> None:
    with pytest.raises(ValueError, match="on the left or on the right"):
        smpy.KernelModels(1, 1).dtrsm(1, 1, side="L")  # type: ignore[arg-type]


def test_the_machine_says_what_a_kernel_costs_that_is_given_no_seconds(emulated: Callable, machine: Path) -> None:
    calls = "smpy.KernelModels(None, None).dgemm(10, 20, 30)"
    assert makespan_s(emulated, calls, platform=machine) == makespan_s(
        emulated, f"{DGEMM}charge_kernel('dgemm', (10, 20, 30), flop=0)", platform=machine
    )
    told = "the machine does not say what dtrsm_left costs: include a calibration in its file, name one (--kernels)"
    source = "import smpy\nsmpy.KernelModels(None, None).dtrsm(10, 20, side='left')"
    assert told in emulated(source, 1, platform=machine).error


def test_outside_a_run_no_machine_is_asked_for_a_cost() -> None:
    smpy.KernelModels(None, None).dgemm(10, 20, 30)


# ---- noise ----

NOISY = KERNELS + 'noise = {kind = "half-normal", sigma = 0.1}\n'
CALLS = f"""{DGEMM}
from mpi4py import MPI
for _ in range(50 + MPI.COMM_WORLD.rank):
    charge_kernel('dgemm', (1, 1, 1), flop=1)
    MPI.COMM_WORLD.Barrier() if _ == 10 else None
"""


def test_noise_is_drawn_again_only_with_another_seed(emulated: Callable, tmp_path: Path) -> None:
    (tmp_path / "noisy.toml").write_text(NOISY)
    runs = [
        emulated(CALLS, n_ranks, kernels=tmp_path / "noisy.toml", noise=noise, seed=seed, platform="flat speed=4Gf")
        for noise, seed, n_ranks in ((False, 0, 2), (True, 0, 2), (True, 0, 2), (True, 1, 2))
    ]
    plain, one, again, other = ([float(date_s) for date_s in ran.outcome.summary.finish_s] for ran in runs)
    assert one == again
    assert one != other
    for rank, (exact_s, noisy_s) in enumerate(zip(plain, one, strict=True)):
        assert exact_s == pytest.approx((50 + rank) * 1.000001e-3, rel=1e-3)
        assert 1.04 < noisy_s / exact_s < 1.13  # its mean is 1.08, of 50 draws within 0.009
    assert json.loads(runs[3].outcome.summary.to_json())["noise_seed"] == 1
    assert json.loads(runs[0].outcome.summary.to_json())["noise_seed"] is None


def test_the_summary_names_both_kinds_of_noise(emulated: Callable, tmp_path: Path) -> None:
    (tmp_path / "noisy.toml").write_text(NOISY)
    options = {"kernels": tmp_path / "noisy.toml", "platform": "flat speed=4Gf", "noise_model": ("normal", 0.05, 0.0)}
    both, one = (emulated(CALLS, 1, noise=noise, **options).outcome.summary for noise in (True, False))
    assert "with noise drawn from seed 0 (--noise, --noise-model 5%)" in both.render()
    assert "with noise drawn from seed 0 (--noise-model 5%)" in one.render()
    assert json.loads(both.to_json())["has_kernel_noise"]
    assert not json.loads(one.to_json())["has_kernel_noise"]


def test_noise_that_no_kernel_has_is_said_to_be_none(emulated: Callable, machine: Path) -> None:
    source = f"{DGEMM}charge_kernel('dgemm', (1, 1, 1), flop=1)"
    summary = emulated(source, 1, platform=machine, noise=True).outcome.summary
    assert "--noise drew none" in summary.render()
    assert "noise drawn" not in summary.render()
    assert json.loads(summary.to_json())["noise_seed"] is None


def test_a_large_batch_of_calibrated_calls_take_one_event(emulated: Callable, tmp_path: Path) -> None:
    text = """
[kernels]
reference_speed = "1Gf"
[kernels.dgemm]
sizes = ["m", "n", "k"]
seconds = { "m*n*k" = 1e-9 }
half_widths = { "m*n*k" = 1e-10 }
noise = { kind = "half-normal", sigma = 0.5 }
"""
    (tmp_path / "costs.toml").write_text(text)
    source = "import smpy\nsmpy.folded((10**7, 2, 4)) @ smpy.folded((4, 5))"
    costs = tmp_path / "costs.toml"
    ran = emulated(source, 1, platform="flat hosts=1 speed=1Gf", compute="models", kernels=costs)
    assert ran.outcome.summary.makespan_s == pytest.approx(0.4)
    drawn = emulated(source, 1, platform="flat hosts=1 speed=1Gf", compute="models", kernels=costs, noise=True)
    assert drawn.outcome.summary.makespan_s == pytest.approx(0.4 * (1 + 0.5 * sqrt(2 / pi)), rel=1e-3)


# ---- any work on one host: a fluid model, step by step ----


def fluid_finish_s(
    work: list[list[tuple[float, float]]],
    cores: int,
    memory: float,
    core_memory: float,
    speed: float = 1e9,
    changes: Sequence[tuple[float, float]] = (),
) -> list[float]:
    """Dates at which ranks have done their work; rates are those of analysis on paper, from one end to the next.

    From each date of `changes` on the cores have a part of their speed.
    """
    left = [[list(one) for one in mine] for mine in work]
    now_s, finish_s, factor, later = 0.0, [0.0] * len(work), 1.0, list(changes)
    while any(left):
        busy = [mine[0] for mine in left if mine]
        n_computing, n_moving = (sum(one[part] > 0 for one in busy) for part in (0, 1))
        rates = speed * factor * min(1.0, cores / max(n_computing, 1)), min(core_memory, memory / max(n_moving, 1))
        ends_s = [one[part] / rates[part] for one in busy for part in (0, 1) if one[part] > 0 and rates[part] > 0]
        step_s = min(ends_s, default=inf)
        if later and now_s + step_s > later[0][0]:
            step_s = later[0][0] - now_s
            factor = later.pop(0)[1]
        now_s += step_s
        for rank, mine in enumerate(left):
            if not mine:
                continue
            for part in (0, 1):
                mine[0][part] = max(0.0, mine[0][part] - rates[part] * step_s)
                mine[0][part] *= mine[0][part] > 1e-6 * rates[part]
            if not any(mine[0]):
                del mine[0]
                finish_s[rank] = now_s
    return finish_s


WORK = st.tuples(st.sampled_from([0.0, 0.3e9, 1e9, 2.1e9]), st.sampled_from([0.0, 0.7e9, 2e9, 3.3e9])).filter(any)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.lists(WORK, min_size=1, max_size=4), min_size=1, max_size=5),
    st.integers(1, 3),
    st.sampled_from([1.0e9, 2.5e9, 9e9]),
    st.sampled_from([0.9e9, 1.0e9]),
)
def test_ranks_of_one_host_share_its_cores_and_its_memory_as_fluids(
    emulated: Callable,
    tmp_path: Path,
    work: list[list[tuple[float, float]]],
    cores: int,
    memory: float,
    core_memory: float,
) -> None:
    machine = (
        f"flat hosts=1 cores={cores} sockets=1 speed=1Gf host.memory_bandwidth={memory}B/s "
        f"host.core_memory_bandwidth={core_memory}B/s"
    )
    source = f"""import smpy
from mpi4py import MPI
for flop, bytes in {work}[MPI.COMM_WORLD.rank]: smpy.execute(flop, bytes)"""
    (tmp_path / "hosts").write_text(f"node-0:{len(work)}\n")
    ran = emulated(source, len(work), platform=machine, hostfile=tmp_path / "hosts")
    assert ran.error == ""
    expected_s = fluid_finish_s(work, cores, memory, core_memory)
    assert list(ran.outcome.summary.finish_s) == pytest.approx(expected_s, rel=1e-5)


CACHES = (Cache(1e4, 4e9), Cache(1e6, 1.5e9))


@st.composite
def computers(draw: st.DrawFn, name: str) -> Host:
    """A host with caches, whose speed may change, and may be 0 for a while."""
    dates = sorted(draw(st.sets(st.sampled_from([0.1, 0.4, 1.1, 1.9, 3.7]), max_size=3)))
    factors = [*(draw(st.sampled_from([0.0, 0.3, 0.5, 2.0])) for _ in dates[:-1]), draw(st.sampled_from([0.5, 1.5]))]
    return Host(
        name,
        draw(st.sampled_from([0.8e9, 2e9])),
        draw(st.integers(1, 3)),
        memory_bandwidth_bytes_per_s=draw(st.sampled_from([1e9, 2.5e9, 9e9])),
        core_memory_bandwidth_bytes_per_s=draw(st.sampled_from([0.0, 0.9e9])),
        caches=CACHES,
        speed_profile=Profile(tuple(zip(dates, factors, strict=False))) if dates else None,
    )


PLACED = st.tuples(WORK, st.sampled_from([0.0, 5e3, 1e5, 1e6, 1e6 + 1]))


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.tuples(*(computers(name) for name in "abc")),
    st.lists(st.tuples(st.integers(0, 2), st.lists(PLACED, min_size=1, max_size=4)), min_size=1, max_size=7),
)
def test_hosts_share_nothing_and_caches_are_as_fast_as_their_cores(
    emulated: Callable, tmp_path: Path, hosts: tuple[Host, ...], ranks: list[tuple[int, list[tuple]]]
) -> None:
    source = f"""import smpy
from mpi4py import MPI
for (flop, bytes), working_set in {ranks}[MPI.COMM_WORLD.rank][1]: smpy.execute(flop, bytes, working_set)"""
    (tmp_path / "hosts").write_text("".join(f"{hosts[at].name}\n" for at, _ in ranks))
    machine = Description("computers", FullZone("z", hosts))
    ran = emulated(source, len(ranks), platform=machine, hostfile=tmp_path / "hosts")
    assert ran.error == ""
    expected_s = [0.0] * len(ranks)
    for at, host in enumerate(hosts):
        here = [rank for rank, (its, _) in enumerate(ranks) if its == at]
        work = [[work_there(host, *one) for one in ranks[rank][1]] for rank in here]
        alone = host.memory.core_bandwidth_bytes_per_s or host.memory.bandwidth_bytes_per_s
        changes = host.speed_profile.values if host.speed_profile else ()
        bandwidth = host.memory.bandwidth_bytes_per_s
        found_s = fluid_finish_s(work, host.cores, bandwidth, min(alone, bandwidth), host.speed_flop_per_s, changes)
        for rank, date_s in zip(here, found_s, strict=True):
            expected_s[rank] = date_s
    assert list(ran.outcome.summary.finish_s) == pytest.approx(expected_s, rel=1e-5)


def work_there(host: Host, work: tuple[float, float], working_set_bytes: float) -> tuple[float, float]:
    """Operations of a core, and bytes of main memory; what a cache holds is moved by the core alone."""
    flop, moved_bytes = work
    cached = cache_bandwidth_bytes_per_s(host.memory, working_set_bytes)
    return (max(flop, moved_bytes / cached * host.speed_flop_per_s), 0.0) if cached else (flop, moved_bytes)
