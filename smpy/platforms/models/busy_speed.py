"""Speed of a core while other cores of its host are busy: clock, power and shared cores make it less than alone."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from typing import Final

from smpy.errors import PlatformError

BUSY_SPEED_PROPERTY: Final = "busy_speed"
"""Property of a host: busy cores, and the part of a core's speed that is left then: `2:0.97;8:0.8`."""

_CORES_MAX: Final = 1 << 16


def busy_speed_text(points: Iterable[tuple[float, float]]) -> str:
    """Property of these points."""
    return ";".join(f"{n_cores:g}:{share!r}" for n_cores, share in points)


def busy_shares(text: str) -> tuple[float, ...]:
    """Part of a core's speed that is left while 1, 2, ... cores are busy, up to the last point.

    It is linear between two points, and 1 for one core unless said.

    Raises
    ------
    PlatformError
        If the property cannot be read, a number of cores is not above the last one, or a part is not in (0, 1].

    Examples
    --------
    >>> busy_shares("3:0.5;4:0.25")
    (1.0, 0.75, 0.5, 0.25)
    """
    shares = [1.0]
    for number, point in enumerate(text.split(";")):
        n_cores, share = _point(text, point)
        if number == 0 and n_cores == 1:
            shares[0] = share
            continue
        first, last = len(shares), shares[-1]
        if n_cores <= first:
            raise PlatformError(f"{BUSY_SPEED_PROPERTY} {text!r}: numbers of busy cores rise from point to point")
        step = (share - last) / (n_cores - first)
        shares += [last + step * n for n in range(1, n_cores - first)] + [share]
    return tuple(shares)


def _point(text: str, point: str) -> tuple[int, float]:
    count, _, part = point.partition(":")
    try:
        n_cores, share = int(count), float(part)
    except ValueError:
        n_cores, share = 0, nan
    if not 1 <= n_cores <= _CORES_MAX or not 0 < share <= 1:
        raise PlatformError(
            f"{BUSY_SPEED_PROPERTY} {text!r}: {point!r} is no number of busy cores and part of a core's speed, above 0 "
            "and at most 1: write such as 2:0.97;8:0.8"
        )
    return n_cores, share
