"""Sorts of calls of MPI: how their time is named, and whether a replay can perform them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from smpy.records.profile import INTERVAL_KINDS

_OF_WINDOWS: Final = (
    *("Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"),
    *("Rput", "Rget", "Raccumulate", "Rget_accumulate"),
)
_CHOICES: Final = ("Waitany", "Waitsome", "Testany", "Testsome")


@dataclass(frozen=True, slots=True)
class CallSort:
    """Sort of a call.

    Attributes
    ----------
    call : str
        Its name, such as "Send".
    kind : int
        Number in `INTERVAL_KINDS` of its time, where it waits for no other rank.
    is_kept : bool
        Whether a replay cannot perform it, and can only keep its time.
    is_poll, is_choice : bool
        Whether the program may do something else on another machine because of it.
    """

    call: str
    kind: int
    is_kept: bool
    is_poll: bool
    is_choice: bool


def sort_of(call: str) -> CallSort:
    """Sort of a call, by its name."""
    is_of_files = call.startswith("File_")
    is_poll = call.startswith(("Test", "Iprobe", "Improbe", "Request_get_status"))
    kind = "io" if is_of_files else "polling" if is_poll else "probing" if call in ("Probe", "Mprobe") else "overhead"
    is_kept = is_of_files or call.startswith("Win_") or call in _OF_WINDOWS
    return CallSort(call, INTERVAL_KINDS.index(kind), is_kept, is_poll, call in _CHOICES)


NO_CALL: Final = sort_of("")
"""Sort of a rank that has made no call."""
