"""Measured benchmarks beside their simulations, and the numbers of the machine that would bring both together.

The sensitivity of a simulated time to a number is its elasticity: the change of the time's logarithm for a change of
the number's. Numbers are chosen one after another, each time the one that takes most from the squares of the
logarithmic errors, every benchmark with the same weight, and fitted together: forward selection in a linear model [1]_.
The machine with these factors is simulated, and the fit is repeated there (Gauss-Newton), as elasticities change.

References
----------
.. [1] N. Draper, H. Smith, "Applied Regression Analysis", 3rd edition, 1998, chapter 15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.errors import SmpyError, UsageError
from smpy.records.text_table import text_table

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Numbers: TypeAlias = NDArray[np.float64]

_PARAMETERS: Final = (
    "network.latency",
    "network.bandwidth",
    "host.loopback_latency",
    "host.loopback_bandwidth",
    "host.messages_bandwidth",
    "host.speed",
    "host.gpu.link_latency",
    "host.gpu.link_bandwidth",
    "host.gpu.peer_latency",
    "host.gpu.peer_bandwidth",
    "mpi.overhead",
    "mpi.copy_bandwidth",
    "mpi.reduction_bandwidth",
)
_STEP: Final = 1.1  # factor by which each number is changed for its elasticity
_LEAST: Final = 1e-3  # elasticities below it count as 0
_CHOSEN_MAX: Final = 3
_GAIN: Final = 0.1  # least part of the error that a chosen number removes
_FIT_MAX: Final = 3
_FACTOR_MAX: Final = 20.0
_CLOSE: Final = 0.01  # mean errors below it need no change


class Measured(Protocol):
    """Measured times of one benchmark, and their simulation."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...

    @property
    def labels(self) -> Sequence[str]: ...

    @property
    def times_s(self) -> Sequence[float]: ...

    def shown(self, row: int, time_s: float) -> str:
        """Value that the benchmark prints for a time."""

    def simulate(self, changes: Sequence[tuple[str, str]]) -> list[float]:
        """Times on the machine with changes, as `--set` takes them."""

    def is_changed_by(self, changes: Sequence[tuple[str, str]]) -> bool:
        """Whether the machine with changes is another one; raises if it does not take them."""


@dataclass(frozen=True, slots=True)
class BenchmarkComparison:
    """Measured and simulated times of one benchmark.

    Attributes
    ----------
    name, about : str
        The benchmark, and its ranks, hosts and file.
    labels : tuple of str
        Name of each row: a size, or a matrix.
    measured_s, simulated_s : tuple of float
        Times of each row, in seconds.
    measured, simulated : tuple of str
        The same, as the benchmark prints them.
    elasticities : dict of str to float
        Means over the rows, by number of the machine.
    """

    name: str
    about: str
    labels: tuple[str, ...]
    measured_s: tuple[float, ...]
    simulated_s: tuple[float, ...]
    measured: tuple[str, ...]
    simulated: tuple[str, ...]
    elasticities: dict[str, float]

    @property
    def errors(self) -> list[float]:
        """Parts by which simulated times are longer than measured ones; below 0 where they are shorter."""
        return [ours / real - 1 for ours, real in zip(self.simulated_s, self.measured_s, strict=True)]


@dataclass(frozen=True, slots=True)
class SingleChange:
    """Effect of one number of the machine alone, by the linear model.

    Attributes
    ----------
    key : str
        The number, as `--set` has it.
    factor : float
        Its best factor.
    mean_error : float
        The mean error that it leaves.
    """

    key: str
    factor: float
    mean_error: float


@dataclass(frozen=True, slots=True, eq=False)
class Validation(Result):
    """Comparison of a machine with measurements.

    Attributes
    ----------
    machine : str
        The machine's name.
    benchmarks : tuple of BenchmarkComparison
        The benchmarks.
    mean_error : float
        Mean error: exp of the mean of the logarithmic errors' magnitudes, less 1; each benchmark counts alike.
    single : tuple of SingleChange
        Effects of single numbers, the best first.
    changes : tuple of (str, str)
        Proposed changes of the machine, as `--set` takes them.
    changed_error : float
        Mean error of the simulation with these changes.
    """

    machine: str
    benchmarks: tuple[BenchmarkComparison, ...]
    mean_error: float
    single: tuple[SingleChange, ...]
    changes: tuple[tuple[str, str], ...]
    changed_error: float

    def table(self) -> str:
        """Rows of each benchmark, elasticities, and the numbers to change."""
        parts = [f"smpy: {self.machine}, beside measurements"]
        for each in self.benchmarks:
            rows = zip(each.labels, each.measured, each.simulated, map(_signed, each.errors), strict=True)
            head = ["", "measured", "simulated", "error of time"]
            parts.append(f"{each.about}\n{text_table(head, [list(row) for row in rows])}")
        rows_of = [
            [_percent(_mean_error(each.simulated_s, each.measured_s)), _largest(each), each.name]
            for each in self.benchmarks
        ]
        parts.append(text_table(["mean error", "largest", "benchmark"], rows_of, n_words=1))
        parts += (
            [self._numbers_text(), self._advice()] if self.single else ["No number of the machine changes these times."]
        )
        return "\n\n".join(parts)

    def _numbers_text(self) -> str:
        head = [each.name for each in self.benchmarks]
        rows = [
            [
                *(f"{each.elasticities[single.key] + 0.0:.2f}" for each in self.benchmarks),
                f"x{single.factor:.3g}",
                _percent(single.mean_error),
                single.key,
            ]
            for single in self.single
        ]
        table = text_table([*head, "best", "error then", "number of the machine"], rows, n_words=1)
        return f"Growth of times in % for 1 % more of a number, and the best value of this number alone:\n{table}"

    def _advice(self) -> str:
        if not self.changes:
            return f"The mean error is {_percent(self.mean_error)}; no number of the machine reduces it by a tenth."
        *numbers, last = (f"{key} by {value}" for key, value in self.changes)
        listed = f"{', '.join(numbers)} and {last}" if numbers else last
        options = " ".join(f"--set {key}={value}" for key, value in self.changes)
        return (
            f"Change {listed}.\n  {options}\n"
            f"Simulated with that, the mean error is {_percent(self.changed_error)} in place of "
            f"{_percent(self.mean_error)}."
        )

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        return {
            "machine": self.machine,
            "benchmarks": [
                {
                    "name": each.name,
                    "about": each.about,
                    "rows": [
                        {"row": label, "measured_s": real_s, "simulated_s": ours_s, "error": error}
                        for label, real_s, ours_s, error in zip(
                            each.labels, each.measured_s, each.simulated_s, each.errors, strict=True
                        )
                    ],
                    "mean_error": _mean_error(each.simulated_s, each.measured_s),
                    "elasticities": each.elasticities,
                }
                for each in self.benchmarks
            ],
            "mean_error": self.mean_error,
            "numbers": [
                {"key": each.key, "factor": each.factor, "mean_error": each.mean_error} for each in self.single
            ],
            "changes": dict(self.changes),
            "changed_error": self.changed_error,
        }

    def plot(self) -> Figure:
        """Simulated over measured times, a line for each benchmark."""
        graph = import_optional("plotly.graph_objects", extra="study")
        figure = graph.Figure()
        for each in self.benchmarks:
            figure.add_trace(
                graph.Scatter(
                    x=list(each.measured_s),
                    y=[ours / real for ours, real in zip(each.simulated_s, each.measured_s, strict=True)],
                    text=[plotly_text(label) for label in each.labels],
                    name=plotly_text(each.name),
                    mode="lines+markers",
                )
            )
        figure.add_hline(y=1)
        figure.update_xaxes(type="log", title="measured time (s)")
        figure.update_yaxes(type="log", title="simulated / measured")
        figure.update_layout(title=plotly_text(f"{self.machine}, beside measurements"))
        return figure


def validate(machine: str, measured: Sequence[Measured], progress: Callable[[str], None] | None = None) -> Validation:
    """Simulate measured benchmarks, and find the numbers of the machine that explain the errors.

    Parameters
    ----------
    machine : str
        Name of the machine.
    measured : sequence of Measured
        The benchmarks.
    progress : callable, optional
        Called with a text on each simulation.

    Raises
    ------
    UsageError
        If there are no benchmarks.
    SmpyError
        If one cannot be simulated.
    """
    if not measured:
        raise UsageError("no measurements: say --osu FILE or --hpl FILE")

    def simulated(changes: Sequence[tuple[str, str]]) -> list[list[float]]:
        if progress is not None:
            progress(" ".join(f"{key}={value}" for key, value in changes) or "the machine as it is")
        return [_checked(each, each.simulate(changes)) for each in measured]

    own = simulated(())
    real_s = np.concatenate([each.times_s for each in measured])
    weights = np.concatenate([np.full(len(each.times_s), 1 / len(each.times_s) / len(measured)) for each in measured])
    keys, columns = [], []
    for key in _PARAMETERS:
        change = [(key, f"x{_STEP}")]
        if not any(_is_changed_by(each, change) for each in measured):
            continue
        column = np.log(np.concatenate(simulated(change)) / np.concatenate(own)) / log(_STEP)
        if np.abs(column).max() >= _LEAST:
            keys.append(key)
            columns.append(column)
    errors = np.log(np.concatenate(own) / real_s)
    mean_error = _weighted(errors, weights)
    changes: list[tuple[str, str]] = []
    changed_error = mean_error
    single = []
    if columns:
        elasticities = np.stack(columns, axis=1)
        single = _single(keys, elasticities, errors, weights)
        chosen = _chosen(elasticities, errors, weights) if mean_error >= _CLOSE else []
        changes, changed_error = _fitted(keys, elasticities, chosen, errors, weights, real_s, simulated, mean_error)
    ends = np.cumsum([len(each.times_s) for each in measured])[:-1]
    means = [[float(part.mean()) for part in np.split(column, ends)] for column in columns]
    return Validation(
        machine=machine,
        benchmarks=tuple(
            BenchmarkComparison(
                name=each.name,
                about=each.about,
                labels=tuple(each.labels),
                measured_s=tuple(each.times_s),
                simulated_s=tuple(times_s),
                measured=tuple(each.shown(row, time_s) for row, time_s in enumerate(each.times_s)),
                simulated=tuple(each.shown(row, time_s) for row, time_s in enumerate(times_s)),
                elasticities={key: mean[at] for key, mean in zip(keys, means, strict=True)},
            )
            for at, (each, times_s) in enumerate(zip(measured, own, strict=True))
        ),
        mean_error=mean_error,
        single=tuple(single),
        changes=tuple(changes),
        changed_error=changed_error,
    )


def _checked(measured: Measured, times_s: list[float]) -> list[float]:
    if not all(0 < time_s < inf for time_s in times_s):
        raise UsageError(
            f"{measured.about}: it takes no time on this machine, so it has no error: does the machine have a network?"
        )
    return times_s


def _is_changed_by(measured: Measured, change: Sequence[tuple[str, str]]) -> bool:
    try:
        return measured.is_changed_by(change)
    except SmpyError:  # the machine does not have such a number
        return False


def _weighted(errors: Numbers, weights: Numbers) -> float:
    return exp(float(weights @ np.abs(errors))) - 1


def _fit(elasticities: Numbers, errors: Numbers, weights: Numbers) -> Numbers:
    """Logarithms of factors that leave the least squares of errors."""
    root = np.sqrt(weights)
    logs = np.linalg.lstsq(elasticities * root[:, None], -errors * root, rcond=None)[0]
    clipped: Numbers = np.clip(logs, -log(_FACTOR_MAX), log(_FACTOR_MAX))
    return clipped


def _single(keys: Sequence[str], elasticities: Numbers, errors: Numbers, weights: Numbers) -> list[SingleChange]:
    effects = []
    for at, key in enumerate(keys):
        column = elasticities[:, [at]]
        logs = _fit(column, errors, weights)
        effects.append(SingleChange(key, exp(float(logs[0])), _weighted(errors + column @ logs, weights)))
    return sorted(effects, key=lambda each: each.mean_error)


def _chosen(elasticities: Numbers, errors: Numbers, weights: Numbers) -> list[int]:
    """Columns of the numbers to change."""
    chosen: list[int] = []
    squares = float(weights @ errors**2)
    while len(chosen) < min(_CHOSEN_MAX, elasticities.shape[1]):
        left = {}
        for at in set(range(elasticities.shape[1])) - set(chosen):
            columns = elasticities[:, [*chosen, at]]
            left[at] = float(weights @ (errors + columns @ _fit(columns, errors, weights)) ** 2)
        best = min(left, key=lambda at: (left[at], at))
        if left[best] > (1 - _GAIN) ** 2 * squares:
            break
        chosen.append(best)
        squares = left[best]
    return chosen


def _fitted(
    keys: Sequence[str],
    elasticities: Numbers,
    chosen: Sequence[int],
    errors: Numbers,
    weights: Numbers,
    real_s: Numbers,
    simulated: Callable[[Sequence[tuple[str, str]]], list[list[float]]],
    mean_error: float,
) -> tuple[list[tuple[str, str]], float]:
    """Changes of the chosen numbers and the mean error of the simulation with them.

    If the simulation gets no better, the number with the largest factor is left out: elasticities hold for small ones.
    """
    while chosen:
        best: list[tuple[str, str]] = []
        columns, logs, left = elasticities[:, chosen], np.zeros(len(chosen)), errors
        for _ in range(_FIT_MAX):
            logs = np.clip(logs + _fit(columns, left, weights), -log(_FACTOR_MAX), log(_FACTOR_MAX))
            changes = [(keys[at], f"x{exp(value):.3g}") for at, value in zip(chosen, logs, strict=True)]
            left = np.log(np.concatenate(simulated(changes)) / real_s)
            error = _weighted(left, weights)
            if error >= mean_error:
                break
            best, mean_error = changes, error
        if best:
            return best, mean_error
        most_changed = chosen[int(np.abs(_fit(columns, errors, weights)).argmax())]
        chosen = [at for at in chosen if at != most_changed]
    return [], mean_error


# ---- text ----


def _mean_error(simulated_s: Sequence[float], measured_s: Sequence[float]) -> float:
    errors = np.log(np.array(simulated_s) / np.array(measured_s))
    return _weighted(errors, np.full(len(errors), 1 / len(errors)))


def _percent(part: float) -> str:
    return f"{100 * part:.{0 if part >= 0.1 else 1}f} %"


def _signed(part: float) -> str:
    return f"{100 * part:+.{0 if abs(part) >= 0.1 else 1}f} %"


def _largest(each: BenchmarkComparison) -> str:
    row = max(range(len(each.labels)), key=lambda row: abs(log(each.simulated_s[row] / each.measured_s[row])))
    return f"{_signed(each.errors[row])} at {each.labels[row]}"
