"""Calls of a trace's ranks as columns: messages, collectives, accesses and locks that a rank posted, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.records.columns import numbers
from smpy.records.whole_runs import check_performed, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace

POSTED: Final = (
    *("send", "isend", "recv", "irecv", "irecv_held"),
    *("collective", "start", "access", "rget", "lock", "unlock", "file_access", "file_iaccess"),
)
"""Actions that post something; waits and polls are not among them, as their order may follow from dates."""

_RECEIVES: Final = ("recv", "irecv", "rget")
_COLUMNS: Final = {
    "rank": np.int32,
    "site": np.int32,
    "comm": np.int32,
    "peer": np.int32,
    "tag": np.int32,
    "bytes": np.int64,
    "request": np.int32,
}


@dataclass(frozen=True, slots=True, eq=False)
class CallEvents:
    """Events of all ranks, sorted by rank; those of a rank are in its order.

    Parameters
    ----------
    first : (n_ranks + 1,) array of int
        Events of rank r are those from first[r] to first[r + 1] - 1.
    label : (n_events,) array of int
        Call and line: index into the trace's `labels`.
    comm : (n_events,) array of int
        Communicator; -1: none.
    peer, tag : (n_events,) array of int
        Partner as a rank of the communicator, or root, and tag; of a receive from any source, those of its message.
    bytes : (n_events,) array of int
        Bytes to send, or room to receive.
    """

    first: NDArray[np.int64]
    label: NDArray[np.int32]
    comm: NDArray[np.int32]
    peer: NDArray[np.int32]
    tag: NDArray[np.int32]
    bytes: NDArray[np.int64]


def read_call_events(trace: Trace) -> CallEvents:
    """Read the calls of a trace.

    Parameters
    ----------
    trace : Trace
        Trace of a run with all that its ranks did.

    Raises
    ------
    UsageError
        If it has a window, some ranks, or no calls, or its run skipped iterations; or without pyarrow.
    """
    check_whole(trace, "be compared")
    check_performed(trace, "tell whether calls depend on time")
    parts: list[dict[str, NDArray[Any]]] = []
    took: list[dict[str, NDArray[Any]]] = []
    for batch in trace.batches("actions", ["action", *_COLUMNS]):
        words = batch["action"].dictionary.to_pylist()
        action = numbers(batch["action"].indices)
        is_posted = np.isin(action, [number for number, word in enumerate(words) if word in POSTED])
        is_receive = np.isin(action, [number for number, word in enumerate(words) if word in _RECEIVES])
        columns = {name: numbers(batch[name], 0 if name == "site" else -1) for name in _COLUMNS}
        parts.append({name: column[is_posted].astype(_COLUMNS[name]) for name, column in columns.items()})
        parts[-1]["is_receive"] = is_receive[is_posted]
        is_took = np.isin(action, [number for number, word in enumerate(words) if word == "took"])
        took.append({name: columns[name][is_took] for name in ("rank", "request", "peer", "tag")})
    every = _together(parts)
    order = np.argsort(every["rank"], kind="stable")
    every = {name: column[order] for name, column in every.items()}
    _resolve(every, _together(took))
    return CallEvents(
        first=np.searchsorted(every["rank"], np.arange(trace.n_ranks + 1)),
        label=trace.label_of_site[every["site"]],
        **{name: every[name] for name in ("comm", "peer", "tag", "bytes")},
    )


def _together(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _resolve(events: dict[str, NDArray[Any]], took: dict[str, NDArray[Any]]) -> None:
    """Give receives from any source, or with any tag, the source and the tag of the message that they took."""
    keys = took["rank"].astype(np.int64) << 32 | took["request"]
    order = np.argsort(keys, kind="stable")
    wild = np.flatnonzero(events["is_receive"] & ((events["peer"] < 0) | (events["tag"] < 0)))
    if not len(wild) or not len(keys):
        return
    mine = events["rank"][wild].astype(np.int64) << 32 | events["request"][wild]
    at = np.minimum(np.searchsorted(keys[order], mine), len(keys) - 1)
    is_known = keys[order][at] == mine
    for name in ("peer", "tag"):
        events[name][wild[is_known]] = took[name][order][at[is_known]]
