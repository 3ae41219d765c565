"""The ± behind a time: half the width of an interval that contains 95 % of runs.

Two causes make a prediction uncertain, and both are given for 95 % of runs:

* runs of one point differ, because noise is drawn or computing is measured. Of n runs with mean m and standard
  deviation s, another one lies within m ± t s sqrt(1 + 1/n), where t is Student's 97.5 % quantile with n - 1 degrees of
  freedom (a prediction interval [1]_; the confidence interval of the mean would be narrower, and does not hold for a
  run);
* costs of kernels are known to their calibration's intervals and residuals only: the run's own half-width
  (`smpy.records.uncertainty`), of which the mean over the runs counts.

The two are independent, so their squares add up.

References
----------
.. [1] Hahn, Meeker: "Statistical Intervals", Wiley, 1991, 4.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log10, nan, sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from smpy.errors import UsageError
from smpy.units import format_time

if TYPE_CHECKING:
    import pandas as pd

    from smpy.study.table import StudyTable

_SAME: Final = 1e-12  # relative spread that rounding may cause
_DIGITS_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """A time, and how uncertain it is.

    Attributes
    ----------
    time_s : float
        The mean of the runs.
    half_width_s : float
        Half the width of the interval that contains 95 % of runs; NaN: not known.

    Examples
    --------
    >>> str(Estimate(0.3972, 0.0159)), str(Estimate(0.3972, 0.0012)), str(Estimate(0.3972, float("nan")))
    ('397 ms ± 4 %', '397.2 ms ± 0.3 %', '397.2 ms')
    """

    time_s: float
    half_width_s: float

    def __str__(self) -> str:
        if not isfinite(self.half_width_s) or self.time_s <= 0:
            return format_time(self.time_s)
        share = self.half_width_s / self.time_s
        if share == 0:
            return format_time(self.time_s)
        digits = min(max(1, ceil(1 + log10(2.5 / share))), _DIGITS_MAX)  # rounding is a fifth of the ± at most
        percent = f"{100 * share:.0f}" if share >= 0.01 else f"{100 * share:.1g}"
        return f"{format_time(float(f'{self.time_s:.{digits}g}'))} ± {percent} %"


def estimate(times_s: Sequence[float], half_widths_s: Sequence[float] = ()) -> Estimate:
    """Estimate the makespan of the next run of a point, with its uncertainty, from its runs so far.

    Parameters
    ----------
    times_s : sequence of float
        Their makespans, one or more.
    half_widths_s : sequence of float, optional
        Half-width of each run's summary; NaN: it has none.

    Raises
    ------
    UsageError
        If there are no runs, or several that differ and no scipy.

    Examples
    --------
    >>> str(estimate([0.4, 0.4], [0.03, 0.03]))
    '400 ms ± 8 %'
    """
    if not times_s:
        raise UsageError("an estimate is of one run or more: there is none")
    mean_s = fmean(times_s)
    known = [one for one in half_widths_s if isfinite(one)]
    parts = [fmean(known)] if known else []
    if len(times_s) > 1 and max(times_s) - min(times_s) > _SAME * abs(mean_s):
        parts.append(_quantile(len(times_s) - 1) * stdev(times_s) * sqrt(1 + 1 / len(times_s)))
    return Estimate(mean_s, sqrt(sum(part * part for part in parts)) if parts else nan)


def estimates(table: StudyTable) -> pd.DataFrame:
    """Table of a study with one row for all repetitions of a point.

    Parameters
    ----------
    table : StudyTable
        Table of a study; points that failed are left out.

    Returns
    -------
    pandas.DataFrame
        The axes, `runs` (how many came to their end), `makespan_s` and `half_width_s` (`Estimate`), and of what the
        study takes from the program's output the mean.
    """
    import pandas as pd

    axes, rows = list(table.axes), []
    ended = table.frame[table.frame["error"] == ""]
    groups = ended.groupby(axes, sort=False, dropna=False) if axes else [((), ended)] if len(ended) else []
    for values, runs in groups:
        of_runs = estimate(runs["makespan_s"].tolist(), runs["half_width_s"].tolist())
        row = {"runs": len(runs), "makespan_s": of_runs.time_s, "half_width_s": of_runs.half_width_s}
        rows.append(dict(zip(axes, values, strict=True)) | row | {name: runs[name].mean() for name in table.results})
    return pd.DataFrame(rows, columns=[*axes, "runs", "makespan_s", "half_width_s", *table.results])


def _quantile(degrees_of_freedom: int) -> float:
    """The 97.5 % quantile of Student's t distribution."""
    try:
        from scipy.special import stdtrit
    except ImportError:
        raise UsageError("this needs scipy: pip install '.[study]'") from None
    return float(stdtrit(degrees_of_freedom, 0.975))
