"""Dates of a rank's calls, found by the kernel along its actions, intervals and messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from smpy.engine.kernel import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

CALL_KINDS: Final[dict[str, int]] = {
    name: getattr(lib, f"DATED_{name.upper()}")
    for name in (
        *("none", "instant", "alone", "skipped", "other", "post", "post_buffered", "post_and_wait", "wait", "wait_all"),
        *("wait_any", "test", "test_any", "and", "collective", "start", "entry"),
    )
}
"""The kernel's kinds of actions, by the time that they take."""

NO_QUEUE: Final[int] = lib.DATED_NO_QUEUE
NO_MESSAGE: Final[int] = lib.DATED_NO_MESSAGE

_INT, _BYTE, _DOUBLE = "i4", "i1", "f8"
_COLUMNS: Final = {
    **dict.fromkeys(("kind", "alone_kind", "interval_kind"), _BYTE),
    **dict.fromkeys(("site", "tag", "request", "queue", "chosen", "interval_site"), _INT),
    **dict.fromkeys(("first_of_queue", "message_tag"), _INT),
    **dict.fromkeys(("interval_end_s", "posted_s", "ended_s"), _DOUBLE),
}
_C_TYPES: Final = {_INT: "int[]", _BYTE: "int8_t[]", _DOUBLE: "double[]", "u1": "uint8_t[]"}


@dataclass(frozen=True, slots=True, eq=False)
class CallDates:
    """Dates of the actions of a rank.

    Attributes
    ----------
    is_call : array of bool, [actions]
        Whether an action is a call; others have no dates.
    begin_s, end_s : array of float, [actions]
        Dates at which each call began and ended.
    message : array of int, [actions]
        Number of the side of a message that each action posted, or `NO_MESSAGE`.
    over, first_over : array of int, [actions], [actions + 1]
        Actions whose requests are over, those of each call together, started collectives last; first place of each.
    n_intervals : int
        Number of the intervals until the end of the last call.
    """

    is_call: NDArray[Any]
    begin_s: NDArray[Any]
    end_s: NDArray[Any]
    message: NDArray[Any]
    over: NDArray[Any]
    first_over: NDArray[Any]
    n_intervals: int


def find_call_dates(columns: Mapping[str, NDArray[Any]], n_requests: int, overhead: int, start_s: float) -> CallDates:
    """Dates of the calls of one rank.

    Parameters
    ----------
    columns : mapping
        Columns of the kernel's `dated_actions`, by name; `first_of_queue` has one entry more than there are queues.
    n_requests : int
        Number of requests, which the column `request` numbers from 0.
    overhead : int
        Number of overhead among the kinds of intervals.
    start_s : float
        Date at which the rank started.
    """
    import numpy as np

    arrays = {name: np.ascontiguousarray(columns[name], kind) for name, kind in _COLUMNS.items()}
    n_actions, n_messages = len(arrays["kind"]), len(arrays["message_tag"])
    no_action = lib.DATED_NO_ACTION
    arrays |= {
        "next_of_queue": arrays["first_of_queue"].copy(),
        "is_posted": np.zeros(n_messages, "u1"),
        "open": np.full(n_requests, no_action, _INT),
        "started": np.full(n_requests, no_action, _INT),
        "begin_s": np.zeros(n_actions),
        "end_s": np.zeros(n_actions),
        "is_call": np.zeros(n_actions, "u1"),
        "message": np.full(n_actions, NO_MESSAGE, _INT),
        "over": np.empty(n_actions, _INT),
        "first_over": np.zeros(n_actions + 1, _INT),
    }
    pointers = {name: ffi.from_buffer(_C_TYPES[array.dtype.str[1:]], array) for name, array in arrays.items()}
    sizes = {"n_actions": n_actions, "n_intervals": len(arrays["interval_kind"])}
    facts = {"overhead": overhead, "start_s": start_s}
    n_intervals = lib.call_dates_find(ffi.new("dated_actions *", sizes | facts | pointers))
    results = {name: arrays[name] for name in ("begin_s", "end_s", "message", "over", "first_over")}
    return CallDates(is_call=arrays["is_call"].astype(np.bool_), **results, n_intervals=n_intervals)
