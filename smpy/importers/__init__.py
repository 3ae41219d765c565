"""Import of traces that other tools wrote, as traces of smpy: real runs, explained and replayed like simulated ones.

A reader of a format (`formats.FORMATS`) passes what a file tells to a `TraceBuilder`: readers of formats without dates
pass rows of actions; those with dates pass the events of ranks to a `RealRun`, which makes all tables of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from smpy.errors import NoRoomError
from smpy.importers.formats import reader_of
from smpy.importers.import_options import ImportOptions
from smpy.importers.trace_builder import TraceBuilder

if TYPE_CHECKING:
    from smpy.platforms.description import Description
    from smpy.records.trace import Trace

__all__ = ["ImportOptions", "import_trace"]


def import_trace(
    path: str | Path,
    to: str | Path,
    *,
    form: str | None = None,
    platform: str | Path | Description | None = None,
    n_ranks: int | None = None,
    host_speed_flop_per_s: float | None = None,
    cycles: str | None = None,
    frequency_hz: float | None = None,
    keeps_calls: bool = False,
    overwrite: bool = False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Trace:
    """Import a trace that another tool wrote.

    Parameters
    ----------
    path : str or path
        The trace; of several files, the one that its tool would be given.
    to : str or path
        Folder of the new trace.
    form : {"otf2"}, optional
        Format of the trace; by default, found by looking at the file.
    platform : str, path or Description, optional
        Machine to write into the trace, as for `smpy run`: a replay then needs no other.
    n_ranks : int, optional
        Number of ranks, where the trace does not tell it.
    host_speed_flop_per_s : float, optional
        Speed of a core of the traced machine: computing is scaled by it; by default, computing keeps its seconds.
    cycles : str, optional
        Name of a counter of cycles in the trace, from which computing is taken in place of dates.
    frequency_hz : float, optional
        Cycles of that counter in a second.
    keeps_calls : bool
        Whether calls that cannot be replayed, to files and windows, keep the time that they took.
    overwrite : bool
        Whether the trace of another program may be replaced.
    on_progress : callable
        Called with the share of the trace that has been read, now and then.

    Returns
    -------
    Trace
        The new trace.

    Raises
    ------
    UsageError
        If the trace cannot be read, or `to` cannot be written: file, place and why. No folder is then left.
    """
    from smpy.records.trace import Trace

    path, to = Path(path), Path(to)
    options = ImportOptions(
        n_ranks=n_ranks,
        host_speed_flop_per_s=host_speed_flop_per_s,
        cycles=cycles,
        frequency_hz=frequency_hz,
        keeps_calls=keeps_calls,
        on_progress=on_progress,
    )
    name, reader = reader_of(path, form)
    builder = TraceBuilder(to, path, name, platform=platform, overwrite=overwrite)
    try:
        reader.read(path, builder, options)
        builder.finish()
    except MemoryError as error:
        raise NoRoomError(f"{path}: there is not enough memory to import it") from error
    finally:
        builder.close()
    return Trace(to)
