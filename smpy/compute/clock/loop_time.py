"""Time of a loop of which some items were measured: the items between them by the shape that predicts best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smpy.compute.clock.stopping import student_t

Floats: TypeAlias = NDArray[np.float64]
Predict: TypeAlias = Callable[[Sequence["ItemWindow"], Floats, int], Floats]

_PERIODS: Final = range(2, 17)
_LEAST_CUBIC: Final = 6  # windows: four coefficients, and two that can contradict them
_CLEARLY: Final = 0.7  # one of many periods has to predict so much better
_ROUNDING: Final = 1e-9  # a half width that is a smaller part of the time is rounding
_RESIDUAL_MAX: Final = 0.05  # standard deviation around a smooth shape, as a part of the mean


class ItemWindow(NamedTuple):
    """Measured items that were performed one after the other, and the seconds of each."""

    items: tuple[int, ...]
    seconds: tuple[float, ...]

    @property
    def mean_s(self) -> float:
        return sum(self.seconds) / len(self.seconds)

    @property
    def center(self) -> float:
        return sum(self.items) / len(self.items)


@dataclass(frozen=True, slots=True)
class LoopTime:
    """Estimated time of a loop.

    Attributes
    ----------
    total_s : float
        Time of all its items.
    half_width_s : float
        Half of the 95 % interval around it.
    shape : str
        Shape of the time between windows: "straight", "cubic" or "period 7".
    error_s : float
        Root mean square of the errors at windows left out.
    is_rough : bool
        Whether measured times scatter around a smooth shape by more than 5 % of their mean.
    """

    total_s: float
    half_width_s: float
    shape: str
    error_s: float
    is_rough: bool


def loop_time(
    n_items: int, known_s: Mapping[int, float], windows: Sequence[ItemWindow], periods: Iterable[int] = ()
) -> LoopTime:
    """Estimate the time of a loop from windows of measured items.

    The total is the sum of the times that are known, and of the shape's values at all other items. Its half width is
    the larger of Student's t times the jackknife's standard error over windows, and of the difference that leaving out
    every other window makes.

    Parameters
    ----------
    n_items : int
        Number of items.
    known_s : mapping of int to float
        Items whose time counts as it was measured.
    windows : sequence of ItemWindow
        Windows in the order of their items, two at least.
    periods : iterable of int, optional
        Further periods to try.

    Examples
    --------
    >>> estimate = loop_time(100, {0: 2.0}, [ItemWindow((1,), (1.0,)), ItemWindow((98, 99), (1.0, 1.0))])
    >>> estimate.total_s, estimate.half_width_s, estimate.shape
    (101.0, 0.0, 'straight')
    """
    name, predict, error_s = _best_shape(n_items, windows, periods)

    def total_s(chosen: Sequence[ItemWindow]) -> float:
        seconds = predict(chosen, np.arange(n_items, dtype=np.float64), n_items)
        for window in chosen:
            seconds[list(window.items)] = window.seconds
        seconds[list(known_s)] = list(known_s.values())
        return float(seconds.sum())

    whole_s = total_s(windows)
    n = len(windows)
    left_out_s = np.array([total_s(_without(windows, i)) for i in range(n)])
    error_of_total_s = sqrt((n - 1) / n * float(((left_out_s - left_out_s.mean()) ** 2).sum()))
    halved_s = total_s(_every_other(windows))
    half_width_s = max(student_t(n - 1) * error_of_total_s, abs(whole_s - halved_s))
    if half_width_s < _ROUNDING * whole_s:
        half_width_s = 0.0
    return LoopTime(whole_s, half_width_s, name, error_s, name != "straight" and _is_rough(windows, predict, n_items))


def relative_change(known: Sequence[ItemWindow], new: Sequence[ItemWindow], n_items: int) -> tuple[float, float]:
    """Ratio of new windows to the times that known ones predict, and the largest error as a part of the mean item."""
    predicted_s = _straight(known, np.array([window.center for window in new]), n_items)
    measured_s = np.array([window.mean_s for window in new])
    factor = float(measured_s.sum() / predicted_s.sum())
    mean_s = factor * float(_straight(known, np.arange(n_items, dtype=np.float64), n_items).mean())
    return factor, float(np.abs(measured_s - factor * predicted_s).max()) / mean_s


def _without(windows: Sequence[ItemWindow], left_out: int) -> Sequence[ItemWindow]:
    return [window for i, window in enumerate(windows) if i != left_out]


def _every_other(windows: Sequence[ItemWindow]) -> Sequence[ItemWindow]:
    return [window for i, window in enumerate(windows) if i % 2 == 0]


# ---- shapes ----


def _best_shape(n_items: int, windows: Sequence[ItemWindow], periods: Iterable[int]) -> tuple[str, Predict, float]:
    """Name and function of the shape that predicts windows left out best, and the root mean square of its errors."""
    best: tuple[str, Predict] = ("straight", _straight)
    error_s = _error_left_out_s(windows, _straight, n_items)
    shapes: list[tuple[str, Predict]] = []
    if len(windows) >= _LEAST_CUBIC:
        shapes.append(("cubic", _cubic))
        n_measured = sum(len(window.items) for window in windows)
        shapes += [(f"period {q}", _periodic(q)) for q in sorted({*_PERIODS, *periods}) if 2 * q <= n_measured]
    for name, predict in shapes:
        one_s = _error_left_out_s(windows, predict, n_items)
        if one_s < error_s * (1 if name == "cubic" else _CLEARLY):
            best, error_s = (name, predict), one_s
    return *best, error_s


def _error_left_out_s(windows: Sequence[ItemWindow], predict: Predict, n_items: int) -> float:
    """Root mean square of the errors at windows left out; the first and the last stay, unless there are but two."""
    inner = range(1, len(windows) - 1) if len(windows) > 2 else range(len(windows))
    errors_s = []
    for i in inner:
        window = windows[i]
        predicted_s = predict(_without(windows, i), np.array(window.items, np.float64), n_items)
        errors_s.append(window.mean_s - float(predicted_s.mean()))
    return sqrt(sum(error**2 for error in errors_s) / len(errors_s)) if errors_s else inf


def _straight(windows: Sequence[ItemWindow], items: Floats, n_items: int) -> Floats:
    """Straight lines between windows; beyond the first and the last, their time."""
    return np.interp(items, [window.center for window in windows], [window.mean_s for window in windows])


def _cubic(windows: Sequence[ItemWindow], items: Floats, n_items: int) -> Floats:
    """Polynomial of degree 3 in the number of items left."""
    measured, seconds = _columns(windows)
    coefficients = np.polynomial.polynomial.polyfit(1 - measured / n_items, seconds, 3)
    return np.asarray(np.polynomial.polynomial.polyval(1 - items / n_items, coefficients))


def _periodic(period: int) -> Predict:
    """Mean of the items in the same place of a period; of all, where no item was measured there."""

    def predict(windows: Sequence[ItemWindow], items: Floats, n_items: int) -> Floats:
        measured, seconds = _columns(windows)
        places = (measured % period).astype(int)
        count = np.bincount(places, minlength=period)
        sums_s = np.bincount(places, seconds, minlength=period)
        means_s = np.where(count > 0, sums_s / np.maximum(count, 1), seconds.mean())
        return np.asarray(means_s[(items % period).astype(int)])

    return predict


def _columns(windows: Sequence[ItemWindow]) -> tuple[Floats, Floats]:
    items = [item for window in windows for item in window.items]
    seconds = [one_s for window in windows for one_s in window.seconds]
    return np.array(items, np.float64), np.array(seconds)


def _is_rough(windows: Sequence[ItemWindow], predict: Predict, n_items: int) -> bool:
    measured, seconds = _columns(windows)
    residuals_s = seconds - predict(windows, measured, n_items)
    return float(residuals_s.std()) > _RESIDUAL_MAX * float(seconds.mean())
