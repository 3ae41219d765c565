"""Programs of a study: one, or several with weights, which together are the workload of a machine."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from smpy.errors import UsageError, meant

WeightKind = Literal["runs_per_week", "core_hours_share"]
WEIGHT_KINDS: Final[tuple[WeightKind, ...]] = ("runs_per_week", "core_hours_share")
_KEYS: Final = ("program", "module", "args", "options", *WEIGHT_KINDS)

_OF_THE_MACHINE: Final = ("platform", "set", "network", "kernels", "collectives", "compat")


@dataclass(frozen=True, slots=True)
class StudyProgram:
    """A program of a study.

    Attributes
    ----------
    program : str
        File or module.
    is_module : bool
        Whether it is a module's name.
    args : tuple of str
        Its arguments at every point; `{name}` stands for the value of the setting `args.name`.
    options : mapping
        Options of `smpy run` at each of its points, as `smpy.simulate` takes them.
    name : str
        Its name in the table; empty if the study has no other.
    weight : float
        Its runs a week, or its share of core hours.
    """

    program: str
    is_module: bool = False
    args: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    weight: float = 1.0


def read_program(table: Mapping[str, Any]) -> StudyProgram:
    """Program of a study's file, or of one of its `[programs]`.

    Raises
    ------
    UsageError
        If a key has no value that it can have.

    Examples
    --------
    >>> read_program({"program": "jacobi.py", "args": ["--n", 64]}).args
    ('--n', '64')
    """
    files = {key: table[key] for key in ("program", "module") if key in table}
    for key, name in files.items():
        if not isinstance(name, (str, os.PathLike)):
            raise UsageError(f"{key} = {name!r} is not a text")
    if len(files) != 1:
        raise UsageError('say one program: program = "FILE.py" or module = "NAME"')
    args, options = table.get("args", ()), table.get("options", {})
    if not isinstance(args, (list, tuple)):
        raise UsageError(f"args = {args!r} is not a list")
    for value in args:
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
            raise UsageError(f"args: {value!r} is not a text")
    if not isinstance(options, Mapping):
        raise UsageError(f"options = {options!r} is not a table")
    return StudyProgram(
        program=os.fspath(*files.values()),
        is_module="module" in files,
        args=tuple(map(str, args)),
        options={key.replace("-", "_"): value for key, value in options.items()},
    )


def read_programs(tables: Any) -> tuple[tuple[StudyProgram, ...], WeightKind]:
    """Programs of a study's `[programs]`, and the kind of their weights.

    Raises
    ------
    UsageError
        If one has a key or a value that no program has, or their weights are not alike.

    Examples
    --------
    >>> programs, kind = read_programs({"fft": {"program": "fft2d.py", "runs_per_week": 20}})
    >>> programs[0].name, programs[0].weight, kind
    ('fft', 20.0, 'runs_per_week')
    """
    if not isinstance(tables, Mapping) or not tables:
        raise UsageError('programs: say a table of each, such as [programs.fft] with program = "fft2d.py"')
    programs, kinds = [], []
    for name, table in tables.items():
        try:
            kind, program = _read_weighted(name, table)
        except UsageError as error:
            raise UsageError(f"program {name!r}: {error}") from None
        programs.append(program)
        kinds.append(kind)
    if len(set(kinds)) > 1:
        raise UsageError(f"programs have {' and '.join(WEIGHT_KINDS)}: give all of them the same kind of weight")
    return tuple(programs), kinds[0]


def _read_weighted(name: str, table: Any) -> tuple[WeightKind, StudyProgram]:
    if not isinstance(table, Mapping):
        raise UsageError(f"{table!r} is not a table")
    for key in table:
        if key not in _KEYS:
            raise UsageError(f"a program has no {key!r}{meant(key, _KEYS)}")
    program = read_program(table)
    for key in _OF_THE_MACHINE:
        if key in program.options:
            raise UsageError(
                f"options.{key}: all programs run on the machines of the study: say it in [options] or [axes]"
            )
    kinds = [kind for kind in WEIGHT_KINDS if kind in table]
    if len(kinds) != 1:
        raise UsageError(f"say one weight: {' = 20 or '.join(WEIGHT_KINDS)} = 0.3")
    weight = table[kinds[0]]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
        raise UsageError(f"{kinds[0]} = {weight!r} is not a number above 0: leave the program out, or give it a weight")
    return kinds[0], replace(program, name=name, weight=float(weight))
