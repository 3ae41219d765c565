"""Remarks on the cores of ranks, and on the threads of libraries that computed on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from smpy.platforms.placement.rank_cores import cores_text
from smpy.records.remark import Remark
from smpy.units import format_time

if TYPE_CHECKING:
    from smpy.compute.clock.library_threads import LibraryThreads
    from smpy.engine.engine import Engine
    from smpy.options import RunConfig


def remarks_on_cores(
    config: RunConfig, engine: Engine, host_of_rank: Sequence[int], spread: LibraryThreads | None
) -> Iterable[Remark]:
    """Describe the cores of each rank, and their use by measured computing; nothing for one core."""
    n_cores = config.cpus_per_task
    if n_cores == 1:
        return
    lines = [cores_text(engine.platform, host_of_rank, n_cores, by_socket=config.map_by == "socket")]
    if spread is not None:
        lines.append(f"{format_time(spread.total_s)} of library threads were measured, and are spread over these cores")
    elif config.measures_computing:
        lines.append("libraries had one thread here: their measured computing is on one core of each rank")
    spread_s = None if spread is None else spread.total_s
    yield Remark("cores", tuple(lines), {"cpus_per_task": n_cores, "spread_s": spread_s})
