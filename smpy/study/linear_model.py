"""Makespan as a linear function of factors on a machine's costs, fitted to replays.

With x_i the factor on a latency, or one over the factor on a speed or a bandwidth:

    T = c_0 + sum of c_i x_i     c_i in seconds at the machine's own values, by least squares of relative errors [1]_

So c_i is the part of the time that the critical path spends on that cost. Where another path becomes the critical one,
T is no longer linear: without contention it is the largest of one such plane for each path. The planes of the paths
that replays met are found by their derivatives.

References
----------
.. [1] Rodríguez, Badia, Labarta: "Generation of simple analytical models for message passing applications", Euro-Par
   2004.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from smpy.analysis import critical_path
from smpy.analysis.result import import_optional
from smpy.errors import UsageError
from smpy.study.many_replays import Changes, Replays, makespans_s
from smpy.study.parameters import CPU, Parameter
from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLES: Final = 48
"""Number of replays by default."""

_LINEAR: Final = 0.05  # largest relative residual of a linear model
_STEP: Final = 1e-3  # relative, of a derivative
_SAME: Final = 1e-6  # of planes, relative to the makespan
_DIVIDING: Final = ("bandwidth", "speed")
_POINTS_PER_TERM: Final = 2


@dataclass(frozen=True, slots=True)
class PathCounts:
    """Content of the critical path of the recorded run.

    Attributes
    ----------
    computing_s : float
        Time in computing.
    messages, bytes : int
        Messages, and their size.
    """

    computing_s: float
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A linear model of a makespan.

    Attributes
    ----------
    keys : tuple of str
        Keys of the parameters.
    coefficients_s, errors_s : tuple of float
        The constant and the coefficient of each key, and their standard errors.
    correlation : float
        Correlation of fitted and replayed makespans.
    worst_share : float
        Largest relative residual.
    planes : sequence of tuple of float
        Constants and coefficients of the paths that replays met; empty: the model is linear.
    worst_share_of_planes : float
        Largest relative residual of the largest of the planes; 0: there are none.
    n_samples : int
        Number of replays.
    on_path : PathCounts
        Exact content of the critical path of the run.
    """

    keys: tuple[str, ...]
    coefficients_s: tuple[float, ...]
    errors_s: tuple[float, ...]
    correlation: float
    worst_share: float
    planes: Sequence[tuple[float, ...]]
    worst_share_of_planes: float
    n_samples: int
    on_path: PathCounts

    @property
    def is_linear(self) -> bool:
        """Whether no residual is above 5 %."""
        return self.worst_share <= _LINEAR

    def makespan_s(self, factors: Mapping[str, float]) -> float:
        """Makespan with factors on some keys."""
        row = np.array([1.0, *(_cost(key, factors.get(key, 1.0)) for key in self.keys)])
        planes = self.planes or [self.coefficients_s]
        return float(max(row @ np.array(plane) for plane in planes))

    def words(self) -> str:
        """Formula, its quality and the content of the critical path."""
        parts = [f"{format_time(self.coefficients_s[0])}"]
        parts += [
            f"{format_time(seconds)} {'/' if _is_divisor(key) else 'x'} {key}"
            for key, seconds in zip(self.keys, self.coefficients_s[1:], strict=True)
        ]
        errors = ", ".join(format_time(error) for error in self.errors_s)
        path = self.on_path
        quality = f"r = {self.correlation:.6f}, worst residual {self.worst_share:.2%}, {self.n_samples:,} replays"
        content = f"{path.messages:,} messages, {format_bytes(path.bytes)}"
        lines = [
            f"T = {' + '.join(parts)}   (keys: factors of their own values)",
            f"  standard errors {errors}; {quality}",
            f"  on the critical path: {format_time(path.computing_s)} of computing, {content}",
        ]
        if not self.is_linear:
            met = "1 path was" if len(self.planes) == 1 else f"{len(self.planes):,} paths were"
            lines.append(
                f"  not linear: the critical path changes; {met} met, and the largest of their planes is the model: "
                f"worst residual {self.worst_share_of_planes:.2%}"
            )
        return "\n".join(lines)

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        return {
            "constant_s": self.coefficients_s[0],
            "coefficients_s": dict(zip(self.keys, self.coefficients_s[1:], strict=True)),
            "errors_s": dict(zip(("constant", *self.keys), self.errors_s, strict=True)),
            "correlation": self.correlation,
            "worst_share": self.worst_share,
            "is_linear": self.is_linear,
            "planes_s": [list(plane) for plane in self.planes],
            "worst_share_of_planes": self.worst_share_of_planes,
            "n_samples": self.n_samples,
            "on_path": {
                "computing_s": self.on_path.computing_s,
                "messages": self.on_path.messages,
                "bytes": self.on_path.bytes,
            },
        }


def check_factors(parameters: Sequence[Parameter], what: str) -> None:
    """Refuse parameters that are varied by values.

    Raises
    ------
    UsageError
        If one is.
    """
    for parameter in parameters:
        if not parameter.is_factor:
            raise UsageError(
                f"{what} is of factors on the machine's own values: write {parameter.key}=0.5x:2x, not values"
            )


def linear_model(
    replays: Replays,
    parameters: Sequence[Parameter],
    *,
    n_samples: int = SAMPLES,
    seed: int = 0,
    n_processes: int = 1,
    progress: Callable[[str], None] | None = None,
) -> LinearModel:
    """Fit a linear model to replays at log-uniform points of a Latin hypercube.

    Parameters
    ----------
    replays : Replays
        Trace and machine to replay.
    parameters : sequence of Parameter
        Latencies, bandwidths and speeds, varied by factors.
    n_samples : int
        Number of replays.
    seed : int
        Seed of the points.
    n_processes : int
        Largest number of processes.
    progress : callable, optional
        Called now and then with a text on the progress.

    Raises
    ------
    UsageError
        If a parameter is not a latency, a bandwidth or a speed, or is not varied by factors, or samples are too few.
    """
    check_factors(parameters, "a linear model")
    for parameter in parameters:
        if not (_is_divisor(parameter.key) or parameter.key.endswith("latency")):
            raise UsageError(f"{parameter.key}: a linear model is of latencies, bandwidths and speeds")
    fewest = _POINTS_PER_TERM * (len(parameters) + 1)
    if n_samples < fewest:
        raise UsageError(f"{n_samples} samples: a linear model of these keys needs {fewest} or more")
    shares = import_optional("scipy.stats.qmc").LatinHypercube(len(parameters), seed=seed).random(n_samples)
    factors = np.array([[_log_uniform(p, share) for p, share in zip(parameters, row, strict=True)] for row in shares])
    keys = tuple(parameter.key for parameter in parameters)
    times_s = np.array(makespans_s(replays, [_changes(keys, row) for row in factors], n_processes, progress))
    costs = np.array([[1.0, *map(_cost, keys, row)] for row in factors])
    rows, ones = costs / times_s[:, None], np.ones(n_samples)
    coefficients, *_ = np.linalg.lstsq(rows, ones, rcond=None)
    rest = ones - rows @ coefficients
    covariance = rest @ rest / (n_samples - len(coefficients)) * np.linalg.pinv(rows.T @ rows)
    worst = float(np.abs(rest).max())
    planes = _planes(replays, keys, factors, times_s, n_processes, progress) if worst > _LINEAR else []
    largest = np.max([costs @ np.array(plane) for plane in planes], axis=0) if planes else times_s
    path = critical_path(replays.trace)
    return LinearModel(
        keys=keys,
        coefficients_s=tuple(coefficients.tolist()),
        errors_s=tuple(np.sqrt(np.diag(covariance)).tolist()),
        correlation=_correlation(costs @ coefficients, times_s),
        worst_share=worst,
        planes=planes,
        worst_share_of_planes=float(np.abs(largest / times_s - 1).max()),
        n_samples=n_samples,
        on_path=PathCounts(sum(row.seconds for row in path.rows if row.kind == "compute"), path.messages, path.bytes),
    )


def _correlation(fitted: NDArray[np.float64], replayed: NDArray[np.float64]) -> float:
    if np.ptp(replayed) <= _SAME * replayed.max():
        return 1.0  # nothing varies, and nothing is left to explain
    return float(np.corrcoef(fitted, replayed)[0, 1])


def _is_divisor(key: str) -> bool:
    return key == CPU or key.endswith(_DIVIDING)


def _cost(key: str, factor: float) -> float:
    return 1 / factor if _is_divisor(key) else factor


def _log_uniform(parameter: Parameter, share: float) -> float:
    low, high = log(parameter.range.first), log(parameter.range.last)
    return exp(low + share * (high - low))


def _changes(keys: Sequence[str], factors: Sequence[float] | NDArray[np.float64]) -> Changes:
    return tuple((key, f"x{float(factor)!r}") for key, factor in zip(keys, factors, strict=True))


def _planes(
    replays: Replays,
    keys: tuple[str, ...],
    factors: NDArray[np.float64],
    times_s: NDArray[np.float64],
    n_processes: int,
    progress: Callable[[str], None] | None,
) -> list[tuple[float, ...]]:
    """Distinct planes of the paths at all points; the path changed in the step of one that exceeds a replay."""
    points = [(row, i) for row in factors for i in range(len(keys))]
    moved = [row * np.where(np.arange(len(keys)) == i, 1 + _STEP, 1.0) for row, i in points]
    moved_s = np.array(makespans_s(replays, [_changes(keys, row) for row in moved], n_processes, progress))
    costs = np.array([list(map(_cost, keys, row)) for row in factors])
    steps = np.array(
        [_cost(keys[i], to[i]) - _cost(keys[i], row[i]) for (row, i), to in zip(points, moved, strict=True)]
    )
    slopes_s = (moved_s.reshape(costs.shape) - times_s[:, None]) / steps.reshape(costs.shape)
    constants_s = times_s - (slopes_s * costs).sum(axis=1)
    distinct: list[NDArray[np.float64]] = []
    for plane in np.concatenate([constants_s[:, None], slopes_s], axis=1):
        exceeds = (plane[0] + costs @ plane[1:] > times_s * (1 + _SAME)).any()
        is_new = all(np.abs(plane - other).max() > _SAME * times_s.max() for other in distinct)
        if is_new and not exceeds:
            distinct.append(plane)
    return [tuple(plane.tolist()) for plane in distinct]
