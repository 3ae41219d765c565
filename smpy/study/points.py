"""Points of a study: for each combination, and each repetition, what follows `smpy run`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from smpy.errors import UsageError, meant
from smpy.runs.command_line import command_line
from smpy.study.axes import Settings, Value
from smpy.study.definition import GROUPS, Definition

_PLACE: Final = re.compile(r"\{([^{}\s]+)\}")
_REPEATED: Final = ("--set=", "--algorithm=")
_OWN: Final = ("json", "trace", "quiet", "profile")  # options that the study sets itself


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
    ranks : int
        Number of ranks of its world.
    options : tuple of str
        Options between `smpy run` and the program.
    program : tuple of str
        The program and its arguments.
    key : str
        The same for the same run, in whichever study: a hash of `options` and `program`.
    """

    number: int
    values: tuple[Value, ...]
    repetition: int
    ranks: int
    options: tuple[str, ...]
    program: tuple[str, ...]
    key: str


def points_of(definition: Definition) -> list[Point]:
    """All points of a study, in the order of its table.

    Raises
    ------
    UsageError
        If a setting makes no sense.
    """
    found: list[Point] = []
    for combination in definition.combinations():
        for repetition in range(definition.repetitions):
            ranks, options, program = _line(definition, combination.settings, repetition)
            text = json.dumps([options, program, _nth(definition, repetition)])
            key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            found.append(Point(len(found), combination.values, repetition, ranks, options, program, key))
    return found


def _nth(definition: Definition, repetition: int) -> int:
    """Number that tells repetitions apart in a point's key: measured runs may differ though nothing else does."""
    return repetition if definition.repetitions > 1 else 0


def _line(definition: Definition, settings: Settings, repetition: int) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    options: dict[str, Any] = dict(definition.options)
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
    ranks = options.pop("ranks", None)
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise UsageError(f"ranks = {ranks!r}: how many? Say a whole number, as an axis or in [options]")
    if definition.repetitions > 1:
        options["seed"] = _seed(options.get("seed", 0)) + repetition
    line = command_line(ranks, options)
    if definition.is_module:
        line.append("-m")
    return ranks, tuple(line), (definition.program, *_arguments(definition.args, arguments))


def _seed(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise UsageError(f"seed = {given!r} is not a whole number")
    return given


def _mapping(group: str, given: Any) -> dict[str, Any]:
    """An option that may be repeated, by its keys."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) and "=" in text for text in texts):
        raise UsageError(f"options: {group} = {given!r} is neither a table nor a list of KEY=VALUE")
    return dict(text.split("=", 1) for text in texts)


def _arguments(template: Sequence[str], values: Mapping[str, Value]) -> list[str]:
    """The program's arguments: values in their places, in place of others, or at the end."""
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
    """Points that together have each option, with its first value and its last."""
    ends: dict[str, dict[str, Point]] = {}
    for point in points:
        for option in point.options:
            name = "=".join(option.split("=")[: 2 if option.startswith(_REPEATED) else 1])
            of_name = ends.setdefault(name, {"first": point})
            of_name["last"] = point
    return list({point.number: point for of_name in ends.values() for point in of_name.values()}.values())
