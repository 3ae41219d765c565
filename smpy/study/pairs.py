"""Pairs of settings of a study that differ in one axis only, so that nothing else explains their difference.

The effect of an axis is the ratio of two of its levels: those whose makespans differ most, as a mean over all pairs, in
logarithms. An interaction is a condition on other axes: where it is met, the levels differ at least three times as much
as elsewhere, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, inf
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from smpy.study.levels import Levels, levels_of, short_text

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

NO_DIFFERENCE: Final = 5e-4  # of logarithms
_ROUNDING: Final = 1e-9  # of logarithms
_MATTERS: Final = 5e-3  # the same: less is not worth a sentence
_CLEARLY: Final = 3.0  # least ratio of differences inside and outside a condition
_LEVELS_MAX: Final = 12  # of an axis that are compared, or that stand in a condition
_CHECKS_MAX: Final = 30_000_000  # of a pair of settings with a condition


@dataclass(frozen=True, slots=True)
class Interaction:
    """Condition on other axes on which the effect of an axis depends.

    Attributes
    ----------
    where : str
        The condition: "topology = fat tree, ranks >= 1536".
    least, most : float
        Range of the ratios of the pairs that meet it.
    least_elsewhere, most_elsewhere : float
        Range of the ratios of all others.
    """

    where: str
    least: float
    most: float
    least_elsewhere: float
    most_elsewhere: float


@dataclass(frozen=True, slots=True)
class PairedEffect:
    """Effect of an axis, from pairs of settings that differ in nothing else.

    Attributes
    ----------
    axis : str
        Its name.
    slow, fast : str
        The levels that differ most.
    ratio : float
        Makespan of the slow one as a multiple of that of the fast one: geometric mean over the pairs.
    least, most : float
        Range of the ratios.
    n_pairs : int
        Number of pairs.
    slow_point, fast_point : int
        Points of the pair with the largest ratio.
    interaction : Interaction or None
        Condition on which the ratio depends; None: none is found.
    """

    axis: str
    slow: str
    fast: str
    ratio: float
    least: float
    most: float
    n_pairs: int
    slow_point: int
    fast_point: int
    interaction: Interaction | None


class _Settings(NamedTuple):
    """Settings with a positive makespan."""

    levels: Sequence[Levels]
    codes: NDArray[np.int64]  # [settings, axes]
    log_s: NDArray[np.float64]
    point: NDArray[np.int64]  # the first of each
    noise: float  # of logarithms: spread of the repetitions


class _Condition(NamedTuple):
    text: str
    axis: int
    is_met: NDArray[np.bool_]  # by each pair


def paired_effects(frame: pd.DataFrame, axes: Sequence[str]) -> list[PairedEffect]:
    """The effect of each axis with pairs of settings that differ in it alone, the largest first.

    Parameters
    ----------
    frame : pandas.DataFrame
        Points that ran to their end.
    axes : sequence of str
        Columns that were varied.
    """
    settings = _settings(frame, axes)
    effects = [effect for axis in range(len(axes)) if (effect := _effect(settings, axis)) is not None]
    return sorted(effects, key=lambda effect: -effect.ratio)


def _settings(frame: pd.DataFrame, axes: Sequence[str]) -> _Settings:
    frame = frame[frame["makespan_s"] > 0]
    levels = [levels_of(axis, frame[axis]) for axis in axes]
    codes = np.array([axis.codes for axis in levels], dtype=np.int64).reshape(len(axes), len(frame)).T
    settings, first, setting = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    log_s = np.log(frame["makespan_s"].to_numpy(float))
    order = np.lexsort((log_s, setting.ravel()))
    ends = np.searchsorted(setting.ravel()[order], np.arange(len(settings) + 1))
    repeated = [log_s[order[ends[i] : ends[i + 1]]] for i in range(len(settings))]
    noise = float(np.median([its[-1] - its[0] for its in repeated])) if repeated else 0.0
    medians = np.array([np.log(np.median(np.exp(its))) for its in repeated])
    return _Settings(levels, settings, medians, frame["point"].to_numpy()[first], noise)


def _effect(settings: _Settings, axis: int) -> PairedEffect | None:
    levels = settings.levels[axis]
    compared = _some(len(levels.labels))
    chosen = np.flatnonzero(np.isin(settings.codes[:, axis], compared))
    others = np.delete(settings.codes[chosen], axis, axis=1)
    rest, row = np.unique(others, axis=0, return_inverse=True)
    at = np.full((len(rest), len(compared)), -1)
    at[row.ravel(), np.searchsorted(compared, settings.codes[chosen, axis])] = chosen
    log_s = np.where(at >= 0, settings.log_s[at], np.nan)
    best: tuple[float, int, int] = (-1.0, 0, 0)
    for one, other in combinations(range(len(compared)), 2):
        apart = log_s[:, one] - log_s[:, other]
        known = ~np.isnan(apart)
        if known.any():
            size = float(np.abs(apart[known]).mean())
            if size > best[0] + _ROUNDING:
                is_slower = apart[known].sum() >= 0
                best = (size, one if is_slower else other, other if is_slower else one)
    size, slow, fast = best
    if size < 0:
        return None
    apart = log_s[:, slow] - log_s[:, fast]
    pairs = np.flatnonzero(~np.isnan(apart))
    apart = apart[pairs]
    extreme = pairs[int(np.argmax(apart >= apart.max() - _ROUNDING))]
    conditions = list(_conditions(settings, axis, rest[pairs]))
    return PairedEffect(
        levels.axis,
        short_text(levels.labels[compared[slow]]),
        short_text(levels.labels[compared[fast]]),
        exp(apart.mean()),
        exp(apart.min()),
        exp(apart.max()),
        len(pairs),
        int(settings.point[at[extreme, slow]]),
        int(settings.point[at[extreme, fast]]),
        _interaction(apart, conditions, max(_MATTERS, settings.noise)),
    )


def _some(n: int) -> list[int]:
    """Levels that are compared: all, or `_LEVELS_MAX` with the first and the last among them."""
    return sorted({round(number) for number in np.linspace(0, n - 1, min(n, _LEVELS_MAX))})


def _conditions(settings: _Settings, axis: int, codes: NDArray[np.int64]) -> Iterator[_Condition]:
    """Conditions on one other axis, which some pairs meet and others do not."""
    others = [number for number in range(len(settings.levels)) if number != axis]
    for column, number in enumerate(others):
        levels, its = settings.levels[number], codes[:, column]
        present = np.unique(its)
        if not 1 < len(present) <= _LEVELS_MAX:
            continue
        name, last = levels.axis, len(present) - 1
        for place, code in enumerate(present):
            label = short_text(levels.labels[code])
            yield _Condition(f"{name} = {label}", number, its == code)
            if levels.numbers is None:
                if last > 1:
                    yield _Condition(f"{name} other than {label}", number, its != code)
            elif 0 < place < last:
                yield _Condition(f"{name} >= {label}", number, its >= code)
                yield _Condition(f"{name} <= {label}", number, its <= code)


def _interaction(apart: NDArray[np.float64], conditions: Sequence[_Condition], matters: float) -> Interaction | None:
    """The clearest condition on one axis; without one, on two."""
    n_both = len(conditions) ** 2 // 2
    for both in (False, True):
        if both and n_both * len(apart) > _CHECKS_MAX:
            break
        candidates = (
            (
                (f"{one.text}, {other.text}", one.is_met & other.is_met)
                for one, other in combinations(conditions, 2)
                if one.axis != other.axis
            )
            if both
            else ((one.text, one.is_met) for one in conditions)
        )
        best, clearest = (0.0, 0, 0), None
        for text, is_met in candidates:
            n_inside = int(is_met.sum())
            if not 0 < n_inside < len(apart):
                continue
            inside, outside = apart[is_met], apart[~is_met]
            score = *_clearness(inside, outside, matters), n_inside
            if score[0] >= _CLEARLY and score > best:
                best, clearest = score, (text, inside, outside)
        if clearest is not None:
            where, inside, outside = clearest
            return Interaction(where, *(exp(end) for its in (inside, outside) for end in (its.min(), its.max())))
    return None


def _clearness(inside: NDArray[np.float64], outside: NDArray[np.float64], matters: float) -> tuple[float, int]:
    """Factor by which all pairs inside differ more than any outside, and their sign; infinite: others are reversed."""
    for sign in (1, -1):
        least = float((sign * inside).min())
        if least < matters:
            continue
        if float((sign * outside).max()) <= -matters:
            return inf, sign
        return least / max(float(np.abs(outside).max()), NO_DIFFERENCE), sign
    return 0.0, 0
