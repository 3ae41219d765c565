"""Drawn programs of one-sided calls have the mistakes that their plans have, and the same compiled and in Python."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from random import Random

import numpy as np
import pytest

from smpy.engine.checked_engine import CheckedEngine
from smpy.engine.engine import Engine
from smpy.engine.running import current
from smpy.engine.surface import surface
from smpy.mpi import MPI
from smpy.mpi.checks import window_state
from smpy.mpi.checks.calls import CallChecks, install_checks
from smpy.mpi.checks.mistakes import Kind, Mistake
from tests.mpi.conftest import World, run_world
from tests.mpi.rma.test_random_accesses import Plan


class Undone(ExitStack):
    """Changes of classes, undone as it ends."""

    def later(self, undo: Callable[[], object]) -> None:
        self.callback(undo)


def mistakes_of(world: World) -> list[tuple[Mistake, int]]:
    found = world.engine.world_storage[CallChecks].report(is_whole=True)
    return [each for kind in (Kind.EPOCHS, Kind.CONFLICTS) for each in found.of_kind(kind)]


def run_checked(plan: Plan) -> World:
    with Undone() as undone:

        def prepare(engine: Engine) -> None:
            install_checks(engine, undone)

        return run_world(plan.n_ranks, plan.main, kind=CheckedEngine, prepare=prepare)


def writes_twice(plan: Plan) -> bool:
    """Whether a rank writes to one place twice in an epoch: the only accesses of a plan that conflict."""
    for kind, _, calls in plan.epochs:
        if kind not in ("fence", "groups", "all"):
            continue
        for of_rank in calls:
            written = [
                (target, place)
                for call, target, first, step, values in of_rank
                if call in ("Put", "Rput")
                for place in range(first, first + step * len(values), step)
            ]
            if len(set(written)) < len(written):
                return True
    return False


def check(seed: int) -> World:
    plan = Plan(seed)
    world = run_checked(plan)
    found = mistakes_of(world)
    assert bool(found) == writes_twice(plan), f"seed {seed}"
    for mistake, _ in found:
        assert mistake.kind is Kind.CONFLICTS, f"seed {seed}"
        first, second = mistake.sides
        assert first.rank == second.rank, f"seed {seed}"
        assert "writes" in first.what, f"seed {seed}"
        assert "writes" in second.what, f"seed {seed}"
    return world


@pytest.mark.parametrize("seed", range(40))
def test_a_drawn_program_has_the_conflicts_that_its_plan_has(seed: int):
    world = check(seed)
    assert [date for _, date in world.returned] == Plan(seed).run()[1]


# ---- accesses of the compiled surface, whose checks are in C, and those of Python ----


CALLS = (*["Put"] * 4, *["Get"] * 3, "Accumulate", "Rput", "change", "change", "compute")
FLUSHES = ("Flush", "Flush", "Flush", "Flush_local")


def make_drawn_call(win: MPI.Win, draw: Random, buffers: list[np.ndarray], target: int, *, is_locked: bool) -> None:
    """Make a call; what is read is sent by none, for it could give a changed buffer its content back."""
    array, into = draw.choice(buffers[:-1]), buffers[-1]
    call, first = draw.choice(CALLS + FLUSHES * is_locked), draw.randrange(5)
    if call == "Put":
        win.Put(array, target, first)
    elif call == "Get":
        win.Get(into, target, [first, into.size, MPI.DOUBLE])
    elif call == "Accumulate":
        win.Accumulate(array, target, first)
    elif call == "Rput":
        request = win.Rput(array, target, first)
        array += draw.randrange(2)
        request.Wait()
    elif call == "change":
        draw.choice(buffers)[:] += 1
    elif call == "compute":
        current().sleep(draw.random() * 1e-6)
    else:
        {"Flush": win.Flush, "Flush_local": win.Flush_local}[call](target)


def drawn_main(seed: int) -> Callable[[int], float]:
    """Main function of each rank of a program full of mistakes about windows."""
    is_locked = seed % 3 != 0

    def rank_main(rank: int) -> float:
        draw, world = Random(f"{seed} {rank}"), MPI.COMM_WORLD
        win = MPI.Win.Allocate(64, 8, comm=world)
        buffers = [np.zeros(draw.choice([1, 1, 2, 4])) for _ in range(3)]
        for _ in range(6):
            win.Lock_all() if is_locked else win.Fence()
            for _ in range(draw.randrange(8)):
                make_drawn_call(win, draw, buffers, draw.randrange(world.size), is_locked=is_locked)
            win.Unlock_all() if is_locked else win.Fence()
            world.Barrier()
            target = draw.randrange(world.size)
            win.Lock(target, draw.choice([MPI.LOCK_EXCLUSIVE, MPI.LOCK_SHARED]))
            win.Put(buffers[0], target)
            buffers[0] += draw.randrange(2)
            win.Get(buffers[-1], target, draw.randrange(2))
            win.Unlock(target)
        world.Barrier()
        if draw.randrange(2):
            win.Lock(rank, MPI.LOCK_SHARED)
        return MPI.Wtime()

    return rank_main


def all_found(seed: int) -> tuple[set[tuple[Mistake, int]], list[float]]:
    with Undone() as undone:

        def prepare(engine: Engine) -> None:
            install_checks(engine, undone)

        world = run_world(2 + seed % 3, drawn_main(seed), kind=CheckedEngine, prepare=prepare)
    found = world.engine.world_storage[CallChecks].report(is_whole=True)
    return {each for kind in Kind for each in found.of_kind(kind)}, world.returned


def check_both_ways(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = all_found(seed)
    with monkeypatch.context() as patch:
        patch.setattr(window_state, "surface", None)
        assert all_found(seed) == compiled, f"seed {seed}"
    assert len(compiled[0]) > 1


@pytest.mark.skipif(surface is None, reason="without the compiled surface all checks are Python's")
@pytest.mark.parametrize("seed", range(30))
def test_compiled_accesses_have_the_mistakes_that_python_s_have(seed: int, monkeypatch: pytest.MonkeyPatch):
    check_both_ways(seed, monkeypatch)


@pytest.mark.campaign
def test_a_thousand_drawn_programs_have_the_same_mistakes_compiled_and_in_python(monkeypatch: pytest.MonkeyPatch):
    for seed in range(30, 1030):
        check_both_ways(seed, monkeypatch)


@pytest.mark.campaign
def test_two_thousand_drawn_programs_have_the_conflicts_that_their_plans_have():
    for seed in range(40, 2040):
        check(seed)
