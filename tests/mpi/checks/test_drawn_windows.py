"""Drawn programs of one-sided calls have no conflicts but those of a rank that writes twice to its own stripe."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from smpy.engine.checked_engine import CheckedEngine
from smpy.engine.engine import Engine
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


@pytest.mark.campaign
def test_two_thousand_drawn_programs_have_the_conflicts_that_their_plans_have():
    for seed in range(40, 2040):
        check(seed)
