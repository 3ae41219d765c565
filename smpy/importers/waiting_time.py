"""Time of a call that waits for other ranks: first for the last of them, then for a transfer."""

from __future__ import annotations

from math import inf
from typing import Final

from smpy.importers.held_rows import Row
from smpy.importers.real_rank import WaitingCall
from smpy.records.profile import INTERVAL_KINDS

_OVERHEAD, _TRANSFER = (INTERVAL_KINDS.index(kind) for kind in ("overhead", "transfer"))
_LATE_SENDER: Final = INTERVAL_KINDS.index("late_sender")
_LATE_RECEIVER: Final = INTERVAL_KINDS.index("late_receiver")
_LATE_MEMBERS: Final = INTERVAL_KINDS.index("late_members")


def settle(call: WaitingCall) -> None:
    """Fill the place of a call: it waits for the last of its partners' dates, then for a transfer."""
    entered_s, left_s = call.entered_s, call.left_s
    last_s, kind, other, number = -inf, _OVERHEAD, -1, -1
    for receive in call.receives:
        message = receive.message
        if message is not None and min(message.sent_s, left_s) > last_s:
            last_s = min(message.sent_s, left_s)
            kind, other, number = _LATE_SENDER, message.source, message.number
    for message in call.sends:
        if message.is_matched and last_s < message.posted_s < left_s:
            last_s, kind, other, number = message.posted_s, _LATE_RECEIVER, message.target, message.number
    for part in call.parts:
        if part.last_s is not None and part.last_s > last_s:
            last_s, kind, other, number = part.last_s, _LATE_MEMBERS, part.last_rank, -1
    rows: list[Row] = []
    if kind == _OVERHEAD:
        rows.append((entered_s, left_s, _OVERHEAD, call.site, -1, -1))
    else:
        if last_s > entered_s:
            rows.append((entered_s, last_s, kind, call.site, other, number))
        rows.append((max(entered_s, last_s), left_s, _TRANSFER, call.site, -1, number))
    call.state.intervals.fill(call.place, [row for row in rows if row[1] > row[0]])
    call.sends, call.receives, call.parts = [], [], []  # no circle is left to the garbage collector


def tell(call: WaitingCall) -> None:
    """Note that one more has told its dates to a call; after the last one, fill its place."""
    call.n_open -= 1
    if call.n_open == 0 and call.place in call.state.intervals.open:
        settle(call)
