"""Machines that change while a program runs: every rank finishes when it does under SimGrid's smpirun."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import pytest

from smpy.emulate.run.run import run
from smpy.errors import PlatformWarning
from smpy.options import RunConfig
from tests.peer.profile_cases import ProfileCase, draw_case
from tests.peer.runners import SMPIRUN_OPTIONS

pytestmark = pytest.mark.peer

STEPS = Path(__file__).parents[1] / "oracle"
TOLERANCE = 1e-6  # relative
# smpirun aborts where a link that only acknowledgements use changes so much that the penalty of a flow is not positive.
SETTINGS: tuple[tuple[str, int, dict[str, str]], ...] = (
    ("", 150, {}),
    ("-ib", 60, {"network/model": "IB"}),
    ("-probes", 20, {"smpi/iprobe-cpu-usage": "1.7"}),
)
CASES = [
    pytest.param(number, settings, id=f"{number}{name}", marks=pytest.mark.campaign if number % 2 else ())
    for name, n_machines, settings in SETTINGS
    for number in range(n_machines)
]
"""Drawn machines, of which every other one runs for each change, and the others in campaigns."""
ABORT = "update_variable_penalty"


@pytest.fixture(scope="session")
def steps(smpirun: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp("smpirun") / "steps"
    subprocess.run(["smpicc", "-O1", "-o", binary, STEPS / "steps.c"], check=True, capture_output=True)
    return binary


def smpirun_finish_s(case: ProfileCase, steps: Path, folder: Path, settings: dict[str, str]) -> list[float] | None:
    """Dates at which ranks end under smpirun; None if it aborts on a feature it does not have."""
    command = ["smpirun", "-quiet", "-np", str(len(case.hosts)), "-platform", "machine.xml", "-hostfile", "hosts"]
    command += [*SMPIRUN_OPTIONS, *(f"--cfg={name}:{value}" for name, value in settings.items())]
    command += [str(steps), case.steps]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if ABORT in done.stdout + done.stderr:
        return None
    assert done.returncode == 0, f"smpirun failed:\n{done.stdout}{done.stderr}"
    finish_s = {int(rank): float(date) for rank, date in map(str.split, done.stdout.splitlines())}
    return [finish_s[rank] for rank in range(len(case.hosts))]


def smpy_finish_s(case: ProfileCase, folder: Path, settings: dict[str, str]) -> list[float]:
    config = RunConfig(
        n_ranks=len(case.hosts),
        program=str(STEPS / "steps.py"),
        args=(case.steps,),
        platform=folder / "machine.xml",
        hostfile=folder / "hosts",
        compute="none",
        options=tuple(settings.items()),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlatformWarning)
        outcome = run(config)
    if outcome.error is not None:
        raise outcome.error
    return outcome.summary.finish_s.tolist()


@pytest.mark.parametrize(("number", "settings"), CASES)
def test_every_rank_finishes_when_it_does_under_smpirun(
    number: int, settings: dict[str, str], steps: Path, tmp_path: Path
) -> None:
    case = draw_case(number)
    (tmp_path / "machine.xml").write_text(case.xml)
    (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in case.hosts))
    for name, text in case.files.items():
        (tmp_path / name).write_text(text)
    ours = smpy_finish_s(case, tmp_path, settings)
    theirs = smpirun_finish_s(case, steps, tmp_path, settings)
    if theirs is None:
        pytest.skip("SimGrid aborts on a penalty that is not positive")
    theirs_by = f"smpirun -np 4 -platform machine.xml -hostfile hosts {' '.join(SMPIRUN_OPTIONS)} {settings} steps"
    ours_by = f"smpy run -np 4 --platform machine.xml --hostfile hosts --compute none {STEPS / 'steps.py'}"
    assert ours == pytest.approx(theirs, rel=TOLERANCE, abs=0), (
        f"cd {tmp_path}; {theirs_by} ...; {ours_by} {case.steps}"
    )
