"""Reads a TOML file into settings that know their line, with the files that it includes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from smpy.errors import PlatformError, UsageError
from smpy.input_files import read_input
from smpy.platforms.own_format.settings import TomlValue, Tree, first_setting
from smpy.platforms.own_format.toml_lines import KeyPath, lines_of_keys
from smpy.units import parse_speed_flop_per_s

_DEPTH_MAX: Final = 20  # maximum depth of nested tables, and of includes
_BY_SIZE: Final = frozenset(
    {
        *("caches", "random_access", "cache_cores", "latency_factor", "bandwidth_factor"),
        *("send_overhead", "isend_overhead", "recv_overhead", "own_copy_bandwidth", "block"),
    }
)


def read_toml(
    path: Path, data: bytes | None = None, *, named: Callable[[str], Path | None] = lambda name: None
) -> Tree:
    """Settings of a file, with those of the included files below them.

    Parameters
    ----------
    path : Path
        The file.
    data : bytes, optional
        Its content, if it has been read.
    named : callable
        The file of a name that `include` may say in place of a path, or None.

    Raises
    ------
    PlatformError
        If it is no TOML, or a file that it includes cannot be read or includes it.
    """
    return _IncludeReader(named).tree(path, data, ())


class _IncludeReader:
    """Reads each file once, however often it is included."""

    def __init__(self, named: Callable[[str], Path | None]) -> None:
        self._named: Final = named
        self._trees: Final[dict[Path, Tree]] = {}

    def tree(self, path: Path, data: bytes | None, above: tuple[Path, ...]) -> Tree:
        real = path.resolve()
        if real not in self._trees:
            own = _parse(path, data if data is not None else _content(path))
            included: Tree = {}
            include = own.pop("include", None)
            if include is not None:
                for setting in _names(include):
                    included = _stacked(included, self._included(setting, (*above, real)))
            self._trees[real] = _stacked(included, own)
        return self._trees[real]

    def _included(self, setting: TomlValue, above: tuple[Path, ...]) -> Tree:
        name = str(setting.value)
        path = self._named(name) or setting.folder / name
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            raise setting.error(f"{name!r} is no file") from None
        if real in above:
            raise setting.error(f"{name!r} includes this file: files cannot include one another in a circle")
        if len(above) > _DEPTH_MAX:
            raise setting.error(f"files include one another more than {_DEPTH_MAX} deep")
        try:
            data = read_input(path, "platform file")
        except OSError as wrong:
            raise setting.error(f"cannot read {str(path)!r}: {wrong.strerror}") from None
        return self.tree(path, data, above)


def _stacked(lower: Tree, upper: Tree) -> Tree:
    """Settings of two files, where `upper` overrides `lower`."""
    _check_reference_speeds(_table(lower, "kernels"), _table(upper, "kernels"))
    result = _merged(lower, upper)
    mpi = _table(result, "mpi")
    is_said_anew = "latency_factor" in _table(upper, "network") and "rendezvous" not in _table(upper, "mpi")
    if is_said_anew and "rendezvous" in mpi:
        result["mpi"] = {key: value for key, value in mpi.items() if key != "rendezvous"}
    return result


def _check_reference_speeds(below: Tree, above: Tree) -> None:
    """Refuse kernels that were measured on cores of two speeds: a machine has one `reference_speed`."""
    lower, upper = below.get("reference_speed"), above.get("reference_speed")
    if not (isinstance(lower, TomlValue) and isinstance(upper, TomlValue)) or _speed(lower) == _speed(upper):
        return
    own = {name for name in above if "seconds" in _table(above, name)}
    others = {name for name in below if "seconds" in _table(below, name)} - own
    if own and others:
        raise upper.error(
            f"kernels that {lower.origin.rpartition(':')[0]} has, such as {min(others)}, are those of a core of "
            f"{lower.value}: all kernels of a machine have one reference_speed"
        )


def _speed(setting: TomlValue) -> object:
    try:
        return parse_speed_flop_per_s(str(setting.value))
    except UsageError:
        return setting.value  # it is refused when it is read


def _merged(lower: Tree, upper: Tree) -> Tree:
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        if isinstance(below, dict) and isinstance(value, dict) and not _replaces(key, value, below):
            result[key] = _merged(below, value)
        else:
            result[key] = value
    return result


def _replaces(key: str, above: Tree, below: Tree) -> bool:
    """Whether a table is one value that replaces the table below it, such as the cost of a kernel."""
    return key in _BY_SIZE or "seconds" in above or _differ_in_kind(below, above)


def _table(tree: Tree, name: str) -> Tree:
    table = tree.get(name)
    return table if isinstance(table, dict) else {}


def _differ_in_kind(below: Tree, above: Tree) -> bool:
    kinds = [table.get("kind") for table in (below, above)]
    one, other = (kind.value if isinstance(kind, TomlValue) else None for kind in kinds)
    return one is not None and other is not None and one != other


def _content(path: Path) -> bytes:
    try:
        return read_input(path, "platform file")
    except OSError as wrong:
        raise PlatformError(f"cannot read platform file {str(path)!r}: {wrong.strerror}") from None


def _parse(path: Path, data: bytes) -> Tree:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise PlatformError(f"{path}:{line}: it is not a text file in UTF-8") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        at = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)", str(wrong))
        line = int(at[1]) if at and at[1] else data.count(b"\n") + 1
        reason = str(wrong)[: at.start()] if at else str(wrong)
        where = f", at column {at[2]}" if at and at[2] else ", at its end"
        raise PlatformError(f"{path}:{line}: not well-formed TOML{where}: {reason}") from None
    except RecursionError:
        raise PlatformError(f"{path}: its values are nested too deep: this is no machine") from None
    except ValueError as wrong:  # from Python's own numbers and dates
        digits = re.search(r"[0-9_]{1000}", text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise PlatformError(f"{path}:{line}: a value is none that can be computed with: {wrong}") from None
    return _tree(document, (), str(path), path.parent, lines_of_keys(text))


def _tree(table: dict[str, Any], at: KeyPath, file: str, folder: Path, lines: dict[KeyPath, int]) -> Tree:
    tree: Tree = {}
    if len(at) > _DEPTH_MAX:
        raise PlatformError(f"{file}:{_line(lines, at)}: tables are nested more than {_DEPTH_MAX} deep")
    for key, value in table.items():
        path = (*at, key)
        if isinstance(value, dict):
            tree[key] = _tree(value, path, file, folder, lines)
        else:
            tree[key] = TomlValue(value, f"{file}:{_line(lines, path)}", ".".join(map(str, path)), folder)
    return tree


def _line(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """Line of a key; for a table without a header, the line of its first key."""
    return lines.get(path) or min((line for known, line in lines.items() if known[: len(path)] == path), default=1)


def _names(include: TomlValue | Tree) -> list[TomlValue]:
    """Files that `include` lists, each with the position of its entry."""
    if isinstance(include, TomlValue):
        names = include.value if isinstance(include.value, list) else [include.value]
        if all(isinstance(name, str) and name for name in names):
            return [TomlValue(name, include.origin, include.key, include.folder) for name in names]
    else:
        include = replace(first_setting(include, "include"), key="include")
    raise include.error('it lists files: write include = ["calibration.toml"]')
