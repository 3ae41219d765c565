"""Costs of a real machine from the times of real runs and the exact counts of simulated ones.

The critical path of a simulated run has counts of operations, messages and bytes. With chi_i those of a run and T its
measured time:

    T = sum of beta_i chi_i          beta_i, the unit costs, by least squares of relative errors
    elasticity                       beta_i chi_i / T: 1 % of the cost changes so many % of the time; they add up to 1
    VIF_i                            1 / (1 - R_i^2), R_i^2 of chi_i / T fitted by the others; above 10: alike
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.analysis import critical_path
from smpy.analysis.formulas import FittedFormula, fit_formula, plain_name
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.analysis.timeline import COMPUTE, read_timeline
from smpy.errors import UsageError
from smpy.records.columns import numbers
from smpy.records.text_table import text_table
from smpy.records.trace import Trace
from smpy.records.whole_runs import check_performed
from smpy.study.csv_rows import number_above_0, read_csv_rows
from smpy.study.model_points import ModelPoints, grid_of, model_points, read_levels
from smpy.study.table import StudyTable
from smpy.units import format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

COUNTS: Final = ("operations", "messages", "bytes")
"""Counts on the critical path."""

_SECONDS: Final = "seconds"
_RUNS_PER_TERM: Final = 3
_VIF_MAX: Final = 10.0


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """Costs of a machine, from real runs.

    Attributes
    ----------
    costs_s, errors_s, vif : mapping of str to float
        Seconds per operation, message and byte, their standard errors and variance inflation factors.
    worst_share : float
        Largest relative residual.
    n_runs : int
        Number of measured runs.
    """

    costs_s: Mapping[str, float]
    errors_s: Mapping[str, float]
    vif: Mapping[str, float]
    worst_share: float
    n_runs: int


@dataclass(frozen=True, slots=True)
class CountedPoint:
    """Counts at a point, and the time that unit costs give.

    Attributes
    ----------
    levels : mapping of str to float
        Levels of the axes.
    counts : mapping of str to float
        Operations, messages and bytes on the critical path.
    is_exact : bool
        Whether they are those of a simulated run, and not of formulas.
    seconds : float or None
        Time; None: there are no unit costs.
    elasticities : mapping of str to float
        Elasticity of each count; empty without costs.
    """

    levels: Mapping[str, float]
    counts: Mapping[str, float]
    is_exact: bool
    seconds: float | None
    elasticities: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class CountsModel(Result):
    """Counts of a study, and costs of a machine.

    Attributes
    ----------
    points, predicted : sequence of CountedPoint
        Points of the study, and predictions.
    fits : mapping of str to FittedFormula
        Formula of each count; empty: none is needed.
    costs : UnitCosts or None
        Costs, with measured times.
    """

    points: Sequence[CountedPoint]
    predicted: Sequence[CountedPoint]
    fits: Mapping[str, FittedFormula]
    costs: UnitCosts | None

    def table(self) -> str:
        """Counts of each point; costs; predictions."""
        parts = ["On the critical path\n" + _points_table(self.points)]
        if self.fits:
            rows = [(f"{fit.error:.2%}", name, fit.formula.text) for name, fit in self.fits.items()]
            parts.append(text_table(("left out", "count", "formula"), rows, n_words=2))
        if self.costs is not None:
            costs = self.costs
            cells = [
                (f"{costs.costs_s[name]:.4g} s", f"{costs.errors_s[name]:.2g} s", f"{costs.vif[name]:.1f}", name)
                for name in costs.costs_s
            ]
            head = f"Costs of a unit, from {costs.n_runs:,} runs; worst residual {costs.worst_share:.2%}"
            parts.append(f"{head}\n{text_table(('cost', 'error', 'VIF', 'unit'), cells, n_words=1)}")
            alike = [name for name, vif in costs.vif.items() if vif > _VIF_MAX]
            if alike:
                parts.append(
                    f"{', '.join(alike)}: a VIF above {_VIF_MAX:g}; runs hardly tell these costs apart: vary sizes and "
                    "ranks more independently."
                )
        if self.predicted:
            parts.append("Predicted\n" + _points_table(self.predicted))
        return "\n\n".join(parts)

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        costs = self.costs
        return {
            "points": [_record(point) for point in self.points],
            "formulas": [
                {"count": name, "formula": fit.formula.text, "error": fit.error} for name, fit in self.fits.items()
            ],
            "unit_costs_s": None if costs is None else dict(costs.costs_s),
            "standard_errors_s": None if costs is None else dict(costs.errors_s),
            "vif": None if costs is None else dict(costs.vif),
            "worst_share": None if costs is None else costs.worst_share,
            "predicted": [_record(point) for point in self.predicted],
        }

    def plot(self) -> Figure:
        """Elasticities of each point as stacked bars; without costs, its counts."""
        graph = import_optional("plotly.graph_objects", extra="study")
        figure = graph.Figure()
        shown = [*self.points, *self.predicted]
        where = [plotly_text(_where(point.levels)) for point in shown]
        for name in COUNTS:
            values = [point.elasticities.get(name, 0.0) if self.costs else point.counts[name] for point in shown]
            figure.add_trace(graph.Bar(x=where, y=values, name=name))
        figure.update_layout(barmode="stack" if self.costs else "group")
        if self.costs is None:
            figure.update_yaxes(type="log")
        return figure


def _where(levels: Mapping[str, float]) -> str:
    return ", ".join(f"{plain_name(name)} {value:g}" for name, value in levels.items())


def _points_table(points: Sequence[CountedPoint]) -> str:
    head = ["operations", "messages", "bytes"]
    has_time = any(point.seconds is not None for point in points)
    if has_time:
        head += ["time", *(f"of {name}" for name in COUNTS)]
    rows = []
    for point in points:
        row = [f"{point.counts[name]:,.6g}" for name in COUNTS]
        if has_time:
            row.append("" if point.seconds is None else format_time(point.seconds))
            row += [f"{point.elasticities[name]:.1%}" if name in point.elasticities else "" for name in COUNTS]
        rows.append([*row, _where(point.levels)])
    return text_table([*head, "point"], rows, n_words=1)


def _record(point: CountedPoint) -> dict[str, Any]:
    return {
        **{plain_name(name): value for name, value in point.levels.items()},
        **point.counts,
        "is_exact": point.is_exact,
        "seconds": point.seconds,
        "elasticities": dict(point.elasticities),
    }


def counts_on_path(trace: Trace) -> dict[str, float]:
    """Operations, messages and bytes on the critical path of a run.

    A rank's operations on the path are in proportion to its computing there.

    Raises
    ------
    UsageError
        If the trace has no intervals, or lacks iterations that were skipped.
    """
    check_performed(trace, "have the counts of its run")
    timeline = read_timeline(trace)
    path = critical_path(trace)
    length_s = timeline.end_s - timeline.start_s
    location = np.repeat(np.arange(len(timeline.first) - 1), np.diff(timeline.first))
    is_work = timeline.kind == COMPUTE
    computing_s = np.bincount(timeline.rank_of[location[is_work]], length_s[is_work], timeline.n_ranks)
    operations = np.zeros(timeline.n_ranks)
    for batch in trace.batches("actions", ["rank", "action", "amount"]):
        words = batch["action"].dictionary.to_pylist()
        if "compute" in words:
            mine = numbers(batch["action"].indices) == words.index("compute")
            operations += np.bincount(
                numbers(batch["rank"])[mine], numbers(batch["amount"], null=0)[mine], timeline.n_ranks
            )
    parts = path.parts
    on_path = (parts.kind == COMPUTE) & (parts.message < 0)
    part_s = np.bincount(parts.rank[on_path], (parts.end_s - parts.start_s)[on_path], timeline.n_ranks)
    share = np.divide(part_s, computing_s, out=np.zeros_like(part_s), where=computing_s > 0)
    return {"operations": float(operations @ share), "messages": float(path.messages), "bytes": float(path.bytes)}


def counts_model(table: StudyTable, *, measured: Path | None = None, predict: Sequence[str] = ()) -> CountsModel:
    """Count what is on the critical paths of a study, and fit unit costs to measured times.

    Parameters
    ----------
    table : StudyTable
        Table of a study that keeps traces.
    measured : path, optional
        Times of real runs: comma-separated values with a column of each axis, and `seconds`.
    predict : sequence of str
        KEY=VALUE,... of each axis: points to predict.

    Raises
    ------
    UsageError
        If the study keeps no traces, a measured run has no point, or runs are too few.
    """
    points = model_points(table)
    if not points.keep("trace"):
        raise UsageError('the study keeps no trace of its points: write keep = ["trace"] in its file, and run it again')
    targets = grid_of(read_levels(predict, points.axes), points.axes)
    levels = [tuple(row) for row in points.levels.tolist()]
    exact = {
        level: counts_on_path(Trace(table.folder / rows["trace"].iloc[0]))
        for level, rows in zip(levels, points.rows, strict=True)
    }
    costs = None if measured is None else unit_costs(*_matched(measured, points, exact))
    is_formula_needed = any(tuple(target) not in exact for target in targets)
    fits = _count_fits(points, exact) if is_formula_needed else {}

    def counted(level: Sequence[float]) -> CountedPoint:
        known = exact.get(tuple(level))
        counts = known or {name: float(fits[name].formula.at([level])[0]) if name in fits else 0.0 for name in COUNTS}
        named = dict(zip(points.axes, level, strict=True))
        if costs is None:
            return CountedPoint(named, counts, known is not None, None, {})
        parts_s = {name: cost_s * counts[name] for name, cost_s in costs.costs_s.items()}
        seconds = math.fsum(parts_s.values())
        return CountedPoint(
            named, counts, known is not None, seconds, {name: part_s / seconds for name, part_s in parts_s.items()}
        )

    return CountsModel([counted(level) for level in levels], [counted(target) for target in targets], fits, costs)


def _count_fits(
    points: ModelPoints, exact: Mapping[tuple[float, ...], Mapping[str, float]]
) -> dict[str, FittedFormula]:
    values = {name: np.array([counts[name] for counts in exact.values()]) for name in COUNTS}
    return {
        name: fit_formula(points.axes, points.levels, column, np.maximum(column, 1.0))
        for name, column in values.items()
        if column.any()
    }


def _matched(
    path: Path, points: ModelPoints, exact: Mapping[tuple[float, ...], Mapping[str, float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts of each measured run, and its seconds."""
    rows, seconds = [], []
    for line, level, time_s in read_times(path, points.axes):
        if level not in exact:
            raise UsageError(f"{path}, line {line}: the study has no point with {points.words(level)}: add it")
        rows.append([exact[level][name] for name in COUNTS])
        seconds.append(time_s)
    return np.array(rows).reshape(-1, len(COUNTS)), np.array(seconds)


def read_times(path: Path, axes: Sequence[str]) -> list[tuple[int, tuple[float, ...], float]]:
    """Line, levels of the axes and seconds of each measured run.

    Raises
    ------
    UsageError
        If the file is no such table: file, line and why.
    """
    head, lines = read_csv_rows(path, "table of times")
    columns = []
    for name in (*axes, _SECONDS):
        at = [i for i, word in enumerate(head) if word in (name, plain_name(name))]
        if len(at) != 1:
            columns_needed = ", ".join([*map(plain_name, axes), _SECONDS])
            raise UsageError(f"{path}, line 1: it needs one column {plain_name(name)}; columns are {columns_needed}")
        columns += at
    runs = []
    for line, row in lines:
        *level, seconds = (number_above_0(path, line, row[i]) for i in columns)
        runs.append((line, tuple(level), seconds))
    return runs


def unit_costs(counts: NDArray[np.float64], seconds: NDArray[np.float64]) -> UnitCosts:
    """Costs of operations, messages and bytes by least squares of relative errors.

    Parameters
    ----------
    counts : (n_runs, 3) array of float
        Counts of each run, in the order of `COUNTS`; one that is 0 in all runs has no cost.
    seconds : (n_runs,) array of float
        Measured times.

    Raises
    ------
    UsageError
        If runs are too few, or cannot tell the costs apart.
    """
    is_counted = [bool(column.any()) for column in counts.T]
    names = [name for name, counted in zip(COUNTS, is_counted, strict=True) if counted]
    fewest = _RUNS_PER_TERM * max(len(names), 1)
    if len(seconds) < fewest:
        raise UsageError(f"{len(seconds)} measured runs: costs of {', '.join(names) or 'a unit'} need {fewest} or more")
    rows = counts[:, is_counted] / seconds[:, None]
    norms = np.linalg.norm(rows, axis=0)
    scaled = rows / norms
    if np.linalg.matrix_rank(scaled, tol=1e-8) < len(names):
        raise UsageError(
            f"{', '.join(names)} are in a fixed proportion in all measured runs: vary sizes and ranks independently"
        )
    betas, *_ = np.linalg.lstsq(scaled, np.ones(len(rows)), rcond=None)
    rest = 1 - scaled @ betas
    covariance = rest @ rest / (len(rows) - len(names)) * np.linalg.inv(scaled.T @ scaled)
    errors = np.sqrt(np.diag(covariance)) / norms
    inflation = np.diag(np.linalg.inv(scaled.T @ scaled))  # columns of length 1, and no constant
    return UnitCosts(
        costs_s=dict(zip(names, (betas / norms).tolist(), strict=True)),
        errors_s=dict(zip(names, errors.tolist(), strict=True)),
        vif=dict(zip(names, inflation.tolist(), strict=True)),
        worst_share=float(np.abs(rest).max()),
        n_runs=len(rows),
    )
