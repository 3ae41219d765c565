"""Findings of a study, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING, Final

import numpy as np

from smpy.study.definition import PROGRAM
from smpy.study.levels import Levels, levels_of, short_text
from smpy.study.pair_causes import cause_of
from smpy.study.pair_sentences import duration_text, pair_sentences, times
from smpy.study.pairs import paired_effects
from smpy.study.pareto import pareto_front
from smpy.study.table import StudyTable
from smpy.study.uncertainty import Estimate
from smpy.units import format_energy, format_time

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_J_PER_KWH: Final = 3.6e6
_MANY_LEVELS: Final = 8
_NO_DIFFERENCE: Final = 1.0005


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence on the numbers.

    Attributes
    ----------
    text : str
        The sentence.
    point : int or None
        The point to look at.
    """

    text: str
    point: int | None = None


@dataclass(frozen=True, slots=True)
class AxisEffect:
    """Effect of an axis on the makespan: the least and the greatest median over its levels.

    Attributes
    ----------
    axis : str
        Its name.
    best, worst : str
        The levels; for an axis with a level for almost every point, quarters of its range.
    best_s, worst_s : float
        The median makespans of the points there.
    """

    axis: str
    best: str
    worst: str
    best_s: float
    worst_s: float

    @property
    def ratio(self) -> float:
        """Worst makespan, as a multiple of the best."""
        return _ratio(self.worst_s, self.best_s)


@dataclass(frozen=True, slots=True)
class Configuration:
    """One level per axis, and medians over the points with these levels: the repetitions.

    Attributes
    ----------
    text : str
        The levels.
    point : int
        The first of the points.
    n_points : int
        Number of points that have run.
    makespan_s, half_width_s, price_eur, energy_kwh : float
        Medians; NaN: not known.
    """

    text: str
    point: int
    n_points: int
    makespan_s: float
    half_width_s: float
    price_eur: float
    energy_kwh: float


def with_results(table: StudyTable) -> pd.DataFrame:
    """The points that ran to their end."""
    return table.frame[table.frame["makespan_s"].notna() & ~has_failed(table.frame)]


def has_failed(frame: pd.DataFrame) -> pd.Series[bool]:
    """Whether each point failed."""
    return frame["error"].fillna("").astype(str) != ""


def effects(table: StudyTable) -> list[AxisEffect]:
    """The effect of each axis that took several values, the largest first.

    Parameters
    ----------
    table : StudyTable
        Table of a study; only points that ran to their end count.
    """
    frame = with_results(table)
    makespans_s = frame["makespan_s"].to_numpy(float)
    by_axis = []
    for levels in (levels_of(axis, frame[axis]) for axis in table.axes):
        labels, codes = _quarters(levels) if _is_drawn(levels, table) else (levels.labels, levels.codes)
        medians_s = [float(np.median(makespans_s[codes == code])) for code in range(len(labels))]
        if len(labels) > 1:
            best, worst = int(np.argmin(medians_s)), int(np.argmax(medians_s))
            by_axis.append(AxisEffect(levels.axis, labels[best], labels[worst], medians_s[best], medians_s[worst]))
    return sorted(by_axis, key=lambda effect: -effect.ratio)


def _is_drawn(levels: Levels, table: StudyTable) -> bool:
    """Whether levels have a point or two each: other axes differ, too, so single levels show no effect of this one."""
    n = len(levels.labels)
    return len(table.axes) > 1 and levels.numbers is not None and n > _MANY_LEVELS and n * 2 > len(levels.codes)


def _quarters(levels: Levels) -> tuple[Sequence[str], NDArray[np.intp]]:
    edges = [len(levels.labels) * quarter // 4 for quarter in range(5)]
    labels = [
        f"{short_text(levels.labels[edges[i]])} to {short_text(levels.labels[edges[i + 1] - 1])}" for i in range(4)
    ]
    return labels, np.searchsorted(edges, levels.codes, side="right") - 1


def settings(table: StudyTable) -> list[Configuration]:
    """All combinations of levels that have results, in the order of the plan.

    Parameters
    ----------
    table : StudyTable
        Table of a study; only points that ran to their end count.
    """
    frame = with_results(table)
    axes = [levels_of(axis, frame[axis]) for axis in table.axes]
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, codes in enumerate(zip(*(levels.codes.tolist() for levels in axes), strict=True)):
        rows.setdefault(codes, []).append(row)
    if not axes and len(frame):
        rows[()] = list(range(len(frame)))
    unknown = np.full(len(frame), np.nan)
    columns = [
        frame[name].to_numpy(float) if name in frame else unknown
        for name in ("makespan_s", "half_width_s", "price_eur", "energy_kwh")
    ]
    points = frame["point"].tolist()
    return [
        Configuration(
            ", ".join(
                f"{levels.axis} = {short_text(levels.labels[code])}" for levels, code in zip(axes, codes, strict=True)
            ),
            points[its[0]],
            len(its),
            *(float(np.median(column[its])) for column in columns),
        )
        for codes, its in rows.items()
    ]


def findings(table: StudyTable) -> list[Finding]:
    """Findings at the top of a report; with several programs, each finding names its program.

    Parameters
    ----------
    table : StudyTable
        Table with any number of points.
    """
    return [
        *_counts(table),
        *(
            Finding(f"{name}: {finding.text}" if name else finding.text, finding.point)
            for name, of_one in by_program(table)
            for finding in _comparisons(of_one)
        ),
    ]


def by_program(table: StudyTable) -> Iterator[tuple[str, StudyTable]]:
    """Each program of a study, and the table of its points; the only one of a study without names has none."""
    if PROGRAM not in table.axes:
        yield "", table
        return
    axes = tuple(axis for axis in table.axes if axis != PROGRAM)
    for name, frame in table.frame.groupby(PROGRAM, sort=False):
        yield str(name), replace(table, frame=frame, axes=axes)


def _comparisons(table: StudyTable) -> list[Finding]:
    configurations = settings(table)
    return [
        *_extremes(configurations),
        *_front(configurations),
        *_energy_front(configurations),
        *_effects(table, len(configurations)),
    ]


def _counts(table: StudyTable) -> Iterator[Finding]:
    n, n_done, n_failed = len(table.frame), len(with_results(table)), int(has_failed(table.frame).sum())
    if n_done == n:
        yield Finding(
            {0: "The study has no points.", 1: "The only point has run."}.get(n, f"All {n:,} points have run.")
        )
        return
    counts = [f"{n_done:,} ran to the end"] if n_done else []
    if n_failed:
        counts.append(f"{n_failed:,} failed")
    if n_done + n_failed < n:
        counts.append(f"{n - n_done - n_failed:,} did not run yet")
    yield Finding(f"Of {'1 point' if n == 1 else f'{n:,} points'}, {', '.join(counts)}.")


def _extremes(configurations: Sequence[Configuration]) -> Iterator[Finding]:
    if not configurations:
        return
    fastest, slowest = (
        min(configurations, key=lambda setting: setting.makespan_s),
        max(configurations, key=lambda setting: setting.makespan_s),
    )
    if len(configurations) == 1:
        yield Finding(f"It takes {_makespan(fastest)}{_with(fastest)}.", fastest.point)
    elif _ratio(slowest.makespan_s, fastest.makespan_s) < _NO_DIFFERENCE:
        yield Finding(f"All take as long: {_makespan(fastest)}.", fastest.point)
    else:
        n_alike = sum(_ratio(setting.makespan_s, fastest.makespan_s) < _NO_DIFFERENCE for setting in configurations) - 1
        alike = {0: "", 1: "; another takes as long"}.get(n_alike, f"; {n_alike:,} others take as long")
        yield Finding(f"The fastest takes {_makespan(fastest)}{_with(fastest)}{alike}.", fastest.point)
        longer = _longer(": ", slowest.makespan_s, fastest.makespan_s)
        yield Finding(f"The slowest takes {_makespan(slowest)}{_with(slowest)}{longer}.", slowest.point)


def _with(setting: Configuration) -> str:
    return f", with {setting.text}" if setting.text else ""


def _makespan(setting: Configuration) -> str:
    if setting.n_points > 1:
        return f"{format_time(setting.makespan_s)} (the median of {setting.n_points:,} repetitions)"
    return str(Estimate(setting.makespan_s, setting.half_width_s))


def _pareto_front_of(
    configurations: Sequence[Configuration], cost: Callable[[Configuration], float]
) -> tuple[int, list[Configuration]]:
    """Number of configurations of known cost, and those on the Pareto front of cost and time, least cost first.

    The front is empty where all costs are equal: there is nothing to choose.
    """
    known = [setting for setting in configurations if cost(setting) == cost(setting)]
    if len(set(map(cost, known))) < 2:
        return len(known), []
    is_best = pareto_front(list(map(cost, known)), [setting.makespan_s for setting in known])
    return len(known), sorted((setting for setting, best in zip(known, is_best, strict=True) if best), key=cost)


def _front(configurations: Sequence[Configuration]) -> Iterator[Finding]:
    n_priced, front = _pareto_front_of(configurations, lambda setting: setting.price_eur)
    if not front:
        return
    cheapest, fastest = front[0], front[-1]
    if cheapest.price_eur == fastest.price_eur:
        text = f"Of {n_priced:,} with a price, one is both the cheapest and the fastest: {_bought(cheapest)}."
        yield Finding(text, cheapest.point)
        return
    yield Finding(
        f"Of {n_priced:,} with a price, {len(front):,} are on the Pareto front: nothing is both cheaper and faster. "
        f"The cheapest of these costs {_bought(cheapest)}.",
        cheapest.point,
    )
    dearer, faster = _ratio(fastest.price_eur, cheapest.price_eur), _ratio(cheapest.makespan_s, fastest.makespan_s)
    gain = "" if inf in (dearer, faster) else f": {times(dearer)} the price, {times(faster)} as fast"
    yield Finding(f"The fastest of these costs {_bought(fastest)}{gain}.", fastest.point)


def _energy_front(configurations: Sequence[Configuration]) -> Iterator[Finding]:
    """The fastest configuration, and the one of least energy, on the Pareto front of time and energy."""
    n_known, front = _pareto_front_of(configurations, lambda setting: setting.energy_kwh)
    if not front:
        return
    least, fastest = front[0], front[-1]
    if least.energy_kwh == fastest.energy_kwh:
        yield Finding(f"Of {n_known:,} with an energy, the fastest takes the least: {_drawn(least)}.", least.point)
        return
    yield Finding(
        f"Of {n_known:,} with an energy, {len(front):,} are on the Pareto front of time and energy. "
        f"The thriftiest of these takes {_drawn(least)}.",
        least.point,
    )
    yield Finding(f"The fastest of these takes {_drawn(fastest)}.", fastest.point)


def _drawn(setting: Configuration) -> str:
    return f"{format_energy(setting.energy_kwh * _J_PER_KWH)} and {_makespan(setting)}{_with(setting)}"


def _bought(setting: Configuration) -> str:
    price = f"{setting.price_eur:,.0f}" if setting.price_eur >= 100 else f"{setting.price_eur:.4g}"
    return f"{price} EUR and takes {_makespan(setting)}{_with(setting)}"


def _effects(table: StudyTable, n_settings: int) -> Iterator[Finding]:
    """Sentences on each axis: by pairs that differ in it alone where there are any, else by medians."""
    by_axis = effects(table)
    frame = with_results(table)
    paired = {effect.axis: effect for effect in paired_effects(frame, table.axes)} if len(by_axis) > 1 else {}
    rows = frame.set_index("point")
    for pair in paired.values():
        cause = cause_of(rows.loc[pair.slow_point], rows.loc[pair.fast_point], table.folder)
        for sentence in pair_sentences(pair, cause):
            yield Finding(sentence, pair.slow_point)
    for effect in by_axis:
        if effect.axis in paired:
            continue
        if effect.ratio < _NO_DIFFERENCE:
            yield Finding(
                f"{effect.axis} makes no difference: the median is {format_time(effect.best_s)} at each value."
            )
        else:
            yield Finding(
                f"{effect.axis}: the median goes from {format_time(effect.best_s)} at {short_text(effect.best)} "
                f"to {format_time(effect.worst_s)} at {short_text(effect.worst)}"
                f"{_longer(', ', effect.worst_s, effect.best_s)}."
            )
    is_partial = n_settings < prod(frame[axis].nunique(dropna=False) for axis in table.axes)
    if len(by_axis) > max(1, len(paired)) and is_partial:
        yield Finding("Not every value has run with every other: a part of an axis' effect may be that of others.")


def _ratio(larger: float, smaller: float) -> float:
    if larger == smaller:
        return 1.0
    return larger / smaller if smaller else inf


def _longer(before: str, worst_s: float, best_s: float) -> str:
    """Difference of two makespans in words, after `before`; empty if the best one is 0."""
    ratio = _ratio(worst_s, best_s)
    if ratio == inf:
        return ""
    return before + duration_text(ratio)
