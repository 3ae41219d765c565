"""`--trace FOLDER`: the trace of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from smpy.collectives.world_schedules import algorithms_in
from smpy.emulate.reports.ranks_in_text import place_of
from smpy.records.trace_info import check_replaceable
from smpy.records.trace_tables import TraceTables

if TYPE_CHECKING:
    from smpy.engine.engine import Engine
    from smpy.options import RunConfig
    from smpy.platforms.description import Description
    from smpy.records.summary import Summary


class TraceRecording:
    """The trace of one run.

    Parameters
    ----------
    config : RunConfig
        Settings of the run: the trace's folder and content.
    engine : Engine
        The world, before its first call.
    home : str
        Folder of the program.

    Raises
    ------
    UsageError
        If no trace can be written there, or another program's trace is there.
    """

    def __init__(self, config: RunConfig, engine: Engine, home: str) -> None:
        assert config.trace is not None
        self._engine = engine
        self._config = config
        self._home = home
        self._program_path = os.path.join(home, os.path.basename(config.program))
        folder = config.trace.absolute()
        check_replaceable(folder, self._program_path, overwrite=config.overwrite)
        self._tables = TraceTables(folder, engine, config.trace_window_s, config.trace_ranks)

    def take(self) -> None:
        """Write the rows that the kernel has produced, once there are many.

        Raises
        ------
        NoRoomError
            If it cannot be written to the folder.
        """
        self._tables.take()

    def abandon(self) -> None:
        """Close the trace of a broken run as it is."""
        self._tables.abandon()

    def finish(self, summary: Summary, machine: Description, host_of_rank: Sequence[int]) -> None:
        """Complete the trace with facts known after the run.

        Raises
        ------
        NoRoomError
            If it cannot be written.
        """
        facts = {
            "program_path": self._program_path,
            "can_replay": self._config.governor is None,
            "algorithms": [list(pair) for pair in self._config.algorithms],
            "host_speed_flop_per_s": self._config.host_speed_flop_per_s,
        }
        algorithms = algorithms_in(self._engine)
        place = partial(_place, self._engine, home=self._home)
        self._tables.finish(summary, machine, host_of_rank, place, facts, algorithms.asked, algorithms.chosen_by)


def _place(engine: Engine, line: int, home: str) -> tuple[str, int]:
    file, _, number = place_of(*engine.place_of_line(line), home).rpartition(":")
    return file, int(number or 0)
