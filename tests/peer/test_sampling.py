"""Loops sampled by SMPI's rule run as often as under SMPI_SAMPLE_LOCAL and SMPI_SAMPLE_GLOBAL, and take as long.

Both sides read a planted clock, so that they measure the same times.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.emulate.planted_clock import plant

pytestmark = pytest.mark.peer

HERE = Path(__file__).parent / "sampling"
PLATFORM = Path(__file__).parent / "platforms" / "cluster.xml"
N_RANKS = 3
TOLERANCE = 1e-6  # relative


def drawn(seed: int) -> list[str]:
    """Arguments of a program that samples."""
    draw = Random(seed)
    scope, n_visits, n = draw.choice(("rank", "world")), draw.randint(1, 4), draw.randint(1, 30)
    iters, thres = draw.randint(1, 40), draw.choice((-1, 0.02, 0.05, 0.1, 0.2))
    spread = draw.choice((0.02, 0.2, 1.0))
    times_s = [1e-3 * (1 + spread * draw.random()) for _ in range(draw.randint(1, 9))]
    return [scope, *map(str, (iters, thres, n_visits, n)), *(f"{time_s:.6f}" for time_s in times_s)]


@pytest.fixture(scope="session")
def binaries(smpirun: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smpirun")
    clock = ["cc", "-O1", "-shared", "-fPIC", "-o", folder / "clock.so", HERE / "planted_clock.c", "-ldl"]
    program = ["smpicc", "-O1", "-o", folder / "sampled", HERE / "sampled.c"]
    for command in (clock, program):
        subprocess.run(command, check=True, capture_output=True)
    return folder


def rows(printed: str) -> dict[tuple[int, int], tuple[int, float]]:
    """Runs of the body so far, and the date, by visit and rank."""
    lines = (line.split() for line in printed.splitlines())
    return {(int(visit), int(rank)): (int(n_run), float(date_s)) for visit, rank, n_run, date_s in lines}


def smpirun_rows(binaries: Path, arguments: list[str]) -> dict[tuple[int, int], tuple[int, float]]:
    command = ["smpirun", "-quiet", "-np", str(N_RANKS), "-platform", PLATFORM, "--cfg=smpi/host-speed:1e9"]
    command += ["--cfg=network/optim:Full", "--cfg=smpi/wtime:0", "--log=root.thres:warning"]
    command += ["-wrapper", f"env LD_PRELOAD={binaries / 'clock.so'}", binaries / "sampled", *arguments]
    done = subprocess.run(command, cwd=binaries, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return rows(done.stdout)


def smpy_rows(emulated: Callable, arguments: list[str]) -> dict[tuple[int, int], tuple[int, float]]:
    ran = emulated(
        None,
        N_RANKS,
        program=str(HERE / "sampled.py"),
        args=tuple(arguments),
        platform=PLATFORM,
        compute="measured",
        host_speed_flop_per_s=1e9,
        options=(("smpi/wtime", "0"),),
    )
    assert ran.error == ""
    return rows(ran.out)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["rank", "3", "-1", "1", "10", "0.01", "0.02"], id="local"),
        pytest.param(["world", "3", "-1", "1", "10", "0.01", "0.02"], id="global"),
        *(pytest.param(drawn(seed), id=str(seed)) for seed in range(40)),
    ],
)
def test_as_many_iterations_run_and_take_as_long_as_under_smpirun(
    emulated: Callable, monkeypatch: pytest.MonkeyPatch, binaries: Path, arguments: list[str]
) -> None:
    plant(monkeypatch)
    theirs, ours = smpirun_rows(binaries, arguments), smpy_rows(emulated, arguments)
    assert {at: n_run for at, (n_run, _) in ours.items()} == {at: n_run for at, (n_run, _) in theirs.items()}
    for at, (_, date_s) in theirs.items():
        assert ours[at][1] == pytest.approx(date_s, rel=TOLERANCE), at


def test_ten_iterations_with_three_samples(binaries: Path) -> None:
    """Each of two and more ranks runs three, or the first alone."""
    found = {scope: smpirun_rows(binaries, [scope, "3", "-1", "1", "10", "0.01"]) for scope in ("rank", "world")}
    assert [n_run for n_run, _ in found["rank"].values()] == [3, 3, 3]
    assert sorted(n_run for n_run, _ in found["world"].values()) == [0, 0, 3]
