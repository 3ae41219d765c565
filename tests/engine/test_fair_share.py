"""The fair share of links: certificates that hold for every network, and cases small enough to work out on paper."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpy.engine.kernel import ffi, lib

SHARED, FATPIPE = 0, 1
EPS = 1e-9
SOME = settings(max_examples=100)


@dataclass(frozen=True, slots=True)
class Flow:
    penalty: float
    bound_bytes_per_s: float  # not positive: none
    load: dict[int, float]  # coefficient by link


class Links:
    """Links with the flows they carry now; every solve records the shares the kernel says have changed."""

    def __init__(self, capacity_bytes_per_s: list[float], policy: list[int] | None = None) -> None:
        self.capacity = np.array(capacity_bytes_per_s)
        self.policy = policy or [SHARED] * len(capacity_bytes_per_s)
        self.fair = ffi.gc(
            lib.fair_new(len(self.policy), capacity_bytes_per_s, bytes(self.policy)),
            lib.fair_free,
        )
        self.flows: dict[int, Flow] = {}
        self.share: dict[int, float] = {}
        self.changed: list[int] = []

    def add(self, flow: Flow, owner: int = 0) -> int:
        links, coefficients = list(flow.load), list(flow.load.values())
        number = lib.fair_add(self.fair, flow.penalty, flow.bound_bytes_per_s, len(links), links, coefficients, owner)
        assert number >= 0
        assert number not in self.flows
        self.flows[number] = flow
        return int(number)

    def remove(self, number: int) -> None:
        lib.fair_remove(self.fair, number)
        del self.flows[number]
        self.share.pop(number, None)

    def change(self, number: int, penalty: float, bound_bytes_per_s: float) -> None:
        lib.fair_change(self.fair, number, penalty, bound_bytes_per_s)
        self.flows[number] = Flow(penalty, bound_bytes_per_s, self.flows[number].load)

    def set_capacity(self, link: int, capacity_bytes_per_s: float) -> None:
        lib.fair_set_capacity(self.fair, link, capacity_bytes_per_s)
        self.capacity[link] = capacity_bytes_per_s

    def solve(self) -> dict[int, float]:
        while (n := lib.fair_solve(self.fair)) == lib.FAIR_NOT_YET:
            pass
        assert n >= 0
        self.changed = [lib.fair_changed(self.fair)[i] for i in range(n)]
        for number in self.changed:
            self.share[number] = lib.fair_share_bytes_per_s(self.fair, number)
        return self.share

    def shares(self, *flows: Flow) -> list[float]:
        """Shares of flows that are alone on these links."""
        numbers = [self.add(flow) for flow in flows]
        share = self.solve()
        return [share[number] for number in numbers]


def flow_over(*links: int, penalty: float = 1e-4, bound: float = -1.0, coefficient: float = 1.0) -> Flow:
    return Flow(penalty, bound, dict.fromkeys(links, coefficient))


# ---- certificates ----


@dataclass(frozen=True, slots=True)
class Story:
    """Links, and dates at which flows come and old ones (by their place among the living) go."""

    capacity: list[float]
    dates: list[tuple[list[Flow], list[int]]]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    # Round numbers make ties, others do not: both are wanted.
    number = st.sampled_from([1.0, 2.0, 4.0]) if draw(st.booleans()) else st.floats(1.0, 10.0)
    n_links = draw(st.integers(1, 12))
    a_flow = st.builds(
        lambda penalty, bound, load: Flow(penalty * 1e-4, bound * 1e8, load),
        number,
        st.one_of(st.just(-1.0), number),
        st.dictionaries(st.integers(0, n_links - 1), st.sampled_from([1.0, 0.05, 1.05]), min_size=1, max_size=6),
    )
    date = st.tuples(st.lists(a_flow, max_size=8), st.lists(st.integers(0, 1000), max_size=8))
    return Story(
        capacity=draw(st.lists(number.map(lambda c: c * 1e8), min_size=n_links, max_size=n_links)),
        dates=draw(st.lists(date, min_size=1, max_size=6)),
    )


def play(story: Story, links: Links) -> None:
    for arrivals, departures in story.dates:
        for place in departures:
            if links.flows:
                links.remove(sorted(links.flows)[place % len(links.flows)])
        for arrival in arrivals:
            links.add(arrival)
        links.solve()


def load_and_level(links: Links) -> tuple[np.ndarray[Any, Any], dict[int, float]]:
    load = np.zeros(len(links.capacity))
    for number, flow in links.flows.items():
        for link, coefficient in flow.load.items():
            load[link] += coefficient * links.share[number]
    return load, {number: links.share[number] * flow.penalty for number, flow in links.flows.items()}


@SOME
@given(stories())
def test_no_link_carries_more_than_its_capacity(story: Story) -> None:
    links = Links(story.capacity)
    play(story, links)
    load, _ = load_and_level(links)
    assert (load <= links.capacity * (1 + EPS)).all()


@SOME
@given(stories())
def test_a_link_with_room_is_not_saturated(story: Story) -> None:
    links = Links(story.capacity)
    play(story, links)
    load, _ = load_and_level(links)
    has_room = np.array([lib.fair_has_room(links.fair, link) for link in range(len(links.capacity))], dtype=bool)
    assert (load[has_room] < links.capacity[has_room] * (1 - EPS)).all()
    assert not any(lib.fair_is_saturated(links.fair, int(link)) for link in np.flatnonzero(has_room))


def test_a_link_has_room_while_its_flows_at_their_bounds_leave_some() -> None:
    links = Links([10.0])
    links.shares(Flow(1.0, 4.0, {0: 1.0}))
    assert lib.fair_has_room(links.fair, 0)
    links.shares(Flow(1.0, 6.0, {0: 1.0}))
    assert not lib.fair_has_room(links.fair, 0)


@SOME
@given(stories())
def test_every_flow_has_its_bound_or_a_saturated_link_where_no_flow_has_a_larger_share_times_penalty(
    story: Story,
) -> None:
    links = Links(story.capacity)
    play(story, links)
    load, level = load_and_level(links)
    saturated = load >= links.capacity * (1 - EPS)
    highest = {
        link: max(level[other] for other, flow in links.flows.items() if link in flow.load)
        for flow in links.flows.values()
        for link in flow.load
    }
    for number, flow in links.flows.items():
        share = links.share[number]
        assert flow.bound_bytes_per_s <= 0 or share <= flow.bound_bytes_per_s * (1 + EPS)
        assert share >= flow.bound_bytes_per_s * (1 - EPS) > 0 or any(
            saturated[link] and level[number] >= highest[link] * (1 - EPS) for link in flow.load
        )


@SOME
@given(stories())
def test_shares_do_not_depend_on_what_came_before(story: Story) -> None:
    links, afresh = Links(story.capacity), Links(story.capacity)
    play(story, links)
    numbers = list(links.flows)
    for number, share in zip(numbers, afresh.shares(*links.flows.values()), strict=True):
        assert links.share[number] == pytest.approx(share, rel=1e-9)


@SOME
@given(stories(), st.lists(st.tuples(st.booleans(), st.integers(0, 1000), st.floats(0.25, 4.0), st.floats(0.25, 4.0))))
def test_shares_after_changes_are_those_of_links_and_flows_that_were_so_from_the_beginning(
    story: Story, changes: list[tuple[bool, int, float, float]]
) -> None:
    links = Links(story.capacity)
    play(story, links)
    for is_of_flow, place, first, second in changes:
        if not is_of_flow:
            links.set_capacity(place % len(links.capacity), first * 1e8)
        elif links.flows:
            links.change(sorted(links.flows)[place % len(links.flows)], first * 1e-4, second * 1e8)
        if place % 2:
            links.solve()
    links.solve()
    fresh = Links(links.capacity.tolist())
    assert links.share == pytest.approx(
        dict(zip(links.flows, fresh.shares(*links.flows.values()), strict=True)), rel=1e-9, abs=0
    )


@SOME
@given(stories())
def test_the_same_calls_give_the_same_bits(story: Story) -> None:
    one, other = Links(story.capacity), Links(story.capacity)
    play(story, one)
    play(story, other)
    assert one.share == other.share
    assert one.changed == other.changed


@SOME
@given(stories())
def test_a_flow_is_reported_exactly_when_its_share_changed(story: Story) -> None:
    links = Links(story.capacity)
    for date in story.dates:
        before = dict(links.share)
        play(Story(story.capacity, [date]), links)
        now = {number: lib.fair_share_bytes_per_s(links.fair, number) for number in links.flows}
        for number, share in now.items():
            assert number in links.changed or before.get(number) == share
            assert share == links.share[number]
        assert len(links.changed) == len(set(links.changed))
        assert set(links.changed) <= set(links.flows)


# ---- on paper ----


def test_a_flow_alone_gets_its_narrowest_link() -> None:
    assert Links([3e8, 1e8, 2e8]).shares(flow_over(0, 1, 2)) == [1e8]


def test_a_flow_that_loads_a_link_both_ways_pays_for_its_acknowledgements() -> None:
    assert Links([1.25e8]).shares(flow_over(0, coefficient=1.05)) == [1.25e8 / 1.05]


def test_flows_on_one_link_share_it_in_inverse_ratio_of_their_penalties() -> None:
    assert Links([1.25e8]).shares(flow_over(0, penalty=1e-4), flow_over(0, penalty=4e-4)) == pytest.approx([1e8, 2.5e7])


def test_what_a_bounded_flow_leaves_goes_to_the_others() -> None:
    assert Links([1e8]).shares(flow_over(0, bound=2e7), flow_over(0), flow_over(0)) == pytest.approx([2e7, 4e7, 4e7])


@pytest.mark.parametrize("capacity", [1.0, 1e8, 1e200, 1.7e308])
@pytest.mark.parametrize("bound", [-1.0, 1.7e308, math.inf])
def test_links_and_bounds_of_any_size_are_shared(capacity: float, bound: float) -> None:
    links = Links([capacity])
    assert links.shares(flow_over(0, bound=bound), flow_over(0, bound=bound)) == pytest.approx([capacity / 2] * 2)
    for number in list(links.flows):
        links.remove(number)
    assert links.shares(flow_over(0, bound=bound), flow_over(0, bound=capacity / 4)) == pytest.approx(
        [0.75 * capacity, capacity / 4]
    )


def test_the_classic_line_of_three_links_is_shared_by_levels() -> None:
    # One flow over both links, one on each: the wider link has more for its own flow.
    assert Links([1e8, 3e8]).shares(flow_over(0, 1), flow_over(0), flow_over(1)) == pytest.approx([5e7, 5e7, 2.5e8])


def test_the_end_of_a_flow_gives_its_share_to_those_that_met_it() -> None:
    links = Links([1e8, 1e8])
    first, second, apart = links.add(flow_over(0)), links.add(flow_over(0)), links.add(flow_over(1))
    links.solve()
    links.remove(first)
    assert links.solve() == {second: 1e8, apart: 1e8}
    assert links.changed == [second]


def test_the_end_of_a_flow_can_slow_down_another() -> None:
    # The middle flow is freed on link 0, and takes from the third on link 1.
    links = Links([1e8, 1.2e8])
    first, middle, third = links.add(flow_over(0)), links.add(flow_over(0, 1)), links.add(flow_over(1))
    assert links.solve() == pytest.approx({first: 5e7, middle: 5e7, third: 7e7})
    links.remove(first)
    assert links.solve() == pytest.approx({middle: 6e7, third: 6e7})


def test_flows_on_a_fatpipe_link_do_not_contend() -> None:
    assert Links([1e8], [FATPIPE]).shares(*[flow_over(0, bound=1e8)] * 3) == [1e8] * 3


def test_a_saturated_fatpipe_link_stops_all_its_flows_at_one_level() -> None:
    # The flow of least penalty saturates it; the other, though alone with its capacity, is stopped at the same level.
    assert Links([1e8], [FATPIPE]).shares(flow_over(0, penalty=1e-4), flow_over(0, penalty=4e-4)) == [1e8, 2.5e7]


def test_a_bound_as_wide_as_its_fatpipe_link_does_not_keep_the_link_from_saturating() -> None:
    flows = flow_over(0, penalty=1.0, bound=1e8), flow_over(0, penalty=4.0, bound=1e8)
    assert Links([1e8], [FATPIPE]).shares(*flows) == [1e8, 2.5e7]


def test_bounds_that_differ_by_a_last_bit_from_their_fatpipe_link_are_taken_together() -> None:
    # A flow stops all others on the link unless its bound comes first, by rounding: of two penalties that differ by
    # last bits, one does, the other does not; but its bound is close to that of the first, and is taken with it.
    def bound_comes_first(penalty: float) -> bool:
        return capacity * penalty < capacity / (1 / penalty)

    capacity = 41.1e6
    penalties = [4e-4 * (1 + i * 2.0**-52) for i in range(50)]
    passing = next(penalty for penalty in penalties if bound_comes_first(penalty))
    stopping = next(penalty for penalty in penalties if penalty > passing and not bound_comes_first(penalty))
    links = Links([capacity], [FATPIPE])
    first, wide = (links.add(flow_over(0, penalty=penalty, bound=capacity)) for penalty in (stopping, 2 * stopping))
    assert links.solve() == pytest.approx({first: capacity, wide: capacity / 2})
    close = links.add(flow_over(0, penalty=passing, bound=capacity))
    assert links.solve() == pytest.approx({first: capacity, wide: capacity, close: capacity})
    links.remove(close)
    assert links.solve() == pytest.approx({first: capacity, wide: capacity / 2})


def test_a_flow_that_a_shared_link_stops_just_at_a_fatpipe_link_saturates_both() -> None:
    for links in ([1e8, 1e8], [FATPIPE, SHARED]), ([1e8, 1e8], [SHARED, FATPIPE]):
        fatpipe = links[1].index(FATPIPE)
        assert Links(*links).shares(flow_over(0, 1, penalty=1.0), flow_over(fatpipe, penalty=4.0)) == [1e8, 2.5e7]


def test_a_flow_stopped_elsewhere_does_not_saturate_a_fatpipe_link() -> None:
    links = Links([1e8, 5e7], [FATPIPE, SHARED])
    assert links.shares(flow_over(0, 1, penalty=1e-4), flow_over(0, penalty=4e-4)) == [5e7, 1e8]


@pytest.mark.parametrize("is_one_date", [True, False])
def test_a_link_with_nearly_nothing_left_is_left_out(is_one_date: bool) -> None:
    # 1e-6 of link 1 remains for the second flow: the filling drops the link, and link 2 alone decides.
    links = Links([0.999999e8, 1e8, 7e7])
    first = links.add(flow_over(0, 1, penalty=1e-6))
    if not is_one_date:
        links.solve()
    second = links.add(flow_over(1, 2, penalty=1.0))
    assert links.solve() == pytest.approx({first: 0.999999e8, second: 7e7})
    links.remove(first)
    third = links.add(flow_over(1, penalty=1.0))
    assert links.solve() == pytest.approx({second: 5e7, third: 5e7})


def test_a_flow_that_leaves_a_link_left_out_brings_it_back() -> None:
    links = Links([0.999999e8, 1e8, 2e8])
    first = links.add(flow_over(0, 1, penalty=1e-6))
    second = links.add(flow_over(1, 2, penalty=1.0))
    assert links.solve() == pytest.approx({first: 0.999999e8, second: 2e8})  # twice what link 1 could carry
    links.remove(first)
    assert links.solve() == pytest.approx({second: 1e8})


@pytest.mark.timed
def test_a_date_costs_what_it_reaches_also_while_links_are_left_out() -> None:
    def median_s(n_others: int) -> float:
        links = Links([0.999999e8, 1e8, 7e7, *[1e8] * n_others])
        links.add(flow_over(0, 1, penalty=1e-6))
        links.add(flow_over(1, 2, penalty=1.0))  # link 1 is left out
        flows = [links.add(flow_over(3 + i % n_others)) for i in range(2 * n_others)]
        links.solve()
        took_s = []
        for i in range(100):
            began_s = time.perf_counter()
            links.remove(flows[i])
            links.add(flow_over(3 + i))
            links.solve()
            took_s.append(time.perf_counter() - began_s)
        return statistics.median(took_s)

    assert median_s(50_000) < 20 * median_s(500)  # twice, for cache misses; in proportion, it would be a hundred times


def test_many_flows_come_and_go_without_leaving_a_trace() -> None:
    links = Links([1e8 / 3] * 4)
    alone = links.add(flow_over(0, 1, coefficient=1.05))
    links.solve()
    share = links.share[alone]
    for round_ in range(3):
        others = [links.add(flow_over(i % 4, (i + round_) % 4, penalty=1e-4 * (1 + i % 7))) for i in range(1000)]
        links.solve()
        assert links.share[alone] < share
        for other in others:
            links.remove(other)
        links.solve()
        assert links.share[alone] == share


def test_a_flow_keeps_the_mark_of_its_owner() -> None:
    links = Links([1e8])
    number = links.add(flow_over(0), owner=4711)
    assert lib.fair_owner(links.fair, number) == 4711


def test_a_flow_removed_before_any_solve_was_never_there() -> None:
    links = Links([1e8])
    kept, dropped = links.add(flow_over(0)), links.add(flow_over(0))
    links.remove(dropped)
    assert links.solve() == {kept: 1e8}


@pytest.mark.parametrize("link", [-1, 2])
def test_a_link_that_does_not_exist_is_an_error(link: int) -> None:
    assert lib.fair_add(Links([1e8, 1e8]).fair, 1e-4, -1.0, 1, [link], [1.0], 0) < 0


def test_a_penalty_that_is_not_positive_is_an_error() -> None:
    assert lib.fair_add(Links([1e8]).fair, 0.0, -1.0, 1, [0], [1.0], 0) < 0
