"""Benchmarks: counted exactly, then timed as a ratio to smpirun, or to the bound, in the same run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.bench.harness import PROGRAMS, SMPY, compiled, cost, marginal, smpirun_command, smpy_command, smpy_summary
from tests.bench.table import Table
from tests.bench.workloads import WORKLOADS, Workload
from tests.peer.runners import missing_tool

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(
    "workload",
    [pytest.param(each, id=each.name, marks=[pytest.mark.slow] * each.is_slow) for each in WORKLOADS],
)
def test_smpy_is_faster_than_smpirun(workload: Workload, table: Table, folder: Path) -> None:
    options = tuple(word for each in workload.settings for word in ("--set", each))
    short, long = (
        smpy_command(workload.program, arguments, workload.n_ranks, workload.platform, options=options)
        for arguments in (workload.short, workload.long)
    )
    counts = [smpy_summary(command, folder)["messages"] for command in (short, long)]
    assert counts[1] - counts[0] == workload.messages
    reason = missing_tool()
    if reason is not None:
        pytest.skip(reason)
    binary = compiled(workload.program, folder)
    their_short, their_long = (
        smpirun_command(binary, arguments, workload.n_ranks, workload.platform, workload.settings)
        for arguments in (workload.short, workload.long)
    )
    ours, theirs = marginal([short, their_short], [long, their_long], workload.repeats)
    messages = workload.messages
    table.at_least(workload.name, messages / ours.cpu_s, messages / theirs.cpu_s, "messages/s", workload.required)


def test_a_ring_of_large_messages_runs_at_half_the_speed_of_memcpy(table: Table, folder: Path) -> None:
    n_ranks, doubles, iterations = 64, 65536, 300
    copy = [sys.executable, str(PROGRAMS / "memcpy.py")]
    short, long = (
        [
            smpy_command("ring", (doubles, n, "sample"), n_ranks, "fat_tree_64"),
            [*copy, str(doubles), str(n), str(n_ranks)],
        ]
        for n in (2, 2 + iterations)
    )
    ours, bound = marginal(short, long, repeats=3)
    gigabytes = 8e-9 * doubles * iterations * n_ranks
    name = f"ring of {doubles} doubles, asserted, {n_ranks} ranks, against memcpy"
    table.at_least(name, gigabytes / ours.cpu_s, gigabytes / bound.cpu_s, "GB/s", 0.5)


def test_a_hundred_children_start_in_half_a_second(table: Table) -> None:
    short, long = (smpy_command("children", (n,), 1) for n in (1, 101))
    table.at_most("100 children", marginal([short], [long], repeats=3)[0].cpu_s, "s", 0.5)


def test_measuring_the_computing_costs_at_most_half_as_much_again(table: Table) -> None:
    short, long = (
        [smpy_command("ring", (16, n, "every"), 64, "fat_tree_64", compute) for compute in ("measured", "none")]
        for n in (2, 5002)
    )
    measured, none = marginal(short, long, repeats=3)
    ratio = measured.cpu_s / none.cpu_s
    table.at_most("ring of 16 doubles, 64 ranks, compute measured over none", ratio, "", 1.5)


def test_a_run_with_checks_takes_at_most_three_times_as_long(table: Table) -> None:
    short, long = (
        [smpy_command("ring", (16, n, "every"), 64, "fat_tree_64", options=options) for options in (("--check",), ())]
        for n in (2, 5002)
    )
    checked, plain = marginal(short, long, repeats=3)
    table.at_most("ring of 16 doubles, 64 ranks, with --check over without", checked.cpu_s / plain.cpu_s, "", 3)


@pytest.mark.parametrize(("form", "n"), [("put", 50_000), ("lock", 50_000), ("fence", 10_000)])
def test_accesses_to_windows_with_checks_cost_at_most_three_times_as_much(table: Table, form: str, n: int) -> None:
    short, long = (
        [smpy_command("windows", (form, times), 2, options=options) for options in (("--check",), ())]
        for times in (1, 1 + n)
    )
    checked, plain = marginal(short, long, repeats=3)
    table.at_most(f"{form} on 2 ranks, with --check over without", checked.cpu_s / plain.cpu_s, "", 3)


@pytest.mark.parametrize(
    ("form", "reference", "limit"),
    [("vector", "contiguous", 2), ("subarray", "contiguous", 2), ("replace", "exchange", 2)],
)
def test_a_layout_with_regular_strides_costs_at_most_twice_a_contiguous_one(
    table: Table, form: str, reference: str, limit: float
) -> None:
    short, long = ([smpy_command("layouts", (each, n), 2) for each in (form, reference)] for n in (2, 60_002))
    measured, bound = marginal(short, long, repeats=3)
    ratio = measured.cpu_s / bound.cpu_s
    table.at_most(f"messages of 64 doubles, {form} over {reference}", ratio, "", limit)


@pytest.mark.parametrize(("form", "nbytes", "limit"), [("pieces", 1 << 20, 1.3), ("rows", 8192, 2.0)])
def test_files_are_written_and_read_nearly_as_fast_as_by_the_operating_system_alone(
    table: Table, form: str, nbytes: int, limit: float
) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        path = str(Path(memory, "data"))
        short, long = (
            [
                smpy_command("file_pieces", (form, megabytes, path), 4),
                [sys.executable, str(PROGRAMS / "pwrite.py"), str(nbytes), str(megabytes), path],
            ]
            for megabytes in (4, 1028)
        )
        ours, bound = marginal(short, long, repeats=5)
    table.at_most(f"1 GB of a file in {form} over os.pwrite and preadv", ours.cpu_s / bound.cpu_s, "", limit)


def test_an_alltoallv_costs_little_more_than_the_alltoall_of_its_messages(table: Table, folder: Path) -> None:
    options = ("--algorithm", "alltoall=scattered", "--algorithm", "alltoallv=scattered")
    short, long = (
        [smpy_command("alltoallv", (call, n), 256, options=options) for call in ("alltoallv", "alltoall")]
        for n in (1, 21)
    )
    counts = {smpy_summary(command, folder)["messages"] for command in long}
    assert counts == {21 * 256 * 255}
    measured, bound = marginal(short, long, repeats=3)
    ratio = measured.cpu_s / bound.cpu_s
    table.at_most("alltoallv on 256 ranks over alltoall with the same messages", ratio, "", 4)


@pytest.mark.parametrize(
    ("form", "reference", "n_ranks", "n", "limit"),
    [("put", "message", 2, 50_000, 1.5), ("lock", "message", 2, 50_000, 3), ("fence", "exchange", 1024, 20, 1.0)],
)
def test_accesses_to_windows_cost_little_more_than_messages(
    table: Table, form: str, reference: str, n_ranks: int, n: int, limit: float
) -> None:
    short, long = (
        [smpy_command("windows", (each, times), n_ranks) for each in (form, reference)] for times in (1, 1 + n)
    )
    measured, bound = marginal(short, long, repeats=3)
    table.at_most(f"{form} on {n_ranks} ranks over {reference}", measured.cpu_s / bound.cpu_s, "", limit)


def test_a_window_takes_little_memory(table: Table, folder: Path) -> None:
    window, barrier = (
        smpy_summary(smpy_command("window_epoch", (form,), 16384), folder)["peak_rss_bytes"]
        for form in ("window", "barrier")
    )
    each = (window - barrier) / 16384
    assert each > 0
    table.at_most("memory and profile of a rank's window and fence above a barrier's", each, "B", 3000)


@pytest.mark.parametrize(("form", "limit"), [("vector", 2), ("subarray", 3), ("indexed", 3), ("struct", 3)])
def test_a_datatype_costs_little_more_than_a_contiguous_one(table: Table, form: str, limit: float) -> None:
    short, long = ([smpy_command("types", (each, n), 1) for each in (form, "contiguous")] for n in (2, 50_002))
    measured, bound = marginal(short, long, repeats=3)
    table.at_most(f"datatypes made again, {form} over contiguous", measured.cpu_s / bound.cpu_s, "", limit)


def test_atomic_accesses_of_many_ranks_to_one_cost_the_same_each(table: Table) -> None:
    short, long = ([smpy_command("windows", ("fetch", n), n_ranks) for n_ranks in (1024, 256)] for n in (1, 11))
    many, few = marginal(short, long, repeats=3)
    ratio = many.cpu_s / 1024 / (few.cpu_s / 256)
    table.at_most("Fetch_and_op of 1,024 ranks on one, each, over that of 256", ratio, "", 1.5)


def test_65536_ranks_meet_in_a_minute_and_three_gigabytes(table: Table, folder: Path) -> None:
    summary = smpy_summary(smpy_command("barrier", (), 65536), folder)
    table.at_most("65536 ranks, Barrier + Allreduce, memory", summary["peak_rss_bytes"] / 1e9, "GB", 3)
    table.at_most("the same, wall time", summary["wall_s"], "s", 60)


@pytest.mark.slow
def test_hpl_on_4096_ranks_takes_less_than_a_minute_and_a_half(table: Table, folder: Path) -> None:
    root = Path(__file__).parents[2]
    recipe = subprocess.run(["make", "-n", "hpl"], cwd=root, capture_output=True, encoding="utf-8", check=True).stdout
    _, arguments = recipe.replace("\\\n", " ").rsplit("smpy run ", 1)
    words = [str(root / word) if word == "apps/hpl.py" else word for word in arguments.split()]
    summary = smpy_summary([str(SMPY), "run", "--quiet", *words], folder)
    assert summary["ranks"] == 4096
    table.at_most("HPL's skeleton on 4096 ranks, memory", summary["peak_rss_bytes"] / 1e9, "GB", 1)
    table.at_most("the same, wall time", summary["wall_s"], "s", 90)


def test_an_idle_rank_takes_little_memory(table: Table, folder: Path) -> None:
    few, many = (smpy_summary(smpy_command("idle", (), n_ranks), folder)["peak_rss_bytes"] for n_ranks in (8192, 24576))
    kilobytes = (many - few) / 16384 / 1e3
    assert kilobytes > 0
    table.at_most("memory of an idle rank", kilobytes, "kB", 45)  # 65,536 of them in 3 GB


def test_an_empty_program_starts_in_less_than_a_third_of_a_second(table: Table) -> None:
    wall_s = min(cost(smpy_command("empty", (), 1, compute="measured")).wall_s for _ in range(5))
    table.at_most("start-up, one rank, empty program", wall_s, "s", 0.3)


def test_a_million_eager_messages_to_a_consumer_that_keeps_pace_need_little_memory(table: Table, folder: Path) -> None:
    eager = ("--set", "smpi/send-is-detached-thresh=65536")
    summary = smpy_summary(smpy_command("producer", (1_000_000,), 2, options=eager), folder)
    assert summary["messages"] == 1_000_000
    table.at_most("a million eager messages of 60 KB, memory", summary["peak_rss_bytes"] / 1e6, "MB", 200)


@pytest.mark.slow
def test_a_ring_alltoall_on_4096_ranks_takes_less_than_a_gigabyte(table: Table, folder: Path) -> None:
    command = smpy_command("alltoall", (1, 1), 4096, options=("--algorithm", "alltoall=ring"))
    summary = smpy_summary(command, folder)
    assert summary["messages"] == 4096 * 4095
    table.at_most("alltoall of 8 bytes forced to a ring, 4096 ranks, memory", summary["peak_rss_bytes"] / 1e9, "GB", 1)
    table.at_most("the same, wall time", summary["wall_s"], "s", 120)


def test_a_million_messages_in_flight_take_little_memory_each(table: Table, folder: Path) -> None:
    few, many = (
        smpy_summary(smpy_command("allgather", (n,), 1024, "fat_tree_1024"), folder)["peak_rss_bytes"] for n in (0, 1)
    )
    requests = 2 * 1024 * 1023
    bytes_each = (many - few) / requests
    assert bytes_each > 0
    table.at_most("allgather on 1024 ranks, memory of a request in flight", bytes_each, "B", 600)
