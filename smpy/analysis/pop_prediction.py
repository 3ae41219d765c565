"""Predicts efficiencies for other numbers of ranks: curves through the factors of the runs at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np

from smpy.analysis.result import import_optional
from smpy.analysis.scaling_fits import Prediction, predict
from smpy.errors import UsageError
from smpy.records.text_table import text_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from plotly.graph_objects import Figure

_FARTHEST: Final = 1_000_000
_GRID: Final = 600
_STANDARD_ERRORS: Final = 2.0  # half width of a 95 % interval
_WITH_REPLAYS: Final = ("load_balance", "serialisation", "transfer")
_WITHOUT: Final = ("load_balance", "communication")


class Factors(Protocol):
    """Factors of a run."""

    @property
    def n_ranks(self) -> int:
        """Number of ranks of the run."""


class Crossover(NamedTuple):
    """Number of ranks from which another factor is the smallest.

    Attributes
    ----------
    ranks : float
        Number of ranks from which on it is the smallest.
    before, after : str
        The smallest factor below and above it.
    """

    ranks: float
    before: str
    after: str


@dataclass(frozen=True, slots=True, eq=False)
class FactorPredictions:
    """Predicted factors.

    Attributes
    ----------
    ranks : sequence of int
        Numbers of ranks that were asked for.
    factors : mapping of str to Prediction
        The curve of each factor; the parallel efficiency is their product.
    crossovers : sequence of Crossover
        Up to a million ranks.
    """

    ranks: Sequence[int]
    factors: Mapping[str, Prediction]
    crossovers: Sequence[Crossover]

    def parallel(self, ranks: ArrayLike) -> NDArray[np.float64]:
        """Predicted parallel efficiencies.

        Parameters
        ----------
        ranks : array_like
            Numbers of ranks.
        """
        return np.asarray(np.prod([factor.curve.at(ranks) for factor in self.factors.values()], axis=0), np.float64)

    def half_width(self, name: str, ranks: ArrayLike) -> NDArray[np.float64]:
        """Half the width of the band around a factor: the wider of the two kinds.

        Parameters
        ----------
        name : str
            Name of the factor; "parallel": the product, whose relative widths add up as independent errors do.
        ranks : array_like
            Numbers of ranks.
        """
        if name != "parallel":
            factor = self.factors[name]
            return np.fmax(factor.curve.half_width(ranks), _STANDARD_ERRORS * factor.jackknife(ranks))
        relative = [
            self.half_width(each, ranks) / np.maximum(factor.curve.at(np.atleast_1d(ranks)), 1e-12)
            for each, factor in self.factors.items()
        ]
        return np.asarray(np.atleast_1d(self.parallel(ranks)) * np.sqrt(np.square(relative).sum(axis=0)), np.float64)

    def smallest(self, ranks: float) -> str:
        """The factor with the largest loss.

        Parameters
        ----------
        ranks : float
            Number of ranks.
        """
        return min(self.factors, key=lambda name: float(self.factors[name].curve.at(ranks)))

    def table(self) -> str:
        """One line per number of ranks; the curves; the number of ranks from which another factor costs most."""
        names = [*self.factors, "parallel"]
        rows = []
        for n in self.ranks:
            cells = [
                f"{float(self._at(name, n)):.1%} ± {100 * float(self.half_width(name, n)[0]):.1f}" for name in names
            ]
            rows.append((f"{n:,}", *cells, self.smallest(n).replace("_", " ")))
        head = ("ranks", *(name.replace("_", " ") for name in names), "costs most")
        lines = ["Predicted efficiencies", text_table(head, rows, n_words=1), ""]
        curves = [(factor.curve.text, name.replace("_", " ")) for name, factor in self.factors.items()]
        width = max(len(name) for _, name in curves)
        lines += [f"  {name:<{width}}  {text}" for text, name in curves]
        for factor in self.crossovers:
            before, after = factor.before.replace("_", " "), factor.after.replace("_", " ")
            lines.append(f"  from {factor.ranks:,.0f} ranks on {after} costs more than {before}")
        return "\n".join(lines)

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the predictions."""
        return {
            "ranks": list(self.ranks),
            "factors": {
                name: {
                    "family": factor.curve.family,
                    "dimension": factor.curve.dimension,
                    "a": factor.curve.a,
                    "f": factor.curve.f,
                    "predicted": np.atleast_1d(factor.curve.at(self.ranks)).tolist(),
                    "half_width": factor.curve.half_width(self.ranks).tolist(),
                    "jackknife": factor.jackknife(self.ranks).tolist(),
                }
                for name, factor in self.factors.items()
            },
            "parallel": {
                "predicted": np.atleast_1d(self.parallel(self.ranks)).tolist(),
                "half_width": self.half_width("parallel", self.ranks).tolist(),
            },
            "costs_most": [self.smallest(n) for n in self.ranks],
            "crossovers": [factor._asdict() for factor in self.crossovers],
        }

    def plot(self) -> Figure:
        """Curves with their bands, and the fitted points."""
        graph = import_optional("plotly.graph_objects")
        figure = graph.Figure()
        lowest = min(float(factor.curve.ranks[0]) for factor in self.factors.values())
        grid = np.geomspace(lowest, max(self.ranks), 100)
        for name, factor in [*self.factors.items(), ("parallel", None)]:
            middle, half = np.atleast_1d(self._at(name, grid)), self.half_width(name, grid)
            shown = name.replace("_", " ")
            figure.add_trace(graph.Scatter(x=grid, y=middle, name=shown, mode="lines"))
            edge = np.concatenate([np.minimum(middle + half, 1), np.maximum(middle - half, 0)[::-1]])
            there = np.concatenate([grid, grid[::-1]])
            band = {"fill": "toself", "opacity": 0.2, "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
            figure.add_trace(graph.Scatter(x=there, y=edge, name=shown, mode="lines", **band))
            if factor is not None:
                points = {"x": factor.curve.ranks, "y": factor.curve.measured, "mode": "markers", "showlegend": False}
                figure.add_trace(graph.Scatter(name=shown, **points))
        figure.update_xaxes(type="log", title="ranks")
        figure.update_layout(title="Predicted efficiencies", yaxis_title="efficiency", yaxis_range=[0, 1.05])
        return figure

    def _at(self, name: str, ranks: ArrayLike) -> NDArray[np.float64]:
        return self.parallel(ranks) if name == "parallel" else self.factors[name].curve.at(ranks)


def predict_factors(runs: Sequence[Factors], ranks: Sequence[int]) -> FactorPredictions:
    """Fit curves to the factors of runs.

    Parameters
    ----------
    runs : sequence of Factors
        Three or more, of different numbers of ranks.
    ranks : sequence of int
        Numbers of ranks to predict.

    Raises
    ------
    UsageError
        If there are fewer runs, or a number of ranks is below 1.
    """
    if min(ranks) < 1:
        raise UsageError(f"{min(ranks)} ranks cannot be predicted: say a number from 1 on")
    has_all = all(getattr(run, name) is not None for run in runs for name in _WITH_REPLAYS)
    numbers = [run.n_ranks for run in runs]
    factors = {
        name: predict(numbers, [getattr(run, name) for run in runs], can_be_pipeline=name == "serialisation")
        for name in (_WITH_REPLAYS if has_all else _WITHOUT)
    }
    predictions = FactorPredictions(sorted(ranks), factors, [])
    return FactorPredictions(predictions.ranks, factors, _crossovers(predictions, min(numbers), max(_FARTHEST, *ranks)))


def _crossovers(predictions: FactorPredictions, lowest: int, highest: int) -> list[Crossover]:
    grid = np.geomspace(lowest, highest, _GRID).tolist()
    names = [predictions.smallest(n) for n in grid]
    crossovers = []
    for low, high, before, after in zip(grid, grid[1:], names, names[1:], strict=False):
        if before == after:
            continue
        while high > low * (1 + 1e-6):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if predictions.smallest(middle) == before else (low, middle)
        crossovers.append(Crossover(high, before, after))
    return crossovers
