"""Predicts efficiencies from factors that another tool measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smpy.analysis.pop_prediction import FactorPredictions, predict_factors
from smpy.analysis.result import Result
from smpy.errors import UsageError
from smpy.records.factor_table import MeasuredFactors, factors_of_row, read_factors
from smpy.records.text_table import text_table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredScaling(Result):
    """Factors of runs, by ascending number of ranks, and predictions from them.

    Attributes
    ----------
    runs : sequence of MeasuredFactors
        The runs.
    predictions : FactorPredictions
        Predictions for other numbers of ranks.
    """

    runs: Sequence[MeasuredFactors]
    predictions: FactorPredictions

    def table(self) -> str:
        """A column per run, a line per factor; then the predictions."""
        head = ["Efficiencies", *(f"{run.n_ranks:,} rank{'' if run.n_ranks == 1 else 's'}" for run in self.runs)]
        names = ("parallel", *self.predictions.factors)
        rows = [[name.replace("_", " "), *(f"{getattr(run, name):.1%}" for run in self.runs)] for name in names]
        width = max(len(row[0]) for row in [head, *rows])
        text = text_table([head[0].ljust(width), *head[1:]], [[row[0].ljust(width), *row[1:]] for row in rows])
        return f"{text}\n\n{self.predictions.table()}"

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict of the result."""
        runs = [{**asdict(run), "parallel": run.parallel} for run in self.runs]
        return {"runs": runs, "predictions": self.predictions.to_record()}

    def plot(self) -> Figure:
        """Curves with their bands, and the measured points."""
        return self.predictions.plot()


def pop_from_factors(factors: str | Path | Iterable[Mapping[str, float]], predict: Sequence[int]) -> MeasuredScaling:
    """Predict efficiencies from factors that another tool measured.

    Parameters
    ----------
    factors : str or path, or iterable of mapping
        Table of comma-separated values, or its rows: `ranks`, `load_balance`, and `serialisation` and `transfer`, or
        their product `communication`. Factors are ratios, of which 1 is the best.
    predict : sequence of int
        Numbers of ranks to predict the efficiencies of.

    Raises
    ------
    UsageError
        If it is no such table: file, line and why; if it has fewer than three rows, or there is nothing to predict.

    Examples
    --------
    >>> rows = [dict(ranks=n, load_balance=1.0, communication=1 / (0.999 + 0.001 * n)) for n in (8, 16, 32, 64)]
    >>> round(float(pop_from_factors(rows, [512]).predictions.parallel(512)), 3)
    0.662
    """
    if not predict:
        raise UsageError("a table of factors only predicts: say numbers of ranks to predict")
    if isinstance(factors, str | Path):
        runs = read_factors(factors)
    else:
        runs = [factors_of_row({name: str(value) for name, value in row.items()}) for row in factors]
    runs = sorted(runs, key=lambda run: run.n_ranks)
    return MeasuredScaling(runs, predict_factors(runs, predict))
