"""Sizes of a problem at which each number of ranks has the same parallel efficiency, and their meaning for scaling.

With T the time on N ranks for a problem of size W, and U the mean time a rank computes:

    parallel efficiency   E = U / T
    mean lost time        L(W, N) = T - U                  the latency metric [1]_
    scale(N, N')          L(W, N) / L(W', N'), with W and W' of equal efficiency; 1: lost time does not grow

Departure from the paper: computing of all ranks stands for the time of a sequential run.

References
----------
.. [1] Zhang, Yan, He: "Latency metric: an experimental method for measuring and evaluating parallel program and
   architecture scalability", Journal of Parallel and Distributed Computing 22 (3), 1994.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.errors import SmpyError, UsageError
from smpy.input_files import read_plain_file
from smpy.records.text_table import text_table
from smpy.study.scale import argument_value, is_measured
from smpy.study.state import StudyProgress
from smpy.study.study import Study
from smpy.study.table import kept_path
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_REACHED: Final = 5e-4  # difference of two efficiencies that are equal
_RUNS_MAX: Final = 40  # of a number of ranks
_STEP: Final = 2.0  # first factor between sizes; its square follows, and so on
_STEP_MAX: Final = 64.0
_FLAT: Final = 2e-3  # growth of the efficiency, over a step of 64, of a program that gains no more
_SIZE_MAX: Final = 1e15
_MARGIN: Final = 0.02  # of the bracket: a guess keeps away from its ends
_CAUSES: Final = ("load_imbalance", "insufficient_parallelism", "synchronisation", "communication", "contention")


@dataclass(frozen=True, slots=True)
class Sized:
    """A run of a size.

    Attributes
    ----------
    size : int
        Value of the argument.
    time_s : float
        Makespan.
    efficiency : float
        Parallel efficiency.
    causes : mapping of str to float
        Lost time by category (`smpy.analysis.lost`), shares of the rank-seconds.
    """

    size: int
    time_s: float
    efficiency: float
    causes: Mapping[str, float]

    @property
    def lost_s(self) -> float:
        """Mean time a rank loses."""
        return self.time_s * (1 - self.efficiency)


@dataclass(frozen=True, slots=True)
class EqualEfficiencyRow:
    """A number of ranks, and the size at which it has the efficiency.

    Attributes
    ----------
    ranks : int
        Number of ranks.
    size : int or None
        The size; None: no size was found to have the efficiency.
    time_s, efficiency, lost_s : float
        Makespan, efficiency and mean lost time there, or at the last size that was tried.
    scale : float or None
        scale(N, N') from the fewest ranks that have the efficiency to these.
    stops : str
        Why no size has it; empty: one has.
    """

    ranks: int
    size: int | None
    time_s: float
    efficiency: float
    lost_s: float
    scale: float | None
    stops: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class EqualEfficiency(Result):
    """Sizes of equal efficiency.

    Attributes
    ----------
    argument : str
        Argument of the program that is the size.
    efficiency : float
        The efficiency.
    rows : sequence of EqualEfficiencyRow
        Each number of ranks, the fewest first.
    """

    argument: str
    efficiency: float
    rows: Sequence[EqualEfficiencyRow]

    def table(self) -> str:
        """A line for each number of ranks, and the reasons where no size has the efficiency."""
        head = ["ranks", self.argument, "time", "efficiency", "lost", "scale"]
        lines = [
            [
                f"{row.ranks:,}",
                "none" if row.size is None else f"{row.size:,}",
                format_time(row.time_s),
                f"{row.efficiency:.1%}",
                format_time(row.lost_s),
                "" if row.scale is None else f"{row.scale:.3f}",
            ]
            for row in self.rows
        ]
        stops = [f"On {row.ranks:,} ranks {row.stops}." for row in self.rows if row.stops]
        words = f"Sizes with a parallel efficiency of {self.efficiency:.1%}; lost: mean time of a rank"
        return "\n\n".join([words, text_table(head, lines), *(["\n".join(stops)] if stops else [])])

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        return {
            "argument": self.argument,
            "efficiency": self.efficiency,
            "equal_efficiency": [asdict(row) for row in self.rows],
        }

    def plot(self) -> Figure:
        """Size and mean lost time over the number of ranks."""
        graph = import_optional("plotly.graph_objects", extra="study")
        subplots = import_optional("plotly.subplots", extra="study")
        figure = subplots.make_subplots(cols=2, subplot_titles=(plotly_text(self.argument), "mean lost time (s)"))
        reached = [row for row in self.rows if row.size is not None]
        ranks = [row.ranks for row in reached]
        for col, values in ((1, [row.size for row in reached]), (2, [row.lost_s for row in reached])):
            figure.add_trace(graph.Scatter(x=ranks, y=values, showlegend=False), row=1, col=col)
        figure.update_xaxes(type="log", title="ranks", tickvals=ranks)
        figure.update_yaxes(type="log")
        figure.update_layout(title=f"Parallel efficiency {self.efficiency:.1%}")
        return figure


def equal_efficiency(
    program: str,
    args: Sequence[str],
    ranks: Sequence[int],
    *,
    argument: str,
    efficiency: float,
    options: Mapping[str, Any] | None = None,
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[StudyProgress], None] | None = None,
) -> EqualEfficiency:
    """Find the size at which a program has an efficiency, for each number of ranks, by runs of a study.

    Parameters
    ----------
    program : str
        A file, or with `options={"module": True}` a module.
    args : sequence of str
        Its arguments; the search begins at the value that they have for the size.
    ranks : sequence of int
        Numbers of ranks, the fewest first.
    argument : str
        Argument that is the size, such as ``--n``: a whole number.
    efficiency : float
        Parallel efficiency, above 0 and below 1.
    options : mapping, optional
        Options of `smpy run`, as `smpy.simulate` takes them.
    folder : path, optional
        Folder of the study; by default `PROGRAM-equal-efficiency.study`.
    workers : int, optional
        Number of points that run at a time.
    progress : callable, optional
        Called with the study's `StudyProgress`.

    Raises
    ------
    UsageError
        If the efficiency or the size is none, or the program cannot run with these options.
    SmpyError
        If a run fails.
    """
    if not 0 < efficiency < 1:
        raise UsageError(f"efficiency {efficiency:g}: say one above 0 and below 1, such as 0.8")
    if (options or {}).get("iterations"):
        raise UsageError("iterations: a size of an efficiency needs whole runs: leave it out")
    runs = _Runs(program, args, dict(options or {}), argument, folder, workers, progress)
    size = first_size(args, argument)
    rows: list[EqualEfficiencyRow] = []
    for n_ranks in ranks:
        run, stops = _sized(partial(runs.run, n_ranks), size, efficiency)
        size = run.size if not stops else size
        reference_s = next((row.lost_s for row in rows if not row.stops), run.lost_s)
        scale = reference_s / run.lost_s if run.lost_s > 0 and not stops else None
        rows.append(
            EqualEfficiencyRow(
                n_ranks, None if stops else run.size, run.time_s, run.efficiency, run.lost_s, scale, stops
            )
        )
    return EqualEfficiency(argument, efficiency, rows)


def first_size(args: Sequence[str], argument: str) -> int:
    """Value of the size among the program's arguments.

    Raises
    ------
    UsageError
        If it is not there, or no whole number of 1 or more.
    """
    text = argument_value(args, argument, "at first")
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < _SIZE_MAX):
        raise UsageError(f"{argument} {text} is no size: say a whole number of 1 or more")
    return int(text)


def _sized(run: Callable[[int], Sized], first: int, efficiency: float) -> tuple[Sized, str]:
    """Run of the size with the nearest efficiency, and the reason if no size has the efficiency; empty: one has.

    A bracket is found by ever larger factors. In it, ln(E / (1 - E)) is taken as linear in ln(size): so it is where
    computing grows as a power of the size, and lost time does not.
    """
    low = high = run(first)
    step = _STEP
    while low.efficiency >= efficiency and low.size > 1:
        low, high = run(max(round(low.size / step), 1)), low
        step = min(step * step, _STEP_MAX)
    while high.efficiency < efficiency:
        low, high = high, run(round(high.size * step))
        if high.efficiency < efficiency and (high.size > _SIZE_MAX or _is_flat(low, high)):
            return high, _reason(high)
        step = min(step * step, _STEP_MAX)
    if low.efficiency >= efficiency:
        return low, ""  # size 1 has it
    for _ in range(_RUNS_MAX):
        best = min(low, high, key=lambda each: abs(each.efficiency - efficiency))
        if abs(best.efficiency - efficiency) <= _REACHED or high.size - low.size <= 1:
            return (best if abs(best.efficiency - efficiency) <= _REACHED else high), ""
        tried = run(_guess(low, high, efficiency))
        low, high = (tried, high) if tried.efficiency < efficiency else (low, tried)
    return high, ""


def _is_flat(smaller: Sized, larger: Sized) -> bool:
    gained = larger.efficiency - smaller.efficiency
    return larger.size >= _STEP_MAX * smaller.size and gained < _FLAT


def _guess(low: Sized, high: Sized, efficiency: float) -> int:
    """Size between two others, neither of them."""
    odds = [log(max(e, 1e-12) / max(1 - e, 1e-12)) for e in (low.efficiency, efficiency, high.efficiency)]
    share = (odds[1] - odds[0]) / (odds[2] - odds[0]) if odds[2] > odds[0] else 0.5
    share = min(max(share, _MARGIN), 1 - _MARGIN)
    guess = round(exp(log(low.size) + share * (log(high.size) - log(low.size))))
    return min(max(guess, low.size + 1), high.size - 1)


def _reason(run: Sized) -> str:
    """Words for the largest cause of lost time."""
    cause = max(run.causes, key=run.causes.__getitem__)
    return (
        f"no size has it: from {run.size:,} on, larger ones gain nothing at {run.efficiency:.1%}; most is lost to "
        f"{cause.replace('_', ' ')} ({run.causes[cause]:.1%} of the rank-seconds)"
    )


class _Runs:
    """Runs of a program in a study that gets more points as they are asked for."""

    def __init__(
        self,
        program: str,
        args: Sequence[str],
        options: dict[str, Any],
        argument: str,
        folder: str | os.PathLike[str] | None,
        workers: int | None,
        progress: Callable[[StudyProgress], None] | None,
    ) -> None:
        self._is_measured = is_measured(options)
        self._definition: dict[str, object] = {
            "name": f"{Path(program).stem}-equal-efficiency",
            "module" if options.pop("module", None) else "program": program,
            "args": list(args),
            "options": options,
            "keep": ["lost"],
        }
        self._argument, self._folder, self._progress = argument, folder, progress
        self._workers = workers or (1 if self._is_measured else None)
        self._points: list[dict[str, Any]] = []

    def run(self, n_ranks: int, size: int) -> Sized:
        """Run a size on a number of ranks, or take it from the study's folder.

        Raises
        ------
        SmpyError
            If the run fails, or takes no time.
        """
        settings = {"ranks": n_ranks, f"args.{self._argument}": size}
        if settings not in self._points:
            self._points.append(settings)
        study = Study({**self._definition, "points": self._points}, self._folder)
        point = study.points[self._points.index(settings)]
        study.run(workers=self._workers, only=[point], progress=self._progress)
        entry = study.state().entries[point.key]
        where = f"{self._argument} {size:,} on {n_ranks:,} ranks"
        if entry.error:
            raise SmpyError(f"{where} failed: {entry.error}")
        path = kept_path("lost", point.key, study.folder)
        try:
            record = json.loads(read_plain_file(path, "study"))
            rank_seconds = n_ranks * float(record["makespan_s"])
            causes = {name: float(record[f"{name}_s"]) for name in _CAUSES}
            computing_s = float(record["computing_s"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SmpyError(f"{path} cannot be read: run the study again, in another folder") from error
        if rank_seconds <= 0:
            raise SmpyError(f"{where} takes no time, and has no efficiency")
        shares = {name: seconds / rank_seconds for name, seconds in causes.items()}
        return Sized(size, float(record["makespan_s"]), computing_s / rank_seconds, shares)
