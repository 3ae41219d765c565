"""Throughputs of machines, in a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from smpy.study.definition import Definition
    from smpy.study.mix import MachineThroughput
    from smpy.study.points import Point
    from smpy.study.state import StudyState

_UNITS: Final = {
    None: "runs a week",
    "runs_per_week": "weeks of work in a week",
    "core_hours_share": "times the work of the first machine",
}


def throughput_table(definition: Definition, rows: Sequence[MachineThroughput]) -> Iterator[str]:
    """Lines of a table: of each machine its settings, its throughput, by price and energy, and the programs' shares."""
    from smpy.records.text_table import text_table

    yield f"throughput: {throughput_unit(definition)}"
    names = [program.name for program in definition.programs if program.name]
    head = [
        *definition.setting_names, "throughput", "per MEUR", "per MWh", "EUR for the work",
        *(f"{name} takes" for name in names),
    ]  # fmt: skip
    lines = [
        [
            *map(str, row.values),
            throughput_text(row),
            number_text(row.throughput_per_eur * 1e6),
            number_text(row.work_per_kwh * 1e3),
            number_text(row.work_eur),
            *(f"{row.shares[name]:.0%}" for name in names),
        ]
        for row in rows
    ]
    yield from text_table(head, lines).splitlines()


def computing_lines(definition: Definition, points: Sequence[Point], state: StudyState) -> Iterator[str]:
    """Lines on computing that no machine changes: that takes no time, or is not scaled to its cores."""
    from smpy.study.mix import free_computing

    if names := free_computing(definition, points, state):
        yield (
            f'computing of {" and ".join(names)} takes no time: compute = "models" counts folded arrays and marked '
            'kernels alone, "measured" counts all'
        )
    runs = [point.run for point in points]
    if any(run.measures_computing and run.host is None and run.host_speed_flop_per_s is None for run in runs):
        yield (
            "measured computing takes as long on any core as here: host_speed, the speed of a core here, scales it to "
            "those of the machines"
        )


def throughput_unit(definition: Definition) -> str:
    """Unit of a study's throughputs."""
    return _UNITS[definition.weight_kind]


def throughput_text(machine: MachineThroughput) -> str:
    """A throughput and its uncertainty."""
    text = number_text(machine.throughput)
    share = machine.half_width / machine.throughput
    return (
        text if not share > 0 else f"{text} ± {100 * share:.0f} %" if share >= 0.01 else f"{text} ± {100 * share:.1g} %"
    )


def number_text(number: float) -> str:
    """A number, to four digits; "-": not known."""
    return "-" if not math.isfinite(number) else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"
