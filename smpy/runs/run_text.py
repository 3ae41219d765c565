"""A run as text: from keywords of a function, as JSON and back, and as a command line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from smpy.arguments import word
from smpy.errors import ArgumentTypeError, ArgumentValueError, UsageError, meant
from smpy.options import KEYWORDS, OPTIONS, Option, RunConfig
from smpy.platforms.description import Description

FORMAT: Final = 1
"""Format of JSON: increases with each change of an option's default or of the meaning of its text."""

_KEYS: Final = ("format", "program", "args", "options", "machine")

Written: TypeAlias = str | int | float | bool | list[str]
"""Value of an option in JSON and TOML."""


def run_config(
    program: str | os.PathLike[str],
    args: Sequence[str | os.PathLike[str]],
    options: Mapping[str, object],
    machine: Description | None = None,
) -> RunConfig:
    """Make a run from options in the form of Python and of a study's file.

    Parameters
    ----------
    program : str or path
        A file or a module.
    args : sequence of str or path
        The program's arguments.
    options : mapping of str to object
        Values by keyword, `ranks` among them. None and False leave an option out; one that may be repeated takes
        several values, or a mapping of keys to values.
    machine : Description, optional
        The machine, if it was made in Python.

    Raises
    ------
    UsageError
        If there is no such option, or options contradict each other.
    ArgumentTypeError, ArgumentValueError
        If an option does not take its value.

    Examples
    --------
    >>> run_config("p.py", [], {"ranks": 4, "set": {"host.cores": 8}, "strict": True}).options
    (('host.cores', '8'),)
    """
    fields: dict[str, Any] = {} if machine is None else {"platform": machine}
    check_keywords(options)
    for keyword, value in options.items():
        if value is not None and value is not False:
            name = KEYWORDS[keyword]
            fields |= OPTIONS[name].fields_of(name, option_value(OPTIONS[name], value))
    if "n_ranks" not in fields:
        raise UsageError("ranks=: how many?")
    words = tuple(word(f"args[{i}]", arg) for i, arg in enumerate(args))
    run = RunConfig(program=word("program", program), args=words, **fields)
    run.check(lambda option: f"{option.keyword}=")
    return run


def check_keywords(keywords: Iterable[str]) -> None:
    """Refuse keywords that no option has.

    Raises
    ------
    UsageError
        With the keyword that was probably meant.
    """
    for keyword in keywords:
        if keyword not in KEYWORDS:
            raise UsageError(f"there is no option {keyword!r}{meant(keyword, KEYWORDS)}")


def option_value(option: Option, value: object) -> Any:
    """Content of an option's fields for a value that is neither None nor False.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the option does not take it.
    """
    name = option.keyword
    if option.read is None:
        if value is not True:
            raise ArgumentTypeError(f"{name}={value!r}: say True or False")
        return True
    texts = list(texts_of(name, value))
    if not option.is_multiple and (len(texts) != 1 or isinstance(value, Mapping)):
        raise ArgumentTypeError(f"{name}={value!r}: say one value")
    try:
        values = tuple(map(option.read, texts))
    except ValueError as error:
        raise ArgumentValueError(f"{name}={error}") from None
    return values if option.is_multiple else values[0]


def texts_of(name: str, value: object) -> Iterator[str]:
    """Texts of an option's value: several of a list or a mapping.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If one is neither text, a number nor a path.
    """
    if isinstance(value, Mapping):
        yield from (f"{key}={_text(name, one)}" for key, one in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (_text(name, one) for one in value)
    else:
        yield _text(name, value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return word(name, value)
    if isinstance(value, (bytes, bool)) or not hasattr(value, "__float__"):
        raise ArgumentTypeError(f"{name}={value!r}: an option takes text, a number or a path, several, or a mapping")
    return str(value)


# ---- writing ----


def options_of(run: RunConfig) -> dict[str, Written]:
    """Options of a run that differ from their defaults, by keyword, as `run_config` takes them."""
    return {option.keyword: value for option, value in _written(run)}


def command_line(run: RunConfig) -> list[str]:
    """Arguments to write after `smpy run`.

    Examples
    --------
    >>> command_line(RunConfig(4, "prog.py", ("--n", "3"), options=(("host.cores", "8"),), strict=True))
    ['-np', '4', '--set=host.cores=8', '--strict', 'prog.py', '--n', '3']
    """
    line = []
    for option, value in _written(run):
        if value is True:
            line.append(option.flag)
        elif option.flag.startswith("--"):
            line += [f"{option.flag}={one}" for one in (value if isinstance(value, list) else [value])]
        else:
            line += [option.flag, str(value)]
    return [*line, run.program, *run.args]


def _written(run: RunConfig) -> Iterator[tuple[Option, Written]]:
    for name, option in OPTIONS.items():
        value = option.value_in(run, name) if option.parts else getattr(run, name)
        if value is option.default or value == option.default or isinstance(value, Description):
            continue
        if option.read is None:
            yield option, True
        else:
            yield option, [str(_one(option, one)) for one in value] if option.is_multiple else _one(option, value)


def _one(option: Option, value: Any) -> str | int | float:
    if option.write is not None:
        return option.write(value)
    return value if isinstance(value, (int, float)) else str(value)


def to_json(run: RunConfig) -> str:
    """Canonical text in one line: equal runs have equal texts.

    Examples
    --------
    >>> print(to_json(RunConfig(4, "prog.py", compute="none")))
    {"format": 1, "program": "prog.py", "args": [], "options": {"ranks": 4, "compute": "none"}}
    """
    content = {"format": FORMAT, "program": run.program, "args": run.args, "options": options_of(run)}
    if isinstance(run.platform, Description):
        from smpy.platforms.machine_json import machine_to_json

        content["machine"] = json.loads(machine_to_json(run.platform))
    return json.dumps(content)


def from_json(text: str) -> RunConfig:
    """Run that `to_json` has written.

    Raises
    ------
    UsageError
        If it is another text, or of another version.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is not the JSON of a run: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        number = content.get("format") if isinstance(content, dict) else None
        raise UsageError(f"it is a run of format {number!r}, and this version of smpy reads {FORMAT}")
    for key in content:
        if key not in _KEYS:
            raise UsageError(f"a run has no {key!r}{meant(key, _KEYS)}")
    program, args, options = (content.get(key) for key in _KEYS[1:4])
    if not (isinstance(program, str) and isinstance(args, list) and isinstance(options, dict)):
        raise UsageError("it is not the JSON of a run: program, args or options is missing, or of another type")
    machine = None
    if "machine" in content:
        from smpy.platforms.machine_json import machine_from_json

        machine = machine_from_json(json.dumps(content["machine"]).encode())
    run = run_config(program, args, options, machine)
    if to_json(run) != text:
        raise UsageError("it is not the JSON of a run as smpy writes it")
    return run
