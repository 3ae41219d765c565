"""The share of a burst's time that memory bounds is the one it was made with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.compute.clock.memory_shares import LoadSlowdown, MemoryShares

SHARES = st.floats(0.0, 1.0)


def slowdown(core: float, memory: float) -> LoadSlowdown:
    return LoadSlowdown(core, memory, core_bandwidth_bytes_per_s=1e10, load_bytes=1 << 26)


def stretch(share: float, core: float, memory: float) -> float:
    return (1 - share) * core + share * memory


@given(SHARES, st.floats(1.0, 1.2), st.floats(1.5, 4.0), st.floats(1e-4, 10.0))
def test_the_ratio_of_equal_bursts_gives_their_share_and_their_time_alone(
    share: float, core: float, memory: float, seconds: float
):
    shares = MemoryShares(slowdown(core, memory))
    for _ in range(3):
        assert shares.take("here", seconds, 0.0) == seconds
    beside_s = seconds * stretch(share, core, memory)
    assert shares.take("here", beside_s, 1.0) == pytest.approx(seconds, rel=1e-9)
    assert shares.share("here") == pytest.approx(share, abs=1e-9)


def test_times_out_of_range_count_as_no_share_and_as_all():
    shares = MemoryShares(slowdown(1.0, 2.0))
    for place, ratio in (("slower", 3.0), ("faster", 0.5)):
        for seconds, load in ((1.0, 0.0), (1.0, 0.0), (ratio, 1.0)):
            shares.take(place, seconds, load)
    assert (shares.share("slower"), shares.share("faster")) == (1.0, 0.0)


@given(st.lists(st.tuples(SHARES, st.floats(0.1, 10.0)), min_size=1, max_size=5))
def test_unknown_places_take_the_mean_of_the_known_ones_weighted_by_time(places: list[tuple[float, float]]):
    shares = MemoryShares(slowdown(1.0, 2.0))
    assert shares.share("unknown") == 0.0
    for number, (share, seconds) in enumerate(places):
        shares.take(number, seconds, 0.0)
        shares.take(number, seconds, 0.0)
        shares.take(number, seconds * (1 + share), 1.0)
    shares.take("unknown", 1.0, 0.0)
    whole_s = sum(seconds for _, seconds in places)
    mean = sum(share * seconds for share, seconds in places) / whole_s
    assert shares.share("unknown") == pytest.approx(mean, abs=1e-9)
    assert (shares.n_known, shares.n_places) == (len(places), len(places) + 1)


def test_one_disturbed_burst_of_many_changes_nothing():
    shares = MemoryShares(slowdown(1.0, 2.0))
    for seconds in (1.0, 1.0, 9.0, 1.0, 1.0):
        shares.take("here", seconds, 0.0)
    for seconds in (1.5, 1.5, 9.0):
        shares.take("here", seconds, 1.0)
    assert shares.share("here") == 0.5


def test_a_burst_during_which_the_load_stood_still_for_a_while_tells_nothing_and_is_corrected_in_proportion():
    shares = MemoryShares(slowdown(1.0, 2.0))
    for seconds, load in ((1.0, 0.0), (1.0, 0.0), (1.5, 1.0)):
        shares.take("here", seconds, load)
    assert shares.take("here", 1.25, 0.5, counts=False) == 1.0
    assert shares.share("here") == 0.5
