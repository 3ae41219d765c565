"""Scaling of a program: speed-up, efficiency, the knee and the limits, from times on several numbers of ranks.

With T_p the time on p ranks, p_0 the fewest of them, and w = p / p_0 where each rank has as much work (weak), else 1:

    speed-up     S_p = w T_p0 / T_p
    efficiency   S_p p_0 / p
    knee         the p at which S_p / p ** log2(4/3) is largest; of several such, the largest one

So the knee is the one number of ranks of which two things are true: from any smaller number to it, a doubling of the
ranks saves 25 % of the time or more, on average; from it to any larger one, less. (With T = w T_p / p of weak scaling:
25 % of the time for the same work, which is a third more work in the same time.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log2, nan
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.records.text_table import text_table
from smpy.study.uncertainty import Estimate
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SAVED: Final = 0.25
"""Share of the time that a doubling of the ranks saves up to the knee; beyond it, it saves less."""

_EXPONENT: Final = -log2(1 - SAVED)
_FACTORS: Final = {
    "load_balance": "load balance",
    "serialisation": "serialisation",
    "transfer": "transfer",
    "computing": "computing",
}
_PARTS: Final = {
    "contention": "contention",
    "bandwidth": "bandwidth",
    "latency": "latency",
    "overhead": "the overhead of MPI's calls",
}
COMPUTING_PARTS: Final = {
    "operations": "more operations",
    "speed": "the speed of cores",
    "core_memory": "memory of a core",
    "memory": "memory of a host",
}
"""Parts of the scaling of computing, and their names in words."""

_SHARED: Final = ("speed", "memory")  # resources that the ranks of a host share
_FINE: Final = 0.95
_MORE_THAN_IDEAL: Final = 1.05


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """The program on one number of ranks.

    Attributes
    ----------
    n_ranks : int
        Number of ranks.
    time_s : float
        The makespan; of several runs, their median.
    half_width_s : float
        Half-width of its uncertainty (`smpy.study.uncertainty`); NaN: not known.
    work : str
        Argument that grows with the ranks, and its value; empty: none does.
    load_balance, serialisation, transfer, contention, bandwidth, latency, overhead : float or None
        Factors of `smpy.analysis.pop`.
    computing : float or None
        Scaling of computing: its time on the fewest ranks divided by that on these, for the same work.
    operations, speed, core_memory, memory : float or None
        Parts of that, from `smpy.analysis.pop`.
    n_hosts, ranks_on_a_host : int
        Hosts with ranks, and the most ranks that one has; 0: not known.
    n_runs : int
        Number of runs.
    lowest_s, highest_s : float
        Lowest and highest makespan of several runs; NaN: there was one.
    """

    n_ranks: int
    time_s: float
    half_width_s: float = nan
    work: str = ""
    load_balance: float | None = None
    serialisation: float | None = None
    transfer: float | None = None
    contention: float | None = None
    bandwidth: float | None = None
    latency: float | None = None
    overhead: float | None = None
    computing: float | None = None
    operations: float | None = None
    speed: float | None = None
    core_memory: float | None = None
    memory: float | None = None
    n_hosts: int = 0
    ranks_on_a_host: int = 0
    n_runs: int = 1
    lowest_s: float = nan
    highest_s: float = nan

    @property
    def is_spread(self) -> bool:
        """Whether several runs took different times."""
        return self.highest_s > self.lowest_s


@dataclass(frozen=True, slots=True, eq=False)
class ProgramScaling(Result):
    """Scaling of a program.

    Attributes
    ----------
    rows : sequence of ScalingRow
        One or more, the fewest ranks first.
    is_weak : bool
        Whether the work of each rank stays the same on more ranks.
    remarks : sequence of str
        Remarks for a reader.
    """

    rows: Sequence[ScalingRow]
    is_weak: bool
    remarks: Sequence[str] = ()

    @property
    def speedups(self) -> list[float]:
        """S_p of each row."""
        first = self.rows[0]
        return [(row.n_ranks / first.n_ranks if self.is_weak else 1.0) * first.time_s / row.time_s for row in self.rows]

    @property
    def efficiencies(self) -> list[float]:
        """Efficiency of each row."""
        n_first = self.rows[0].n_ranks
        return [s * n_first / row.n_ranks for s, row in zip(self.speedups, self.rows, strict=True)]

    @property
    def fastest(self) -> int:
        """Index of the row with the largest speed-up; of several, the first."""
        return max(range(len(self.rows)), key=self.speedups.__getitem__)

    @property
    def knee(self) -> int:
        """Index of the row that is the knee; the last one: no knee was reached."""
        worth = [s / row.n_ranks**_EXPONENT for s, row in zip(self.speedups, self.rows, strict=True)]
        return max(range(len(self.rows)), key=lambda i: (worth[i], i))

    def limit(self, i: int) -> tuple[str, float] | None:
        """Name and value of a row's smallest factor; None: its factors are not known."""
        known = [(name, value) for key, name in _FACTORS.items() if (value := getattr(self.rows[i], key)) is not None]
        return min(known, key=lambda item: item[1], default=None)

    def words(self) -> str:
        """Findings in words, a sentence per line."""
        if len(self.rows) == 1:
            return f"One number of ranks tells no scaling: {_on(self.rows[0])} it takes {_time(self.rows[0])}."
        sentences = [self._fastest_words(), self._knee_words(), *self._limit_words(), *self._computing_words()]
        return "\n".join([*sentences, *self._noise_words()])

    def _fastest_words(self) -> str:
        first, last, best = self.rows[0], self.rows[-1], self.rows[self.fastest]
        if self.is_weak:
            words = f"From {_ranks(first)} to {last.n_ranks:,} the time goes from {_time(first)} to {_time(last)}"
            words += f": efficiency {_percent(self.efficiencies[-1])}."
            return words if best is last else f"{words} Most work a second is done on {_ranks(best)}."
        if best is first:
            return f"More than {_ranks(first)} do not help: there it takes {_time(first)}, {_longer(last, first)}."
        times = _ratio(self.speedups[self.fastest])
        words = f"Fastest on {_ranks(best)}: {_time(best)}, {times} times as fast as {_on(first)}"
        return f"{words}." if best is last else f"{words}; {_longer(last, best)}."

    def _knee_words(self) -> str:
        knee, last = self.rows[self.knee], self.rows[-1]
        gains = "does a third more work a second" if self.is_weak else f"saves {_percent(SAVED)} of the time"
        if knee is last:
            return f"No knee up to {_ranks(last)}: to there a doubling of ranks still {gains}, or more, on average."
        if self.knee == 0:
            return f"The knee is at {_ranks(knee)}, the fewest: no doubling from there {gains}, on average."
        efficiency = self.efficiencies[self.knee]
        return (
            f"The knee is at {_ranks(knee)}, with {_percent(efficiency)} efficiency: up to there a doubling of ranks "
            f"{gains}, or more, on average; beyond it, less."
        )

    def _limit_words(self) -> list[str]:
        at = len(self.rows) - 1 if self.is_weak or self.fastest == 0 else self.fastest
        limit = self.limit(at)
        if limit is None:
            return []
        name, value = limit
        where = _on(self.rows[at])
        if value >= _FINE:
            return [f"Nothing limits {where}: all factors are {_percent(_FINE)} or more."]
        sentence = f"What limits {where} is {name}: {_percent(value)}"
        part = self._smallest_part(at, name)
        if part is not None:
            factor = getattr(self.rows[at], part)
            sentence += f", of which {(_PARTS | COMPUTING_PARTS)[part]} most ({_percent(factor)})"
        return [f"{sentence}{self._placement_words(at, name, part)}."]

    def _smallest_part(self, at: int, name: str) -> str | None:
        """Key of the smallest part of a factor; None: no parts are known."""
        keys = {_FACTORS["transfer"]: _PARTS, _FACTORS["computing"]: COMPUTING_PARTS}.get(name, {})
        parts = {key: factor for key in keys if (factor := getattr(self.rows[at], key)) is not None}
        return min(parts, key=parts.__getitem__, default=None)

    def _placement_words(self, at: int, name: str, part: str | None) -> str:
        """Words for a change of placement since the fewest ranks, if the row's limit depends on it."""
        first, row = self.rows[0], self.rows[at]
        if part in _SHARED and row.ranks_on_a_host > first.ranks_on_a_host > 0:
            n_before = f"{first.ranks_on_a_host:,}"
            return (
                f"; placement: a host has up to {row.ranks_on_a_host:,} ranks, up from {n_before} (--ppn places fewer)"
            )
        if name == _FACTORS["transfer"] and row.n_hosts > first.n_hosts == 1:
            return f"; placement: ranks are on {row.n_hosts:,} hosts, up from 1"
        return ""

    def _computing_words(self) -> list[str]:
        """Sentence on computing that scales better than ideally; empty: it does not."""
        known = [(row.computing, row) for row in self.rows if row.computing is not None]
        most, row = max(known, key=lambda item: item[0], default=(0.0, self.rows[0]))
        if most <= _MORE_THAN_IDEAL:
            return []
        words = f"Computing scales better than ideally, to {_percent(most)} {_on(row)}"
        return [f"{words}: smaller parts may fit a cache, or less is computed."]

    def _noise_words(self) -> list[str]:
        """Sentences on the spread of repeated runs: differences between neighbouring rows that it may explain."""
        repeated = [row for row in self.rows if row.n_runs > 1]
        if not repeated:
            return []
        if not any(row.is_spread for row in repeated):
            return ["All runs on the same number of ranks took the same time."]
        pairs = zip(self.rows, self.rows[1:], strict=False)
        noise = [f"{a.n_ranks:,} and {b.n_ranks:,}" for a, b in pairs if _overlap(a, b)]
        if not noise:
            return ["Differences between neighbouring numbers of ranks are larger than the spread: no runs overlap."]
        return [f"Differences that may be noise, as the times of single runs overlap: {', '.join(noise)} ranks."]

    def table(self) -> str:
        """Table with a line for each number of ranks, and the findings in words."""
        factors = {
            key: name for key, name in _FACTORS.items() if any(getattr(row, key) is not None for row in self.rows)
        }
        has_work = any(row.work for row in self.rows)
        has_spread = any(row.n_runs > 1 for row in self.rows)
        head = ["ranks", *(["argument"] if has_work else []), "time", *(["lowest", "highest"] if has_spread else [])]
        head += ["speed-up", "efficiency", *factors.values(), ""]
        lines = []
        for i, (row, speedup, efficiency) in enumerate(zip(self.rows, self.speedups, self.efficiencies, strict=True)):
            marks = [word for word, at in (("knee", self._shown_knee), (self._best_word, self.fastest)) if at == i]
            line = [f"{row.n_ranks:,}", *([row.work] if has_work else []), _time(row)]
            if has_spread:
                line += [format_time(row.lowest_s), format_time(row.highest_s)] if row.n_runs > 1 else ["", ""]
            line += [f"{speedup:.4g}", f"{efficiency:.1%}", *(_cell(getattr(row, key)) for key in factors)]
            lines.append([*line, ", ".join(marks if len(self.rows) > 1 else [])])
        return "\n\n".join([text_table(head, lines, n_words=1), self.words(), *self.remarks])

    @property
    def _shown_knee(self) -> int | None:
        return None if self.knee == len(self.rows) - 1 else self.knee

    @property
    def _best_word(self) -> str:
        return "most work a second" if self.is_weak else "fastest"

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        rows = zip(self.rows, self.speedups, self.efficiencies, strict=True)
        return {
            "is_weak": self.is_weak,
            "rows": [
                {**_without_nan(asdict(row)), "speedup": speedup, "efficiency": efficiency}
                for row, speedup, efficiency in rows
            ],
            "knee_ranks": None if self._shown_knee is None else self.rows[self._shown_knee].n_ranks,
            "fastest_ranks": self.rows[self.fastest].n_ranks,
            "words": self.words(),
            "remarks": list(self.remarks),
        }

    def _error_bars(self) -> dict[str, Any]:
        """Error bars of the times: the range of repeated runs, else the uncertainty."""
        if all(row.n_runs == 1 for row in self.rows):
            widths = [row.half_width_s for row in self.rows]
            return {"array": [None if width != width else width for width in widths]}
        above = [row.highest_s - row.time_s if row.n_runs > 1 else None for row in self.rows]
        below = [row.time_s - row.lowest_s if row.n_runs > 1 else None for row in self.rows]
        return {"array": above, "arrayminus": below, "symmetric": False}

    def plot(self) -> Figure:
        """Time, speed-up and efficiency with its factors, over the number of ranks."""
        graph = import_optional("plotly.graph_objects", extra="study")
        subplots = import_optional("plotly.subplots", extra="study")
        figure = subplots.make_subplots(cols=3, subplot_titles=("time (s)", "speed-up", "efficiency and its factors"))
        ranks = [row.n_ranks for row in self.rows]
        times_s = [row.time_s for row in self.rows]
        spread = self._error_bars()
        figure.add_trace(graph.Scatter(x=ranks, y=times_s, error_y=spread, name="time"), row=1, col=1)
        figure.add_trace(graph.Scatter(x=ranks, y=self.speedups, name="speed-up"), row=1, col=2)
        ideal = [n / ranks[0] for n in ranks]
        figure.add_trace(graph.Scatter(x=ranks, y=ideal, name="ideal", line={"dash": "dot"}), row=1, col=2)
        figure.add_trace(graph.Scatter(x=ranks, y=self.efficiencies, name="efficiency"), row=1, col=3)
        for key, name in _FACTORS.items():
            values = [getattr(row, key) for row in self.rows]
            if any(value is not None for value in values):
                line = {"dash": "dash"}
                figure.add_trace(graph.Scatter(x=ranks, y=values, name=name, line=line), row=1, col=3)
        for col in (1, 2, 3) if self._shown_knee is not None else ():
            figure.add_vline(x=ranks[self.knee], line_dash="dot", row=1, col=col)
        figure.update_xaxes(type="log", title="ranks", tickvals=ranks)
        figure.update_yaxes(type="log", row=1, col=1)
        figure.update_yaxes(type="log", row=1, col=2)
        figure.update_yaxes(tickformat=".0%", rangemode="tozero", row=1, col=3)
        figure.update_layout(title=plotly_text(self.words()).replace("\n", "<br>"), margin={"t": 200})
        return figure


def _ranks(row: ScalingRow) -> str:
    return "1 rank" if row.n_ranks == 1 else f"{row.n_ranks:,} ranks"


def _on(row: ScalingRow) -> str:
    return f"on {_ranks(row)}"


def _overlap(one: ScalingRow, other: ScalingRow) -> bool:
    """Whether ranges of times of repeated runs overlap, and differ from single points."""
    is_known = one.n_runs > 1 and other.n_runs > 1 and (one.is_spread or other.is_spread)
    return is_known and max(one.lowest_s, other.lowest_s) <= min(one.highest_s, other.highest_s)


def _time(row: ScalingRow) -> str:
    return str(Estimate(row.time_s, row.half_width_s))


def _longer(row: ScalingRow, best: ScalingRow) -> str:
    """Words for the time of a row, and its multiple of the best time."""
    times = _ratio(row.time_s / best.time_s)
    return f"{_on(row)} it takes {format_time(row.time_s)}, {'' if times == '1' else f'{times} times '}as long"


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _without_nan(record: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in record.items()}


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
