"""The messages of a trace as columns, by their numbers."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from smpy.analysis.timeline import TRANSFER, Timeline, floats, integers
from smpy.records.columns import is_known
from smpy.records.threads import MessageSides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.records.trace import Trace


CONTENTION: Final = "contention in the network"
"""Name that all analyses use for messages that share links."""


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """Messages in the order of their numbers.

    Parameters
    ----------
    number : (n_messages,) array of int
        Ascending.
    sender, receiver : (n_messages,) array of int
        Locations (`threads`) that posted its sides.
    bytes : (n_messages,) array of int
        Size of each.
    started_s, ended_s : (n_messages,) array of float
        Dates; a message starts when it is sent, whatever its receiver does, or when both of its sides are posted.
    alone_s : (n_messages,) array of float
        Time that each would have taken with nothing else on its links; NaN: not known.
    is_sender_last : (n_messages,) array of bool
        Whether its sender started it, whatever its receiver did, or after its receive was posted.
    is_inner : (n_messages,) array of bool
        Whether it is part of a collective.
    """

    number: NDArray[np.int64]
    sender: NDArray[np.int32]
    receiver: NDArray[np.int32]
    bytes: NDArray[np.int64]
    started_s: NDArray[np.float64]
    ended_s: NDArray[np.float64]
    alone_s: NDArray[np.float64]
    is_sender_last: NDArray[np.bool_]
    is_inner: NDArray[np.bool_]

    @property
    def contention_s(self) -> NDArray[np.float64]:
        """[n_messages] time in excess of the time that the message takes alone on its links; 0 if unknown."""
        return np.maximum(np.nan_to_num(self.ended_s - self.started_s - self.alone_s), 0.0)

    def row(self, number: int) -> int:
        """Row of a message; -1 if the trace lacks it."""
        at = bisect_left(self.number, number)
        return at if at < len(self.number) and self.number[at] == number else -1


def hottest_links(trace: Trace) -> list[str]:
    """Names of the used links, the longest saturated first; empty if the run did not record them.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    links = (trace.info.get("profile") or {}).get("links") or {"link": [], "saturated_s": [], "busy_s": []}
    heat = zip(links["saturated_s"], links["busy_s"], links["link"], strict=True)
    return [name for _, busy_s, name in sorted(heat, key=lambda link: (-link[0], -link[1])) if busy_s > 0]


def link_labels(trace: Trace) -> dict[str, str]:
    """Links for people, by name: the nodes that they join, where the run recorded them."""
    links = (trace.info.get("profile") or {}).get("links") or {}
    return {name: label for name, label in zip(links.get("link", ()), links.get("joins", ()), strict=False) if label}


def read_messages(trace: Trace) -> Messages:
    """The messages of a trace.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    """
    table = trace.table(
        "messages",
        columns=[
            *("message", "source", "target", "tag", "bytes"),
            *("send_posted_s", "receive_posted_s", "started_s", "ended_s", "alone_s"),
        ],
    )
    number = integers(table["message"], np.int64, -1)
    order = np.argsort(number, kind="stable")
    number = number[order]
    source, target = (integers(table[name], np.int32, -1)[order] for name in ("source", "target"))
    sender, receiver = MessageSides(trace).locations(number, source, target)
    sent_s, received_s = floats(table["send_posted_s"])[order], floats(table["receive_posted_s"])[order]
    started_s = floats(table["started_s"])[order]
    is_early = ~np.isnan(started_s)
    return Messages(
        number=number,
        sender=sender,
        receiver=receiver,
        bytes=integers(table["bytes"], np.int64, 0)[order],
        started_s=np.where(is_early, started_s, np.fmax(sent_s, received_s)),
        ended_s=floats(table["ended_s"])[order],
        alone_s=floats(table["alone_s"])[order],
        is_sender_last=is_early | (sent_s > received_s),
        is_inner=~is_known(table["tag"])[order],
    )


def contention_of_transfers(timeline: Timeline, messages: Messages) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices of intervals in which ranks waited for messages slowed by contention, and the part of each in seconds.

    Parameters
    ----------
    timeline : Timeline
        Intervals of all ranks, with their messages.
    messages : Messages
        Messages of the same trace.
    """
    transfers = np.flatnonzero((timeline.kind == TRANSFER) & np.isin(timeline.message, messages.number))
    row, duration_s = np.searchsorted(messages.number, timeline.message[transfers]), timeline.duration_s()[transfers]
    whose = timeline.location[transfers].astype(np.int64) * len(messages.number) + row
    _, which = np.unique(whose, return_inverse=True)
    whole_s = np.bincount(which, weights=duration_s)[which]  # a rank that polls has a transfer in several intervals
    seconds = duration_s * np.minimum(messages.contention_s[row] / whole_s, 1.0)
    kept = seconds > 0
    return transfers[kept], seconds[kept]
