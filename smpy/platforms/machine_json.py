"""Writer and reader of a machine as JSON; each field keeps its value.

An object is a dataclass: its `class`, and the fields that differ from their defaults (a changed default is a new
`FORMAT`). Arrays are tuples, `[start, stop, step]` is a range, a member of an enumeration is its name. The reader makes
objects of machines' classes only, and checks fields by their annotated types. It knows network models and topologies
of installed packages; one from elsewhere it knows once that module is imported. The file cannot import it.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from math import isfinite
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from smpy.errors import PlatformError
from smpy.input_files import strict_json
from smpy.installed_parts import import_installed
from smpy.platforms.declared_zone import DeclaredZone
from smpy.platforms.description import Description
from smpy.platforms.gc_pause import collection_paused
from smpy.platforms.models.network_models import GROUP as NETWORKS
from smpy.platforms.models.network_models import Network
from smpy.platforms.parts import Computer, Part, Zone
from smpy.platforms.topologies import GROUP as TOPOLOGIES

FORMAT: Final = 1
"""Version of the text format: it grows with any change of existing fields, of defaults or of this notation."""

_CLASS: Final = "class"
_INCOMPLETE: Final = (Part, Computer, Zone, DeclaredZone, Network)  # base classes, no parts themselves
_INSTALLED: Final[dict[type, str]] = {Network: NETWORKS, Zone: TOPOLOGIES}  # groups of entry points
_INTEGER_LIMIT: Final = 1 << 64
_NOT_FINITE: Final = ("inf", "-inf", "nan")


def machine_to_json(machine: Description) -> str:
    """Text of a machine; ends with a newline.

    Raises
    ------
    TypeError
        If it holds anything but numbers, texts, tuples, ranges, members of enumerations and dataclasses.
    """
    return f'{{"format": {FORMAT},\n"machine": {_text(machine, 1)}}}\n'


def machine_from_json(text: bytes) -> Description:
    """Machine that a text describes.

    Raises
    ------
    PlatformError
        If the text is no machine: the message names the place in it.
    """
    try:
        with collection_paused():
            content = strict_json(text)
            if not isinstance(content, dict) or not isinstance(content.get("format"), int):
                raise _Wrong("", "it is no machine: it has no format")
            if content["format"] != FORMAT:
                raise _Wrong("", f"it has format {content['format']}, and this version of smpy reads {FORMAT}")
            machine: Description = _ValueReader().value(Description, content.get("machine"), "machine")
            return machine
    except RecursionError:
        raise PlatformError("its zones are nested too deeply") from None
    except ValueError as wrong:  # of JSON, of UTF-8
        raise PlatformError(str(wrong)) from None


# ---- writing ----


def _text(value: Any, depth: int) -> str:
    if isinstance(value, Enum):
        return json.dumps(value.name)
    if value is None or isinstance(value, str | bool):
        return json.dumps(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if isfinite(value) else f'"{float.__repr__(value)}"'
    if isinstance(value, range):
        return f"[{value.start}, {value.stop}, {value.step}]"
    if isinstance(value, tuple | list):
        return _array(value, depth)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(str(key))}: {_text(each, depth + 1)}' for key, each in value.items())}}}"
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value, depth)
    if hasattr(value, "isoformat"):  # a date in a note
        return json.dumps(value.isoformat())
    raise TypeError(f"a machine cannot hold a {type(value).__name__}")


def _array(values: tuple[Any, ...] | list[Any], depth: int) -> str:
    has_parts = any(is_dataclass(each) for each in values)
    between = ",\n" + " " * depth if has_parts else ", "
    return f"[{between.join(_text(each, depth + 1) for each in values)}]"


def _object(value: Any, depth: int) -> str:
    """Text of an object: numbers and texts on its first line, all else on lines of their own."""
    kind: type = type(value)
    short, long = [f'"{_CLASS}": "{kind.__name__}"'], list[str]()
    for name, default in _defaults(kind):
        inside = getattr(value, name)
        if default is MISSING or not _are_alike(inside, default):
            written = f'"{name}": {_text(inside, depth + 1)}'
            (long if isinstance(inside, tuple) or is_dataclass(inside) else short).append(written)
    return "{" + (",\n" + " " * depth).join([", ".join(short), *long]) + "}"


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    """Fields of a class, with their defaults."""
    known: tuple[Field[Any], ...] = fields(kind)
    return tuple(
        (each.name, each.default_factory() if each.default_factory is not MISSING else each.default) for each in known
    )


def _are_alike(value: Any, default: Any) -> bool:
    """Whether two values have the same text: 1 and 1.0 are equal, but have different texts."""
    if value is default:
        return True
    return type(value) is type(default) and bool(value == default) and _text(value, 0) == _text(default, 0)


# ---- reading ----


class _Wrong(ValueError):
    """A value that a machine cannot have in this field."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}" if place else message)


class _ValueReader:
    """Reads values of annotated types; classes and their annotations are looked up once."""

    def __init__(self) -> None:
        platforms = import_module("smpy.platforms")  # its names import all parts of smpy
        self._names = {**{name: getattr(platforms, name) for name in platforms.__all__}, "Mapping": Mapping}
        self._classes: dict[type, dict[str, type]] = {}
        self._hints: dict[type, dict[str, Any]] = {}

    def value(self, hint: Any, plain: Any, place: str) -> Any:  # noqa: C901  # a branch for each kind of type
        """The value of an annotated type."""
        if hint in _PLAIN:
            return _PLAIN[hint](plain, place)
        origin = get_origin(hint)
        if origin is tuple:
            return self._tuple(get_args(hint), plain, place)
        if origin in (Union, types.UnionType):
            return self._one_of(get_args(hint), plain, place)
        if origin is Literal:
            if plain in get_args(hint) and isinstance(plain, str):
                return plain
            raise _Wrong(place, f"must be one of {', '.join(map(str, get_args(hint)))}")
        if isinstance(origin, type) and issubclass(origin, Mapping):
            if not isinstance(plain, dict):
                raise _Wrong(place, "must be an object")
            return {key: self.value(get_args(hint)[1], each, f"{place}.{key}") for key, each in plain.items()}
        if hint in (Any, object):
            return plain
        if isinstance(hint, type) and is_dataclass(hint):
            return self._dataclass(hint, plain, place)
        if isinstance(hint, type) and issubclass(hint, Enum):
            if isinstance(plain, str) and plain in hint.__members__:
                return hint[plain]
            raise _Wrong(place, f"must be one of {', '.join(hint.__members__)}")
        if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
            hints = self._hints_of(hint, place)
            return hint(*self._tuple(tuple(hints[name] for name in hint._fields), plain, place))
        raise _Wrong(place, f"a machine's file cannot have a value of type {hint}")

    def _one_of(self, hints: tuple[Any, ...], plain: Any, place: str) -> Any:
        if isinstance(plain, dict) and isinstance(plain.get(_CLASS), str):
            named = (hint for hint in hints if isinstance(hint, type) and plain[_CLASS] in self._classes_of(hint))
            hints = tuple(named) or hints[:1]
        wrong: _Wrong | None = None
        for hint in hints:
            try:
                return self.value(hint, plain, place)
            except _Wrong as error:
                wrong = wrong or error
        raise wrong or _Wrong(place, "it has no type")

    def _tuple(self, hints: tuple[Any, ...], plain: Any, place: str) -> tuple[Any, ...]:
        if not isinstance(plain, list):
            raise _Wrong(place, "must be an array")
        if len(hints) == 2 and hints[1] is ...:
            return tuple([self.value(hints[0], each, f"{place}[{at}]") for at, each in enumerate(plain)])
        if len(plain) != len(hints):
            raise _Wrong(place, f"must be an array of {len(hints)}")
        return tuple([self.value(hint, plain[at], f"{place}[{at}]") for at, hint in enumerate(hints)])

    def _dataclass(self, kind: type, plain: Any, place: str) -> Any:
        if not isinstance(plain, dict) or not isinstance(plain.get(_CLASS), str):
            raise _Wrong(place, f"must be an object with a {_CLASS!r}")
        name = plain[_CLASS]
        if kind in _INSTALLED and name not in self._classes_of(kind):
            import_installed(_INSTALLED[kind])
            del self._classes[kind]
        chosen = self._classes_of(kind).get(name)
        if chosen is None:
            what = kind.__name__.lower()
            raise _Wrong(place, f"{name!r} is no known {what}: import the module that defines it")
        hints = self._hints_of(chosen, place)
        values = {}
        for key, default in _defaults(chosen):
            if key in plain:
                values[key] = self.value(hints[key], plain[key], f"{place}.{key}")
            elif default is MISSING:
                raise _Wrong(place, f"it has no {key!r}")
        unknown = plain.keys() - values.keys() - {_CLASS}
        if unknown:
            raise _Wrong(place, f"a {name} has no {min(unknown)!r}")
        try:
            return chosen(**values)
        except ValueError as wrong:
            raise _Wrong(place, str(wrong)) from None

    def _classes_of(self, kind: type) -> dict[str, type]:
        """A class and its subclasses by name, as far as a machine can have them."""
        if kind not in self._classes:
            family = (each for each in _family(kind) if each not in _INCOMPLETE and is_dataclass(each))
            self._classes[kind] = {each.__name__: each for each in family}
        return self._classes[kind]

    def _hints_of(self, kind: type, place: str) -> dict[str, Any]:
        """Types of the fields of a class."""
        if kind not in self._hints:
            try:
                self._hints[kind] = get_type_hints(kind, localns=self._names)
            except NameError as wrong:
                raise _Wrong(place, f"{kind.__name__}: {wrong}: import it where the class is defined") from None
        return self._hints[kind]


def _family(kind: type) -> list[type]:
    children: list[type] = kind.__subclasses__()
    return [kind, *(below for child in children for below in _family(child))]


def _string(plain: Any, place: str) -> str:
    if not isinstance(plain, str):
        raise _Wrong(place, "must be a text")
    return plain


def _boolean(plain: Any, place: str) -> bool:
    if not isinstance(plain, bool):
        raise _Wrong(place, "must be true or false")
    return plain


def _integer(plain: Any, place: str) -> int:
    if not isinstance(plain, int) or isinstance(plain, bool) or abs(plain) >= _INTEGER_LIMIT:
        raise _Wrong(place, "must be a whole number of at most 64 bits")
    return plain


def _number(plain: Any, place: str) -> float:
    if isinstance(plain, float) or (isinstance(plain, str) and plain in _NOT_FINITE):
        return float(plain)
    if not isinstance(plain, int) or isinstance(plain, bool):
        raise _Wrong(place, "must be a number")
    return _integer(plain, place)


def _range(plain: Any, place: str) -> range:
    if not isinstance(plain, list) or len(plain) != 3:
        raise _Wrong(place, "must be a range: [start, stop, step]")
    start, stop, step = (_integer(each, place) for each in plain)
    if step < 1:
        raise _Wrong(place, "a range counts upwards")
    if (stop - start) // step >= sys.maxsize:  # `len` could not tell it
        raise _Wrong(place, "must be a range with fewer numbers")
    return range(start, stop, step)


def _nothing(plain: Any, place: str) -> None:
    if plain is not None:
        raise _Wrong(place, "must be null")


_PLAIN: Final[dict[type, Callable[[Any, str], Any]]] = {
    str: _string,
    bool: _boolean,
    int: _integer,
    float: _number,
    range: _range,
    type(None): _nothing,
}
