"""Ranks as functions: a small world in this process, on the surface as it is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from smpy.engine import running
from smpy.engine.engine import Engine
from smpy.mpi import MPI
from smpy.platforms import Description, Models, default_cluster, place, read_simgrid_xml

PLATFORMS = Path(__file__).parents[1] / "peer" / "platforms"


@dataclass(frozen=True, slots=True)
class World:
    """Result of a run: the value each rank returned, the time it ended, in seconds, and the engine."""

    returned: list[Any]
    finish_s: list[float]
    engine: Engine


def run_world(
    n_ranks: int,
    rank_main: Callable[[int], Any],
    platform_file: str | None = None,
    models: Models | None = None,
    kind: type[Engine] = Engine,
    prepare: Callable[[Engine], object] = id,
    machine: Description | None = None,
) -> World:
    """Run `rank_main(rank)` on every rank; what the first of them raises, in simulated time, is raised here.

    `prepare` is called with the engine, one of class `kind`, before it runs.
    """
    if machine is None:
        machine = default_cluster(n_ranks) if platform_file is None else read_simgrid_xml(PLATFORMS / platform_file)
    platform = machine.build()
    engine = kind(platform, models or platform.models, place(platform, n_ranks))
    returned: list[Any] = [None] * n_ranks

    def body(rank: int) -> None:
        try:
            returned[rank] = rank_main(rank)
        except Exception as error:  # noqa: BLE001  # raised again below
            engine.stop(error)

    engine.spawn(body)
    running.enter(engine)
    try:
        prepare(engine)
        stopped = engine.run(lambda: None)
    finally:
        running.enter(None)
    if isinstance(stopped, Exception):
        raise stopped
    return World(returned, list(engine.finish_s()), engine)


@pytest.fixture
def named_mpi4py(monkeypatch: pytest.MonkeyPatch) -> None:
    """The surface is `mpi4py.MPI`, as during a run, whether or not mpi4py is installed."""
    package = ModuleType("mpi4py")
    vars(package)["MPI"] = MPI
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", MPI)


@pytest.fixture
def run_ranks() -> Callable[..., World]:
    """Runs a function of the rank on n ranks: `run_ranks(4, lambda rank: ...)`."""
    return run_world
