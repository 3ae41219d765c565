"""Threads of ranks in a trace.

Locations of intervals are numbered: each rank's own program by its rank, then threads, which a trace numbers from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from smpy.records.columns import numbers
from smpy.records.trace_layout import damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace


def locations(trace: Trace, table: Any, side: str = "") -> NDArray[np.int64]:
    """Location of each row of a table.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    table : pyarrow.Table
        Has a column `rank` and, perhaps, `thread`; where that is null, the rank's own program is meant.
    side : str
        Beginning of the names of the two columns.
    """
    location = numbers(table[f"{side}rank"]).astype(np.int64)
    if f"{side}thread" in table.schema.names:
        thread = numbers(table[f"{side}thread"], 0)
        location = np.where(thread > 0, trace.n_ranks + thread - 1, location)
    return location


def rank_of_locations(trace: Trace) -> NDArray[np.int32]:
    """Rank of each location.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    rank_of = np.arange(trace.n_ranks, dtype=np.int32)
    return np.append(rank_of, [rank for rank, _ in _threads(trace)]).astype(np.int32)


def location_names(trace: Trace) -> list[str]:
    """Name of each location: "rank 3", or, of a thread, "rank 3: receiver".

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    names = [f"rank {rank}" for rank in range(trace.n_ranks)]
    return names + [f"rank {rank}: {thread}" for rank, thread in _threads(trace)]


def _threads(trace: Trace) -> list[tuple[int, str]]:
    """Rank and name of each thread, in the order of their numbers."""
    if not trace.n_rows("threads"):
        return []
    table = trace.table("threads", ["rank", "thread", "name"])
    thread, rank, name = (table[column].to_pylist() for column in ("thread", "rank", "name"))
    if len(set(thread)) < len(thread):
        raise damaged(f"{trace.folder / 'threads.parquet'} has a thread twice")
    return [(of_rank, name) for _, of_rank, name in sorted(zip(thread, rank, name, strict=True))]


class MessageSides:
    """Locations that posted the two sides of messages.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """

    def __init__(self, trace: Trace) -> None:
        self._n_ranks = trace.n_ranks
        table = trace.table("thread_messages")
        order = np.argsort(numbers(table["message"]), kind="stable")
        self._message = numbers(table["message"])[order]
        self._threads = [numbers(table[name], 0)[order] for name in ("send_thread", "receive_thread")]

    def locations(
        self, message: NDArray[np.int64], source: NDArray[np.int32], target: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Senders and receivers of messages, given their numbers and ranks."""
        if not len(self._message):
            return source, target
        row = np.searchsorted(self._message, message).clip(0, len(self._message) - 1)
        is_told = self._message[row] == message
        sender, receiver = (
            np.where(is_told & (thread[row] > 0), self._n_ranks + thread[row] - 1, rank)
            for rank, thread in zip((source, target), self._threads, strict=True)
        )
        return sender, receiver


def wake_ups(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Locations that began or went on because of another one, the dates, and the locations that let them.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    if not trace.n_rows("wake_ups"):
        return np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    table = trace.table("wake_ups")
    return locations(trace, table), numbers(table["date_s"]), locations(trace, table, "by_")
