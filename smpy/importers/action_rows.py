"""Rows of actions, in the order of the kernel's columns."""

from __future__ import annotations

from typing import Final

from smpy.engine.trace import ACTIONS, dtype_of
from smpy.importers.held_rows import Row

ACTION_ROW: Final = dtype_of("actions")[
    ["amount", "bytes", "rank", "action", "account", "comm", "peer", "tag", "request", "detail"]
]
"""The numpy type of a row."""

NUMBER: Final = {name: number for number, name in enumerate(ACTIONS)}
"""Number of each action."""


def action_row(
    action: str,
    rank: int,
    site: int,
    comm: int = -1,
    peer: int = 0,
    tag: int = 0,
    nbytes: int = 0,
    amount: float = 0.0,
    request: int = 0,
    detail: int = 0,
) -> Row:
    """Row of an action."""
    return amount, nbytes, rank, NUMBER[action], site, comm, peer, tag, request, detail
