"""A run tells the spread of real runs, from those that calibrations have seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

PROGRAM = """
    import smpy
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    smpy.execute(flop=3e7)
    if comm.rank == 0:
        comm.Send(bytearray(10**7), 1)
    else:
        comm.Recv(bytearray(10**7), 0)
"""
MACHINE = """
    [calibration]
    {calibration}
    [host]
    count = 2
    speed = "1Gf"
"""


def spread_of(smpy_run: Callable, tmp_path: Path, calibration: str, *options: str) -> dict[str, float] | None:
    machine, record = tmp_path / "machine.toml", tmp_path / "run.json"
    machine.write_text(MACHINE.format(calibration=calibration).replace("    ", ""), encoding="ascii")
    ran = smpy_run(PROGRAM, 2, "--platform", str(machine), "--json", str(record), *options)
    assert ran.code == 0, ran.err
    remarks = [remark for remark in json.loads(record.read_text())["remarks"] if remark["topic"] == "spread"]
    assert ("\n  spread " in ran.err) is bool(remarks)
    return remarks[0] if remarks else None


def test_the_spread_of_a_run_is_the_mean_of_its_parts_by_their_time(smpy_run: Callable, tmp_path: Path):
    spread = spread_of(smpy_run, tmp_path, "computing_spread = 0.04\nspread = 0.2", "--compute", "models")
    assert spread is not None
    record = json.loads((tmp_path / "run.json").read_text())
    computing, messages = record["compute_share"], record["communication_share"]
    assert computing > messages > 0
    expected = (0.04 * computing + 0.2 * messages) / (computing + messages)
    assert spread["makespan_spread"] == pytest.approx(expected)
    assert (spread["computing_spread"], spread["messages_spread"]) == (0.04, 0.2)


@pytest.mark.parametrize("calibration", ["", "spread = 0.2", "computing_spread = -1.0", "computing_spread = nan"])
def test_a_run_most_of_whose_time_has_no_known_spread_tells_none(smpy_run: Callable, tmp_path: Path, calibration: str):
    assert spread_of(smpy_run, tmp_path, calibration, "--compute", "models") is None


def test_measured_computing_spreads_as_the_calibration_of_this_machine_says(smpy_run: Callable, tmp_path: Path):
    here = tmp_path / "here.toml"
    here.write_text('[calibration]\ncomputing_spread = 0.07\n[host]\nspeed = "1Gf"\n', encoding="ascii")
    spread = spread_of(smpy_run, tmp_path, "computing_spread = 0.04\nspread = 0.2", "--host", str(here))
    assert spread is not None
    assert spread["computing_spread"] == 0.07
