"""Sensitivity of a run's makespan to parameters of its machine, one at a time and all together (Sobol).

With T the makespan at a parameter's low and high end, the others at their own values:

    elasticity   ln(T_high / T_low) / ln(high / low)

It is 1 where T is in proportion to the parameter, -1 where in inverse proportion, 0 where it does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis.replays import moves_memory
from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.errors import UsageError
from smpy.platforms.description import Description
from smpy.records.held_trace import HeldTrace
from smpy.records.text_table import text_table
from smpy.records.whole_runs import check_performed, check_whole
from smpy.study.linear_model import SAMPLES, LinearModel, check_factors, linear_model
from smpy.study.many_replays import Replays, makespans_s
from smpy.study.parameters import CPU, MEMORY_KEYS, Parameter, read_factors
from smpy.study.sobol import Index, sobol_indices, sobol_points
from smpy.study.tolerance import Tolerance, tolerance
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_NOTHING: Final = 5e-5  # share of the makespan: smaller changes are reported as none
_DIGITS: Final = 9  # effects that are equal to so many digits keep the order of their parameters
_FACTORS: Final = {"x2": "doubling it", "x0.5": "halving it"}


@dataclass(frozen=True, slots=True)
class ParameterEffect:
    """Effect of one parameter.

    Attributes
    ----------
    key, name : str
        Key of the parameter, and its name for people.
    low, high : str
        Its ends, as values for `--set`.
    low_s, high_s : float
        Makespan at each end.
    elasticity : float or None
        Elasticity, as defined in the module; None: an end or a makespan is 0.
    index : Index or None
        Its Sobol indices, if asked for.
    """

    key: str
    name: str
    low: str
    high: str
    low_s: float
    high_s: float
    elasticity: float | None
    index: Index | None

    def words(self, own_s: float) -> str:
        """Words for the effect: "the network's latency: doubling it costs 31 %"."""
        low, high = _change(self.low_s / own_s - 1), _change(self.high_s / own_s - 1)
        if low == high == _change(0.0):
            return f"{self.name}: from {self.low} to {self.high} it changes nothing"
        return f"{self.name}: {_FACTORS.get(self.low, self.low)} {low}, {_FACTORS.get(self.high, self.high)} {high}"


def _change(share: float) -> str:
    if abs(share) < _NOTHING:
        return "changes nothing"
    percent = abs(100 * share)
    return f"{'costs' if share > 0 else 'saves'} {percent:{'.0f' if percent >= 10 else '.2g'}} %"


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity(Result):
    """Sensitivity of a makespan to parameters.

    Attributes
    ----------
    makespan_s : float
        Makespan with every parameter at its own value.
    effects : sequence of ParameterEffect
        Effects, sorted by the difference of the makespans at both ends, the largest first.
    n_samples : int
        Number of samples of the Sobol indices; 0: there are no indices.
    is_logarithmic : bool
        Whether samples are spread by equal factors, rather than by equal differences.
    remarks : sequence of str
        Remarks for a reader.
    model : LinearModel or None
        Linear model of the makespan, if asked for.
    predicted : sequence of (str, float)
        Changes, and the makespan that the model predicts for them.
    tolerances : sequence of Tolerance
        Factors at which the run takes so much longer.
    """

    makespan_s: float
    effects: Sequence[ParameterEffect]
    n_samples: int
    is_logarithmic: bool
    remarks: Sequence[str]
    model: LinearModel | None = None
    predicted: Sequence[tuple[str, float]] = ()
    tolerances: Sequence[Tolerance] = ()

    def table(self) -> str:
        """Effects in words and as a table."""
        head = f"{format_time(self.makespan_s)} depend on"
        words = "\n".join(f"  {effect.words(self.makespan_s)}" for effect in self.effects)
        titles, rows = ["elasticity", "low", "makespan", "high", "makespan"], []
        if self.n_samples:
            titles += ["first", "total"]
        for effect in self.effects:
            elasticity = "" if effect.elasticity is None else f"{effect.elasticity + 0.0:.3f}"
            row = [elasticity, effect.low, format_time(effect.low_s), effect.high, format_time(effect.high_s)]
            if effect.index is not None:
                row += [_indexed(effect.index.first, effect.index.first_half_width)]
                row += [_indexed(effect.index.total, effect.index.total_half_width)]
            rows.append([*row, effect.key])
        parts = [f"{head}\n{words}", text_table([*titles, "parameter"], rows, n_words=1)]
        if self.n_samples:
            scale = "log-uniform" if self.is_logarithmic else "uniform"
            n = self.n_samples * (len(self.effects) + 2)
            parts.append(
                f"first, total: Sobol indices, shares of the variance that is due to a parameter alone and with others "
                f"(± 95 %);\n{scale} between low and high, {self.n_samples:,} samples, {n:,} replays."
            )
        if self.model is not None:
            parts.append(self.model.words())
        if self.predicted:
            parts.append("\n".join(f"{changes}: {format_time(makespan_s)}" for changes, makespan_s in self.predicted))
        if self.tolerances:
            parts.append("\n".join(each.words() for each in self.tolerances))
        return "\n\n".join([*parts, *self.remarks])

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict."""
        return {
            "makespan_s": self.makespan_s,
            "effects": [{**asdict(effect), "words": effect.words(self.makespan_s)} for effect in self.effects],
            "n_samples": self.n_samples,
            "is_logarithmic": self.is_logarithmic,
            "remarks": list(self.remarks),
            "model": None if self.model is None else self.model.to_record(),
            "predicted": [{"changes": changes, "makespan_s": makespan_s} for changes, makespan_s in self.predicted],
            "tolerances": [asdict(each) for each in self.tolerances],
        }

    def plot(self) -> Figure:
        """Bars from a run's own makespan to that at each end; the indices beside them."""
        graph = import_optional("plotly.graph_objects", extra="study")
        from plotly.subplots import make_subplots

        shown = self.effects[::-1]
        names = [plotly_text(each.name) for each in shown]
        titles = ("makespan at both ends (s)", "share of the variance")[: 2 if self.n_samples else 1]
        figure = make_subplots(cols=len(titles), shared_yaxes=True, subplot_titles=titles)
        for end, ends_s in (("low", [each.low_s for each in shown]), ("high", [each.high_s for each in shown])):
            bar = graph.Bar(
                x=[end_s - self.makespan_s for end_s in ends_s],
                base=[self.makespan_s] * len(shown),
                y=names,
                text=[plotly_text(getattr(each, end)) for each in shown],
                name=f"{end} end",
                orientation="h",
            )
            figure.add_trace(bar, row=1, col=1)
        figure.add_vline(x=self.makespan_s, row=1, col=1)
        for which in ("first", "total") if self.n_samples else ():
            indices = [each.index for each in shown if each.index is not None]
            bar = graph.Bar(
                x=[getattr(each, which) for each in indices],
                error_x={"array": [getattr(each, f"{which}_half_width") for each in indices]},
                y=names,
                name=which,
                orientation="h",
            )
            figure.add_trace(bar, row=1, col=2)
        figure.update_layout(title=f"What {format_time(self.makespan_s)} depend on", yaxis_automargin=True)
        return figure


def _indexed(share: float, half_width: float) -> str:
    return f"{share + 0.0:.3f} ± {half_width:.3f}"


def sensitivity(
    trace: str | Path,
    parameters: Sequence[Parameter],
    *,
    n_samples: int = 0,
    seed: int = 0,
    is_linear: bool = False,
    predicted: Sequence[str] = (),
    tolerances: Sequence[float] = (),
    platform: str | Path | Description | None = None,
    n_processes: int = 1,
    progress: Callable[[str], None] | None = None,
    **placement: Any,
) -> Sensitivity:
    """Find the parameters that the makespan of a traced run depends on, by replays.

    Parameters
    ----------
    trace : path
        Folder that `smpy run --trace` wrote.
    parameters : sequence of Parameter
        Parameters that are varied (`smpy.study.parameters.read_parameters`).
    n_samples : int
        A power of 2: find Sobol indices, too, from so many times (parameters + 2) replays. With `is_linear`, the number
        of replays of the model; 0: 48.
    seed : int
        Seed of the samples, and of `map_by="random"`.
    is_linear : bool
        Whether to fit a linear model (`smpy.study.linear_model`) in place of Sobol indices.
    predicted : sequence of str
        Changes, KEY=FACTOR,..., for which the model predicts the makespan.
    tolerances : sequence of float
        Shares: find the factor on each parameter at which the run takes so much longer.
    platform : str, path or Description, optional
        Another machine, as `smpy run` takes it; ranks are placed anew on it.
    n_processes : int
        Largest number of processes that work on the samples.
    progress : callable, optional
        Called now and then with a text on the progress.
    **placement
        Placement options of `smpy.replay.replay`.

    Raises
    ------
    UsageError
        If the trace cannot be replayed, or a parameter cannot have such values.
    SmpyError
        If the program cannot continue with one of these values.
    """
    held = HeldTrace(trace)
    check_whole(held, "be replayed")
    check_performed(held, "tell what its time depends on")
    keys = [parameter.key for parameter in parameters]
    points_of_model = [(text, read_factors(text, keys)) for text in predicted]
    if predicted and not is_linear:
        raise UsageError("a prediction is a model's: add --model linear")
    if tolerances:
        check_factors(parameters, "a tolerance")
    n_indexed = 0 if is_linear else n_samples
    shares = sobol_points(len(parameters), n_indexed, seed) if n_indexed else ()
    if placement.get("map_by") == "random":
        placement["seed"] = seed
    replays = Replays(held, platform, placement)
    own = replays.perform(())
    if own.makespan_s <= 0:
        raise UsageError(f"{trace}: its makespan is 0, which depends on nothing")
    ends = [((parameter.key, parameter.at(share)),) for parameter in parameters for share in (0.0, 1.0)]
    at_ends = []
    for end in ends:
        if progress is not None:
            progress("{}={}".format(*end[0]))
        at_ends.append(replays.perform(end))
    ends_s = [replayed.makespan_s for replayed in at_ends]
    indices: list[Index | None] = [None] * len(parameters)
    if n_indexed:
        points = [
            tuple((parameter.key, parameter.at(float(share))) for parameter, share in zip(parameters, row, strict=True))
            for row in shares
        ]
        indices = [*sobol_indices(makespans_s(replays, points, n_processes, progress), len(parameters), seed)]
    effects = [
        _effect(parameter, low_s, high_s, index)
        for parameter, low_s, high_s, index in zip(parameters, ends_s[::2], ends_s[1::2], indices, strict=True)
    ]
    effects.sort(key=lambda effect: -round(abs(effect.high_s - effect.low_s) / own.makespan_s, _DIGITS))
    remarks = []
    if own.depends_on_time:
        remarks.append(
            "The program received from any source, polled, or waited for any of several: replays repeat its choices; "
            "on other machines it may act differently."
        )
    if any(replayed.n_left_alone for replayed in at_ends):
        remarks.append(
            "Sends that were complete at once in the run are not on some of these machines, and nobody waits for them: "
            "run the program there."
        )
    varied = {parameter.key for parameter in parameters}
    if CPU in varied and not varied.intersection(MEMORY_KEYS) and moves_memory(held):
        remarks.append(
            f"Memory bounds computing, and faster cores do not speed it up: vary {' and '.join(MEMORY_KEYS)}, too."
        )
    is_logarithmic = any(parameter.range.is_logarithmic for parameter in parameters)
    model = None
    if is_linear:
        model = linear_model(
            replays, parameters, n_samples=n_samples or SAMPLES, seed=seed, n_processes=n_processes, progress=progress
        )
    return Sensitivity(
        makespan_s=own.makespan_s,
        effects=effects,
        n_samples=n_indexed,
        is_logarithmic=is_logarithmic,
        remarks=remarks,
        model=model,
        predicted=[(text, model.makespan_s(factors)) for text, factors in points_of_model] if model else [],
        tolerances=[
            tolerance(replays, parameter, share, own.makespan_s) for parameter in parameters for share in tolerances
        ],
    )


def _effect(parameter: Parameter, low_s: float, high_s: float, index: Index | None) -> ParameterEffect:
    ends = parameter.range
    elasticity = (
        log(high_s / low_s) / log(ends.last / ends.first) if ends.first > 0 and min(low_s, high_s) > 0 else None
    )
    return ParameterEffect(
        key=parameter.key,
        name=parameter.name,
        low=parameter.at(0.0),
        high=parameter.at(1.0),
        low_s=low_s,
        high_s=high_s,
        elasticity=elasticity,
        index=index,
    )
