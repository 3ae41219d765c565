"""Costs of analyses grow in proportion to the trace."""

from __future__ import annotations

import time

import numpy as np
import pytest

from smpy.analysis.causes import causes_of_waits
from smpy.analysis.messages import Messages
from smpy.analysis.path_walk import walk_back
from smpy.analysis.timeline import COMPUTE, LATE, TRANSFER, Place, Timeline

pytestmark = pytest.mark.bench

RANKS = 64


def ring(turns: int) -> tuple[Timeline, Messages]:
    """Ranks compute for a while that is drawn, and take an early message from the left: three intervals a turn."""
    random = np.random.default_rng(1)
    now_s, left = np.zeros(RANKS), np.arange(RANKS) - 1
    dates_s, sent_s = np.empty((turns, 3, RANKS)), np.empty((turns, RANKS))
    for turn in range(turns):
        sent_s[turn] = now_s + random.exponential(1e-5, RANKS)
        met_s = np.maximum(sent_s[turn], sent_s[turn][left])
        now_s = np.maximum(met_s, sent_s[turn][left] + 2e-6)
        dates_s[turn] = sent_s[turn], met_s, now_s
    end_s = dates_s.reshape(-1, RANKS).T
    start_s = np.concatenate([np.zeros((RANKS, 1)), end_s[:, :-1]], axis=1)
    shape, n = (RANKS, turns), RANKS * turns
    number = np.arange(n).reshape(shape)
    message = np.stack([np.full(shape, -1), number, number], axis=2).reshape(-1)
    timeline = Timeline(
        n_ranks=RANKS,
        rank_of=np.arange(RANKS, dtype=np.int32),
        started_by=np.full(RANKS, -1, np.int32),
        time_s=float(end_s.max()),
        first=np.arange(RANKS + 1) * 3 * turns,
        start_s=start_s.reshape(-1),
        end_s=end_s.reshape(-1).copy(),
        kind=np.tile(np.array([COMPUTE, LATE[0], TRANSFER], np.int8), n),
        place=np.tile(np.array([0, 1, 1], np.int32), n),
        other=np.repeat(left % RANKS, 3 * turns).astype(np.int32),
        message=message,
        places=[Place("", "a.py", 1, is_kernel=False), Place("Recv", "a.py", 2, is_kernel=False)],
    )
    started_s = sent_s.T[left].reshape(-1)
    messages = Messages(
        number=np.arange(n),
        source=np.repeat(left % RANKS, turns).astype(np.int32),
        target=np.repeat(np.arange(RANKS), turns).astype(np.int32),
        sender=np.repeat(left % RANKS, turns).astype(np.int32),
        receiver=np.repeat(np.arange(RANKS), turns).astype(np.int32),
        bytes=np.full(n, 8),
        is_early=np.ones(n, bool),
        started_s=started_s,
        ended_s=started_s + 2e-6,
        alone_s=np.full(n, 2e-6),
        is_sender_last=np.ones(n, bool),
        is_inner=np.zeros(n, bool),
    )
    return timeline, messages


def cpu_s(turns: int, analysis: str) -> float:
    timeline, messages = ring(turns)
    begin_s = time.process_time()
    if analysis == "critical path":
        parts = walk_back(timeline, messages)
        assert (parts.end_s - parts.start_s).sum() == pytest.approx(timeline.time_s, rel=1e-9)
    else:
        waited_s = timeline.duration_s()[timeline.kind == LATE[0]].sum()
        assert causes_of_waits(timeline).seconds.sum() == pytest.approx(waited_s, rel=1e-9)
    return time.process_time() - begin_s


@pytest.mark.parametrize("analysis", ["critical path", "causes"])
def test_an_analysis_of_eight_times_as_many_intervals_takes_about_eight_times_as_long(analysis: str):
    cpu_s(1000, analysis)
    short_s, long_s = (min(cpu_s(turns, analysis) for _ in range(3)) for turns in (2000, 16000))
    print(f"{analysis}: {3 * 16000 * RANKS / long_s:,.0f} intervals/s")
    assert long_s < 16 * short_s
