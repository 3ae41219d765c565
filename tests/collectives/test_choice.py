"""The choice of algorithms of a run, a replay and a study: a table by its name or its file, and forced algorithms."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext
from itertools import product
from operator import eq, ge, le
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import smpy
from smpy.cli.main import main
from smpy.collectives.choice import selection_of
from smpy.collectives.facts import Query
from smpy.collectives.hosts import Hosts
from smpy.collectives.table_files.rows import FileRow, say_unreached
from smpy.emulate.run.run import run
from smpy.errors import UsageError
from smpy.options import RunConfig
from smpy.platforms import read_machine
from smpy.platforms.machine_json import machine_from_json, machine_to_json
from smpy.platforms.own_format.writing import write_toml

PROGRAM = """
from mpi4py import MPI
MPI.COMM_WORLD.Alltoall(bytearray(800), bytearray(800))
"""
TABLE = '{"source": "a test", "alltoall": [{"ranks_max": 4, "use": "pair"}, {"use": "ring"}]}'


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "table.json").write_text(TABLE)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def used(program: Path, n_ranks: int = 8, **config: Any) -> list[str]:
    """The algorithms of the program's alltoall."""
    outcome = run(RunConfig(n_ranks=n_ranks, program=str(program), compute="none", **config))
    assert outcome.error is None
    return list(outcome.summary.inputs.algorithms["alltoall"])


def test_a_run_takes_a_table_by_its_name_or_its_file_and_forced_algorithms_stand_above(program: Path) -> None:
    file = str(program.parent / "table.json")
    assert used(program, collectives="smpi") == ["linear"]
    assert used(program, collectives="mpich-4") == ["scattered"]
    assert used(program, collectives=file) == ["ring"]
    assert used(program, 4, collectives=file) == ["pair"]
    assert used(program, collectives=file, algorithms=(("alltoall", "linear"),)) == ["linear"]
    assert used(program, collectives=file, algorithms=(("alltoall", "default"),)) == ["ring"]


def test_a_machine_names_a_file_relative_to_its_own_and_keeps_its_text(program: Path) -> None:
    machine_file = program.parent / "machine.toml"
    machine_file.write_text("topology.kind = 'flat'\nhost.count = 8\nmpi.collectives = 'table.json'\n")
    assert used(program, platform=str(machine_file)) == ["ring"]
    assert used(program, platform=str(machine_file), collectives="mpich-4") == ["scattered"]
    machine = read_machine(machine_file, 8)
    again = machine_from_json(machine_to_json(machine).encode())
    assert again == machine
    assert again.models.collectives.content == TABLE
    (program.parent / "written.toml").write_text(write_toml(machine))
    assert read_machine(program.parent / "written.toml", 8).models.collectives.content == TABLE
    (program.parent / "table.json").unlink()
    with pytest.raises(UsageError, match=r"machine.toml:3: mpi.collectives: cannot read the table of collectives"):
        read_machine(machine_file, 8)


def test_operations_that_a_file_does_not_speak_of_use_the_machines_table(program: Path) -> None:
    machine = read_machine("flat hosts=8", 8, [("mpi.collectives", str(program.parent / "table.json"))])
    selection = selection_of(machine.models.collectives)
    chosen = [
        str(selection.rules(operation).choose(Query(8, 100), lambda: Hosts(range(8))))
        for operation in ("alltoall", "allgather")
    ]
    assert chosen == ["alltoall:ring", "allgather:recursive_doubling"]


def test_a_replay_takes_both_and_repeats_the_runs_own_file_without_them(program: Path) -> None:
    folder, trace = program.parent, program.parent / "trace"
    arguments = ["--compute", "none", "--trace", str(trace), "--quiet", str(program)]

    def replayed(*more: str) -> str:
        result = CliRunner().invoke(main, ["replay", str(trace), *more])
        assert result.exit_code == 0, result.output
        return result.output

    result = CliRunner().invoke(
        main, ["run", "-np", "8", "--collectives", str(folder / "table.json"), *arguments], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    (folder / "table.json").unlink()  # its text is in the trace
    assert "times" not in replayed()
    scattered = replayed("--algorithm", "alltoall=scattered")
    assert "times" in scattered
    assert replayed("--collectives", "mpich-4") == scattered


def test_a_study_has_axes_of_tables_and_of_algorithms(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"collectives": ["smpi", "smpi-mpich"], "algorithm.alltoall": ["default", "ring"]}
    monkeypatch.chdir(program.parent)
    study = smpy.Study({"program": str(program), "options": {"ranks": 8, "compute": "none"}, "axes": axes})
    found = study.run(workers=1)
    columns = (found[name] for name in ("collectives", "algorithm.alltoall", "makespan_s"))
    times_s = {(table, algorithm): time_s for table, algorithm, time_s in zip(*columns, strict=True)}
    assert len(times_s) == 4
    assert times_s["smpi", "ring"] == times_s["smpi-mpich", "ring"]
    assert len(set(times_s.values())) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--collectives", "mpich4"), "no table of collectives 'mpich4': there are"),
        (("--collectives", "mpich4"), "did you mean 'mpich-4'?"),
        (("--collectives", "none.json"), "cannot read the table of collectives 'none.json': No such file"),
        (("--algorithm", "alltoall=rign"), "did you mean 'ring'?"),
        (("--algorithm", "altoall=ring"), "did you mean 'alltoall'?"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_runs(program: Path, options: tuple[str, str], told: str) -> None:
    program.write_text("raise SystemExit('it ran')")
    result = CliRunner().invoke(main, ["run", "-np", "2", *options, str(program)])
    assert result.exit_code == 2
    assert told in result.output
    assert "it ran" not in result.output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1: it is no JSON"),
        ("[]", "it is no object with a list of rows for each operation"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "chooses for no operation"),
        ('{"bcast": [{"use": "linear"}],\n "bcast": []}', "line 1: an object has the key 'bcast' twice"),
        ('{"source": 3, "bcast": [{"use": "linear"}]}', "source is 3"),
        ('{"broadcast": [{"use": "linear"}]}', "there is no operation 'broadcast'"),
        ('{"bcst": [{"use": "linear"}]}', "did you mean 'bcast'?"),
        ('{"bcast": []}', "bcast is no list of rows"),
        ('{"bcast": [3]}', "bcast, row 1 is 3"),
        ('{"bcast": [\n{"bytes_max": 3, "use": "linear"}]}', "line 2: bcast, row 1: the last row must fit every call"),
        ('{"bcast": [{"use": "linear"},\n{"use": "liner"}]}', "line 2: bcast, row 2: bcast has no algorithm 'liner'"),
        ('{"bcast": [\n\n{"rank_max": 3, "use": "linear"}]}', "line 3: bcast, row 1: no row can ask for 'rank_max'"),
        ('{"bcast": [{"rank_max": 3, "use": "linear"}]}', "did you mean 'ranks'?"),
        ('{"bcast": [{"ranks_max": "3", "use": "linear"}]}', "ranks_max is '3': say a number"),
        ('{"bcast": [{"ranks_max": -3, "use": "linear"}]}', "ranks_max is -3: say a number of 0 or more"),
        ('{"bcast": [{"ranks": 4.5, "use": "linear"}]}', "ranks is 4.5, and fits no call: say a whole number"),
        ('{"bcast": [{"commutative_max": true, "use": "linear"}]}', "true or false, and has no bound"),
        ('{"bcast": [{"commutative": 1, "use": "linear"}]}', "commutative is 1: say true or false"),
        ('{"bcast": [{"searches_hosts": 1, "use": "linear"}]}', "searches_hosts is 1: say true"),
        ('{"bcast": [{"use": 1}]}', "use is 1: say a name"),
        ('{"bcast": [{}]}', 'say "use" with an algorithm'),
        ('{"bcast": [{"use_table": "smpy"}]}', "there is no table 'smpy'"),
        ('{"bcast": [{"ranks": NaN, "use": "linear"}]}', "NaN is no number of JSON"),
        ('{"bcast": [{"bytes_max": 1e999, "use": "linear"}]}', "bytes_max is inf: say a number of 0 or more"),
        (" \n", 'is empty: a table of collectives has rows: {"alltoall"'),
    ],
)
def test_a_file_that_is_no_table_is_refused_by_line_and_row(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "table.json").write_text(text)
    machine = read_machine("flat hosts=8", 8, [("mpi.collectives", str(tmp_path / "table.json"))])
    with pytest.raises(UsageError) as raised:
        selection_of(machine.models.collectives)
    assert told in str(raised.value)
    assert "table.json" in str(raised.value)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ('{"bytes_max": 9, "use": "ring"}, {"bytes_max": 5, "use": "pair"}', "row 2 is never reached: row 1, line 1"),
        ('{"ranks": 8, "use": "ring"}, {"ranks": 8, "bytes": 3, "use": "pair"}', "row 2 is never reached: row 1"),
        (
            '{"ranks_max": 4, "ranks_min": 5, "use": "pair"}',
            "row 1 is never reached: its conditions exclude each other",
        ),
        ('{"ranks_max": 3, "use": "pair"}, {"ranks_max": 4, "use": "ring"}', None),
        ('{"ranks_max": 3, "bytes": 1, "use": "pair"}, {"ranks_max": 2, "use": "ring"}', None),
        (
            '{"ranks_max": 4, "use": "pair"}, {"ranks_min": 5, "use": "ring"}, {"bytes": 3, "use": "bruck"}',
            "row 3 is never reached: the rows above it together fit all its calls",
        ),
        (
            '{"is_even": true, "use": "pair"}, {"is_even": false, "use": "ring"}, {"bytes": 3, "use": "bruck"}',
            "row 3 is never reached: the rows above",
        ),
        ('{"is_even": true, "use": "pair"}, {"is_even": false, "use": "ring"}', None),
        ('{"ranks_max": 4, "use": "pair"}, {"ranks_min": 6, "use": "ring"}, {"bytes": 3, "use": "bruck"}', None),
    ],
)
def test_a_row_that_is_never_reached_is_told(tmp_path: Path, rows: str, told: str | None) -> None:
    (tmp_path / "table.json").write_text(f'{{"alltoall": [{rows}, {{"use": "linear"}}]}}')
    machine = read_machine("flat hosts=8", 8, [("mpi.collectives", str(tmp_path / "table.json"))])
    with nullcontext() if told is None else pytest.warns(UserWarning, match=told):
        selection_of(machine.models.collectives)


conditions = st.fixed_dictionaries(
    {},
    optional={
        **{key: st.integers(0, 3) for key in ("ranks", "ranks_max", "ranks_min", "bytes_max", "bytes_min")},
        "commutative": st.booleans(),
    },
).filter(bool)


@given(st.lists(conditions, min_size=1, max_size=6))
def test_a_row_is_never_reached_if_each_call_that_it_fits_fits_one_above(rows: list[dict[str, Any]]) -> None:
    def fits(row: dict[str, Any], call: dict[str, int]) -> bool:
        holds = {"": eq, "_max": le, "_min": ge}
        return all(holds[key.removeprefix(key.split("_")[0])](call[key.split("_")[0]], row[key]) for key in row)

    names = ("ranks", "bytes", "commutative")
    calls = [dict(zip(names, call, strict=True)) for call in product(range(6), range(6), (False, True))]
    reached = [min((i for i, row in enumerate(rows) if fits(row, call)), default=-1) for call in calls]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        say_unreached("table.json", "reduce", [FileRow({**row, "use": "linear"}, 1) for row in rows])
    told = [int(re.findall(r"row (\d+) is never", str(each.message))[0]) - 1 for each in caught]
    assert told == [i for i in range(len(rows)) if i not in reached]


def test_an_algorithm_that_cannot_be_used_names_the_call_and_the_numbers(program: Path) -> None:
    program.write_text("from mpi4py import MPI; MPI.COMM_WORLD.Barrier()")
    outcome = run(RunConfig(5, str(program), algorithms=(("barrier", "ompi_two_procs"),)))
    message = str(outcome.error)
    assert "Barrier on 5 ranks: barrier: the algorithm 'two_ranks' wants 2 ranks; this communicator has 5" in message
    assert "program.py" in message
    assert "choose another one" in message


@pytest.mark.parametrize("operation", ["barrier", "bcast", "reduce", "allreduce"])
def test_a_forced_algorithm_that_takes_hosts_first_is_no_part_of_itself(program: Path, operation: str) -> None:
    name = "two_level"
    program.write_text(f"""
import numpy as np
from mpi4py import MPI
arguments = {{"barrier": (), "bcast": (np.zeros(9),)}}.get({operation!r}, (np.zeros(9), np.zeros(9)))
getattr(MPI.COMM_WORLD, {operation.capitalize()!r})(*arguments)
""")
    machine = "flat hosts=2 cores=4"
    outcome = run(RunConfig(8, str(program), platform=machine, compute="none", algorithms=((operation, name),)))
    assert outcome.error is None
    assert name in outcome.summary.inputs.algorithms[operation]
