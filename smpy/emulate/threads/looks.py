"""Loops that poll variables assigned by others: each iteration takes simulated time, more the longer the loop waits."""

from __future__ import annotations

import builtins
from typing import Final

from smpy.emulate.modules.looking_loops import GIVE_WAY
from smpy.emulate.patches import Patches
from smpy.emulate.ranks import RankState, is_for_all, rank_here
from smpy.engine.running import named_call

_FIRST_PAUSE_S: Final = 1e-6
_PAUSE_PART: Final = 0.005  # share of the time waited so far
_PAUSE_MAX_S: Final = 1.0
_BETWEEN_S: Final = 1e-4  # largest gap between two iterations of one loop, which may compute itself


def install_looks(patches: Patches) -> None:
    """Make polling loops let other ranks run, until the patches are undone."""
    patches.entry(vars(builtins), GIVE_WAY, _Looks().give_way)


class _Looks:
    def __init__(self) -> None:
        self._waits: dict[int, tuple[float, float]] = {}  # by timeline: dates of the first and the last iteration

    def give_way(self) -> None:
        """Let other ranks run before the running code polls again."""
        state = rank_here()
        if state is not None and not is_for_all():
            self._pass_time(state)

    @named_call("while")
    def _pass_time(self, state: RankState) -> None:
        engine = state.engine
        timeline, date_s = engine.running_timeline, engine.clock_s()
        first_s, last_s = self._waits.get(timeline, (date_s, date_s))
        if date_s > last_s + _BETWEEN_S:
            first_s = date_s
        engine.sleep(min(_PAUSE_MAX_S, max(_FIRST_PAUSE_S, _PAUSE_PART * (date_s - first_s))))
        engine.note_idle_look()
        engine.block("while")
        self._waits[timeline] = first_s, engine.now_s
