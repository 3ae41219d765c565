"""Throughput of a machine for a workload: several programs, each with a weight.

The unit of work is a week of the workload: the runs of a week, or, with shares of core hours, the work of the study's
first machine in a week in which each program has its share of the time.

A run occupies the machine, or the hosts of its ranks, as the study says (`priced_by`). Throughput is an upper bound:
runs follow each other without a gap, and simultaneous runs do not disturb each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from smpy.errors import UsageError
from smpy.study.axes import Value
from smpy.study.cost import MachineCost, cost_of_record
from smpy.study.definition import Definition
from smpy.study.journal import Entry
from smpy.study.machines import check_sizes
from smpy.study.points import Point
from smpy.study.state import StudyState
from smpy.study.table import costs
from smpy.study.uncertainty import estimate

WEEK_S: Final = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program's run on a machine: the mean of its repetitions.

    Attributes
    ----------
    makespan_s, half_width_s : float
        Its time, and half the width of the interval that contains 95 % of runs; NaN: not known.
    host_s : float
        Time of all hosts that it occupies, in seconds.
    run_eur, energy_kwh : float
        Its cost and its energy; NaN: not known.
    """

    makespan_s: float
    half_width_s: float
    host_s: float
    run_eur: float
    energy_kwh: float


@dataclass(frozen=True, slots=True)
class MachineThroughput:
    """Throughput of a machine.

    Attributes
    ----------
    values : tuple of Value
        Values of the settings that make the machine.
    throughput : float
        Weeks of work that it does in a week.
    half_width : float
        Half the width of the interval that contains 95 % of such numbers; NaN: not known.
    shares : mapping of str to float
        Share of the machine's time that each program takes.
    price_eur : float
        Price of the machine; NaN: not known, as in what follows.
    throughput_per_eur : float
        Throughput over the price of the machine.
    work_per_kwh : float
        Weeks of work that a kilowatt-hour does.
    work_eur : float
        Cost of a week of work: of all its runs.
    """

    values: tuple[Value, ...]
    throughput: float
    half_width: float
    shares: Mapping[str, float]
    price_eur: float
    throughput_per_eur: float
    work_per_kwh: float
    work_eur: float


def no_throughput(definition: Definition) -> str:
    """Reason why no throughput is known."""
    if definition.weight_kind == "core_hours_share":
        return "the first machine of the study, of whose core hours the shares are, has not run all programs"
    return "no machine has run all programs"


def runs_of_a_week(definition: Definition, on_first: Mapping[str, ProgramRun], n_hosts: float) -> dict[str, float]:
    """Number of runs of each program in a week of work.

    Parameters
    ----------
    definition : Definition
        The study.
    on_first : mapping of str to ProgramRun
        Each program's run on the first machine; only shares of core hours need it.
    n_hosts : float
        Hosts of the first machine.
    """
    weights = {program.name: program.weight for program in definition.programs}
    if definition.weight_kind != "core_hours_share":
        return weights
    total = math.fsum(weights.values())
    return {name: weight / total * WEEK_S * n_hosts / on_first[name].host_s for name, weight in weights.items()}


def throughput_of(
    values: tuple[Value, ...], runs: Mapping[str, ProgramRun], weekly_runs: Mapping[str, float], cost: MachineCost
) -> MachineThroughput:
    """Throughput of a machine.

    Parameters
    ----------
    values : tuple of Value
        Values of the settings that make it.
    runs : mapping of str to ProgramRun
        Run of each program.
    weekly_runs : mapping of str to float
        Number of runs of each program in a week of work.
    cost : MachineCost
        Cost of the machine.

    Examples
    --------
    >>> from math import nan
    >>> cost = MachineCost(10, 10, *[1.0] * 12)
    >>> runs = {"a": ProgramRun(60.0, nan, 600.0, 1.0, 0.5), "b": ProgramRun(30.0, nan, 60.0, 0.1, 0.05)}
    >>> machine = throughput_of((), runs, {"a": 1000, "b": 10_000}, cost)
    >>> machine.throughput, machine.shares, machine.work_per_kwh, machine.work_eur
    (5.04, {'a': 0.5, 'b': 0.5}, 0.001, 2000.0)
    """
    host_s = {name: n * runs[name].host_s for name, n in weekly_runs.items()}
    total_s = math.fsum(host_s.values())
    throughput = WEEK_S * cost.n_hosts / total_s
    shares = {name: one_s / total_s for name, one_s in host_s.items()}
    errors = {name: run.half_width_s / run.makespan_s for name, run in runs.items() if math.isfinite(run.half_width_s)}
    relative = math.hypot(*(shares[name] * error for name, error in errors.items())) if errors else math.nan
    work_kwh = math.fsum(n * runs[name].energy_kwh for name, n in weekly_runs.items())
    return MachineThroughput(
        values=values,
        throughput=throughput,
        half_width=throughput * relative,
        shares=shares,
        price_eur=cost.price_eur,
        throughput_per_eur=throughput / cost.price_eur if cost.price_eur else math.nan,
        work_per_kwh=1 / work_kwh if work_kwh else math.nan,
        work_eur=math.fsum(n * runs[name].run_eur for name, n in weekly_runs.items()),
    )


class ResultReader:
    """Reads runs of machines from the results of a study.

    Parameters
    ----------
    definition : Definition
        The study.
    """

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._cost = cache(partial(cost_of_record, prices=definition.prices))

    def cost(self, entry: Entry) -> MachineCost:
        """Cost of the machine of a run.

        Raises
        ------
        UsageError
            If the run has no list of the parts of its machine.
        """
        if not entry.row.get("parts"):
            raise UsageError("a run does not know its machine")
        return self._cost(entry.row["parts"])

    def program_run(self, entries: Sequence[Entry]) -> ProgramRun:
        """Run of a program: the mean of its repetitions, none of which has failed."""
        rows = [entry.row for entry in entries]
        time = estimate(
            [row["makespan_s"] for row in rows],
            [math.nan if (half := row.get("half_width_s")) is None else half for row in rows],
        )
        columns = [costs(row, self._cost, self._definition.priced_by) for row in rows]
        n_hosts = "hosts" if self._definition.priced_by == "machine" else "used_hosts"
        amounts = [
            (row["makespan_s"] * each[n_hosts], each["run_eur"], each["energy_kwh"])
            for row, each in zip(rows, columns, strict=True)
        ]
        means = (math.fsum(amount) / len(rows) for amount in zip(*amounts, strict=True))
        return ProgramRun(time.time_s, time.half_width_s, *means)


def machine_runs(
    definition: Definition, points: Sequence[Point], state: StudyState
) -> dict[tuple[Value, ...], dict[str, list[Entry]]]:
    """Entries of machines on which all points have run well: by the machine's values, and by program.

    Raises
    ------
    UsageError
        If a run takes no time.
    """
    by_machine: dict[tuple[Value, ...], dict[str, list[Entry]]] = {}
    incomplete = set()
    for point in points:
        name, values = ("", point.values) if definition.weight_kind is None else (point.values[0], point.values[1:])
        entry = state.current(point.key)
        if entry is None or entry.error:
            incomplete.add(values)
        elif not entry.row["makespan_s"]:
            raise UsageError(f"{name or 'the program'} takes no time: a machine has no throughput for it")
        else:
            by_machine.setdefault(values, {}).setdefault(str(name), []).append(entry)
    return {values: entries for values, entries in by_machine.items() if values not in incomplete}


def free_computing(definition: Definition, points: Sequence[Point], state: StudyState) -> list[str]:
    """Names of programs whose computing is to be modelled, and has taken no time in any run."""
    shares: dict[str, float] = {}
    for point in points:
        entry = state.current(point.key)
        if entry is not None and not entry.error and point.run.compute == "models":
            name = "the program" if definition.weight_kind is None else str(point.values[0])
            taken = sum(entry.row.get(f"{part}_share") or 0.0 for part in ("compute", "device"))
            shares[name] = max(shares.get(name, 0.0), taken)
    return [name for name, share in shares.items() if not share]


def throughputs(definition: Definition, points: Sequence[Point], state: StudyState) -> list[MachineThroughput]:
    """Throughputs of the machines of a study on which all programs have run, in the order of its points.

    With shares of core hours there is none before the first machine has run.

    Raises
    ------
    UsageError
        If the size of a machine differs between programs.
    """
    read = ResultReader(definition)
    by_machine = machine_runs(definition, points, state)
    first = points[0].values[1:] if points else ()
    if definition.weight_kind == "core_hours_share" and first not in by_machine:
        return []
    rows = []
    weekly_runs: dict[str, float] = {}
    for values, entries in by_machine.items():
        check_sizes(entry.row["parts"] for of_one in entries.values() for entry in of_one)
        cost = read.cost(next(iter(entries.values()))[0])
        runs = {name: read.program_run(of_one) for name, of_one in entries.items()}
        weekly_runs = weekly_runs or runs_of_a_week(definition, runs, cost.n_hosts)
        rows.append(throughput_of(values, runs, weekly_runs, cost))
    return rows
