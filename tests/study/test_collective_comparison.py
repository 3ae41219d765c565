"""Comparison of a collective's algorithms: its times are those of runs, and its table chooses the best it has found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf, isqrt
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import smpy
from smpy.cli.main import main
from smpy.collectives.algorithm_names import choosable
from smpy.collectives.call import Call
from smpy.collectives.register import Algorithm, algorithms_of
from smpy.collectives.schedule import Schedule
from smpy.emulate.run.run import run
from smpy.errors import SmpyError, UsageError
from smpy.options import RunConfig
from smpy.replay.collective_times import COMPARED
from smpy.study.best_choices import best_rows
from smpy.study.message_sizes import read_sizes
from smpy.units import format_time

MACHINE = "flat hosts=8 cores=2 nic=10Gb/s mpi.wtime=0s"
PROGRAM = """
import sys
import time
import numpy as np
from mpi4py import MPI
comm, operation, n_bytes = MPI.COMM_WORLD, sys.argv[1], int(sys.argv[2])
n, rank = n_bytes // 8, comm.rank
one, all = np.zeros(n), np.zeros(n * comm.size)
counts = [n] * comm.size
def call():
    if operation == "barrier":
        comm.Barrier()
    elif operation == "bcast":
        comm.Bcast(one)
    elif operation in ("reduce", "allreduce", "scan", "exscan"):
        getattr(comm, operation.capitalize())(one, np.zeros(n))
    elif operation in ("gather", "allgather"):
        getattr(comm, operation.capitalize())(one, all)
    elif operation == "scatter":
        comm.Scatter(all, one)
    elif operation == "alltoall":
        comm.Alltoall(all, np.zeros(n * comm.size))
    elif operation == "gatherv":
        comm.Gatherv(one, [all, counts])
    elif operation == "allgatherv":
        comm.Allgatherv(one, [all, counts])
    elif operation == "scatterv":
        comm.Scatterv([all, counts], one)
    elif operation == "alltoallv":
        comm.Alltoallv([all, counts], [np.zeros(n * comm.size), counts])
    elif operation == "alltoallw":
        of = [[8 * n] * comm.size, [8 * n * i for i in range(comm.size)]]
        comm.Alltoallw([all, of, [MPI.BYTE] * comm.size], [np.zeros(n * comm.size), of, [MPI.BYTE] * comm.size])
    elif operation == "reduce_scatter":
        comm.Reduce_scatter(all, one, counts)
    else:
        comm.Reduce_scatter_block(all, one)
call()  # which may search for hosts
time.sleep(1 - MPI.Wtime())
before_s = MPI.Wtime()
call()
print(repr(MPI.Wtime() - before_s))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run_time_s(
    program: Path, operation: str, n_bytes: int, capfd: pytest.CaptureFixture[str], **config: object
) -> float:
    args = (operation, str(n_bytes))
    outcome = run(RunConfig(8, str(program), args, platform=MACHINE, compute="none", **config))  # type: ignore[arg-type]
    assert outcome.error is None
    return max(map(float, capfd.readouterr().out.splitlines()))


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("operation", COMPARED)
def test_the_times_of_algorithms_are_those_of_a_run(
    operation: str, every: int, program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = smpy.compare_collective(operation, 8, 0 if operation == "barrier" else 4096, platform=MACHINE)
    assert found.times_s.keys() == algorithms_of(operation).keys()
    as_forced = operation.removesuffix("_block")
    for name in [name for name in found.times_s if name not in found.refusals][::every]:
        algorithms = ((as_forced, name),) if as_forced in choosable() else ()
        took_s = run_time_s(program, operation, 4096, capfd, algorithms=algorithms)
        assert found.times_s[name][0][0] == pytest.approx(took_s, rel=1e-9)


def test_a_run_with_the_table_of_the_best_chooses_as_compared(program: Path, tmp_path: Path) -> None:
    sizes = [8, 4096, 524_288]
    for operation in ("alltoall", "allgatherv", "bcast"):
        found = smpy.compare_collective(operation, [4, 6], sizes, platform=MACHINE)
        table = tmp_path / f"{operation}.json"
        found.write_best_table(table)
        for i, n_ranks in enumerate(found.ranks):
            for j, n_bytes in enumerate(sizes):
                config = RunConfig(
                    *(n_ranks, str(program), (operation, str(n_bytes))),
                    platform=MACHINE, compute="none", collectives=str(table),
                )  # fmt: skip
                outcome = run(config)
                assert outcome.error is None
                (used,) = outcome.summary.inputs.algorithms[operation]
                assert found.loss(used, i, j) == 0


def test_the_table_of_the_best_has_the_fewest_rows() -> None:
    found = smpy.compare_collective("barrier", [4, 8], platform=MACHINE)
    assert found.sizes_bytes == (0,)
    assert found.best_table()["barrier"] == [{"use": found.best(0, 0)}]


def test_of_equally_quick_algorithms_the_table_has_those_that_need_the_fewest_rows() -> None:
    times_s = {"a": [[1, 2, 2, 4]], "b": [[1 + 1e-12, 1, 1, 4]], "c": [[9, 1, 1, 3]], "of_four": [[1, 1, 1, 3]]}
    everywhere = best_rows("bcast", [4], [8, 16, 32, 64], times_s, lambda name, n: name != "of_four")
    assert everywhere == [
        {"ranks": 4, "use": "of_four"},
        {"bytes_max": isqrt(32 * 64), "use": "b"},
        {"use": "c"},
    ]
    del times_s["of_four"]
    assert best_rows("bcast", [4], [8, 16, 32, 64], times_s, lambda name, n: True) == everywhere[1:]


@pytest.fixture
def algorithm_of_two_ranks() -> Iterator[str]:
    def make(call: Call) -> Schedule:
        if call.n_ranks != 2:
            raise UsageError(f"barrier:quick wants 2 ranks; this communicator has {call.n_ranks}")
        return Schedule(call)

    algorithms_of("barrier")["quick"] = Algorithm("barrier", "quick", make, "a test")
    yield "quick"
    del algorithms_of("barrier")["quick"]


def test_an_algorithm_that_does_not_work_is_told_and_chosen_for_its_own_ranks_alone(
    algorithm_of_two_ranks: str, tmp_path: Path
) -> None:
    name = algorithm_of_two_ranks
    found = smpy.compare_collective("barrier", [2, 4], platform=MACHINE)
    assert [times_s[0] for times_s in found.times_s[name]] == [0.0, inf]
    assert found.refusals[name] == "barrier:quick wants 2 ranks; this communicator has 4"
    assert "quick: barrier:quick wants 2 ranks; this communicator has 4" in found.table()
    assert found.to_record()["times_s"][name] == [[0.0], [None]]
    assert found.loss(name, 1, 0) == inf
    others = [row for row in found.best_table()["barrier"] if row["use"] != name]
    assert {"ranks": 2, "use": name} in found.best_table()["barrier"]
    assert others[-1].keys() == {"use"}
    found.write_best_table(tmp_path / "best.json")
    program = tmp_path / "program.py"
    program.write_text("from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    for n_ranks, chosen in ((2, name), (3, others[-1]["use"])):
        config = RunConfig(n_ranks, str(program), platform=MACHINE, collectives=str(tmp_path / "best.json"))
        assert run(config).summary.inputs.algorithms["barrier"] == [chosen]


def test_the_result_is_a_table_a_record_and_a_page(tmp_path: Path) -> None:
    found = smpy.compare_collective("alltoall", [4, 8], "8,64KiB", platform=MACHINE, tables=["smpi", "mpich-4"])
    assert repr(found) == found.table()
    assert "alltoall on flat hosts=8" in found.table()
    assert all(text in found.table() for text in ("4 ranks", "8 ranks", "64 KiB", "mpich-4", "scattered", " %"))
    record = json.loads(found.to_json())
    assert record["ranks"] == [4, 8]
    assert record["sizes_bytes"] == [8, 65_536]
    assert record["best"][1][0] == found.best(1, 0)
    assert record["tables"]["mpich-4"]["chosen"][1] == ["scattered", "pair"]
    for i in range(2):
        for j in range(2):
            chosen = record["tables"]["smpi"]["chosen"][i][j]
            least_s = min(of[i][j] for of in record["times_s"].values())
            time_s = record["tables"]["smpi"]["times_s"][i][j]
            assert time_s == record["times_s"][chosen][i][j]
            loss = time_s / least_s - 1
            assert record["tables"]["smpi"]["loss"][i][j] == pytest.approx(loss, abs=1e-9)
    assert len(found.plot().data) == 2 * (len(found.times_s) + 2)


def test_beside_a_best_that_takes_no_time_others_are_told_with_theirs() -> None:
    found = smpy.compare_collective("allreduce", 4, [0, 8], platform=MACHINE)
    assert found.times_s[found.best(0, 0)][0][0] == 0
    assert found.loss("two_level", 0, 0) == inf
    time = format_time(found.times_s["two_level"][0][0])
    assert f"  two_level +{time}" in found.table()
    assert "does not work" not in found.table()
    rows = found.table().split("\n\n")[1].splitlines()[1:]
    losses = [found.loss(row.split()[0], 0, 1) for row in rows]
    assert losses == sorted(losses)


def test_the_command_compares_and_writes_all_that_it_is_asked_for(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("record.json", "page.html", "table.json")]
    options = [word for pair in zip(("--json", "--plot", "--write-table"), files, strict=True) for word in pair]
    arguments = ["coll", "compare", "bcast", "--ranks", "4,8", "--bytes", "8:64", "--platform", MACHINE, *options]
    result = CliRunner().invoke(main, [*arguments, "--map-by", "host", "--tables", f"mpich-4,{files[2]}"])
    assert result.exit_code == 2  # the table does not exist yet
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "record.json").read_text())["sizes_bytes"] == [8, 16, 32, 64]
    assert "<html>" in (tmp_path / "page.html").read_text()[:100]
    result = CliRunner().invoke(main, [*arguments, "--map-by", "host", "--tables", f"mpich-4,{files[2]}"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("altoall", "--ranks", "4"), "did you mean 'alltoall'?"),
        (("neighbour", "--ranks", "4"), "no algorithms to compare for 'neighbour'"),
        (("alltoall", "--ranks", "0"), "'0': say 2 to 10,000,000 ranks"),
        (("alltoall", "--ranks", "1"), "'1': say 2 to 10,000,000 ranks"),
        (("barrier", "--ranks", "4", "--bytes", "-4"), "-4 is no number of bytes"),
        (("barrier", "--ranks", "4", "--bytes", "4"), "a barrier has no bytes: leave them out"),
        (("alltoall", "--ranks", "x"), "'x' is not numbers of ranks"),
        (("alltoall", "--ranks", "4", "--bytes", "much"), "'much' is no size in bytes"),
        (("alltoall", "--ranks", "4", "--bytes", "8:4"), "'8:4': a range of sizes goes from"),
        (("alltoall", "--ranks", "4", "--bytes", "0.5"), "0.5 is no number of bytes"),
        (("alltoall", "--ranks", "4", "--tables", "mpich4"), "did you mean 'mpich-4'?"),
        (("alltoall", "--ranks", "99", "--platform", MACHINE), "99 ranks"),
    ],
)
def test_a_wrong_argument_is_told(arguments: tuple[str, ...], told: str) -> None:
    result = CliRunner().invoke(main, ["coll", "compare", *arguments])
    assert result.exit_code == 2
    assert told in result.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"operation": 3}, "operation=3: say text"),
        ({"ranks": None}, "ranks=None: say a whole number"),
        ({"ranks": 1}, "one rank alone sends no messages"),
        ({"sizes": 8.5}, "8.5 is no number of bytes"),
        ({"tables": [3]}, "tables=3: say a str or a path"),
        ({"options": ["host.cores"]}, "options=['host.cores']: say keys and values"),
        ({"platform": 3}, "platform=3: say a str or a path"),
        ({"network": 3}, "network=3: say text"),
        ({"mapby": "host"}, "did you mean 'map_by'?"),
        ({"map_by": 3}, "map_by='3' is none of core"),
        ({"ranks_per_host": "x"}, "'x' is not a whole number"),
    ],
)
def test_a_wrong_argument_in_python_is_named(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises((SmpyError, TypeError, ValueError)) as raised:
        smpy.compare_collective(**{"operation": "bcast", "ranks": 4, "sizes": 8, **arguments})
    assert told in str(raised.value)


def test_one_table_and_a_mapping_of_options_are_taken() -> None:
    found = smpy.compare_collective("bcast", 4, 8, platform=MACHINE, tables="smpi", options={"host.cores": "4"})
    assert list(found.choices) == ["smpi"]
    assert found.sizes_bytes == (8,)


def test_sizes_are_numbers_lists_and_doubled_ranges() -> None:
    assert read_sizes("8:64,100") == (8, 16, 32, 64, 100)
    assert read_sizes([64, "1KiB", "2:5"]) == (2, 4, 64, 1024)


def test_the_list_names_algorithms_numbers_needs_and_tables() -> None:
    output = CliRunner().invoke(main, ["coll", "list"]).output
    assert all(f"\n{operation}\n" in f"\n{output}" for operation in ("alltoall", "bcast", "barrier"))
    assert "tables\n  mpich-4\n" in output
    output = CliRunner().invoke(main, ["coll", "list", "bcast", "--json", "-"]).output
    records = {record["name"]: record for record in json.loads(output)["algorithms"]}
    assert records.keys() == algorithms_of("bcast").keys()
    assert records["binomial_tree"]["numbers"]["SimGrid's ompi"] == [6]
    assert records["binomial_tree"]["source"]
    for operation in COMPARED:
        assert f"{operation}\n  " in CliRunner().invoke(main, ["coll", "list", operation]).output
    result = CliRunner().invoke(main, ["coll", "list", "bcst"])
    assert "gatherv" in result.output
    assert result.exit_code == 2
    assert "did you mean 'bcast'?" in result.output
