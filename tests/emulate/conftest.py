"""Runs that record their bursts of computing, and runs that replay them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smpy.records.bursts_file import read_bursts
from tests.emulate.recorded_bursts import BEGIN, BURSTS, FAST


@pytest.fixture
def recorded(emulated: Callable) -> Callable[..., Any]:
    """Records a run of a program on the fast network: `recorded(source, 2)`."""

    def here(source: str | None, n_ranks: int = 2, **config: Any) -> Any:
        program = None if source is None else BEGIN + source
        ran = emulated(program, n_ranks, **{"platform": FAST, "compute": "measured", "record": BURSTS, **config})
        assert read_bursts(BURSTS).run.n_ranks == n_ranks
        return ran

    return here


@pytest.fixture
def replayed(emulated: Callable) -> Callable[..., Any]:
    """Replays what was recorded of the program that is there: `replayed(2, platform=SLOW)`."""

    def here(n_ranks: int = 2, **config: Any) -> Any:
        config = {"program": "program.py", "platform": FAST, "compute": "measured", "replay": BURSTS, **config}
        return emulated(None, n_ranks, **config)

    return here
