"""A canonical text of a machine: equal values have the same one, in every process and every version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from smpy.platforms.models.prices import COST_PROPERTIES


class _Entry(NamedTuple):
    """Field that counts in comparisons."""

    name: str
    default: Any


def canonical_text(value: Any) -> str:
    """Text of a value made of numbers, texts, tuples, ranges, members of enumerations and dataclasses.

    Dataclasses are written with the fields that are compared and differ from their defaults: a field that a later
    version adds changes nothing. Prices and power of hosts (`COST_PROPERTIES`) are left out: they change no
    simulated time.

    Examples
    --------
    >>> canonical_text((1, 2.0, "a", range(3), None))
    '(1,2,"a",range(0,3,1),None)'
    """
    pieces: list[str] = []
    _write(value, pieces.append)
    return "".join(pieces)


def _write(value: Any, put: Callable[[str], None]) -> None:
    if isinstance(value, str):
        put('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"')
    elif isinstance(value, int | float):
        put(_number(value))
    elif isinstance(value, range):
        put(f"range({value[0]},{len(value)},{value.step if len(value) > 1 else 1})" if value else "range()")
    elif isinstance(value, tuple):
        put("(")
        for i, inside in enumerate(value):
            if i:
                put(",")
            _write(inside, put)
        put(")")
    elif isinstance(value, Enum):
        put(f"{type(value).__name__}.{value.name}")
    elif is_dataclass(value) and not isinstance(value, type):
        put(f"{type(value).__name__}(")
        for name, default in _entries(type(value)):
            inside = _compared(name, getattr(value, name))
            if default is MISSING or inside != default:
                put(f"{name}=")
                _write(inside, put)
                put(",")
        put(")")
    elif value is None:
        put("None")
    else:
        raise TypeError(f"a machine cannot hold a {type(value).__name__}")


def _compared(name: str, value: Any) -> Any:
    """Drop properties of hosts that change no simulated time (`COST_PROPERTIES`)."""
    return tuple(noted for noted in value if noted[0] not in COST_PROPERTIES) if name == "properties" else value


def _number(value: float) -> str:
    """Text of a number: equal numbers have one text, whole ones without a point, others with all their digits."""
    return str(int(value)) if abs(value) < 2**63 and value == int(value) else repr(float(value))


@cache
def _entries(kind: type) -> tuple[_Entry, ...]:
    """Compared fields, sorted by name."""
    known: tuple[Field[Any], ...] = fields(kind)
    entries = [
        _Entry(field.name, field.default_factory() if field.default_factory is not MISSING else field.default)
        for field in known
        if field.compare
    ]
    return tuple(sorted(entries, key=lambda entry: entry.name))
