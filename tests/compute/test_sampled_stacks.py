"""Samples of call stacks are added up in cells of bounded number, and none is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpy.compute.clock import sampled_stacks
from smpy.compute.clock.sampled_stacks import Cell, SampledStacks

END = ("heat.py", 9)
ROWS = [(-1, "heat.py", "<module>", 0, 0), (0, "heat.py", "sweep", 0, 0), (1, "heat.py", "sweep", 5, 3)]

bursts = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.floats(0, 5.0, allow_nan=False),
        st.floats(0, 3.0, allow_nan=False),
        st.integers(1, 30),
    ),
    max_size=60,
)


def test_samples_stand_with_their_stack_rank_window_and_end():
    stacks = SampledStacks()
    stacks.add(3, END, 0.0042, 0.0003, ROWS)
    assert [tuple(call) for call in stacks.calls] == [
        (-1, "heat.py", "<module>", 0), (0, "heat.py", "sweep", 0), (1, "heat.py", "sweep", 5),
    ]  # fmt: skip
    assert stacks.samples == {Cell(3, 4, 2, END): 3.0}


def test_a_burst_is_spread_evenly_over_the_windows_that_it_touches():
    stacks = SampledStacks()
    stacks.add(0, END, 0.0015, 0.002, ROWS)
    assert {cell.window: count for cell, count in stacks.samples.items()} == pytest.approx({1: 0.75, 2: 1.5, 3: 0.75})


def test_a_burst_that_ends_with_its_window_stands_in_that_window_alone():
    stacks = SampledStacks()
    stacks.add(0, END, 0.001, 0.001, ROWS)
    assert {cell.window: count for cell, count in stacks.samples.items()} == pytest.approx({1: 3.0})


def test_windows_double_as_the_run_goes_on():
    stacks = SampledStacks()
    stacks.add(0, END, 0.0005, 0.0, ROWS)
    stacks.add(0, END, 1.0, 0.0, ROWS)
    assert stacks.window_s == pytest.approx(0.004)
    assert {cell.window: count for cell, count in stacks.samples.items()} == {0: 3.0, 250: 3.0}


@given(bursts)
def test_however_cells_are_joined_all_samples_of_each_line_are_there(drawn: list[tuple[int, float, float, int]]):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled_stacks, "CELLS_MAX", 30)
        patch.setattr(sampled_stacks, "WINDOWS_MAX", 16)
        patch.setattr(sampled_stacks, "_WINDOWS_MIN", 4)
        stacks = SampledStacks()
        for rank, began_s, length_s, line in drawn:
            stacks.add(rank, END, began_s, length_s, [*ROWS[:2], (1, "heat.py", "sweep", line, 1)])
            ranks = {cell.ranks for cell in stacks.samples}
            assert len(stacks.samples) <= 30 or (max(ranks) == 0 and stacks._last_window() < 4)
            assert all(cell.window < 16 for cell in stacks.samples)
    for line in {line for *_, line in drawn}:
        counted = sum(count for cell, count in stacks.samples.items() if stacks.calls[cell.call].line == line)
        assert counted == pytest.approx(sum(other == line for *_, other in drawn))


def test_beyond_the_limit_of_calls_samples_stand_with_the_caller(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampled_stacks, "CALLS_MAX", 3)
    stacks = SampledStacks()
    stacks.add(0, END, 0.0, 0.0, ROWS)
    stacks.add(0, END, 0.0, 0.0, [*ROWS[:2], (1, "heat.py", "sweep", 6, 7)])
    assert stacks.samples == {Cell(0, 0, 2, END): 3.0, Cell(0, 0, 1, END): 7.0}
