"""Measured computing stands under the stack of the program's functions, by rank and simulated time."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from smpy.engine.surface import surface
from smpy.records.call_stacks import CallStacks

pytestmark = pytest.mark.skipif(surface is None, reason="samples are taken by the compiled surface")

HEAD = """\
from mpi4py import MPI
comm = MPI.COMM_WORLD

def busy():
    total = 0
    for i in range(400_000):
        total += i * i

def outer():
    busy()

"""


def stacks_of(ran: Any) -> CallStacks:
    assert ran.error == ""
    stacks = ran.outcome.summary.profile.call_stacks
    assert stacks is not None
    return stacks


def functions(stacks: CallStacks, call: int) -> tuple[str, ...]:
    """Names of a stack, the outermost first; a line has none of its own."""
    caller, function, _, line = stacks.calls[call]
    above = functions(stacks, caller) if caller >= 0 else ()
    return above if line else (*above, function)


def by_stack(stacks: CallStacks) -> dict[tuple[str, ...], float]:
    seconds: dict[tuple[str, ...], float] = defaultdict(float)
    for time in stacks.times:
        seconds[functions(stacks, time.call)] += time.seconds
    return seconds


def costliest(stacks: CallStacks) -> tuple[str, ...]:
    seconds = by_stack(stacks)
    return max(seconds, key=lambda stack: seconds[stack])


def test_a_long_name_is_cut(emulated: Callable):
    name = "f" * 1000
    ran = emulated(f"{HEAD}def {name}():\n    busy()\n{name}()\ncomm.Barrier()\n", 1, compute="measured")
    assert costliest(stacks_of(ran)) == ("<module>", "f" * 256, "busy")


STACKS = {
    "functions": ("outer()\n", ("<module>", "outer", "busy")),
    "two callers": (
        "def other():\n    outer()\n    outer()\nouter()\nother()\n",
        ("<module>", "other", "outer", "busy"),
    ),
    "library between": ("list(map(lambda _: outer(), range(2)))\n", ("<module>", "<lambda>", "outer", "busy")),
    "callback of a library": (
        "import functools\ndef add(a, b):\n    busy()\nfunctools.reduce(add, range(3))\n",
        ("<module>", "add", "busy"),
    ),
    "recursion": ("def deep(n):\n    deep(n - 1) if n else busy()\ndeep(90)\n", ("<module>", "deep", "busy")),
    "comprehension": ("def squares():\n    [i * i for i in range(900_000)]\nsquares()\n", ("<module>", "squares")),
    "thread": ("import threading\nt = threading.Thread(target=outer)\nt.start()\nt.join()\n", ("outer", "busy")),
}


@pytest.mark.parametrize("form", STACKS)
def test_computing_stands_under_all_functions_of_the_program(emulated: Callable, form: str):
    text, expected = STACKS[form]
    stacks = stacks_of(emulated(HEAD + text + "comm.Barrier()\n", 1, compute="measured"))
    assert costliest(stacks) == expected


def test_a_stack_deeper_than_is_kept_has_its_innermost_functions(emulated: Callable):
    text = "def even(n):\n    odd(n - 1) if n else busy()\ndef odd(n):\n    even(n - 1)\neven(80)\ncomm.Barrier()\n"
    stack = costliest(stacks_of(emulated(HEAD + text, 1, compute="measured")))
    assert stack[-3:] == ("odd", "even", "busy")
    assert len(stack) == 48


def test_each_line_has_the_same_time_as_in_the_table_of_lines(emulated: Callable):
    ran = emulated(HEAD + "for _ in range(3):\n    outer()\n    comm.Barrier()\n", 2, compute="measured")
    record = json.loads(ran.outcome.summary.to_json())["profile"]
    calls, times = record["call_stacks"]["calls"], record["call_stacks"]["times"]
    seconds: dict[str, float] = defaultdict(float)
    for call, spent_s in zip(times["call"], times["seconds"], strict=True):
        seconds[f"{calls['file'][call]}:{calls['line'][call]}"] += spent_s
    expected: dict[str, float] = defaultdict(float)
    for row in record["computing_lines"]:
        expected[row["line"]] += row["seconds"]
    assert seconds == pytest.approx({line: spent_s for line, spent_s in expected.items() if spent_s})


def test_times_stand_with_the_rank_and_the_window_in_which_it_computed(emulated: Callable):
    text = HEAD + (
        "def early():\n    busy()\n"
        "def late():\n    busy()\n"
        "if comm.rank == 1:\n    early()\n"
        "comm.Barrier()\n"
        "if comm.rank == 0:\n    late()\n"
        "comm.Barrier()\n"
    )
    stacks = stacks_of(emulated(text, 2, compute="measured"))
    cells = defaultdict(set)
    for time in stacks.times:
        cells[functions(stacks, time.call)].add((time.ranks, time.window))
    early, late = cells["<module>", "early", "busy"], cells["<module>", "late", "busy"]
    assert {rank for rank, _ in early} == {1}
    assert {rank for rank, _ in late} == {0}
    assert max(window for _, window in early) <= min(window for _, window in late)


def test_a_slower_host_takes_proportionally_more_windows(emulated: Callable):
    text = HEAD + "outer()\ncomm.Barrier()\n"
    platform = "flat hosts=1 cores=1 speed=1Gf"
    ran = emulated(text, 1, compute="measured", platform=platform, host_speed_flop_per_s=50e9)
    stacks = stacks_of(ran)
    last_s = (max(time.window for time in stacks.times) + 1) * stacks.window_s
    assert last_s == pytest.approx(ran.outcome.summary.makespan_s, rel=0.1)


def test_without_samples_there_are_no_stacks(emulated: Callable):
    ran = emulated(HEAD + "outer()\n", 1, compute="none")
    assert ran.outcome.summary.profile.call_stacks is None
