"""Fits the study's 30 sizes of dgemm and dtrsm: `python calibration/study-2017/fit.py` writes laptop.toml beside it."""

from __future__ import annotations

import csv
from pathlib import Path

from smpy.calibrate.costs import Terms, cost_of
from smpy.calibrate.kernel_table import kernel_table
from smpy.calibrate.result_file import Table, write_result
from smpy.calibrate.samples import KernelSample
from smpy.units import rounded_speed

HERE = Path(__file__).parent
KERNELS = {
    "dgemm": Terms(("m", "n", "k"), ("m*n*k", "m*n", "m*k", "n*k", "m", "n", "k", "1"), ("m*n*k",)),
    "dtrsm_right": Terms(("m", "n"), ("m*n^2", "m*n", "n^2", "m", "n", "1"), ("m*n^2",)),  # n: of the triangle
}
FILES = {"dgemm": "dgemm.csv", "dtrsm_right": "dtrsm.csv"}


def samples(kernel: str) -> list[KernelSample]:
    """The published times of a kernel, one call a size."""
    with (HERE / FILES[kernel]).open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = KERNELS[kernel].sizes
    return [
        KernelSample(
            kernel, tuple((name, int(row[name])) for name in names), "warm", 0, float(row["time"]), float(row["time"])
        )
        for row in rows
    ]


def tables() -> dict[str, Table]:
    """The result."""
    costs = [cost_of(kernel, terms, samples(kernel)) for kernel, terms in KERNELS.items()]
    speed = rounded_speed(2 / costs[0].fit.seconds["m*n*k"], 4)
    about: Table = {
        "source": "T. Cornebize, Capacity Planning of Supercomputers, 2017, hal-01544827",
        "cpu": "a laptop of the study's, one core; kernels called from C",
        "raw": "dgemm.csv, dtrsm.csv",
        "speed": "2 m n k operations in the time that dgemm's leading term says",
    }
    found: dict[str, Table] = {"calibration": about, "host": {"speed": speed}, "kernels": {"reference_speed": speed}}
    return found | {f"kernels.{cost.name}": kernel_table(cost) for cost in costs}


if __name__ == "__main__":
    write_result(HERE / "laptop.toml", tables(), "Written by fit.py from the study's published times.")
