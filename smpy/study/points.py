"""Points of a study: a run for each combination and each repetition."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from smpy.errors import UsageError, meant
from smpy.options import RunConfig
from smpy.runs.run_text import check_keywords, options_of, run_config, to_json
from smpy.study.axes import Combination, Settings, Value
from smpy.study.definition import GROUPS, Definition
from smpy.study.machines import MachineReader
from smpy.study.programs import StudyProgram

_PLACE: Final = re.compile(r"\{([^{}\s]+)\}")
ALL: Final = "all"
"""Number of ranks that gives each core of the machine one, or each host as many as `ppn` says."""

_OWN: Final = ("json", "trace", "quiet", "profile", "output_dir", "pdb", "pdb_rank")  # a study sets these itself


@dataclass(frozen=True, slots=True)
class Point:
    """A run of a study.

    Attributes
    ----------
    number : int
        Its row in the table, from 0.
    values : tuple of Value
        Values of the axes.
    repetition : int
        Number of the repetition, from 0.
    run : RunConfig
        Its run.
    text : str
        The run in JSON.
    key : str
        Hash of `text` and of the repetition: equal runs have equal keys, also in different studies.
    """

    number: int
    values: tuple[Value, ...]
    repetition: int
    run: RunConfig
    text: str
    key: str

    @property
    def ranks(self) -> int:
        """Number of ranks of its world."""
        return self.run.n_ranks


def points_of(definition: Definition, combinations: Sequence[Combination] | None = None) -> list[Point]:
    """All points of a study, in the order of its table.

    Parameters
    ----------
    definition : Definition
        The study.
    combinations : sequence of Combination, optional
        Combinations of values; by default, those of its axes.

    Raises
    ------
    UsageError
        If a setting makes no sense.
    """
    points: list[Point] = []
    machines = MachineReader(definition.folder)
    n_repetitions = definition.repetitions  # measured runs of equal options may differ: each has a key
    listed = definition.combinations() if combinations is None else combinations
    for program, combination, repetition in product(definition.programs, listed, range(n_repetitions)):
        name = () if definition.weight_kind is None else (program.name,)
        options, args = _run(definition, program, combination.settings, repetition)
        try:
            if options["ranks"] == ALL:
                options["ranks"] = machines.ranks_of_all_cores(options)
            run = run_config(program.program, args, options)
        except UsageError as error:
            raise UsageError(f"point {len(points)}: {error}") from None
        text = to_json(run)
        content = json.dumps([text, repetition if n_repetitions > 1 else 0])
        key = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        points.append(Point(len(points), (*name, *combination.values), repetition, run, text, key))
    return points


def _run(
    definition: Definition, program: StudyProgram, settings: Settings, repetition: int
) -> tuple[dict[str, Any], list[str]]:
    options = _options(definition, program)
    arguments: dict[str, Value] = {}
    for key, value in settings.items():
        group, dot, name = key.partition(".")
        if not dot:
            options[key.replace("-", "_")] = value
        elif group == "args":
            arguments[name] = value
        elif group in GROUPS:
            options[group] = _mapping(group, options.get(group)) | {name: value}
        else:
            raise UsageError(
                f"{key!r} is no setting: args.NAME, set.KEY and algorithm.COLLECTIVE have a dot{meant(group, GROUPS)}"
            )
    for own in _OWN:
        if own in options:
            raise UsageError(f"{own!r} is not for a point: `keep` says what a study keeps")
    if str(options.get("compute", "")).startswith("record:"):
        raise UsageError('compute = "record:FILE": all points would write that file; record a run, and replay it here')
    check_keywords(options)
    ranks = options.get("ranks")
    if ranks != ALL and (isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1):
        wrong = "no ranks" if ranks is None else f"ranks = {ranks!r}"
        raise UsageError(f'{wrong}: say a whole number or "{ALL}", as an axis or in [options]')
    if definition.repetitions > 1:
        options["seed"] = _seed(options.get("seed", 0)) + repetition
    if program.is_module:
        options["module"] = True
    if power := definition.prices.power_settings:
        options["set"] = power | _mapping("set", options.get("set"))
    return options, _arguments(program.args, arguments)


def _options(definition: Definition, program: StudyProgram) -> dict[str, Any]:
    """Options at every point of a program: its own stand above the study's."""
    options: dict[str, Any] = dict(definition.options)
    for key, value in program.options.items():
        is_mapped = key in GROUPS and key in options
        options[key] = _mapping(key, options[key]) | _mapping(key, value) if is_mapped else value
    return options


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed = {seed!r} is not a whole number")
    return seed


def _mapping(group: str, content: Any) -> dict[str, Any]:
    """A repeatable option as a mapping from its keys."""
    if content is None:
        return {}
    if isinstance(content, Mapping):
        return dict(content)
    texts = [content] if isinstance(content, str) else content
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) and "=" in text for text in texts):
        raise UsageError(f"options: {group} = {content!r} is neither a table nor a list of KEY=VALUE")
    return dict(text.split("=", 1) for text in texts)


def _arguments(template: Sequence[str], values: Mapping[str, Value]) -> list[str]:
    """Arguments of the program: values replace their `{name}`, replace an older value, or come at the end."""
    left = dict(values)

    def put(match: re.Match[str]) -> str:
        name = match[1]
        if name not in values:
            return match[0]
        left.pop(name, None)
        return _text(values[name])

    line = [_PLACE.sub(put, text) for text in template]
    for name, value in left.items():
        if not name.startswith("-"):
            raise UsageError(
                f"args.{name}: where does it go? Write {{{name}}} in args, or name an option of the program, such as "
                f"args.--{name}"
            )
        _set_option(line, name, value)
    return line


def _set_option(line: list[str], name: str, value: Value) -> None:
    joined = next((i for i, text in enumerate(line) if text.startswith(f"{name}=")), None)
    at = line.index(name) if name in line else None
    if isinstance(value, bool):
        if value and at is None:
            line.append(name)
        elif not value and at is not None:
            del line[at]
    elif joined is not None:
        line[joined] = f"{name}={value}"
    elif at is not None:
        has_value = at + 1 < len(line) and not line[at + 1].startswith("--")
        line[at + 1 : at + 1 + has_value] = [_text(value)]
    else:
        line += [name, _text(value)]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def samples_of_options(points: Sequence[Point]) -> list[Point]:
    """Points that together have the first and the last value of each option."""
    ends: dict[str, dict[str, Point]] = {}
    for point in points:
        for keyword, value in options_of(point.run).items():
            keys = [text.partition("=")[0] for text in value] if isinstance(value, list) else [""]
            for key in keys:
                of_name = ends.setdefault(f"{keyword} {key}", {"first": point})
                of_name["last"] = point
    return list({point.number: point for of_name in ends.values() for point in of_name.values()}.values())
