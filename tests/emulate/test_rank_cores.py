"""Ranks of several cores (`--cpus-per-task`): their threads in models, on folded arrays, in traces and energy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from smpy.options import RunConfig
from smpy.platforms import read_machine
from smpy.records.trace import Trace
from smpy.replay import replay

MACHINE = "flat hosts=4 cores=64 sockets=2 speed=1Gf host.memory_bandwidth=40GB/s host.core_memory_bandwidth=10GB/s"
THREADS = [1, 2, 3, 4, 8, 16, 32, 64]


def machine(*options: tuple[str, str], cpus_per_task: int = 1, line: str = MACHINE) -> object:
    return read_machine(line, 1, options, cpus_per_task=cpus_per_task)


def makespan_s(emulated: Callable, source: str, cpus_per_task: int, n_ranks: int = 1, **config: object) -> float:
    config = {"platform": machine(), "compute": "models", "cpus_per_task": cpus_per_task, **config}
    ran = emulated(f"import smpy\n{source}", n_ranks, **config)
    assert ran.error == ""
    return float(ran.outcome.summary.makespan_s)


# ---- closed forms ----


@pytest.mark.parametrize("n_threads", THREADS)
def test_a_core_bound_execution_takes_its_time_over_its_threads(emulated: Callable, n_threads: int):
    assert makespan_s(emulated, "smpy.execute(64e9, 1e9)", n_threads) == pytest.approx(64 / n_threads, rel=1e-9)


@pytest.mark.parametrize("n_threads", THREADS)
def test_a_memory_bound_execution_stops_at_the_bandwidth_of_the_host(emulated: Callable, n_threads: int):
    took_s = makespan_s(emulated, "smpy.execute(0, 80e9)", n_threads)
    assert took_s == pytest.approx(max(8 / n_threads, 2), rel=1e-9)


@pytest.mark.parametrize("n_threads", THREADS)
def test_a_measured_efficiency_divides_the_time_of_one_thread(emulated: Callable, n_threads: int):
    half_serial = machine(("threads.other.2", str(2 / 3)))
    took_s = makespan_s(emulated, "smpy.execute(64e9)", n_threads, platform=half_serial)
    assert took_s == pytest.approx(32 + 32 / n_threads, rel=1e-9)  # Amdahl's law


def test_each_thread_has_its_part_of_a_working_set_in_its_caches(emulated: Callable):
    cached = machine(line=MACHINE + " host.caches=1MB:20GB/s")
    for n_threads, seconds in ((1, 8.0), (4, 2.0), (16, 80 / 20 / 16)):
        took_s = makespan_s(emulated, "smpy.execute(0, 80e9, 16e6)", n_threads, platform=cached)
        assert took_s == pytest.approx(seconds, rel=1e-9)


def test_four_ranks_use_all_cores_of_a_host(emulated: Callable):
    host = read_machine("flat hosts=1 cores=128 speed=1Gf", 4)
    assert makespan_s(emulated, "smpy.execute(32e9)", 32, n_ranks=4, platform=host) == pytest.approx(1.0)
    ran = emulated("import smpy\nsmpy.execute(32e9)", 4, platform=host, cpus_per_task=32, compute="models")
    assert re.search(
        r"cores +32 of each rank \(--cpus-per-task\), on one socket\n", ran.outcome.summary.render() + "\n"
    )


# ---- kernels ----


def test_kernels_of_programs_use_the_cores_or_as_many_threads_as_they_say(emulated: Callable):
    kernel = "@smpy.kernel(flop='n'{more})\ndef work(n): pass\nwork(8e9)"
    assert makespan_s(emulated, kernel.format(more=""), 8) == pytest.approx(1.0)
    assert makespan_s(emulated, kernel.format(more=", threads=2"), 8) == pytest.approx(4.0)


def test_a_calibrated_kernel_has_the_efficiency_of_its_class_and_the_bandwidth_of_the_host(
    emulated: Callable, tmp_path: Path
):
    costs = tmp_path / "costs.toml"
    costs.write_text(
        "[kernels]\nreference_speed = '1Gf'\n"
        "[kernels.dgemm]\nsizes = ['m', 'n', 'k']\nseconds = { 'm*n*k' = 1e-9 }\n"
        "[kernels.daxpy]\nsizes = ['n']\nseconds = { 'n' = 2.4e-9 }\n"
        "[threads]\nblas3 = { 4 = 0.8 }\n"
    )
    product = "a = smpy.folded((1000, 1000))\nsmpy.blas.dgemm(1.0, a, a)"
    assert makespan_s(emulated, product, 1, kernels=costs) == pytest.approx(1.0)
    assert makespan_s(emulated, product, 4, kernels=costs) == pytest.approx(1 / 3.2)
    vectors = "x = smpy.folded(10**9)\nsmpy.blas.daxpy(x, smpy.folded(10**9))"
    assert makespan_s(emulated, vectors, 1, kernels=costs) == pytest.approx(2.4)  # 24 GB at 10 GB/s
    assert makespan_s(emulated, vectors, 2, kernels=costs) == pytest.approx(1.2)
    assert makespan_s(emulated, vectors, 16, kernels=costs) == pytest.approx(0.6)  # at the 40 GB/s of the host


@pytest.mark.parametrize(
    ("operation", "n_threads"),
    [
        ("a @ a", 8),
        ("smpy.blas.dgemm(1.0, a, a)", 8),
        ("smpy.blas.dgemm(1.0, a, a, threads=2)", 2),
        ("b @ b", 2),
        ("b[:, :500] @ b[:500]", 2),
        ("b.T @ a", 2),
        ("a + a", 1),
        ("b.copy()", 1),
        ("np.fft.fft(a)", 1),
    ],
)
def test_blas_on_folded_arrays_has_threads_and_the_code_of_numpy_has_one(
    emulated: Callable, operation: str, n_threads: int
):
    source = "import numpy as np\na, b = smpy.folded((1000, 1000)), smpy.folded((1000, 1000), threads={})\n" + operation
    fast = machine(("host.memory_bandwidth", "1e6GB/s"), ("host.core_memory_bandwidth", "1e5GB/s"))
    one_s = makespan_s(emulated, source.format(1).replace("threads=2", "threads=1"), 1, platform=fast)
    assert makespan_s(emulated, source.format(2), 8, platform=fast) == pytest.approx(one_s / n_threads, rel=1e-9)


@pytest.mark.parametrize("call", ["smpy.execute(1, threads=3)", "smpy.folded(3, threads=3)"])
def test_more_threads_than_cores_of_the_rank_are_refused_in_one_sentence(emulated: Callable, call: str):
    outcome = emulated(f"import smpy\n{call}", 1, platform=machine(), cpus_per_task=2).outcome
    sentence = "3 threads are more than the 2 cores of a rank: say at most 2, or run with --cpus-per-task 3"
    assert (outcome.exit_code, str(outcome.error)) == (2, f"program.py:2: {sentence}")


@pytest.mark.parametrize("threads", ["0", "1.5", "'two'"])
def test_threads_are_a_whole_number_from_one_on(emulated: Callable, threads: str):
    ran = emulated(f"import smpy\nsmpy.execute(1, threads={threads})", 1, platform=machine(), cpus_per_task=2)
    assert "Error" in ran.error


def test_threads_of_a_program_share_the_cores_of_their_rank(emulated: Callable):
    source = "import threading\nthreads = [threading.Thread(target=smpy.execute, args=(4e9,)) for _ in range(2)]\n"
    source += "for each in threads: each.start()\nfor each in threads: each.join()\n"
    assert makespan_s(emulated, source, 1) == pytest.approx(8.0)
    assert makespan_s(emulated, source, 4) == pytest.approx(2.0)  # 4 + 4 threads on 4 cores


# ---- records ----


def test_a_replay_has_the_dates_and_joules_of_its_threads(emulated: Callable, tmp_path: Path):
    powered = machine(line=MACHINE + " power.idle=100W power.busy=164W")
    source = "import smpy\nsmpy.execute(64e9)\nsmpy.execute(0, 80e9, threads=2)\nsmpy.execute(4e9, threads=1)"
    ran = emulated(source, 2, platform=powered, cpus_per_task=16, compute="models", trace=tmp_path / "trace")
    summary = ran.outcome.summary
    assert summary.makespan_s == pytest.approx(4 + 4 + 4)
    assert summary.energy.used_hosts_j == pytest.approx(12 * 100 + 2 * 4 * (16 + 2 + 1))
    again = replay(tmp_path / "trace")
    assert again.makespan_s == summary.makespan_s
    assert again.energy.used_hosts_j == pytest.approx(summary.energy.used_hosts_j, rel=1e-12)
    elsewhere = replay(tmp_path / "trace", platform="flat cores=16 speed=2Gf")
    assert elsewhere.makespan_s == pytest.approx(2 + 2)  # nothing says its memory


def test_a_trace_without_threads_says_none(emulated: Callable, tmp_path: Path):
    emulated("import smpy\nsmpy.execute(1e9)", 1, platform=machine(), compute="models", trace=tmp_path / "trace")
    trace = Trace(tmp_path / "trace")
    assert trace.info["trace"]["cpus_per_task"] == 1
    assert set(trace.table("actions")["detail"].to_pylist()) <= {None, 0}


def test_the_record_of_a_run_tells_the_cores_of_its_ranks(emulated: Callable):
    ran = emulated("import smpy", 2, platform=machine(), cpus_per_task=32, compute="none")
    remark = next(each for each in json.loads(ran.outcome.summary.to_json())["remarks"] if each["topic"] == "cores")
    assert remark["cpus_per_task"] == 32


# ---- options ----


def test_a_machine_is_sized_to_the_cores_of_ranks():
    assert read_machine("fat-tree cores=64", 8, cpus_per_task=32).n_hosts >= 4
    assert RunConfig(2, "program.py").cpus_per_task == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--cpus-per-task", "65"],
            "a rank runs on one host, and no host of .* has more than 64 cores: say --cpus-per-task 64 or less",
        ),
        (["--cpus-per-task", "33", "--ppn", "2"], "has 64 cores for 2 ranks of 33. Put at most 1 there, or say "),
        (["--cpus-per-task", "2", "--compute", "record:bursts"], "is for bursts of one thread: leave one of them away"),
        (["--cpus-per-task", "0"], "cpus-per-task"),
    ],
)
def test_cores_that_ranks_cannot_have_are_refused_in_one_line(smpy_run: Callable, options: list[str], message: str):
    ran = smpy_run("", 2, "--platform", "flat hosts=4 cores=64", *options)
    assert ran.code == 2
    assert re.search(message, " ".join(ran.err.split()))
