"""Formulas for the parts of a study's times, and predictions from them.

Each part has a formula of its own (`smpy.analysis.formulas`); their sum is the makespan. The parts are the makespan
itself, the categories of lost time, in rank-seconds [1]_, or the named kernels, in seconds of a mean rank, beside
everything else. Where traces have counters of the processor, each kernel has a formula of each counter, too.

References
----------
.. [1] Crovella, LeBlanc: "Parallel performance prediction using lost cycles analysis", Supercomputing 1994.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from smpy.analysis.formulas import RANKS, FittedFormula, fit_formula, half_width, plain_name
from smpy.analysis.lost_time import CATEGORIES
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.errors import UsageError
from smpy.records.text_table import text_table
from smpy.study.kernel_times import Counters, cache_flags, kernel_counters, kernel_times
from smpy.study.model_points import ModelPoints, grid_of, model_points, read_levels
from smpy.study.table import StudyTable
from smpy.study.uncertainty import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from plotly.graph_objects import Figure

ModelledParts = Literal["makespan", "lost", "kernels"]

OTHER: Final = "everything else"
"""Part of a mean rank's time that is in no named kernel."""

_SMALL: Final = 0.01  # of the makespan: errors of smaller kernels are relative to this
_ROUNDING: Final = 1e-9
_FEW: Final = 5  # kernels that are looked at first
_SCALES: Final = -0.05  # exponent of the ranks above which a kernel does not scale


@dataclass(frozen=True, slots=True)
class PredictedPoint:
    """Prediction for a point.

    Attributes
    ----------
    levels : mapping of str to float
        Levels of the axes.
    makespan_s : float
        Sum of the parts.
    half_width_s : float
        Half the width of its 95 % interval.
    parts_s : mapping of str to float
        Predicted parts of the makespan, the largest first.
    counters : Counters
        Predicted counters of a mean rank in each kernel.
    measured_s : float or None
        Makespan of the point in the study, if it is left out of the fit.
    """

    levels: Mapping[str, float]
    makespan_s: float
    half_width_s: float
    parts_s: Mapping[str, float]
    counters: Counters
    measured_s: float | None = None

    @property
    def where(self) -> str:
        """Text such as "n 512, ranks 64"."""
        return ", ".join(f"{plain_name(name)} {value:g}" for name, value in self.levels.items())


@dataclass(frozen=True, slots=True, eq=False)
class StudyModel(Result):
    """Formulas through the points of a study.

    Attributes
    ----------
    modelled : {"makespan", "lost", "kernels"}
        Parts that have formulas.
    fits : mapping of str to FittedFormula
        Formula of each part that is not zero: of `lost`, in rank-seconds, else in seconds.
    counter_fits : mapping of (str, str) to FittedFormula
        By kernel and counter, the formula of its growth in a mean rank; empty: there are no counters.
    levels, makespans_s : array of float
        Points that are fitted, and their makespans.
    predicted, validated : sequence of PredictedPoint
        Predictions, and those of points left out.
    flags : sequence of str
        Kernels that do not scale, come among the first five, or miss the caches more at some points.
    remarks : sequence of str
        Remarks for a reader.
    """

    modelled: ModelledParts
    fits: Mapping[str, FittedFormula]
    counter_fits: Mapping[tuple[str, str], FittedFormula]
    levels: NDArray[np.float64]
    makespans_s: NDArray[np.float64]
    predicted: Sequence[PredictedPoint]
    validated: Sequence[PredictedPoint]
    flags: Sequence[str]
    remarks: Sequence[str]

    def table(self) -> str:
        """Formulas and their errors, then predictions."""
        unit = "rank-seconds" if self.modelled == "lost" else "seconds"
        rows = [(f"{fit.error:.2%}", name, fit.formula.text) for name, fit in self.fits.items()]
        parts = [f"Formulas, in {unit}", text_table(("left out", "part", "formula"), rows, n_words=2)]
        if self.counter_fits:
            counter_rows = [(f"{fit.error:.2%}", *key, fit.formula.text) for key, fit in self.counter_fits.items()]
            counter_head = ("left out", "part", "counter", "formula")
            parts.append("Counters of a mean rank\n" + text_table(counter_head, counter_rows, n_words=3))
        if self.validated:
            head = ("measured", "predicted", "error", "point")
            lines = [
                (_time(each.measured_s), _time(each.makespan_s), f"{_error(each):+.1%}", each.where)
                for each in self.validated
            ]
            parts.append("Points left out\n" + text_table(head, lines, n_words=1))
        for each in self.predicted:
            words = f"{each.where}: {Estimate(each.makespan_s, each.half_width_s)}"
            names = list(dict.fromkeys(name for _, name in each.counters))
            shares = [
                (_time(s), f"{s / each.makespan_s:.1%}", *(_count(each, part, name) for name in names), part)
                for part, s in each.parts_s.items()
                if s
            ]
            columns = ("time", "share", *names, "part")
            parts.append(words + (f"\n{text_table(columns, shares, n_words=1)}" if len(shares) > 1 else ""))
        return "\n\n".join([*parts, *(["\n".join(self.flags)] if self.flags else []), *self.remarks])

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        return {
            "of": self.modelled,
            "formulas": [
                {"part": name, "formula": fit.formula.text, "error": fit.error} for name, fit in self.fits.items()
            ],
            "counters": [
                {"kernel": kernel, "counter": counter, "formula": fit.formula.text, "error": fit.error}
                for (kernel, counter), fit in self.counter_fits.items()
            ],
            "predicted": [self._record(each) for each in self.predicted],
            "validated": [
                {**self._record(each), "measured_s": each.measured_s, "error": _error(each)} for each in self.validated
            ],
            "flags": list(self.flags),
            "remarks": list(self.remarks),
        }

    def _record(self, point: PredictedPoint) -> dict[str, Any]:
        named = "kernels" if self.modelled == "kernels" else "parts"
        key = "kernel" if self.modelled == "kernels" else "part"
        return {
            **{plain_name(name): value for name, value in point.levels.items()},
            "makespan_s": point.makespan_s,
            "half_width_s": point.half_width_s,
            named: [
                {key: name, "seconds": seconds, **_counters_record(name, point.counters)}
                for name, seconds in point.parts_s.items()
            ],
        }

    def plot(self) -> Figure:
        """Makespans over the last axis: those of the study, and predictions with their band."""
        graph = import_optional("plotly.graph_objects", extra="study")
        figure = graph.Figure()
        axes = next(iter(self.fits.values())).formula.axes
        figure.add_trace(graph.Scatter(x=self.levels[:, -1], y=self.makespans_s, mode="markers", name="study"))
        points = [*self.validated, *self.predicted]
        figure.add_trace(
            graph.Scatter(
                x=[each.levels[axes[-1]] for each in points],
                y=[each.makespan_s for each in points],
                error_y={"array": [each.half_width_s for each in points]},
                text=[plotly_text(each.where) for each in points],
                mode="markers",
                name="predicted",
            )
        )
        figure.update_xaxes(type="log", title=plotly_text(plain_name(axes[-1])))
        figure.update_yaxes(type="log", title="seconds")
        return figure


def _time(seconds: float | None) -> str:
    return "" if seconds is None else str(Estimate(seconds, float("nan")))


def _count(point: PredictedPoint, part: str, counter: str) -> str:
    count = point.counters.get((part, counter))
    return "" if count is None else f"{count:.4g}"


def _counters_record(kernel: str, counters: Counters) -> dict[str, Any]:
    """The key "counters" of a kernel that has some."""
    own = {name: count for (part, name), count in counters.items() if part == kernel}
    return {"counters": own} if own else {}


def _error(point: PredictedPoint) -> float:
    return point.makespan_s / point.measured_s - 1 if point.measured_s else float("nan")


def study_model(
    table: StudyTable, modelled: ModelledParts, *, predict: Sequence[str] = (), validate: Sequence[str] = ()
) -> StudyModel:
    """Find formulas for the parts of a study's times.

    Parameters
    ----------
    table : StudyTable
        Table of the study.
    modelled : {"makespan", "lost", "kernels"}
        Parts.
    predict : sequence of str
        KEY=VALUE,... of each axis: points to predict.
    validate : sequence of str
        KEY=VALUE,...: points of the study to leave out of the fit, and to compare with.

    Raises
    ------
    UsageError
        If points are too few, or an axis or a level is not there, or the study keeps no such parts.
    """
    points = model_points(table)
    targets = grid_of(read_levels(predict, points.axes), points.axes)
    is_left_out = _left_out(points, read_levels(validate, points.axes))
    makespans_s = points.mean("makespan_s")
    parts = _PARTS[modelled](points, makespans_s)
    per_second = points.mean("ranks") if modelled == "lost" else np.ones(len(makespans_s))
    whole = makespans_s * per_second
    kept = ~is_left_out
    small = whole if modelled == "lost" else _SMALL * whole  # losses come and go: only their part of the whole counts
    fits = {
        name: fit_formula(points.axes, points.levels[kept], values[kept], np.maximum(values, small)[kept])
        for name, values in parts.items()
        if values.any()
    }
    counters = kernel_counters(points) if modelled == "kernels" else {}
    counter_fits = {
        key: fit_formula(points.axes, points.levels[kept], values[kept], per[kept])
        for key, values in counters.items()
        for per in [np.maximum(values, _SMALL * values.max())]
        if values[kept].any()
    }
    if modelled == "lost" and RANKS not in points.axes and np.ptp(per_second):
        raise UsageError("numbers of ranks differ, and are no axis: vary ranks")
    n_ranks = float(per_second[0])

    def predicted(levels: Sequence[float], measured_s: float | None = None) -> PredictedPoint:
        divisor = levels[points.axes.index(RANKS)] if modelled == "lost" and RANKS in points.axes else n_ranks
        seconds = {name: float(fit.formula.at([levels])[0]) / divisor for name, fit in fits.items()}
        width_s = float(half_width([*fits.values()], [levels])[0]) / divisor
        total_s = sum(seconds.values())
        width_s = width_s if width_s > _ROUNDING * total_s else 0.0
        largest = dict(sorted(seconds.items(), key=lambda item: -item[1]))
        named = dict(zip(points.axes, levels, strict=True))
        counts = {key: float(fit.formula.at([levels])[0]) for key, fit in counter_fits.items()}
        return PredictedPoint(named, total_s, width_s, largest, counts, measured_s)

    validated = [
        predicted(levels, float(measured_s))
        for levels, measured_s in zip(points.levels[is_left_out].tolist(), makespans_s[is_left_out], strict=True)
    ]
    predictions = [predicted(levels) for levels in targets]
    largest_level = points.levels[kept].max(axis=0)
    flags = _flags(fits, points, largest_level, predictions) if modelled == "kernels" else []
    flags += cache_flags(counters)
    failed = f"{points.n_failed:,} point{'s' * (points.n_failed > 1)} failed or took no time, and are left out."
    return StudyModel(
        modelled=modelled,
        fits=fits,
        counter_fits=counter_fits,
        levels=points.levels[kept],
        makespans_s=makespans_s[kept],
        predicted=predictions,
        validated=validated,
        flags=flags,
        remarks=[failed] if points.n_failed else [],
    )


def _left_out(points: ModelPoints, levels: Mapping[str, Sequence[float]]) -> NDArray[np.bool_]:
    is_left_out = np.full(len(points.levels), fill_value=bool(levels))
    for name, values in levels.items():
        column = points.levels[:, points.axes.index(name)]
        for value in values:
            if value not in column:
                raise UsageError(f"the study has no point with {plain_name(name)} {value:g} to validate with")
        is_left_out &= np.isin(column, values)
    return is_left_out


def _makespan(points: ModelPoints, makespans_s: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    return {"makespan": makespans_s}


def _lost(points: ModelPoints, makespans_s: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    records = points.records("lost", 'write keep = ["lost"] in its file')
    try:
        return {
            name.replace("_", " "): np.array(
                [float(np.mean([record[f"{name}_s"] for record in runs])) for runs in records]
            )
            for name in CATEGORIES
        }
    except (KeyError, TypeError) as error:
        raise UsageError(f"a point's lost time is not what a study has written: {error}; run it again") from error


def _kernels(points: ModelPoints, makespans_s: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    times = kernel_times(points)
    names = dict.fromkeys(name for runs in times for run in runs for name in run)
    if not names:
        raise UsageError("no kernel has a name in this study: declare them with @smpy.kernel, or model the makespan")
    kernels = {
        name: np.array([float(np.mean([run.get(name, 0.0) for run in runs])) for runs in times]) for name in names
    }
    rest = np.maximum(makespans_s - np.sum([*kernels.values()], axis=0), 0.0)
    return {**kernels, OTHER: rest}


_PARTS: Final = {"makespan": _makespan, "lost": _lost, "kernels": _kernels}


def _flags(
    fits: Mapping[str, FittedFormula],
    points: ModelPoints,
    largest: NDArray[np.float64],
    predicted: Sequence[PredictedPoint],
) -> list[str]:
    """Sentences on kernels that do not scale with the ranks, and on those that come among the first five."""
    kernels = {name: fit.formula for name, fit in fits.items() if name != OTHER}
    flags = []
    if RANKS in points.axes:
        at = points.axes.index(RANKS)
        fewest = largest.copy()
        fewest[at] = points.levels[:, at].min()
        for name, formula in kernels.items():
            first, last = formula.at([fewest, largest])
            if min(first, last) <= 0:
                continue
            exponent = log(last / first) / log(largest[at] / fewest[at])
            if exponent >= _SCALES:
                flags.append(f"{name} does not scale: its time goes with ranks^{exponent:.2f}.")
    order = sorted(kernels, key=lambda name: -float(kernels[name].at([largest])[0]))
    for each in predicted:
        first = [name for name in each.parts_s if name != OTHER][:_FEW]
        flags += [
            f"{name} comes among the first {_FEW} at {each.where}: it is number {order.index(name) + 1} at "
            f"{points.words(largest.tolist())}."
            for name in first
            if order.index(name) >= _FEW
        ]
    return flags
