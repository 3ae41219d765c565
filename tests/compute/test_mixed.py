"""Runs with ``--compute mixed``: kernels take the time of their models, and the rest is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

import smpy

PROGRAM = """
from mpi4py import MPI
import smpy

@smpy.kernel(flop="1e9")
def kernel():
    sum(range(N_KERNEL))
    MPI.COMM_WORLD.Get_rank()

began = MPI.Wtime()
kernel()
kernel_s = MPI.Wtime() - began
began = MPI.Wtime()
sum(range(N_BESIDE))
MPI.COMM_WORLD.Barrier()
beside_s = MPI.Wtime() - began
print(kernel_s, beside_s)
"""


N_KERNEL, N_BESIDE = 10_000_000, 1_000_000


def times_s(folder: Path, compute: str) -> list[float]:
    """Simulated time of a kernel that is modelled as 1 s, and of the code behind it."""
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("N_KERNEL", str(N_KERNEL)).replace("N_BESIDE", str(N_BESIDE)))
    run = smpy.simulate(program, ranks=1, platform="flat hosts=1 speed=1Gf", compute=compute)
    return [float(word) for word in run.stdout.split()]


def test_kernel_takes_its_model_and_the_code_beside_it_is_measured(tmp_path: Path):
    measured_s, _ = times_s(tmp_path, "measured")
    kernel_s, beside_s = times_s(tmp_path, "mixed")
    assert kernel_s == pytest.approx(1, rel=0.01)  # and the calls about it
    assert 1e-3 < beside_s < measured_s / 2  # a tenth of what the kernel computes


def test_models_alone_charge_nothing_beside_kernels(tmp_path: Path):
    kernel_s, beside_s = times_s(tmp_path, "models")
    assert kernel_s == pytest.approx(1, rel=1e-6)
    assert beside_s < 1e-6


def test_summary_says_how_computing_took_time(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text("from mpi4py import MPI")
    shown = smpy.simulate(program, ranks=1, compute="mixed").summary.render()
    assert "modelled; all other computing is measured (--compute mixed)" in shown
