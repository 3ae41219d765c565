"""Child processes that `multiprocessing` starts by spawn or forkserver: each belongs to the rank that started it.

The child imports the program again, and with it mpi4py. It gets smpy's module, with the parent's rank and size; calls
that communicate are refused.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from smpy.emulate.config import description_of, new_world
from smpy.emulate.modules.sources import STAND_INS
from smpy.emulate.patches import Patches
from smpy.emulate.process.shared_memory import install_shared_memory
from smpy.emulate.ranks import RankState, begin, running
from smpy.engine import running as engines
from smpy.options import RunConfig
from smpy.platforms.machine import machine_file


def install_spawned(patches: Patches, config: RunConfig, prefix: str) -> None:
    """Make children join the run beside their ranks until the patches are undone; `prefix` is that of its names."""
    platform = config.platform
    if isinstance(platform, str | Path):
        platform = _absolute(machine_file(platform)) or platform
    here = replace(config, platform=platform, hostfile=_absolute(config.hostfile))
    prepare = _with_membership(spawn.get_preparation_data, here, prefix)
    patches.attribute(spawn, "get_preparation_data", prepare)


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else Path(os.path.abspath(path))


def _with_membership(
    real: Callable[[str], dict[str, Any]], config: RunConfig, prefix: str
) -> Callable[[str], dict[str, Any]]:
    def get_preparation_data(name: str) -> dict[str, Any]:
        data = real(name)
        state = running()
        if name == "ignore":  # for the fork server, whose children belong to several ranks
            data.pop("init_main_from_path", None)
            data.pop("init_main_from_name", None)
        elif state is not None:
            data["smpy"] = _Membership(config, state.rank, prefix)
        return data

    return get_preparation_data


class _Membership:
    """Object that makes a child join the run when it is unpickled, before the child imports the program."""

    def __init__(self, config: RunConfig, rank: int, prefix: str) -> None:
        self._joined = config, rank, prefix

    def __reduce__(self) -> tuple[Callable[..., None], tuple[RunConfig, int, str]]:
        return _join, self._joined


def _join(config: RunConfig, rank: int, prefix: str) -> None:
    _, _, engine = new_world(config, description_of(config))
    engines.enter(engine)
    engine.leave(rank)
    state = RankState(rank, engine)
    state.is_child = True
    begin(state)
    with suppress(ImportError):
        install_shared_memory(Patches(), prefix)
    if find_spec("mpi4py") is None:
        sys.path.append(STAND_INS["mpi4py"])
    package: Any = importlib.import_module("mpi4py")
    package.MPI = sys.modules["mpi4py.MPI"] = importlib.import_module("smpy.mpi.MPI")
