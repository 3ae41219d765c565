"""Runs a case under smpirun and under smpy, and reads the date at which every rank finished."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from smpy.emulate.run.run import Outcome, run
from smpy.options import RunConfig
from tests.peer.case import FILES_OF_DISKS, PLATFORMS, Case

PROGRAMS = Path(__file__).parent / "programs"
SMPIRUN_OPTIONS = (
    "--cfg=network/optim:Full",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/wtime:0",
    "--log=root.thres:warning",
)

Settings = tuple[tuple[str, str], ...]


def missing_tool() -> str | None:
    """Why the comparison cannot run here, if it cannot."""
    for tool in ("smpirun", "smpicc"):
        if shutil.which(tool) is None:
            return f"SimGrid's {tool} is not installed"
    return None


def compile_programs(folder: Path, name: str = "*") -> Path:
    """Compiles C twins into `folder`: all, or one."""
    for source in sorted(PROGRAMS.glob(f"{name}.c")):
        subprocess.run(["smpicc", "-O1", "-Wall", "-Wextra", "-o", folder / source.stem, source], check=True)
    return folder


def smpirun_finish_s(case: Case, binaries: Path, folder: Path, settings: Settings = ()) -> list[float]:
    """Dates at which ranks end under smpirun with a full re-solve of the network; settings as on its command line."""
    output, _ = smpirun_output(case, binaries, folder, settings)
    finish_s = {int(rank): float(date) for rank, date in map(str.split, output.splitlines())}
    return [finish_s[rank] for rank in range(case.n_ranks)]


def smpirun_output(
    case: Case, binaries: Path, folder: Path, settings: Settings = (), logs: tuple[str, ...] = ()
) -> tuple[str, str]:
    """Standard output of a case under smpirun, and its log; `logs` are categories whose information is wanted."""
    command = ["smpirun", "-quiet", "-np", str(case.n_ranks), "-platform", _platform_file(case, folder)]
    hostfile = _hostfile(case, folder)
    if hostfile is not None:
        command += ["-hostfile", hostfile]
    command += [
        *SMPIRUN_OPTIONS,
        *(f"--log={category}.thres:info" for category in logs),
        *(f"--cfg={key}:{value}" for key, value in settings),
        binaries / case.program,
        *map(str, case.arguments),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"smpirun failed:\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def smpy_finish_s(
    case: Case, folder: Path, settings: Settings = (), host_speed_flop_per_s: float | None = None
) -> list[float]:
    """Dates at which ranks end under smpy, in this process; the settings are those of the run."""
    return smpy_outcome(case, folder, settings, host_speed_flop_per_s).summary.finish_s.tolist()


def smpy_outcome(
    case: Case,
    folder: Path,
    settings: Settings = (),
    host_speed_flop_per_s: float | None = None,
    trace: Path | None = None,
    governor: tuple[str, float] | None = None,
) -> Outcome:
    """The run of a case in this process, perhaps with a trace or a governor; it has not failed."""
    config = RunConfig(
        n_ranks=case.n_ranks,
        program=str(PROGRAMS / f"{case.program}.py"),
        args=tuple(map(str, case.arguments)),
        platform=_platform_file(case, folder),
        hostfile=_hostfile(case, folder),
        options=settings,
        compute="none",
        host_speed_flop_per_s=host_speed_flop_per_s,
        trace=trace,
        governor=governor,
    )
    outcome = run(config)
    if outcome.error is not None:
        raise outcome.error
    assert outcome.exit_code == 0
    return outcome


def _platform_file(case: Case, folder: Path) -> Path:
    path = folder / "platform.xml"
    path.write_text(case.platform_xml())
    name = Path(str(case.arguments[-1])).name
    known = name if name.startswith("known") else "known"
    (folder / FILES_OF_DISKS).write_text((PLATFORMS / FILES_OF_DISKS).read_text().replace("KNOWN", known))
    return path


def _hostfile(case: Case, folder: Path) -> Path | None:
    text = case.hostfile()
    if text is None:
        return None
    path = folder / "hostfile"
    path.write_text(text)
    return path
