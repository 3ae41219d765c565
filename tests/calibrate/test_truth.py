"""Real times beside predicted ones: the tables of a file, and the measurement that writes it, run by run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("threadpoolctl")

CALIBRATION = Path(__file__).parents[2] / "calibration"
HEAD = "program,arguments,ranks,way,repetition,phase,seconds\n"
MPIS = {"mpich": "mpiexec", "openmpi": "mpirun --oversubscribe"}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script of `calibration/`, fresh."""
    monkeypatch.syspath_prepend(str(CALIBRATION))
    for name in ("real_mpi", "truth", "truth_tables"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module


@pytest.fixture
def tables(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("truth_tables")


@pytest.fixture
def truth(module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with one case in place of its own."""
    script = module("truth")
    monkeypatch.setattr(script, "CASES", [script.Case("apps/sort.py", "--n 10")])
    monkeypatch.setattr(script, "RANKS", (1, 2))
    monkeypatch.setattr(script, "N_REPETITIONS", 2)
    return script


def write(folder: Path, seconds: dict[tuple[str, str], list[float]]) -> None:
    """A file of one program on two ranks: repetitions by way and phase."""
    rows = [
        f"a/sort.py,--n 10,2,{way},{repetition},{phase},{value}\n"
        for (way, phase), values in seconds.items()
        for repetition, value in enumerate(values)
    ]
    (folder / "truth.csv").write_text(HEAD + "".join(rows))


# ---- tables ----


def test_a_prediction_for_one_mpi_is_compared_with_that_mpi(tables: ModuleType, tmp_path: Path):
    write(
        tmp_path,
        {
            ("mpich", "time"): [1.0, 2.0, 3.0],
            ("openmpi", "time"): [4.0],
            ("measured:mpich", "time"): [2.2],
            ("measured:openmpi", "time"): [3.0],
            ("modelled", "time"): [2.0],
        },
    )
    assert tables.tell(tmp_path).splitlines() == [
        "| seconds | ranks | mpich | openmpi | measured:mpich | measured:openmpi | modelled |",
        "|---|---|---|---|---|---|---|",
        "| `sort.py --n 10` | 2 | 2.000 (1.000-3.000) | 4.000 | 2.200: +10% | 3.000: -25% | 2.000: +0%, -50% |",
        "",
        "| error | median | largest |",
        "|---|---|---|",
        "| measured, of mpich | 10.0% | 10% |",
        "| measured, of openmpi | 25.0% | 25% |",
        "| modelled, of mpich | 0.0% | 0% |",
        "| modelled, of openmpi | 50.0% | 50% |",
    ]
    assert tables.tell_phases(tmp_path) == ""
    assert tables.tell_large_errors(tmp_path).splitlines() == [
        "Above 20%: 2 of 4 predictions:",
        "",
        "* `sort.py --n 10` on 2 ranks, modelled: 2.000 s, openmpi: 4.000 s, -50%",
        "* `sort.py --n 10` on 2 ranks, measured:openmpi: 3.000 s, openmpi: 4.000 s, -25%",
    ]


def test_a_way_for_all_mpis_leaves_out_those_that_have_their_own(tables: ModuleType, tmp_path: Path):
    write(
        tmp_path,
        {
            ("mpich", "time"): [1.0],
            ("openmpi", "time"): [2.0],
            ("measured:mpich", "time"): [1.0],
            ("measured", "time"): [2.0],
        },
    )
    assert "| 1.000: +0% | 2.000: +0% |" in tables.tell(tmp_path)
    assert "Above 20%: 0 of 2 predictions." in tables.tell_large_errors(tmp_path)


def test_phases_have_a_table_and_errors_by_name(tables: ModuleType, tmp_path: Path):
    write(
        tmp_path,
        {
            ("mpich", "Alltoallv"): [0.004],
            ("mpich", "time"): [1.0],
            ("measured", "Alltoallv"): [0.003],
            ("measured", "time"): [1.0],
        },
    )
    assert tables.tell_phases(tmp_path).splitlines() == [
        "| milliseconds | ranks | phase | mpich | measured |",
        "|---|---|---|---|---|",
        "| `sort.py --n 10` | 2 | Alltoallv | 4.000 | 3.000: -25% |",
        "",
        "| phase | error | median | largest | at |",
        "|---|---|---|---|---|",
        "| Alltoallv | measured, of mpich | 25.0% | -25% | `sort.py --n 10`, 2 |",
    ]


def test_a_case_without_a_way_has_an_empty_cell(tables: ModuleType, tmp_path: Path):
    rows = "a.py,,1,mpich,0,time,1\na.py,,1,measured,0,time,1\nb.py,,1,measured,0,time,1\n"
    (tmp_path / "truth.csv").write_text(HEAD + rows)
    assert "| `b.py ` | 1 |  | 1.000 |" in tables.tell(tmp_path)


def test_the_machine_is_that_of_the_calibration(tables: ModuleType, tmp_path: Path):
    assert tables.tell_machine(tmp_path) == ""
    about = 'cpu = "A"\ncores = 2\nkernel = "Linux"\npython = "3"\nnumpy = "2"\n'
    (tmp_path / "node.toml").write_text(f"[calibration]\n{about}")
    (tmp_path / "network-mpich.toml").write_text('[calibration]\nlibrary = "MPICH  Version:\t5"\n')
    assert tables.tell_machine(tmp_path) == "A, 2 cores, Linux, Python 3, numpy 2; MPICH Version: 5"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ":1: the columns are not program,"),
        ("program,seconds\n", ":1: the columns are not program,"),
        (HEAD + "a,b,1,mpich,0,time\n", ":2: the line is not whole"),
        (HEAD + "a,b,1,mpich,0,time,1\na,b,1,mpich,1,time,1.2", ":3: the line is not whole"),
        (HEAD + "a,b,1,mpich,0,time,soon\n", ":2: could not convert"),
        (HEAD + "a,b,one,mpich,0,time,1\n", ":2: invalid literal"),
        (HEAD + "a,b,1,mpich,0,time,nan\n", ":2: nan s is no time"),
        (HEAD + "a,b,1,mpich,0,time,-1\n", ":2: -1.0 s is no time"),
    ],
)
def test_a_line_that_is_no_time_is_refused_with_its_place(
    tables: ModuleType, tmp_path: Path, text: str, complaint: str
):
    (tmp_path / "truth.csv").write_text(text)
    with pytest.raises(ValueError, match=complaint):
        tables.tell(tmp_path)


# ---- measuring ----


class Programs:
    """Stands for real and predicted runs: each takes as many seconds as there were runs; one may be interrupted."""

    def __init__(self, interrupted: int | None = None) -> None:
        self.commands: list[str] = []
        self.interrupted = interrupted

    def run(self, command: list[str]) -> str:
        if len(self.commands) == self.interrupted:
            raise KeyboardInterrupt
        self.commands.append(" ".join(command))
        return f"phase computing: 0.25 s\nsorted\nphase Alltoallv: 0.5 s\ntime: {len(self.commands)}.0 s\n"


def test_ways_alternate_and_each_time_is_kept_by_phase(
    truth: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    programs = Programs()
    monkeypatch.setattr(truth.real_mpi, "run", programs.run)
    truth.measure(tmp_path, MPIS)
    rows = truth.read_rows(tmp_path / "truth.csv")
    ways = ["mpich", "openmpi", "measured", "modelled"]
    assert [row.way for row in rows if row.phase == "time"] == ways * 4
    assert [(row.ranks, row.repetition) for row in rows if row.way == "mpich" and row.phase == "time"] == [
        (1, 0), (1, 1), (2, 0), (2, 1),
    ]  # fmt: skip
    assert [(row.phase, row.seconds) for row in rows[3:6]] == [("computing", 0.25), ("Alltoallv", 0.5), ("time", 2.0)]
    assert programs.commands[0].startswith("mpiexec -n 1 ")
    assert programs.commands[9].startswith("mpirun --oversubscribe -n 2 ")
    assert f"--platform {tmp_path / 'machine.toml'} --compute measured" in programs.commands[2]
    assert all(command.endswith("apps/sort.py --n 10") for command in programs.commands)


def test_a_time_is_in_the_file_before_the_next_run_begins(
    truth: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    sizes: list[int] = []

    def run(command: list[str]) -> str:
        sizes.append((tmp_path / "truth.csv").read_text().count(",time,"))
        return "time: 1.0 s\n"

    monkeypatch.setattr(truth.real_mpi, "run", run)
    truth.measure(tmp_path, MPIS)
    assert sizes == list(range(16))


@pytest.mark.parametrize("interrupted", [0, 1, 7])
def test_an_interrupted_measurement_goes_on_with_the_runs_that_are_missing(
    truth: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: int
):
    first, second, third = Programs(interrupted), Programs(), Programs()
    monkeypatch.setattr(truth.real_mpi, "run", first.run)
    with pytest.raises(KeyboardInterrupt):
        truth.measure(tmp_path, MPIS)
    monkeypatch.setattr(truth.real_mpi, "run", second.run)
    truth.measure(tmp_path, MPIS)
    monkeypatch.setattr(truth.real_mpi, "run", third.run)
    truth.measure(tmp_path, MPIS)
    assert (len(first.commands), len(second.commands), third.commands) == (interrupted, 16 - interrupted, [])
    runs = [row[:6] for row in truth.read_rows(tmp_path / "truth.csv")]
    assert len(runs) == len(set(runs)) == 16 * 3


def test_each_mpi_is_predicted_on_its_own_machine_where_there_is_one(truth: ModuleType, tmp_path: Path):
    (tmp_path / "machine-mpich.toml").touch()
    machines = {way: command for way, command in truth.commands(tmp_path, MPIS, 2) if way not in MPIS}
    assert list(machines) == ["measured:mpich", "measured", "modelled:mpich", "modelled"]
    assert str(tmp_path / "machine-mpich.toml") in machines["measured:mpich"]
    assert str(tmp_path / "machine.toml") in machines["measured"]
    (tmp_path / "machine-openmpi.toml").touch()
    ways = [way for way, _ in truth.commands(tmp_path, MPIS, 2)]
    assert ways[2:] == ["measured:mpich", "measured:openmpi", "modelled:mpich", "modelled:openmpi"]


def test_only_cases_that_match_are_measured(truth: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    programs = Programs()
    monkeypatch.setattr(truth.real_mpi, "run", programs.run)
    monkeypatch.setattr(truth, "CASES", [*truth.CASES, truth.Case("apps/heat.py", "--n 20")])
    truth.measure(tmp_path, MPIS, r"heat.* 2")
    assert {row.program for row in truth.read_rows(tmp_path / "truth.csv")} == {"apps/heat.py"}
    with pytest.raises(ValueError, match="no case matches 'ice'"):
        truth.measure(tmp_path, MPIS, "ice")


def test_a_file_without_phases_is_not_added_to(truth: ModuleType, tmp_path: Path):
    (tmp_path / "truth.csv").write_text("program,arguments,ranks,way,repetition,seconds\n")
    with pytest.raises(ValueError, match="measure into another folder"):
        truth.measure(tmp_path, MPIS)


def test_a_program_that_prints_no_time_ends_the_measurement(truth: ModuleType):
    with pytest.raises(SystemExit, match=r"apps/sort.py --n 10 printed no time:\nfailed"):
        truth.phases_s(truth.CASES[0], "failed\n")


def test_the_time_of_hpl_is_that_of_its_rate(truth: ModuleType):
    case = truth.Case("apps/hpl.py", "--n 1000 --nb 128", r"^W.* (\d[\d.]*e[+-]\d+)$")
    operations = 2 / 3 * 1000**3 + 1.5 * 1000**2
    assert truth.phases_s(case, "WR 1000 128 1 1 0.33 2.0000e+00\n") == {"time": pytest.approx(operations / 2e9)}


def test_every_way_of_predicting_is_known_to_the_tables(module: Callable[[str], ModuleType]):
    assert set(module("truth").PREDICTED) <= set(module("truth_tables").WAYS_OF_PREDICTING)


def test_the_cases_are_programs_that_exist_fourteen_at_least(module: Callable[[str], ModuleType]):
    script = module("truth")
    programs = {case.program for case in script.CASES}
    assert len(programs) >= 14
    assert all((script.ROOT / program).is_file() for program in programs)
    assert len(set(script.CASES)) == len(script.CASES)
