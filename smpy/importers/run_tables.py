"""Rows of a real run that are known, as columns for the builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.importers.action_rows import ACTION_ROW
from smpy.importers.held_rows import Row
from smpy.importers.real_rank import RealRank
from smpy.importers.waiting_time import settle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.importers.trace_builder import TraceBuilder

_ROWS_HELD: Final = 1 << 17
"""Rows of a rank behind a send after which it is taken not to have waited for its receive."""

_TYPES: Final = {"f": np.float64, "i": np.int32, "q": np.int64}
_OF_INTERVALS: Final = ("start_s", "end_s", "kind", "site", "other", "message")
_OF_MESSAGES: Final = (
    *("message", "source", "target", "tag", "bytes", "send_site", "receive_site"),
    *("send_posted_s", "receive_posted_s", "started_s", "ended_s"),
)


def pass_on(builder: TraceBuilder, ranks: Sequence[RealRank], messages: Sequence[Row]) -> None:
    """Pass on the rows that are known.

    Parameters
    ----------
    builder : TraceBuilder
        Takes them.
    ranks : sequence of RealRank
        All ranks, which hold rows.
    messages : sequence of tuple
        Rows of messages.
    """
    intervals: list[Row] = []
    actions: list[Row] = []
    owners, n_of_owner = [], []
    for state in ranks:
        if len(state.intervals) > _ROWS_HELD:
            _give_up_waiting(state)
        taken = state.intervals.take()
        if taken:
            intervals += taken
            owners.append(state.rank)
            n_of_owner.append(len(taken))
        actions += state.actions.take()
    if actions:
        builder.actions(np.array(actions, ACTION_ROW))
    if intervals:
        rank = np.repeat(np.array(owners, np.int32), n_of_owner)
        builder.intervals({"rank": rank, **_columns(intervals, _OF_INTERVALS, "ffiiiq")})
    if messages:
        builder.messages(_columns(messages, _OF_MESSAGES, "qiiiqiiffff"))


def _give_up_waiting(state: RealRank) -> None:
    """Settle the oldest calls that only wait to know when their messages are received."""
    for call in list(state.intervals.open.values()):
        if any(part.last_s is None for part in call.parts):
            return
        settle(call)


def _columns(rows: Sequence[Row], names: Sequence[str], kinds: str) -> dict[str, NDArray[Any]]:
    columns = zip(names, kinds, zip(*rows, strict=True), strict=True)
    return {name: np.array(values, _TYPES[kind]) for name, kind, values in columns}
