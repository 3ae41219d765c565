"""Changes of the properties that hosts of any machine have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any


def with_host_properties(part: Any, change: Callable[[dict[str, str], int], dict[str, str]]) -> Any:
    """A part of a machine, with everything in it, after a change of the properties of its hosts.

    Parameters
    ----------
    part : dataclass
        Part of a machine, such as its outermost zone.
    change : callable
        Takes the properties of equal hosts, and their number of states; gives the new properties.
    """
    if type(part) is tuple:
        return tuple(with_host_properties(inside, change) for inside in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    new = {field.name: with_host_properties(getattr(part, field.name), change) for field in fields(part)}
    if new.keys() >= {"properties", "state_speeds_flop_per_s"}:  # links have other properties
        new["properties"] = tuple(change(dict(new["properties"]), len(new["state_speeds_flop_per_s"])).items())
    return replace(part, **new)
