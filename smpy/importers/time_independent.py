"""Import of time-independent traces, which SimGrid's `smpirun -trace-ti` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpy.importers.collective_order import CollectiveOrder
from smpy.importers.message_counts import MessageCounts
from smpy.importers.time_independent_actions import Actions
from smpy.importers.time_independent_files import RowReader, is_main_file, read_main_file

if TYPE_CHECKING:
    from smpy.collectives.facts import Query
    from smpy.importers.import_options import ImportOptions
    from smpy.importers.trace_builder import TraceBuilder

_IN_OPERATIONS: Final = "a time-independent trace has operations (flop)"


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is the main file of such a trace: it lists files of ranks."""
    return is_main_file(path, head)


def read(path: Path, builder: TraceBuilder, options: ImportOptions) -> None:
    """Read a trace into a builder: pieces of all ranks in turn, so that a replay has them at about the same time.

    Raises
    ------
    UsageError
        If a line has no known form, or a message or a collective lacks a side: file, line and why.
    """
    options.refuse_scaling(_IN_OPERATIONS)
    trace = read_main_file(path, options.n_ranks)
    n_bytes = sum(file.stat().st_size for file in trace.files)
    builder.begin(trace.n_ranks)

    operation_of: dict[int, str] = {}

    def schedule_of(operation: str, query: Query) -> int:
        number = builder.collective(
            operation,
            query.n_ranks,
            query.nbytes,
            item_bytes=query.item_bytes,
            n_entries=query.n_entries,
            total_bytes=query.total_bytes,
            are_equal=query.are_equal,
            in_parts=query.in_parts,
        )
        operation_of[number] = operation
        return number

    def site_of(rank: int, call: str, place: tuple[str, int]) -> int:
        return builder.site(rank, call, *place)

    # The machine decides which sends are complete at once: none is here, and the rank waits for each.
    actions = [
        Actions(rank, trace.n_ranks, schedule_of, lambda rank, nbytes: False, site_of=site_of)
        for rank in range(trace.n_ranks)
    ]
    reader, counts = RowReader(trace, actions), MessageCounts(trace.place, builder.members)
    order = CollectiveOrder(trace.place, trace.n_ranks, operation_of)
    under_way = list(range(1 if trace.is_shared else trace.n_ranks))
    while under_way:
        for rank in list(under_way):
            rows = reader.rows_for(rank)
            if rows is None:
                under_way.remove(rank)
                continue
            counts.add(rows, rows["line"])
            order.add(rows)
            builder.actions(rows)
            options.on_progress(reader.n_bytes / n_bytes)
    order.check()
    counts.check()
    builder.depends_on_time(polls=reader.n_tests, failed_polls=reader.n_tests)
