"""Combinations of axes: every value with every other, side by side, or drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Final

from smpy.errors import UsageError
from smpy.study.axes import Axis, Settings, Value

WAYS: Final = ("grid", "zip", "list", "random", "latin-hypercube")
DRAWN: Final = ("random", "latin-hypercube")

N_POINTS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Combination:
    """One value per axis, and their settings.

    Attributes
    ----------
    values : tuple of Value
        One per axis, for the table.
    settings : Settings
        Settings of all these values together.
    """

    values: tuple[Value, ...]
    settings: Settings


def combinations(axes: Sequence[Axis], way: str, n_points: int = 0, seed: int = 0) -> list[Combination]:
    """All combinations of axes.

    Parameters
    ----------
    axes : sequence of Axis
        In a grid, the first one changes last.
    way : {"grid", "zip", "random", "latin-hypercube"}
        Every value with every other; the first values, the second ones, ...; drawn, independently of each other or so
        that each axis is covered evenly (McKay, Beckman, Conover 1979).
    n_points : int
        Number of combinations that are drawn.
    seed : int
        Seed of the draws.

    Raises
    ------
    UsageError
        If axes that stand side by side are not equally long, or there are too many points.

    Examples
    --------
    >>> from smpy.study.axes import read_axis
    >>> axes = [read_axis("ranks", [1, 2], is_drawn=False), read_axis("args.--n", [5, 6], is_drawn=False)]
    >>> [point.values for point in combinations(axes, "grid")]
    [(1, 5), (1, 6), (2, 5), (2, 6)]
    """
    if way == "zip":
        lengths = {axis.name: len(axis.values) for axis in axes}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} {n}" for name, n in lengths.items())
            raise UsageError(
                f'combine = "zip" takes axes side by side, and they have different numbers of values: {counts}'
            )
        rows = [range(n) for n in lengths.values()]
        return [_at(axes, numbers) for numbers in zip(*rows, strict=True)]
    if way == "grid":
        n = prod(len(axis.values) for axis in axes)
        if n > N_POINTS_MAX:
            raise UsageError(f"these axes have {n:,} combinations; {N_POINTS_MAX:,} are the most: draw some of them")
        return [_at(axes, numbers) for numbers in product(*(range(len(axis.values)) for axis in axes))]
    if not 0 < n_points <= N_POINTS_MAX:
        raise UsageError(f"how many points are to be drawn? Say n_points = 1 to {N_POINTS_MAX:,}")
    random = Random(seed)  # the same seed draws the same points
    draw = _evenly if way == "latin-hypercube" else _independently
    columns = [list(draw(random, n_points)) for _ in axes]
    return [
        _merged([axis.drawn(share) for axis, share in zip(axes, shares, strict=True)])
        for shares in zip(*columns, strict=True)
    ]


def _independently(random: Random, n: int) -> Iterator[float]:
    return (random.random() for _ in range(n))


def _evenly(random: Random, n: int) -> Iterator[float]:
    """One random number in each n-th of the interval from 0 to 1, in random order."""
    order = [number for _, number in sorted((random.random(), number) for number in range(n))]
    return ((number + random.random()) / n for number in order)


def _at(axes: Sequence[Axis], numbers: Sequence[int]) -> Combination:
    return _merged([(axis.values[i], axis.settings[i]) for axis, i in zip(axes, numbers, strict=True)])


def _merged(parts: Sequence[tuple[Value, Settings]]) -> Combination:
    settings: dict[str, Value] = {}
    for _, its in parts:
        for key in its:
            if key in settings:
                raise UsageError(f"two axes set {key}: leave it to one of them")
        settings |= its
    return Combination(tuple(value for value, _ in parts), settings)
