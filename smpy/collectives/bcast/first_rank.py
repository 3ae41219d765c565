"""Broadcast through rank 0 in segments, along a tree whose root is rank 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smpy.collectives.call import Call
from smpy.collectives.patterns.linear import hand_over
from smpy.collectives.patterns.segments import End, relay, relay_whole
from smpy.collectives.schedule import Schedule

SEGMENT_BYTES: Final = 8192


def relay_from_first(steps: Schedule, call: Call, source: End, targets: Sequence[End], *, is_started: bool) -> None:
    """Send from the root to rank 0, and on in segments along the tree; the run's broadcast takes the bytes left over.

    The root receives its own message again, as in SimGrid. Sends are started and completed later, or each is waited
    for.
    """
    nbytes = call.nbytes
    assert isinstance(nbytes, int)  # a choosing algorithm
    hand_over(steps, call, call.root, 0, nbytes)
    if nbytes <= SEGMENT_BYTES:
        relay_whole(steps, source, targets, nbytes)
        return
    relay(steps, source, targets, SEGMENT_BYTES, nbytes // SEGMENT_BYTES, is_started=is_started)
    if nbytes % SEGMENT_BYTES:
        call.add_chosen(steps, "bcast", nbytes % SEGMENT_BYTES, root=call.root)
