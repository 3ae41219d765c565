"""Remark on the spread of real runs: equal ones take different times on a real machine."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smpy.records.remark import Remark

if TYPE_CHECKING:
    from smpy.engine.time_categories import Spent
    from smpy.options import RunConfig
    from smpy.platforms.description import Description


def remarks_on_spread(
    config: RunConfig, calibration: Path | None, machine: Description, spent_s: Spent
) -> Iterable[Remark]:
    """Remark on the spread to be expected, if a calibration says one.

    Parameters
    ----------
    config : RunConfig
        The run.
    calibration : Path or None
        Calibration of the machine on which computing was measured.
    machine : Description
        The simulated machine: its calibration tells of messages, and of kernels with a model.
    spent_s : Spent
        Time of the ranks, in seconds, by kind.
    """
    computing = machine.calibration
    if config.measures_computing:
        computing = {}
        if calibration is not None:
            from smpy.records.calibration_file import read_result  # the run has imported it for the speed it says

            computing = read_result(calibration)["calibration"]
    return _spread_of(
        computing=(computing.get("computing_spread"), spent_s.computing),
        messages=(machine.calibration.get("spread"), spent_s.communicating),
    )


def _spread_of(**parts: tuple[Any, float]) -> Iterable[Remark]:
    """Remark on the mean spread of parts of the time, each weighted with its seconds.

    Time in which a rank waits for others spreads as theirs does. There is none if most of the time has no known spread.
    """
    known = {name: part for name, part in parts.items() if _is_spread(part[0]) and part[1] > 0}
    known_s = sum(time_s for _, time_s in known.values())
    if not known or known_s < sum(time_s for _, time_s in parts.values()) / 2:
        return
    overall = sum(spread * time_s for spread, time_s in known.values()) / known_s
    each = " and ".join(f"{name} by {spread:.1%}" for name, (spread, _) in known.items())
    text = f"half of equal runs on a real machine differ from their median by up to {overall:.1%}: {each} (calibration)"
    facts = {f"{name}_spread": spread for name, (spread, _) in known.items()}
    yield Remark("spread", (text,), {"makespan_spread": overall, **facts})


def _is_spread(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value) and value >= 0
