"""Two networks for runs whose bursts of computing are recorded and replayed, and what tests read of such runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FAST = "flat hosts=64 cores=1 speed=2Gf nic=10GB/s latency=1us"
SLOW = "flat hosts=64 cores=1 speed=2Gf nic=1GB/s latency=100us"
BURSTS = Path("bursts.smpy")

BEGIN = """
import sys, time, smpy
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""
# Calls all go by smpy.mpi, which asks the planted clock; compiled ones would ask their own.
PLANTED = """
from planted_clock import advance
from smpy.engine.surface import surface
surface and surface.watch(True)
"""


def dates(ran: Any) -> list[float]:
    assert ran.error == ""
    return list(ran.outcome.summary.finish_s)


def bursts_remark(ran: Any) -> dict[str, Any]:
    return next((dict(remark.facts) for remark in ran.outcome.summary.remarks if remark.topic == "bursts"), {})
