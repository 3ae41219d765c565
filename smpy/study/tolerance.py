"""Factor on a key of the machine at which a run takes a given share longer."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

from smpy.errors import UsageError
from smpy.study.many_replays import Replays
from smpy.study.parameters import Parameter

_FARTHEST: Final = 1e6  # factor, or one over it
_NEAR: Final = 1e-4  # relative
_STEP: Final = 4.0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerance of a run.

    Attributes
    ----------
    key : str
        Key of the parameter.
    share : float
        Share by which the run takes longer.
    factor : float or None
        Factor on the machine's own value; None: none between 1e-6 and 1e6 makes the run so long.
    """

    key: str
    share: float
    factor: float | None

    def words(self) -> str:
        """Words for the tolerance: "1 % longer at network.latency=x1.21"."""
        if self.factor is None:
            return f"no value of {self.key} makes it {100 * self.share:g} % longer"
        return f"{100 * self.share:g} % longer at {self.key}=x{self.factor:.4g}"


def read_shares(text: str) -> list[float]:
    """Read shares such as "1%,10%".

    Raises
    ------
    UsageError
        If one is no percentage above 0.

    Examples
    --------
    >>> read_shares("1%, 10 %")
    [0.01, 0.1]
    """
    shares = []
    for word in text.split(","):
        number = word.strip().removesuffix("%").strip()
        try:
            share = float(number) / 100 if word.strip().endswith("%") else 0.0
        except ValueError:
            share = 0.0
        if not 0 < share < _FARTHEST:
            raise UsageError(f"{text!r}: {word.strip()!r} is no percentage above 0, such as 1%")
        shares.append(share)
    return shares


def tolerance(replays: Replays, parameter: Parameter, share: float, own_s: float) -> Tolerance:
    """Bisect the factor at which the replay takes a share longer than with the machine's own value.

    Parameters
    ----------
    replays : Replays
        Trace and machine to replay.
    parameter : Parameter
        Key that is changed: upwards first, then downwards.
    share : float
        Share by which the run takes longer.
    own_s : float
        Makespan with the machine's own values.
    """

    def is_longer(factor: float) -> bool:
        return replays.perform(((parameter.key, f"x{factor!r}"),)).makespan_s >= own_s * (1 + share)

    for towards in (_STEP, 1 / _STEP):
        near, far = 1.0, towards
        while 1 / _FARTHEST <= far <= _FARTHEST:
            if is_longer(far):
                while abs(far / near - 1) > _NEAR:
                    middle = sqrt(near * far)
                    near, far = (near, middle) if is_longer(middle) else (middle, far)
                return Tolerance(parameter.key, share, far)
            near, far = far, far * towards
    return Tolerance(parameter.key, share, None)
