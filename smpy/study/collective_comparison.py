"""Comparison of the algorithms of a collective: times on a machine, the best, and the loss of each table's choice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpy.analysis.result import Result, import_optional, plotly_text
from smpy.arguments import RANKS_MAX, several, text, whole_number, word
from smpy.collectives.choice import selection_of
from smpy.collectives.register import algorithms_of
from smpy.collectives.selection import Selection
from smpy.errors import ArgumentTypeError, UsageError, meant
from smpy.options import OPTIONS
from smpy.platforms.description import Description
from smpy.platforms.machine import changed, read_machine
from smpy.platforms.models.collective_tables import with_table
from smpy.records.text_table import text_table
from smpy.replay.collective_times import COMPARED, CallTimes
from smpy.runs.run_text import option_value
from smpy.study.best_choices import best_rows, is_as_quick, loss
from smpy.study.message_sizes import read_sizes, size_text
from smpy.units import format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_DEFAULT_BYTES: Final = "8:1MiB"
_COLUMNS_MAX: Final = 8  # sizes beside one another
_PLACEMENT: Final = ("hostfile", "ranks_per_host", "map_by", "host_order", "seed")
_OF_MESSAGE: Final = ("bcast", "reduce", "allreduce", "scan", "exscan")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CollectiveComparison(Result):
    """Times of the algorithms of a collective.

    Attributes
    ----------
    operation, platform : str
        The operation, and the machine's name.
    ranks, sizes_bytes : tuple of int
        Numbers of ranks, and sizes: of the message of bcast, reduce, allreduce, scan and exscan; of a rank's block of
        the other operations. A barrier has the one size 0.
    times_s : mapping of str to sequence of sequences of float
        By algorithm, a sequence for each number of ranks with the time at each size, in seconds; infinite where it
        does not work.
    refusals : mapping of str to str
        Why an algorithm does not work for some of the numbers of ranks.
    choices : mapping of str to sequence of sequences of str
        By table, the algorithms that it chooses, likewise.
    choice_times_s : mapping of str to sequence of sequences of float
        By table, the times of its choices. If an algorithm leaves parts to a table, this table chooses them.
    works : callable
        Whether an algorithm works for another number of ranks.
    """

    operation: str
    platform: str
    ranks: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    times_s: Mapping[str, Sequence[Sequence[float]]]
    refusals: Mapping[str, str]
    choices: Mapping[str, Sequence[Sequence[str]]]
    choice_times_s: Mapping[str, Sequence[Sequence[float]]]
    works: Callable[[str, int], bool]

    def __repr__(self) -> str:
        return self.table()

    def best(self, rank_index: int, size_index: int) -> str:
        """Algorithm of least time for a number of ranks and a size, given by index; the first of equal ones."""
        least_s = self._least_s(rank_index, size_index)
        return next(
            name for name, table_s in self.times_s.items() if is_as_quick(table_s[rank_index][size_index], least_s)
        )

    def loss(self, algorithm: str, rank_index: int, size_index: int) -> float:
        """Part by which an algorithm takes longer than the best: 0.25 is 25 %.

        It is infinite where the algorithm does not work, or takes time and the best takes none.
        """
        return loss(self.times_s[algorithm][rank_index][size_index], self._least_s(rank_index, size_index))

    def loss_of_table(self, table: str, rank_index: int, size_index: int) -> float:
        """Part by which a table's choice takes longer than the best, as in `loss`."""
        return loss(self.choice_times_s[table][rank_index][size_index], self._least_s(rank_index, size_index))

    def _least_s(self, rank_index: int, size_index: int) -> float:
        return min(table_s[rank_index][size_index] for table_s in self.times_s.values())

    # ---- text ----

    def table(self) -> str:
        """Tables for each number of ranks: the time of every algorithm, and each table's choice beside the best."""
        what = "the message" if self.operation in _OF_MESSAGE else "a rank's block"
        sizes = "" if self.operation == "barrier" else f", by bytes of {what}"
        parts = [f"smpy: {self.operation} on {self.platform}: time until the last rank has left{sizes}"]
        for i, n_ranks in enumerate(self.ranks):
            for first in range(0, len(self.sizes_bytes), _COLUMNS_MAX):
                columns = range(first, min(first + _COLUMNS_MAX, len(self.sizes_bytes)))
                parts.append(self._times_text(i, n_ranks, columns))
            parts.append(self._choices_text(i))
        if self.refusals:
            parts.append("\n".join(f"  {name}: {why}" for name, why in self.refusals.items()))
        return "\n\n".join(parts)

    def _times_text(self, i: int, n_ranks: int, columns: range) -> str:
        names = sorted(self.times_s, key=lambda name: self._order(name, i, columns))
        rows = [[name, *(_time(self.times_s[name][i][j]) for j in columns)] for name in names]
        head = [f"{n_ranks:,} ranks", *(self._size(j) for j in columns)]
        return text_table(head, rows)

    def _order(self, name: str, i: int, columns: range) -> tuple[float, float]:
        """Sort key of an algorithm: the sum of its losses, except those over a best time of 0, and of its times."""
        times_s = [self.times_s[name][i][j] for j in columns]
        losses = [self.loss(name, i, j) for j in columns]
        parts = [loss for loss, time_s in zip(losses, times_s, strict=True) if loss < inf or time_s == inf]
        return sum(parts), sum(times_s)

    def _choices_text(self, i: int) -> str:
        rows = []
        for j in range(len(self.sizes_bytes)):
            best = self.best(i, j)
            chosen = [self._chosen(table, i, j) for table in self.choices]
            rows.append([self._size(j), _time(self.times_s[best][i][j]), best, *chosen])
        first = 1 if self.operation == "barrier" else 0
        head = ["bytes", "time", "best", *self.choices]
        return text_table(head[first:], [row[first:] for row in rows], n_words=1 + len(self.choices))

    def _chosen(self, table: str, i: int, j: int) -> str:
        loss, time_s = self.loss_of_table(table, i, j), self.choice_times_s[table][i][j]
        more = f"{100 * loss:+.3g} %" if loss < inf else "does not work" if time_s == inf else f"+{format_time(time_s)}"
        return f"{self.choices[table][i][j]} {more}"

    def _size(self, j: int) -> str:
        return "time" if self.operation == "barrier" else size_text(self.sizes_bytes[j])

    # ---- records ----

    def to_record(self) -> dict[str, Any]:
        """JSON-serialisable dict: times in seconds, null where an algorithm does not work; losses as parts."""
        places = [(i, j) for i in range(len(self.ranks)) for j in range(len(self.sizes_bytes))]

        def rows(value: Callable[[int, int], object]) -> list[list[object]]:
            values = iter([value(i, j) for i, j in places])
            return [[next(values) for _ in self.sizes_bytes] for _ in self.ranks]

        return {
            "operation": self.operation,
            "platform": self.platform,
            "ranks": list(self.ranks),
            "sizes_bytes": list(self.sizes_bytes),
            "times_s": {
                name: rows(lambda i, j, row=row: _finite(row[i][j]))  # type: ignore[misc]
                for name, row in self.times_s.items()
            },
            "refusals": dict(self.refusals),
            "best": rows(self.best),
            "tables": {
                table: {
                    "chosen": [list(row) for row in chosen],
                    "times_s": [[_finite(time_s) for time_s in row] for row in self.choice_times_s[table]],
                    "loss": rows(lambda i, j, table=table: _finite(self.loss_of_table(table, i, j))),  # type: ignore[misc]
                }
                for table, chosen in self.choices.items()
            },
        }

    def plot(self) -> Figure:
        """Time over bytes, or over ranks for a single size: one line per algorithm, one mark per table's choice."""
        graph = import_optional("plotly.graph_objects", extra="study")
        subplots = import_optional("plotly.subplots", extra="study")
        colours = import_optional("plotly.colors", extra="study").qualitative.Dark24
        over_ranks = len(self.sizes_bytes) == 1
        panels = [slice(None)] if over_ranks else list(range(len(self.ranks)))
        titles = None if over_ranks else [f"{n_ranks:,} ranks" for n_ranks in self.ranks]
        figure = subplots.make_subplots(rows=len(panels), subplot_titles=titles, shared_xaxes=True)
        for panel in range(len(panels)):
            places = [(i, 0) for i in range(len(self.ranks))] if over_ranks else [
                (panel, j) for j in range(len(self.sizes_bytes))
            ]  # fmt: skip
            x = [self.ranks[i] if over_ranks else self.sizes_bytes[j] for i, j in places]
            for number, (name, table_s) in enumerate(self.times_s.items()):
                y = [_finite(table_s[i][j]) for i, j in places]
                line = {"color": colours[number % len(colours)]}
                trace = graph.Scatter(
                    x=x, y=y, name=plotly_text(name), line=line, legendgroup=name, showlegend=not panel
                )
                figure.add_trace(trace, row=panel + 1, col=1)
            for number, (table, chosen) in enumerate(self.choices.items()):
                marks = {"symbol": 100 + number, "size": 11, "color": "black"}  # hollow symbols
                y = [_finite(self.choice_times_s[table][i][j]) for i, j in places]
                texts = [plotly_text(chosen[i][j]) for i, j in places]
                trace = graph.Scatter(
                    x=x, y=y, text=texts, mode="markers", marker=marks, name=plotly_text(f"choice of {table}"),
                    legendgroup=f"table {table}", showlegend=not panel,
                )  # fmt: skip
                figure.add_trace(trace, row=panel + 1, col=1)
        figure.update_xaxes(type="log", title="ranks" if over_ranks else "bytes")
        figure.update_yaxes(type="log", title="time (s)")
        figure.update_layout(title=plotly_text(f"{self.operation} on {self.platform}"), height=200 + 400 * len(panels))
        return figure

    # ---- a table of the best ----

    def best_table(self) -> dict[str, Any]:
        """The table that chooses the best, as `--collectives` takes it from a JSON file.

        See `smpy.study.best_choices.best_rows`.
        """
        source = f"the best of {len(self.times_s)} algorithms on {self.platform}, by smpy coll compare"
        rows = best_rows(self.operation, self.ranks, self.sizes_bytes, self.times_s, self.works)
        return {"source": source, self.operation: rows}

    def write_best_table(self, path: str | Path) -> None:
        """Write `best_table` to a file.

        Raises
        ------
        UsageError
            If it cannot be written.
        """
        from smpy.records.files import write_whole

        source, rows = self.best_table().values()
        lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)
        text = f'{{\n  "source": {json.dumps(source)},\n  {json.dumps(self.operation)}: [\n{lines}\n  ]\n}}\n'
        write_whole(Path(path), text)


def compare_collective(
    operation: str,
    ranks: int | Iterable[int],
    sizes: int | str | Iterable[int | str] = _DEFAULT_BYTES,
    *,
    platform: str | Path | Description | None = None,
    tables: str | Path | Iterable[str | Path] | None = None,
    options: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    network: str | None = None,
    **placement: Any,
) -> CollectiveComparison:
    """Time every algorithm of a collective on a machine, and compare the choices of tables.

    All ranks enter the call at once, and nothing else is under way. SMPI's search for hosts has been made before. The
    root is rank 0, operations of reductions are commutative, blocks of operations such as alltoallv are equal.

    Parameters
    ----------
    operation : str
        A blocking collective, such as "alltoall".
    ranks : int or iterable of int
        Numbers of ranks.
    sizes : int, str, or iterable of int or str
        Bytes of the message, or of a rank's block: "8:1MiB" is 8, 16, 32, ... up to 1 MiB; "8,1KiB" is two sizes. A
        barrier has none.
    platform : str, path or Description, optional
        The machine, as `smpy run` takes it; by default, the default cluster, sized to the ranks.
    tables : str, path, or iterable of them, optional
        Names or files of tables whose choices are compared; by default, the machine's own.
    options : mapping of str to str, or iterable of (str, str), optional
        Changes of the machine, as `--set` takes them.
    network : str, optional
        Name of a network model in place of the machine's own, as `--network` takes it.
    **placement
        `hostfile`, `ranks_per_host`, `map_by`, `host_order` and `seed`, as `smpy.platforms.place` takes them.

    Raises
    ------
    UsageError
        If there is no such operation, machine or table, or the ranks have no place.
    ArgumentTypeError, ArgumentValueError
        If an argument has another type, or a value that it does not take.

    Examples
    --------
    >>> found = compare_collective("alltoall", 16, [8, 100_000], platform="flat hosts=16 cores=1")
    >>> found.sizes_bytes, found.loss(found.best(0, 1), 0, 1)
    ((8, 100000), 0.0)
    """
    if text("operation", operation) not in COMPARED:
        known = ", ".join(COMPARED)
        advice = meant(operation, COMPARED)
        raise UsageError(f"no algorithms to compare for {operation!r}: there are for {known}{advice}")
    all_ranks = tuple(sorted({whole_number("ranks", n, RANKS_MAX) for n in several(ranks)}))
    sizes_bytes = read_sizes(sizes)
    if operation == "barrier":
        if sizes != _DEFAULT_BYTES and sizes_bytes != (0,):
            raise UsageError("sizes: a barrier has no bytes: leave them out")
        sizes_bytes = (0,)
    if not all_ranks or not sizes_bytes:
        raise UsageError("ranks and sizes: say at least one of each")
    if all_ranks[0] == 1:
        raise UsageError("ranks: one rank alone sends no messages: say 2 or more")
    names, settings, placed = list(algorithms_of(operation)), _changes(options), _placement(placement)
    named = None if tables is None else list(dict.fromkeys(str(word("tables", table)) for table in several(tables)))
    if platform is not None and not isinstance(platform, Description):
        platform = word("platform", platform)
    if network is not None:
        network = text("network", network)
    worlds = [_world(platform, n, settings, network, named, placed) for n in all_ranks]
    times_s: dict[str, list[list[float]]] = {name: [] for name in names}
    refusals: dict[str, str] = {}
    choices: dict[str, list[list[str]]] = {table: [] for table in worlds[0][1]}
    choice_times_s: dict[str, list[list[float]]] = {table: [] for table in worlds[0][1]}
    for calls, selections in worlds:
        for name in names:
            times_s[name].append(
                _times_s(calls, _forced(calls.machine, operation, name), operation, sizes_bytes, refusals)
            )
        for table, selection in selections.items():
            choices[table].append([calls.chosen(selection, operation, nbytes) for nbytes in sizes_bytes])
            choice_times_s[table].append([_time_s(calls, selection, operation, nbytes) for nbytes in sizes_bytes])
    machine = worlds[-1][0].machine

    def works(name: str, n_ranks: int) -> bool:
        calls = CallTimes(machine, [0] * n_ranks)
        return calls.works(_forced(machine, operation, name), operation, sizes_bytes[0])

    times = (times_s, refusals, choices, choice_times_s)
    return CollectiveComparison(operation, machine.name, all_ranks, sizes_bytes, *times, works)


def _changes(options: Mapping[str, str] | Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    pairs = several(options.items() if isinstance(options, Mapping) else options)
    if not all(isinstance(pair, (tuple, list)) and [*map(type, pair)] == [str, str] for pair in pairs):
        raise ArgumentTypeError(f"options={options!r}: say keys and values, such as {{'host.cores': '8'}}")
    return tuple((key, value) for key, value in pairs)


def _placement(placement: Mapping[str, Any]) -> dict[str, Any]:
    for key in placement:
        if key not in _PLACEMENT:
            raise UsageError(f"there is no option {key!r}: there are {', '.join(_PLACEMENT)}{meant(key, _PLACEMENT)}")
    options = {key: value for key, value in placement.items() if value is not None}
    return {key: option_value(OPTIONS[key], value) for key, value in options.items()}


def _world(
    platform: str | Path | Description | None,
    n_ranks: int,
    options: Sequence[tuple[str, str]],
    network: str | None,
    tables: Sequence[str] | None,
    placement: Mapping[str, Any],
) -> tuple[CallTimes, dict[str, Selection]]:
    """Times of calls on a number of ranks, and each table's selection of algorithms."""
    if isinstance(platform, Description):
        machine = changed(platform, options, network=network)
    else:
        per_host = placement.get("ranks_per_host", 0)
        what = "default" if platform is None else platform
        machine = read_machine(what, n_ranks, options, ranks_per_host=per_host, network=network)
    own = machine.models.collectives
    named = [own.file or own.table] if tables is None else tables
    selections = {table: selection_of(replace(with_table(own, table), algorithms=())) for table in named}
    return CallTimes.on(machine, n_ranks, **placement), selections


def _forced(machine: Description, operation: str, name: str) -> Selection:
    """The machine's selection with an algorithm forced: its table chooses parts of it."""
    own = selection_of(machine.models.collectives)
    return own._replace(forced={**own.forced, operation: name})


def _times_s(
    calls: CallTimes, selection: Selection, operation: str, sizes_bytes: Sequence[int], refusals: dict[str, str]
) -> list[float]:
    try:
        return [calls.time_s(selection, operation, nbytes) for nbytes in sizes_bytes]
    except UsageError as refusal:
        refusals[selection.forced[operation]] = str(refusal)
        return [inf] * len(sizes_bytes)


def _time_s(calls: CallTimes, selection: Selection, operation: str, nbytes: int) -> float:
    try:
        return calls.time_s(selection, operation, nbytes)
    except UsageError:
        return inf


def _time(time_s: float) -> str:
    return format_time(time_s) if time_s < inf else "-"


def _finite(value: float) -> float | None:
    return value if value < inf else None
