"""Small studies for tests: a program whose points differ, go wrong, hang or eat memory as they are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from smpy.study.table import FILES, REAL

PROGRAM = """
import sys, time
from mpi4py import MPI

world = MPI.COMM_WORLD
n, what = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
if world.rank == 0 and what == "fails":
    raise ValueError("this one cannot work")
if what == "hangs":
    while True:
        pass
if what == "eats":
    held = []
    while True:
        held.append(bytearray(b"x" * (1 << 24)))
data = bytearray(n)
if world.rank == 0:
    world.Send(data, 1)
elif world.rank == 1:
    world.Recv(data, 0)
    print("carried", n)
"""


def study_table(folder: Path, **changes: Any) -> dict[str, Any]:
    """Table of the study's file for that program; the program is written into the folder."""
    (folder / "program.py").write_text(PROGRAM)
    return {
        "program": str(folder / "program.py"),
        "args": ["{n}"],
        "options": {"ranks": 2, "compute": "none", "platform": "fat-tree hosts=2 cores=1 nic=10Gb/s latency=1us"},
        "axes": {"args.n": [1, 1000, 100_000]},
        "results": {"carried": r"carried (\d+)"},
        **changes,
    }


def simulated(frame: pd.DataFrame) -> pd.DataFrame:
    """A study's table without what tells of this machine."""
    return frame.drop(columns=[*REAL, *FILES])
