"""Hooks of switches between ranks, as long as some state has to be exchanged at each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import greenlet

from smpy.emulate.patches import Patches


class RankSwitchHooks:
    """Calls functions whenever another rank, or the hub, has begun to run.

    Parameters
    ----------
    patches : Patches
        Notes how to undo the watch.
    """

    def __init__(self, patches: Patches) -> None:
        self._exchanges: tuple[Callable[[], None], ...] = ()
        self._watched_before: Any = None
        patches.later(self._watch_no_more)

    def watch(self, exchange: Callable[[], None]) -> None:
        """Call `exchange` after each switch from now on."""
        if not self._exchanges:
            self._watched_before = greenlet.settrace(self._on_switch)
        self._exchanges += (exchange,)

    def ignore(self, exchange: Callable[[], None]) -> None:
        """Call `exchange` no more."""
        self._exchanges = tuple(other for other in self._exchanges if other != exchange)
        if not self._exchanges:
            greenlet.settrace(self._watched_before)

    def _on_switch(self, event: str, greenlets: object) -> None:
        for exchange in self._exchanges:
            exchange()

    def _watch_no_more(self) -> None:
        if self._exchanges:
            self._exchanges = ()
            greenlet.settrace(self._watched_before)
