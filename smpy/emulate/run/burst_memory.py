"""`--burst-memory`: measured bursts move bytes of their host's memory, or none; and the summary says which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.engine.processors import usable_processors
from smpy.engine.surface import surface
from smpy.records.remark import Remark
from smpy.units import format_bytes

if TYPE_CHECKING:
    from smpy.compute.clock.learnt_memory import LearntBurstMemory
    from smpy.compute.clock.memory_shares import LoadSlowdown
    from smpy.engine.engine import Engine
    from smpy.options import RunConfig

_TOPIC: Final = "burst memory"
_LEAST_STRETCH: Final = 0.1
"""Least difference of the two slow-downs that exceeds the noise of measured times."""


class BurstMemoryMode:
    """Bytes of a run's measured bursts: learnt, or none.

    Attributes
    ----------
    memory : LearntBurstMemory or None
        Source of the bytes, for the clock.
    """

    def __init__(self, memory: LearntBurstMemory | None = None, why_none: str = "") -> None:
        self.memory: Final = memory
        self._why_none: Final = why_none

    @classmethod
    def of(cls, config: RunConfig, calibration: Path | None, engine: Engine, hosts: Sequence[int]) -> BurstMemoryMode:
        """Start to learn, if the run is to and can.

        Parameters
        ----------
        config : RunConfig
            The run.
        calibration : Path or None
            File of this machine.
        engine : Engine
            The world.
        hosts : sequence of int
            Host of each rank.

        Raises
        ------
        UsageError
            If the file cannot be used.
        """
        if calibration is None or not config.measures_computing or config.burst_memory == "none":
            return cls()
        from smpy.records.calibration_file import load_slowdown  # most runs need not import it

        slowdown = load_slowdown(calibration)
        why_none = _why_none(config, slowdown, engine, hosts)
        if slowdown is None or why_none:
            return cls(None, why_none or f"{calibration} has no [calibration.load], which smpy calibrate host measures")
        from smpy.compute.clock.learnt_memory import LearntBurstMemory, NeighbourLoad

        try:
            load = NeighbourLoad(slowdown.load_bytes, usable_processors())
        except (MemoryError, OSError):
            return cls(None, f"this machine has no room for a load of {format_bytes(slowdown.load_bytes)}")
        return cls(LearntBurstMemory(engine, slowdown, load, config.host_speed_flop_per_s or 0.0))

    def end(self) -> None:
        """End the load."""
        if self.memory is not None:
            self.memory.end()

    def remarks(self) -> Iterable[Remark]:
        """Tell how much of the time of bursts memory bounds, or why that is not known."""
        if self._why_none:
            yield Remark(_TOPIC, (f"bursts move none: {self._why_none}",), {"share": None, "why": self._why_none})
        if self.memory is None:
            return
        shares, n_beside, n_disturbed = self.memory.shares, self.memory.n_beside, self.memory.n_disturbed
        text = f"{shares.mean:.0%} of the time of bursts is bound by memory, known of {shares.n_known:,} of "
        text += f"{shares.n_places:,} places; {n_beside:,} bursts beside a load"
        if not shares.n_known:
            text = f"bursts move none: {n_beside:,} beside a load were too few to tell what they move"
        lines = [text]
        if n_disturbed:
            lines.append(f"{n_disturbed:,} of them tell nothing: other processes took the core of the load")
        yield Remark(
            _TOPIC,
            tuple(lines),
            {
                "share": shares.mean if shares.n_known else None,
                "n_places": shares.n_places,
                "n_known": shares.n_known,
                "n_beside": n_beside,
                "n_disturbed": n_disturbed,
            },
        )


def _why_none(config: RunConfig, slowdown: LoadSlowdown | None, engine: Engine, hosts: Sequence[int]) -> str:
    """Reason for which nothing is learnt; "": there is none."""
    if config.cpus_per_task > 1:
        return "ranks have several cores, and bytes are learnt for one thread"
    if config.record is not None or config.replay is not None:
        return "a recording has the seconds of bursts alone"
    if surface is None:
        return "this installation has no compiled surface, which has the load"
    if len(usable_processors()) < 2:
        return "this machine has no free core for a load"
    if len(set(hosts)) == len(hosts):
        return "no two ranks share a host"
    if not any(engine.platform.memory(host).bandwidth_bytes_per_s for host in set(hosts)):
        return "the machine says no host.memory_bandwidth"
    if slowdown is not None and slowdown.memory - slowdown.core < _LEAST_STRETCH:
        times = f"{slowdown.memory:.2f} times the time, a core {slowdown.core:.2f} times"
        return f"memory takes {times} beside a load on this machine: too little to tell them apart"
    return ""
