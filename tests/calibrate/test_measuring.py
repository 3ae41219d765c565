"""Measurements: kernels and sizes, their order, the clock, and the file of samples."""

import errno
import os
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.calibrate import samples as samples_module
from smpy.calibrate import this_machine
from smpy.calibrate.costs import Terms, cost_of
from smpy.calibrate.kernels import Kernel, Limits, Pools, TimedKernel, core_speed_kernel, draw_sizes, kernels
from smpy.calibrate.measure import Clocks, Timer, measure
from smpy.calibrate.memory import all_cores, memory_speed, random_access, random_reads_kernel, working_set_kernel
from smpy.calibrate.plan import MeasurementPlan, visits
from smpy.calibrate.samples import SIZE_NAMES, KernelSample, SampleFile, read_samples
from smpy.calibrate.terms import evaluate
from smpy.calibrate.this_machine import disturbance
from smpy.compute.models.roofline import cache_bandwidth_bytes_per_s, random_access_bytes_per_s
from smpy.errors import UsageError
from smpy.platforms import Cache, Memory, RandomAccess

ALL = kernels()
LIMITS = Limits(dimension=300, work=4e6, elements=1 << 14)
PLAN = replace(
    MeasurementPlan.of("quick", seed=1, dimension=100, memory_bytes=1 << 30, cache_bytes=1 << 20),
    operand_bytes=1 << 18,
    n_cold=1,
)


class FakeTime:
    """A clock that moves when it is read, and when a planted kernel runs."""

    def __init__(self, reading_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.reading_s = reading_s

    def read(self) -> float:
        self.now_s += self.reading_s
        return self.now_s

    @property
    def clocks(self) -> Clocks:
        return Clocks(self.read, self.read)


def _planted(name: str, time: FakeTime, seconds: dict[str, float], calls: Counter[str] | None = None) -> Kernel:
    """A kernel that takes the time of a polynomial of its sizes m and n."""

    def prepare(_pools: Pools, sizes) -> TimedKernel:
        takes_s = float(sum(value * evaluate(term, sizes) for term, value in seconds.items()))

        def run() -> None:
            time.now_s += takes_s
            if calls is not None:
                calls[name] += 1

        return TimedKernel(run)

    return Kernel(name, ("m", "n"), ("m*n",), {"m*n": 1}, ("m*n",), prepare)


# ---- kernels ----


@pytest.mark.parametrize("name", ALL)
def test_a_kernel_runs_at_small_sizes_and_its_operands_stay_finite(name):
    kernel, pools = ALL[name], Pools(1 << 16, np.random.default_rng(0))
    for sizes in draw_sizes(kernel, Limits(dimension=48, work=1e6, elements=1 << 12), np.random.default_rng(1), 6):
        call = kernel.prepare(pools, dict(zip(kernel.sizes, sizes, strict=True)))
        for _ in range(20):
            if call.restore is not None:
                call.restore()
            call.run()
    assert all(np.isfinite(pool).all() for pool in pools._pools.values())


def test_there_is_every_kernel_in_every_type():
    blas = {f"{letter}{kind}" for letter in "sdcz" for kind in ("gemm", "gemv", "syrk", "axpy", "scal", "swap", "copy")}
    sides = {f"{letter}{kind}_{side}" for letter in "sdcz" for kind in ("trsm", "trmm") for side in ("left", "right")}
    lapack = {f"{letter}{kind}" for letter in "sdcz" for kind in ("getrf", "potrf", "geqrf")}
    others = {"sger", "dger", "cgeru", "zgeru", "sdot", "ddot", "cdotu", "zdotu", "snrm2", "dnrm2", "scnrm2", "dznrm2"}
    others |= {"isamax", "idamax", "icamax", "izamax", "zfft", "cfft", "dfft", "sfft", "copy_memory", "triad"}
    assert set(ALL) == blas | sides | lapack | others


def test_the_factorisations_factorise_what_they_were_given_each_time():
    for name in ("dgetrf", "dpotrf", "dgeqrf"):
        pools = Pools(1 << 16, np.random.default_rng(0))
        call = ALL[name].prepare(pools, {"m": 20, "n": 20})
        results = []
        for _ in range(2):
            call.restore()
            results.append(np.array(call.run()[0]))
        np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", ALL)
def test_drawn_sizes_are_within_the_limits_and_different(name):
    kernel = ALL[name]
    drawn = draw_sizes(kernel, LIMITS, np.random.default_rng(3), 12)
    assert len(set(drawn)) == len(drawn) == 12
    for values in drawn:
        sizes = dict(zip(kernel.sizes, values, strict=True))
        assert kernel.work_of(sizes) <= LIMITS.work
        assert kernel.elements_of(sizes) <= LIMITS.elements
        assert not kernel.is_tall or sizes["m"] >= sizes["n"]
        assert min(size for name, size in sizes.items() if name != "batch") >= kernel.smallest


def test_terms_of_a_kernel_are_its_operations_and_what_divides_them():
    assert ALL["dgemm"].candidates == ("m*n*k", "m*n", "m*k", "n*k", "m", "n", "k", "1")
    assert ALL["dtrsm_left"].candidates == ("m^2*n", "m^2", "m*n", "m", "n", "1")


# ---- the order ----


def test_each_round_visits_every_kernel_and_size_once_in_an_order_of_its_own():
    some = {name: ALL[name] for name in ("daxpy", "dgemm", "dpotrf")}
    planned = visits(PLAN, some)
    n_places = sum(len(PLAN.sizes_of(kernel)) for kernel in some.values())
    rounds = [planned[i : i + n_places] for i in range(0, len(planned), n_places)]
    assert len(rounds) == PLAN.n_repetitions
    places = [[(visit.kernel.name, visit.sizes) for visit in one] for one in rounds]
    assert all(len(set(one)) == n_places and set(one) == set(places[0]) for one in places)
    assert places[0] != places[1]
    assert sum(a[0] == b[0] for a, b in zip(places[0], places[0][1:], strict=False)) < n_places / 2  # mixed


def test_sizes_of_a_kernel_do_not_depend_on_the_others():
    alone, together = (
        {visit.sizes for visit in visits(PLAN, some) if visit.kernel.name == "dgemm"}
        for some in ({"dgemm": ALL["dgemm"]}, ALL)
    )
    assert alone == together


def test_sizes_kept_out_of_the_fit_are_as_many_as_planned_and_the_same_in_any_order():
    sizes = PLAN.sizes_of(ALL["dgemm"])
    assert len(sizes) == PLAN.n_sizes
    assert len(PLAN.held_out(sizes)) == PLAN.n_held_out
    assert PLAN.held_out(sizes) == PLAN.held_out(sizes[::-1]) < set(sizes)


# ---- clocks ----


def test_reading_the_clock_is_not_part_of_a_call():
    time = FakeTime(reading_s=3e-7)
    timer = Timer(time.clocks)

    def run() -> None:
        time.now_s += 5e-6

    assert timer.once(TimedKernel(run)) == pytest.approx((5e-6, 5e-6))


def test_a_short_call_is_timed_several_times_at_once():
    time, calls = FakeTime(), Counter()
    call = _planted("k", time, {"1": 1e-6}, calls).prepare(None, {"m": 1, "n": 1})
    assert Timer(time.clocks).several(call, 1e-6) == pytest.approx((1e-6, 1e-6))
    assert calls["k"] > 100


def test_a_call_whose_operands_have_to_be_restored_is_timed_alone():
    time, restored = FakeTime(), []
    call = replace(_planted("k", time, {"1": 1e-6}).prepare(None, {"m": 1, "n": 1}), restore=lambda: restored.append(1))
    assert Timer(time.clocks).several(call, 1e-6) == pytest.approx((1e-6, 1e-6))
    assert len(restored) == 1


# ---- measuring ----


def _measure(path, some, time, recorded=None, **more):
    with SampleFile(path, {}, recorded) as file:
        done = recorded.samples if recorded else ()
        return measure(
            visits(PLAN, some, done),
            Pools(PLAN.operand_bytes, np.random.default_rng(0)),
            file,
            **({"time_limit_s": 1e9, "evict": lambda: None} | more),
            clocks=time.clocks,
        )


def test_kernels_of_a_known_cost_are_calibrated_to_it(tmp_path):
    time = FakeTime(reading_s=2e-7)
    planted = {"one": {"m*n": 3e-9, "m": 1e-7, "1": 2e-6}, "other": {"m*n": 1e-8}}
    some = {name: _planted(name, time, seconds) for name, seconds in planted.items()}
    assert _measure(tmp_path / "raw.csv", some, time)
    found = read_samples(tmp_path / "raw.csv").samples
    for name, kernel in some.items():
        held_out = PLAN.held_out(PLAN.sizes_of(kernel))
        cost = cost_of(
            name,
            Terms(kernel.sizes, kernel.candidates, kernel.leading),
            [sample for sample in found if sample.kernel == name],
            held_out,
        )
        expected_s = sum(value * evaluate(term, cost.held_out.sizes) for term, value in planted[name].items())
        assert len(held_out) == PLAN.n_held_out
        assert cost.fit.predict_s(cost.held_out.sizes) == pytest.approx(expected_s, rel=0.01)
        assert np.abs(cost.held_out_errors).max() < 0.01


def test_sizes_kept_out_tell_the_error_of_a_fit_that_has_not_seen_them():
    terms = Terms(("n",), ("n", "1"), ("n",))
    taken = [KernelSample("k", (("n", n),), "warm", 0, 1e-6 * n, 1e-6 * n) for n in range(10, 30)]
    unseen = [KernelSample("k", (("n", n),), "warm", 0, 2e-6 * n, 2e-6 * n) for n in range(40, 44)]
    cost = cost_of("k", terms, taken + unseen, {(n,) for n in range(40, 44)})
    assert cost.fit.seconds == pytest.approx({"n": 1e-6})
    assert cost.held_out_errors == pytest.approx([1.0] * 4)
    assert cost.total_error == pytest.approx(-0.5)
    assert (cost.smallest, cost.largest) == ((10,), (29,))


def test_a_transform_whose_long_lines_leave_a_cache_is_predicted_at_sizes_kept_out():
    """Passes over the numbers of a line beyond the 200,000th take four times as long."""
    rng = np.random.default_rng(5)
    kernel = ALL["zfft"]
    sizes = [(int(16 * 2.0 ** rng.uniform(0, 18)), int(rng.integers(1, 32))) for _ in range(50)]
    taken = []
    for n, batch in sizes:
        time_s = 6e-6 + 5e-10 * np.log2(n) * batch * (n + 3 * max(n - 200_000, 0)) * rng.lognormal(0, 0.05)
        taken.append(KernelSample("zfft", (("n", n), ("batch", batch)), "warm", 0, time_s, time_s))
    cost = cost_of("zfft", Terms(kernel.sizes, kernel.candidates, kernel.leading), taken, sizes[40:])
    assert np.median(np.abs(cost.held_out_errors)) < 0.1
    assert np.abs(cost.held_out_errors).max() < 0.3


def test_empirical_noise_is_what_single_calls_differ_by():
    """Time calls that take 1, 1.1 and 1.2 times as long as the shortest."""
    taken = [
        KernelSample("k", (("n", n),), "warm", i, slowdown * 1e-6 * n, 1.0)
        for n in range(10, 30)
        for i, slowdown in enumerate((1.0, 1.1, 1.2))
    ]
    residuals = cost_of("k", Terms(("n",), ("n", "1"), ("n",)), taken).noise["residuals"]
    assert [residuals[i] for i in (0, 25, -1)] == pytest.approx([-0.1 / 1.1, 0, 0.1 / 1.1], rel=1e-3, abs=1e-6)


def test_a_cost_that_would_fall_below_zero_between_the_measured_sizes_has_no_negative_coefficient():
    """2e-9 (n log2(n) - 12 n) + 4e-6 is below 0 about n = 1,500, where nothing was measured."""
    sizes = [n for n in np.unique(np.geomspace(2, 8e6, 60).astype(int)) if not 400 < n < 4000]
    taken = [
        KernelSample("k", (("n", int(n)),), "warm", 0, 2e-9 * (n * np.log2(n) - 12 * n) + 4e-6, 1.0) for n in sizes
    ]
    cost = cost_of("k", Terms(("n",), ("n*log2(n)", "n", "1"), ("n",), signed=("n",)), taken)
    assert cost.fit.predict_s({"n": np.geomspace(5, 8e6, 5000)}).min() > 0


def test_a_count_of_operations_that_is_a_sum_is_fitted_as_one_term(tmp_path):
    """Fit the count of a factorisation, m n^2 - n^3 / 3, where m >= n."""
    time, planted = FakeTime(), {"m*n^2": 3e-9, "n^3": -1e-9, "m*n": 1e-8}
    kernel = replace(_planted("k", time, planted), operands=("m*n",), is_tall=True)
    _measure(tmp_path / "raw.csv", {"k": kernel}, time)
    lu = ALL["dgetrf"]
    terms = Terms(lu.sizes, lu.candidates, lu.leading, combined=lu.combined, is_tall=True)
    cost = cost_of("k", terms, read_samples(tmp_path / "raw.csv").samples)
    assert cost.fit.seconds == pytest.approx(planted)
    assert cost.fit.half_widths_s.keys() == planted.keys()
    assert min(cost.fit.half_widths_s.values()) >= 0
    assert cost.fit.correlations.shape == (3, 3)
    assert cost.fit.correlations[0] == pytest.approx([1, -1, -cost.fit.correlations[1, 2]])
    assert 0 < abs(cost.fit.correlations[0, 2]) < 1


def test_cold_calls_come_after_other_memory_was_written(tmp_path):
    time, evicted = FakeTime(), []
    some = {"k": _planted("k", time, {"1": 1e-3})}
    _measure(tmp_path / "raw.csv", some, time, evict=lambda: evicted.append(time.now_s))
    caches = Counter(sample.cache for sample in read_samples(tmp_path / "raw.csv").samples)
    assert caches == {"warm": PLAN.n_repetitions * PLAN.n_sizes, "cold": PLAN.n_sizes}
    assert len(evicted) == PLAN.n_sizes


def test_no_visit_begins_when_the_time_is_over(tmp_path):
    time = FakeTime()
    assert not _measure(tmp_path / "raw.csv", {"k": _planted("k", time, {"1": 1.0})}, time, time_limit_s=9.5)
    assert 9.5 <= time.now_s < 13


def test_an_interrupted_measurement_goes_on_where_it_was(tmp_path):
    time, path, calls = FakeTime(), tmp_path / "raw.csv", Counter()
    good = _planted("k", time, {"m*n": 1e-3}, calls)

    def prepare(pools, sizes):
        if len(read_samples(path).samples) >= 30:
            raise KeyboardInterrupt
        return good.prepare(pools, sizes)

    with pytest.raises(KeyboardInterrupt):
        _measure(path, {"k": replace(good, prepare=prepare)}, time)
    kept = read_samples(path)
    assert len(kept.samples) >= 30
    _measure(path, {"k": good}, time, kept)
    made = [sample.visit for sample in read_samples(path).samples if sample.cache == "warm"]
    assert len(made) == len(set(made)) == PLAN.n_repetitions * PLAN.n_sizes


# ---- the raw file ----


def _sample(**more) -> KernelSample:
    return replace(KernelSample("dgemm", (("m", 2), ("n", 3), ("k", 4)), "warm", 0, 1e-3, 2e-3), **more)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.builds(
            KernelSample,
            st.sampled_from(["dgemm", "triad"]),
            st.sets(st.sampled_from(SIZE_NAMES), min_size=1).map(
                lambda names: tuple((name, 7) for name in SIZE_NAMES if name in names)
            ),
            st.sampled_from(["warm", "cold"]),
            st.integers(0, 99),
            st.floats(1e-9, 1e3).map(lambda value: float(f"{value:.6e}")),
            st.floats(1e-9, 1e3).map(lambda value: float(f"{value:.6e}")),
        )
    )
)
def test_samples_are_read_as_they_were_written(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("raw") / "raw.csv"
    with SampleFile(path, {"plan": 1}, None) as file:
        for sample in written:
            file.add([sample])
        file.end()
    found = read_samples(path)
    assert found.samples == tuple(written)
    assert found.is_ended
    assert found.about == {"plan": 1}


def test_a_row_that_was_cut_off_is_measured_again(tmp_path):
    path = tmp_path / "raw.csv"
    with SampleFile(path, {}, None) as file:
        file.add([_sample(), _sample(repetition=1)])
    path.write_bytes(path.read_bytes()[:-5])
    recorded = read_samples(path)
    assert recorded.samples == (_sample(),)
    with SampleFile(path, {}, recorded) as file:
        file.add([_sample(repetition=1)])
    assert [sample.repetition for sample in read_samples(path).samples] == [0, 1]


def test_a_full_disk_is_an_error_that_keeps_what_was_measured(tmp_path, monkeypatch):
    path = tmp_path / "raw.csv"
    with SampleFile(path, {}, None) as file:
        file.add([_sample()])
        write = os.write

        def full(descriptor, data):
            if descriptor > 2 and len(data) > 10:
                return write(descriptor, data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(samples_module.os, "write", full)
        with pytest.raises(UsageError, match="No space left on device; what was measured before is kept: make room"):
            file.add([_sample(repetition=1)])
        monkeypatch.undo()
    assert path.read_text().endswith("\n")
    assert read_samples(path).samples == (_sample(),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no file of measurements"),
        ("hello\n", "is no file of measurements"),
        ("# smpy calibrate {}\na,b\n", "is no file of measurements"),
        ("# smpy calibrate {}\n{head}\ndgemm,1,2,3,,,warm,0,1e-3\n", "line 3 is no measurement"),
        ("# smpy calibrate {}\n{head}\ndgemm,1,2,x,,,warm,0,1e-3,1e-3\n", "line 3 is no measurement"),
        ("# smpy calibrate {}\n{head}\ndgemm,1,2,3,,,hot,0,1e-3,1e-3\n", "line 3 is no measurement"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, text, message):
    path = tmp_path / "raw.csv"
    path.write_text(text.replace("{head}", "kernel,m,n,k,batch,bytes,cache,repetition,processor_s,wall_s"))
    with pytest.raises(UsageError, match=message):
        read_samples(path)


# ---- a quiet machine ----


def _disturbance(busy_cores: float, walls_s: list[float], share: float = 1.0) -> str:
    """Disturbance seen by a probe that takes so long each time, and has the processor for a share of it."""
    steps = iter([1e-3, *walls_s])
    now_s = {"wall": 0.0, "processor": 0.0}

    def probe() -> None:
        wall_s = next(steps)
        now_s["wall"] += wall_s
        now_s["processor"] += share * wall_s

    return disturbance(
        probe,
        busy_cores=lambda: busy_cores,
        wall_s=lambda: now_s["wall"],
        processor_s=lambda: now_s["processor"],
    )


def test_a_machine_is_quiet_when_nothing_else_runs_and_a_probe_takes_the_same_time_each_time():
    assert _disturbance(0.05, [1e-3] * 40) == ""


def test_a_probe_takes_one_core_whatever_blas_would_take(monkeypatch):
    from threadpoolctl import threadpool_info

    threads = []

    def note(_probe):
        threads.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return ""

    monkeypatch.setattr(this_machine, "disturbance", note)
    assert this_machine.check_quiet(may_be_loaded=False) == []
    assert set(threads) == {1}


def test_other_processes_disturb():
    assert "other processes keep 1.0 of its" in _disturbance(1.0, [1e-3] * 40)


def test_a_processor_that_is_taken_away_disturbs():
    assert "taken away for 20% of the time" in _disturbance(0.0, [1e-3] * 40, share=0.8)


def test_a_probe_whose_times_differ_disturbs():
    assert "took over 1.50 times their median" in _disturbance(0.0, [1e-3] * 30 + [1.5e-3] * 10)


# ---- memory ----


def test_the_bandwidth_of_a_working_set_is_of_all_bytes_that_a_sum_moves():
    """y += x reads two arrays and writes one; the working set is the two of them."""
    samples = [KernelSample("working_set", (("bytes", 1 << 20),), "warm", 0, 1e-4, 1e-4)]
    assert memory_speed(samples, [(1 << 30, 1 << 29)]).core_bytes_per_s == pytest.approx(1.5 * (1 << 20) / 1e-4)


@settings(max_examples=25)
@given(st.lists(st.floats(1e9, 1e11), min_size=3, max_size=12))
def test_bandwidth_falls_as_the_working_set_grows(rates):
    samples = [
        KernelSample("working_set", (("bytes", 1 << (14 + i)),), "warm", 0, 1.5 * (1 << (14 + i)) / rate, 1.0)
        for i, rate in enumerate(rates)
    ]
    found = memory_speed(samples, [(32 << 10, 32 << 10)])
    assert (np.diff(found.bandwidths_bytes_per_s) <= 1e-6 * max(rates)).all()
    assert min(rates) * (1 - 1e-9) <= found.core_bytes_per_s <= max(rates) * (1 + 1e-9)


@pytest.mark.parametrize("calls_cost_s", [0.0, 3e-7])
def test_the_points_that_are_kept_give_the_bandwidth_of_every_working_set_in_the_caches(calls_cost_s):
    """Two caches of 48 KiB and 2 MiB, whose ends are not sharp, and a shared one; what a call costs is no cache's."""
    planted = [(48 << 10, 150e9), (1 << 20, 120e9), (3 << 20, 40e9), (64 << 20, 25e9), (1 << 30, 10e9)]
    sizes = np.geomspace(1 << 14, 1 << 30, 33).astype(int)
    rates = np.exp(np.interp(np.log(sizes), *np.log(np.array(planted)).T))
    samples = [
        KernelSample("working_set", (("bytes", int(size)),), "warm", 0, 1.5 * size / rate + calls_cost_s, 1.0)
        for size, rate in zip(sizes, rates, strict=True)
    ]
    found = memory_speed(samples, [(48 << 10, 48 << 10), (2 << 20, 2 << 20), (256 << 20, 128 << 20)])
    assert len(found.caches) <= 8
    memory = Memory(caches=tuple(Cache(*point) for point in found.caches))
    for size, rate in zip(sizes, rates, strict=True):
        if 1 << 18 <= size <= 2 << 20:
            assert cache_bandwidth_bytes_per_s(memory, int(size)) == pytest.approx(
                rate, rel=0.06 if calls_cost_s == 0 else 0.15
            )
    assert found.caches[-1][0] <= 0.75 * (128 << 20)
    assert all(bandwidth > 20e9 for _, bandwidth in found.caches[:-1])


@pytest.mark.parametrize("calls_cost_s", [0.0, 1e-7])
def test_the_rates_of_random_access_are_those_of_gathers_less_their_streams(calls_cost_s):
    """A gather reads its order and writes its result one word after the other, and reads as many at random."""
    sizes = np.geomspace(1 << 14, 1 << 30, 17).astype(int)
    streams = np.exp(np.interp(np.log(sizes), np.log([1 << 20, 1 << 28]), np.log([80e9, 8e9])))
    rates = np.exp(np.interp(np.log(sizes), np.log([1 << 18, 1 << 22, 1 << 28]), np.log([12e9, 4e9, 0.4e9])))
    sums = [
        KernelSample("working_set", (("bytes", int(size)),), "warm", 0, 1.5 * size / stream, 1.0)
        for size, stream in zip(sizes, streams, strict=True)
    ]
    gathers = [
        KernelSample("random_reads", (("bytes", int(size)),), "warm", 0, seconds, 1.0)
        for size, seconds in zip(sizes, 2 * sizes / 3 / streams + sizes / 3 / rates + calls_cost_s, strict=True)
    ]
    caches = [(2 << 20, 2 << 20), (256 << 20, 128 << 20)]
    points = random_access(gathers, memory_speed(sums, caches), caches)
    assert len(points) <= 5
    memory = Memory(random_access=tuple(RandomAccess(*point) for point in points))
    for size, rate in zip(sizes, rates, strict=True):
        if 1 << 17 <= size <= 2 << 20 or size > 256 << 20:
            assert random_access_bytes_per_s(memory, int(size)) == pytest.approx(rate, rel=0.06)
    assert points[-1] == (sizes[-1], pytest.approx(0.4e9, rel=1e-3))


def test_a_core_whose_part_of_the_last_cache_is_smaller_than_its_own_cache_has_rising_working_sets():
    sizes = [1 << i for i in range(14, 27)]
    sums = [KernelSample("working_set", (("bytes", size),), "warm", 0, size / 1e10, 1.0) for size in sizes]
    seconds = [size / 1e9 * max(1, size / (2 << 20)) * max(1, size / (8 << 20)) for size in sizes]  # bends at both
    gathers = [
        KernelSample("random_reads", (("bytes", size),), "warm", 0, gather_s, 1.0)
        for size, gather_s in zip(sizes, seconds, strict=True)
    ]
    caches = [(2 << 20, 2 << 20), (32 << 20, 1 << 20)]
    working_sets = [size for size, _ in random_access(gathers, memory_speed(sums, caches), caches)]
    assert working_sets == sorted(set(working_sets))
    assert working_sets[-1] == sizes[-1]


def test_the_kernels_of_a_host_run():
    pools = Pools(1 << 20, np.random.default_rng(0))
    core_speed_kernel().prepare(pools, {"n": 64}).run()
    working_set_kernel().prepare(pools, {"bytes": 1 << 15}).run()
    random_reads_kernel(np.random.default_rng(0)).prepare(pools, {"bytes": 1 << 15}).run()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no threads on cores of their own here")
def test_a_core_that_is_not_there_ends_the_others_and_is_told():
    here, told = next(iter(os.sched_getaffinity(0))), []

    def run():
        try:
            all_cores([here, 1 << 15], 1 << 22)  # no machine has so many
        except OSError as error:
            told.append(error)

    thread = threading.Thread(target=run, daemon=True)  # the tests go on, should it wait for ever
    thread.start()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert isinstance(told[0], OSError)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no threads on cores of their own here")
def test_all_cores_move_memory_at_once_each_on_its_own():
    before = os.sched_getaffinity(0)
    samples = all_cores(sorted(before), 1 << 22)
    assert [sample.repetition for sample in samples] == [0, 1, 2, 3, 4]
    for sample in samples:
        assert dict(sample.sizes)["bytes"] > 1 << 22
        assert sample.processor_s == pytest.approx(len(before) * sample.wall_s)
    assert os.sched_getaffinity(0) == before
