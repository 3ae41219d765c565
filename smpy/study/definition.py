"""Definition of a study, from a TOML file or a mapping: program, axes, repetitions and the files to keep."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final, Literal

from smpy.arguments import BYTES_MAX, seconds, whole_number
from smpy.errors import UsageError, meant
from smpy.input_files import read_text
from smpy.platforms.models.prices import NO_PRICES, Prices
from smpy.study.axes import DRAWN, WAYS, Axis, Combination, Settings, Value, combinations, flat_settings, read_axis
from smpy.study.programs import StudyProgram, WeightKind, read_program, read_programs

GROUPS: Final = ("args", "set", "algorithm")
"""Groups of settings with a dot: an argument of the program, a key of the machine, a collective."""

KEPT: Final = ("summary", "profile", "trace", "lost")
_KEYS: Final = (
    "name", "program", "module", "args", "programs", "options", "axes", "combine", "n_points", "points", "draw_seed",
    "repetitions", "keep", "limits", "results", "inputs", "environment", "prices", "priced_by",
)  # fmt: skip
_LIMITS: Final = ("time", "memory")
PricedBy = Literal["machine", "hosts"]
_PRICED_BY: Final[tuple[PricedBy, ...]] = ("machine", "hosts")
PROGRAM: Final = "program"
"""Column of the table with the program's name, of a study that has several."""
_NAME: Final = re.compile(r"[^/\0]{1,200}")

# columns of the table that are not axes: no axis may have one of these names
_TAKEN: Final = (
    "point", "repetition", "error", "makespan_s", "half_width_s", "messages", "bytes", "compute_share",
    "communication_share", "waiting_share", "sleep_share", "hosts", "used_hosts", "switches", "cables", "price_eur",
    "energy_kwh", "energy_eur", "edp", "run_eur", "wall_s", "peak_rss_bytes", "is_reused", "is_stale", "profile",
    "trace", "lost", PROGRAM,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    """A study as its author defines it.

    Attributes
    ----------
    name : str
        Its name.
    folder : str
        Folder its points run in: files that it names are relative to it.
    programs : tuple of StudyProgram
        Its programs; only one of several has a name.
    options : mapping
        Options of `smpy run` at every point, as `smpy.simulate` takes them, above which a program's own stand.
    axes : tuple of Axis
        Axes that are varied; none if the points are listed.
    combine : str
        Way to combine axes (`smpy.study.axes.combinations`), or "list".
    n_points, draw_seed : int
        Number of drawn points, and the seed of the draws.
    points : tuple of Settings
        Settings of listed points.
    repetitions : int
        Number of runs of each point, each with another seed.
    keep : frozenset of str
        Files to keep of each point beside its row: "profile", "trace", "lost".
    limit_s : float or None
        Real time that a point may take.
    limit_bytes : int or None
        Memory that a point may hold.
    results : mapping of str to str
        Columns that are taken from what the program prints: regular expressions with one group.
    inputs : tuple of str
        Files that points read in ways that cannot be seen (HDF5, a child process): when one changes, points run again.
    environment : tuple of str
        Names of environment variables that points read in ways that cannot be seen (an installed package, C code):
        every worker gets them, and points run again when one changes.
    prices : Prices
        Prices and power of the machines' parts that have none of their own.
    weight_kind : str or None
        Kind of the programs' weights; None: the study has one program, without a name.
    priced_by : {"machine", "hosts"}
        Part of the machine that a run pays for: all of it, or the hosts of its ranks with their share of the network.
    """

    name: str
    folder: str
    programs: tuple[StudyProgram, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    combine: str = "grid"
    n_points: int = 0
    draw_seed: int = 0
    points: tuple[Settings, ...] = ()
    repetitions: int = 1
    keep: frozenset[str] = frozenset()
    limit_s: float | None = None
    limit_bytes: int | None = None
    results: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    prices: Prices = NO_PRICES
    weight_kind: WeightKind | None = None
    priced_by: PricedBy = "machine"

    @property
    def setting_names(self) -> tuple[str, ...]:
        """Columns of the table with the varied settings of each program."""
        if self.combine == "list":
            return tuple(dict.fromkeys(key for point in self.points for key in point))
        return tuple(axis.name for axis in self.axes)

    @property
    def axis_names(self) -> tuple[str, ...]:
        """Columns of the table that vary."""
        return self.setting_names if self.weight_kind is None else (PROGRAM, *self.setting_names)

    @property
    def input_paths(self) -> set[str]:
        """Full paths of its inputs."""
        return {os.path.abspath(os.path.join(self.folder, path)) for path in self.inputs}

    def combinations(self) -> list[Combination]:
        """Combinations of its axes, each once; an option missing from a listed point takes the study's value, else "".

        Raises
        ------
        UsageError
            If its axes do not fit together.
        """
        if self.combine == "list":
            of_all = {name: self.options.get(name.replace("-", "_"), "") for name in self.setting_names}
            each = [Combination(tuple({**of_all, **point}.values()), point) for point in self.points]
        else:
            each = combinations(self.axes, self.combine, self.n_points, self.draw_seed)
        return list({repr(combination.values): combination for combination in each}.values())


def read_definition(path: str | os.PathLike[str]) -> tuple[Definition, Mapping[str, Any]]:
    """A study from its TOML file, and the content of the file.

    Raises
    ------
    UsageError
        If the file cannot be read, or has a key or a value that no study has.
    """
    import tomllib

    path = Path(path)
    try:
        table = tomllib.loads(read_text(path, "study"))
    except OSError as error:
        raise UsageError(f"cannot read the study {path}: {error.strerror or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    try:
        content = {"name": path.stem, **table}
        return definition_of(content, path.parent), content
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def definition_of(table: Mapping[str, Any], folder: str | Path = ".") -> Definition:
    """A study from the content of its file.

    Parameters
    ----------
    table : mapping
        The keys of a study's file.
    folder : str or path
        Folder that its file names are relative to.

    Raises
    ------
    UsageError
        If it has a key or a value that no study has.
    """
    for key in table:
        if key not in _KEYS:
            raise UsageError(f"a study has no {key!r}{meant(key, _KEYS)}")
    read = _TableReader(table)
    programs, weight_kind = _programs(table)
    combine = read.text("combine") or ("list" if "points" in table else "grid")
    if combine not in WAYS:
        raise UsageError(f"combine = {combine!r} is none of {', '.join(WAYS)}{meant(combine, WAYS)}")
    _check_way(combine, table)
    limits = read.table("limits")
    for key in limits:
        if key not in _LIMITS:
            raise UsageError(f"limits has no {key!r}{meant(key, _LIMITS)}")
    definition = Definition(
        name=_name(read.text("name") or Path(programs[0].program).stem),
        folder=os.path.abspath(folder),
        programs=programs,
        options=_options(read.table("options")),
        axes=tuple(
            read_axis(name, content, is_drawn=combine in DRAWN) for name, content in _axes(read.table("axes")).items()
        ),
        combine=combine,
        n_points=read.count("n_points", 0),
        draw_seed=read.count("draw_seed", 0),
        points=tuple(flat_settings(f"point {i}", point) for i, point in enumerate(read.list("points"))),
        repetitions=read.count("repetitions", 1),
        keep=_kept(read.texts("keep")),
        limit_s=_limit_s(limits.get("time")),
        limit_bytes=_limit_bytes(limits.get("memory")),
        results=_results(read.table("results")),
        inputs=read.texts("inputs"),
        environment=_variables(read.texts("environment")),
        prices=_prices(read.prices(), folder),
        weight_kind=weight_kind,
        priced_by=_priced_by(read.text("priced_by")),
    )
    _check_names(definition)
    return definition


def _programs(table: Mapping[str, Any]) -> tuple[tuple[StudyProgram, ...], WeightKind | None]:
    """Programs of a study; its only one has the options of all points, and no weight."""
    if "programs" not in table:
        return (read_program({key: value for key, value in table.items() if key != "options"}),), None
    for key in ("program", "module", "args"):
        if key in table:
            raise UsageError(f"a study with [programs] has no {key!r} of its own: each program has one")
    return read_programs(table["programs"])


def _priced_by(word: str | None) -> PricedBy:
    for kind in _PRICED_BY:
        if word in (kind, None):
            return kind
    raise UsageError(f"priced_by = {word!r} is none of {', '.join(_PRICED_BY)}{meant(word or '', _PRICED_BY)}")


def _check_way(combine: str, table: Mapping[str, Any]) -> None:
    if combine == "list" and ("axes" in table or not table.get("points")):
        raise UsageError('combine = "list" takes the points from [[points]], at least one, and has no [axes]')
    if combine != "list" and "points" in table:
        raise UsageError(f'[[points]] are listed: combine = "list", and not {combine!r}')
    if ("n_points" in table) != (combine in DRAWN):
        raise UsageError(f"n_points goes with combine = {' or '.join(map(repr, DRAWN))}, and with them alone")


def _check_names(definition: Definition) -> None:
    if definition.repetitions < 1:
        raise UsageError("repetitions = 0: run each point at least once")
    for name in definition.setting_names:
        if name in _TAKEN:
            raise UsageError(f"{name!r} is a column of every study's table: call the axis otherwise")
    for name in definition.results:
        if name in _TAKEN or name in definition.axis_names or name == "ranks":
            raise UsageError(f"result {name!r}: the table has such a column already: call it otherwise")
    if definition.repetitions > 1 and "seed" in definition.axis_names:
        raise UsageError("repetitions differ by their seed, and here the seed is an axis: leave one of them out")


def _axes(table: Mapping[str, Any]) -> dict[str, Any]:
    """Axes by name; keys with dots may be written as nested tables."""
    flat: dict[str, Any] = {}

    def add(name: str, value: Any) -> None:
        if (
            name.partition(".")[0] in ("args", "set", "algorithm")
            and isinstance(value, Mapping)
            and "from" not in value
        ):
            for key, inner in value.items():
                add(f"{name}.{key}", inner)
        else:
            flat[name] = value

    for name, value in table.items():
        add(name, value)
    return flat


def _name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise UsageError(f"a study cannot be called {name!r}: a folder is named after it")
    return name


def _options(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in table.items()}


def _kept(names: tuple[str, ...]) -> frozenset[str]:
    for what in names:
        if what not in KEPT:
            raise UsageError(f"keep: {what!r} is none of {', '.join(KEPT)}{meant(what, KEPT)}")
    return frozenset(names) - {"summary"}


def _variables(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not name or "=" in name or "\0" in name:
            raise UsageError(f"environment: {name!r} is no name of a variable; its value is taken from the shell")
    return names


def _prices(prices: str | Mapping[str, Any], folder: str | Path) -> Prices:
    """Prices from a file, a preset or the table itself."""
    if not prices:
        return NO_PRICES
    from smpy.platforms.own_format.prices import read_price_list
    from smpy.platforms.presets import preset_file

    is_file = isinstance(prices, str) and preset_file(prices) is None
    return read_price_list(Path(folder, str(prices)) if is_file else prices)


def _limit_s(limit: Any) -> float | None:
    from smpy.units import parse_time_s

    return None if limit is None else seconds("limits.time", _parsed(limit, parse_time_s))


def _limit_bytes(limit: Any) -> int | None:
    from smpy.units import parse_size_bytes

    if limit is None:
        return None
    size = _parsed(limit, parse_size_bytes)
    is_whole = isinstance(limit, str) or (isinstance(limit, float) and limit.is_integer())
    return whole_number("limits.memory", int(size) if is_whole and isfinite(size) else size, BYTES_MAX)


def _parsed(value: Any, parse: Callable[[str], float]) -> Any:
    """A limit as a number; parses text with a unit."""
    try:
        return parse(value) if isinstance(value, str) else value
    except ValueError as error:
        raise UsageError(f"limits: {error}") from None


def _results(patterns: Mapping[str, Any]) -> dict[str, str]:
    for name, pattern in patterns.items():
        try:
            n_groups = re.compile(pattern).groups if isinstance(pattern, str) else 0
        except re.error as error:
            raise UsageError(f"result {name!r}: {pattern!r} is no regular expression: {error}") from None
        if n_groups != 1:
            raise UsageError(f"result {name!r}: {pattern!r} is not a regular expression with one group, the number")
    return dict(patterns)


class _TableReader:
    """Reads keys of a table, and checks the type of each value."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table

    def _get(self, key: str, kinds: tuple[type, ...], what: str, default: Any) -> Any:
        value = self._table.get(key, default)
        if value is not default and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise UsageError(f"{key} = {value!r} is not {what}")
        return value

    def text(self, key: str) -> str | None:
        text = self._get(key, (str, os.PathLike), "a text", None)
        return None if text is None else os.fspath(text)

    def texts(self, key: str) -> tuple[str, ...]:
        texts: list[Value] = self.list(key)
        for value in texts:
            if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
                raise UsageError(f"{key}: {value!r} is not a text")
        return tuple(map(str, texts))

    def list(self, key: str) -> Any:
        return self._get(key, (list, tuple), "a list", [])

    def table(self, key: str) -> Mapping[str, Any]:
        table: Mapping[str, Any] = self._get(key, (Mapping,), "a table", {})
        return table

    def prices(self) -> str | Mapping[str, Any]:
        prices: str | Mapping[str, Any] = self._get("prices", (str, Mapping), "a file, a preset or a table", {})
        return prices

    def count(self, key: str, default: int) -> int:
        count: int = self._get(key, (int,), "a whole number", default)
        if count < 0:
            raise UsageError(f"{key} = {count}: a number below 0")
        return count
