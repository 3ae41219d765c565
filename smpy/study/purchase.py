"""Purchase of the machine with the greatest throughput that a budget allows, found with few runs.

Some machines that differ much run first. Then, one at a time, the machine with the greatest expected improvement [1]_
runs, by estimates of the time of each program (`smpy.study.kriging`). The search ends when no estimate, its error
included, is better than the best machine, when its runs are used up, or when programs fail on all of the first
machines.

References
----------
.. [1] Jones, Schonlau, Welch: "Efficient Global Optimization of Expensive Black-Box Functions", J. Global Optimization
   13, 1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.errors import UsageError
from smpy.study.candidates import SIZE, Candidate, Candidates
from smpy.study.definition import Definition
from smpy.study.kriging import krige
from smpy.study.levels import levels_of
from smpy.study.mix import (
    WEEK_S,
    MachineThroughput,
    ProgramRun,
    ResultReader,
    machine_runs,
    no_throughput,
    runs_of_a_week,
    throughput_of,
)
from smpy.study.points import Point
from smpy.study.state import StudyState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

_FIRST_MIN: Final = 4
_FIRST_SHARE: Final = 0.5  # of the machines that can run
_ERRORS: Final = 3.0  # standard errors above an estimate that a machine may reach
_ROUNDING: Final = 1e-9  # relative: amounts on the border of a budget are within it
_SAME_DIGITS: Final = 9  # of throughputs that differ by rounding alone


@dataclass(frozen=True, slots=True)
class TriedMachine:
    """A machine of a purchase that has run.

    Attributes
    ----------
    candidate : Candidate
        The machine.
    throughput : MachineThroughput
        Its throughput.
    """

    candidate: Candidate
    throughput: MachineThroughput


@dataclass(frozen=True, slots=True)
class Purchase:
    """Outcome of a search.

    Attributes
    ----------
    machines : tuple of TriedMachine
        Machines within the budget that have run, the greatest throughput first.
    n_runs : int
        Number of runs that the search has asked for.
    n_failed : int
        Number of machines on which a program failed.
    n_open : int
        Number of machines that have not run and may be better than the best.
    """

    machines: tuple[TriedMachine, ...]
    n_runs: int
    n_failed: int
    n_open: int


def affordable(offers: Candidates, budget_eur: float, power_w: float | None = None) -> list[Candidate]:
    """Machines within a budget.

    Parameters
    ----------
    offers : Candidates
        Machines.
    budget_eur : float
        Most that one may cost.
    power_w : float, optional
        Most that one may draw with all cores and links busy.

    Raises
    ------
    UsageError
        If there is none.
    """
    if not offers.machines:
        raise UsageError("no machine has room for all ranks of each program: give larger machines, or fewer ranks")
    cheapest = min(offers.machines, key=lambda machine: machine.cost.price_eur)
    within_budget = [machine for machine in offers.machines if _is_affordable(machine.cost.price_eur, budget_eur)]
    if not within_budget:
        raise UsageError(
            f"the cheapest of {len(offers.machines):,} machines costs {cheapest.cost.price_eur:,.0f} EUR, above the "
            f"budget of {budget_eur:,.0f} EUR: raise it, or give smaller machines"
        )
    if power_w is None:
        return within_budget
    if any(math.isnan(machine.cost.busy_w) for machine in within_budget):
        raise UsageError("a machine has no power of hosts or switches: say power.idle, power.busy and power.switch")
    within_power = [machine for machine in within_budget if _is_affordable(machine.cost.busy_w, power_w)]
    if not within_power:
        least_w = min(machine.cost.busy_w for machine in within_budget)
        raise UsageError(
            f"each of {len(within_budget):,} machines within the budget draws {least_w / 1000:,.4g} kW or more, above "
            f"{power_w / 1000:,.4g} kW: raise the power, or give smaller machines"
        )
    return within_power


def _is_affordable(amount: float, most: float) -> bool:
    return amount <= most * (1 + _ROUNDING)


class MachineSearch:
    """Chooses the machines that run.

    Parameters
    ----------
    definition : Definition
        The study.
    first : Candidate
        Its first machine, for shares of core hours.
    machines : sequence of Candidate
        Machines within the budget.
    runs_max : int
        Number of runs that the search may ask for.
    """

    def __init__(self, definition: Definition, first: Candidate, machines: Sequence[Candidate], runs_max: int) -> None:
        self._definition, self._machines, self._runs_max = definition, machines, runs_max
        self._first = first if definition.weight_kind == "core_hours_share" else None
        self._n_runs, self._has_begun = 0, False
        self._reader = ResultReader(definition)

    @cached_property
    def points(self) -> list[Point]:
        """All points that may be chosen."""
        return [point for machine in self._with_first(self._machines) for point in machine.points]

    def check(self, state: StudyState) -> None:
        """Check the number of runs, before the first one.

        Raises
        ------
        UsageError
            If they are too few for two machines, beside the runs that have ended.
        """
        n_lacking = self._n_lacking(state)
        cheapest = sorted(n_lacking, key=n_lacking.__getitem__)[: max(2 - len(self._runs(state)), 0)]
        machines = self._with_first(self._machines[i] for i in cheapest)
        least = sum(_n_lacking(machine, state) for machine in machines)
        if self._runs_max < least:
            raise UsageError(
                f"--runs {self._runs_max}: two machines take {least} runs that the study has not, say at least so many"
            )

    def next(self, state: StudyState) -> list[Point]:
        """Points to run next; none: the search has ended."""
        points = [point for machine in self._chosen(state) for point in machine.points]
        to_run = {point.key: point for point in points if state.current(point.key) is None}
        self._n_runs += len(to_run)
        return list(to_run.values())

    def purchase(self, state: StudyState) -> Purchase:
        """Outcome of the search.

        Raises
        ------
        UsageError
            If no machine has run.
        """
        runs, failed = self._runs(state), self._failed(state)
        weekly_runs = self._runs_of_a_week(state)
        if not runs or weekly_runs is None:
            raise UsageError(f"{no_throughput(self._definition)}: smpy study status tells why")
        tried = [
            TriedMachine(
                self._machines[i], throughput_of(self._machines[i].values, its, weekly_runs, self._machines[i].cost)
            )
            for i, its in runs.items()
        ]
        tried.sort(
            key=lambda one: (-float(f"{one.throughput.throughput:.{_SAME_DIGITS}g}"), one.candidate.cost.price_eur)
        )
        best = tried[0].throughput.throughput
        n_open = int((self._highest(runs, failed, weekly_runs)[0] > math.log(best)).sum())
        return Purchase(tuple(tried), self._n_runs, len(failed), n_open)

    def _with_first(self, machines: Iterable[Candidate]) -> list[Candidate]:
        """Machines, and the first one of the study, of which shares of core hours are."""
        return list(dict.fromkeys([*([self._first] if self._first else []), *machines]))

    def _chosen(self, state: StudyState) -> list[Candidate]:
        n_lacking = self._n_lacking(state)
        if not self._has_begun:
            self._has_begun = True
            return self._begin(n_lacking, state)
        runs, failed = self._runs(state), self._failed(state)
        weekly_runs = self._runs_of_a_week(state)
        waiting = [i for i, n in n_lacking.items() if n <= self._runs_max - self._n_runs]
        fails_everywhere = bool(failed) and not runs
        if weekly_runs is None or not waiting or fails_everywhere:
            return []
        if len(runs) < 2:
            return [self._machines[waiting[0]]]
        highest, mean, error = self._highest(runs, failed, weekly_runs)
        best = max(throughput_of((), its, weekly_runs, self._machines[i].cost).throughput for i, its in runs.items())
        is_open = np.isin(np.arange(len(highest)), waiting) & (highest > math.log(best))
        if not is_open.any():
            return []
        gains = np.where(is_open, _expected_improvement(mean, error, math.log(best)), -1.0)
        return [self._machines[int(np.argmax(gains))]]

    def _n_lacking(self, state: StudyState) -> dict[int, int]:
        """Number of runs that have not ended of each machine that has neither run nor failed."""
        known = self._runs(state).keys() | self._failed(state)
        return {i: _n_lacking(machine, state) for i, machine in enumerate(self._machines) if i not in known}

    def _begin(self, n_lacking: Mapping[int, int], state: StudyState) -> list[Candidate]:
        """Machines to begin with, of those that have not run: they differ much, and take a share of the runs."""
        n_runs = self._runs_max - (_n_lacking(self._first, state) if self._first else 0)
        n_first = max(min(_FIRST_MIN * len(self._machines[0].points), n_runs), int(n_runs * _FIRST_SHARE))
        chosen: list[Candidate] = []
        n_asked = 0
        for i in self._spread([i for i, n in n_lacking.items() if n <= n_first]):
            n_asked += n_lacking[i]
            if n_asked > n_first:
                break
            chosen.append(self._machines[i])
        return self._with_first(chosen)

    def _spread(self, waiting: Sequence[int]) -> Iterator[int]:
        """Machines that wait: the largest, and each time the one that is farthest from those before."""
        if not waiting:
            return
        at = self._coordinates[0][waiting]
        chosen = int(np.argmax(at[:, 0]))
        distance = np.full(len(waiting), np.inf)
        for _ in waiting:
            yield waiting[chosen]
            distance = np.minimum(distance, np.square(at - at[chosen]).sum(axis=1))
            chosen = int(np.argmax(distance))

    @cached_property
    def _coordinates(self) -> tuple[Floats, NDArray[np.intp]]:
        """Coordinates of each machine, and the group of each coordinate: the size, numbers, and words."""
        import pandas as pd

        columns: list[Floats] = [np.log([machine.cost.n_hosts for machine in self._machines])]
        groups = [0]
        kinds: list[str] = []
        for name, values in zip(
            self._definition.setting_names,
            zip(*(machine.values for machine in self._machines), strict=True),
            strict=True,
        ):
            levels = levels_of(name, pd.Series(values, dtype=object))
            if name == SIZE or len(levels.labels) < 2:
                continue
            if levels.numbers is not None and min(levels.numbers) > 0:
                logs = np.log(levels.numbers)
                columns.append(((logs - logs.min()) / (np.ptp(logs) or 1.0))[levels.codes])
                kinds.append("numbers")
            else:
                columns += [(levels.codes == code).astype(float) for code in range(len(levels.labels))]
                kinds += ["words"] * len(levels.labels)
        numbers = {kind: number + 1 for number, kind in enumerate(dict.fromkeys(kinds))}
        groups += [numbers[kind] for kind in kinds]
        return np.stack(columns, axis=1), np.array(groups)

    def _runs(self, state: StudyState) -> dict[int, dict[str, ProgramRun]]:
        """Runs of machines within the budget on which all programs have run, by program."""
        places = {machine.values: i for i, machine in enumerate(self._machines)}
        entries = machine_runs(self._definition, self.points, state)
        return {
            places[values]: {name: self._reader.program_run(its) for name, its in by_program.items()}
            for values, by_program in entries.items()
            if values in places
        }

    def _failed(self, state: StudyState) -> set[int]:
        return {
            i
            for i, machine in enumerate(self._machines)
            if any((entry := state.current(point.key)) is not None and entry.error for point in machine.points)
        }

    def _runs_of_a_week(self, state: StudyState) -> dict[str, float] | None:
        """Runs of a week of work; None: they are shares of core hours, and the first machine has not run."""
        if self._first is None:
            return runs_of_a_week(self._definition, {}, 0.0)
        entries = machine_runs(self._definition, self._first.points, state).get(self._first.values)
        if entries is None:
            return None
        runs = {name: self._reader.program_run(its) for name, its in entries.items()}
        return runs_of_a_week(self._definition, runs, self._first.cost.n_hosts)

    def _highest(
        self, runs: dict[int, dict[str, ProgramRun]], failed: set[int], weekly_runs: dict[str, float]
    ) -> tuple[Floats, Floats, Floats]:
        """Logarithm of the throughput that each machine may reach at most, its estimate, and the estimate's error.

        A machine that has run or failed reaches nothing more.
        """
        at, groups = self._coordinates
        places = list(runs)
        host_s, errors = [], []
        for name, n in weekly_runs.items():
            known = np.log([n * runs[i][name].host_s for i in places])
            estimates, error = krige(at[places], known, at, groups)
            estimates[places], error[places] = known, 0.0
            host_s.append(np.exp(estimates))
            errors.append(error)
        total_s = np.sum(host_s, axis=0)
        mean = np.log([WEEK_S * machine.cost.n_hosts for machine in self._machines]) - np.log(total_s)
        error = np.sqrt(np.sum([np.square(s / total_s * e) for s, e in zip(host_s, errors, strict=True)], axis=0))
        highest = mean + _ERRORS * error
        highest[[*places, *failed]] = -np.inf
        return highest, mean, error


def _n_lacking(machine: Candidate, state: StudyState) -> int:
    """Number of a machine's runs that have not ended."""
    return sum(state.current(point.key) is None for point in machine.points)


def _expected_improvement(mean: Floats, error: Floats, best: float) -> Floats:
    """Mean improvement over the best machine, counting positive ones only."""
    share = (mean - best) / np.maximum(error, 1e-12)
    below = np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in share])
    density = np.exp(-0.5 * np.square(share)) / math.sqrt(2 * math.pi)
    improvement: Floats = (mean - best) * below + error * density
    return improvement
