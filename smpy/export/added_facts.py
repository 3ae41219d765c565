"""Facts of polls and launches, for formats that have none: `smpy export` writes them, and `smpy import` reads them."""

from __future__ import annotations

from typing import Final

TESTS: Final = ("test", "test_any", "get_status")
PROBES: Final = ("iprobe", "improbe", "probe", "mprobe")
POLLS: Final = (*TESTS, *PROBES)
"""Actions that poll."""

COMMUNICATOR, SOURCE, TAG, REQUEST, SUCCESS, IN_VAIN = FACTS = (
    *("polled communicator", "polled source", "polled tag"),
    *("polled request", "successful poll", "polls in vain"),
)
"""Names of the facts, in their order: those of a probe, the requests of a test; which of them was complete, from 1, or
whether there was a message; the polls before that."""

LAUNCHED_RANK: Final = "launched rank"
"""Name of the fact that a rank launches another one, or that it begins, launched by another one, if it is its own."""


def n_in_vain(action: str, amount: float, detail: int) -> int:
    """Number of polls in vain, from columns of `actions`; a test of several requests is one poll."""
    return int(detail == 0) if action == "test_any" else int(amount)
