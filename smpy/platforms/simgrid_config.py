"""The options of the network model in a platform file's <config>, under SimGrid's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from smpy.platforms.model import NetworkModel, Overhead, Step
from smpy.platforms.xml_tree import Element, meant
from smpy.units import parse_bandwidth_bytes_per_s, parse_size_bytes, parse_time_s

CROSSTRAFFIC: Final = 0.05


def _yes_or_no(text: str) -> bool:
    known = {"yes": True, "on": True, "true": True, "1": True, "no": False, "off": False, "false": False, "0": False}
    try:
        return known[text.lower()]
    except KeyError:
        raise ValueError(f"{text!r} is neither yes nor no") from None


def _crosstraffic(text: str) -> float:
    return CROSSTRAFFIC if _yes_or_no(text) else 0.0


def _whole_bytes(text: str) -> int:
    return round(parse_size_bytes(text))


def _rows(text: str) -> list[tuple[float, list[str]]]:
    """Thresholds and values of "threshold:value:...;threshold:value:..."."""
    rows = []
    for chunk in text.split(";"):
        threshold, *values = chunk.split(":")
        if not values:
            raise ValueError(f"{chunk!r} has no value: write threshold:value, with ; between the steps")
        rows.append((parse_size_bytes(threshold), values))
    return rows


def _steps(text: str) -> tuple[Step, ...]:
    if ":" not in text:
        return (Step(0.0, float(text)),)
    return tuple(Step(above, float(values[0])) for above, values in _rows(text))


def _overheads(text: str) -> tuple[Overhead, ...]:
    overheads = tuple(
        Overhead(above, parse_time_s(values[0]), parse_time_s(values[1]) if len(values) > 1 else 0.0)
        for above, values in _rows(text)
    )
    return () if all(row.constant_s == 0 and row.per_byte_s == 0 for row in overheads) else overheads


# name of the option, the field of NetworkModel it sets, and how its value is read
_FIELDS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "network/TCP-gamma": ("tcp_gamma_bytes", parse_size_bytes),
    "network/crosstraffic": ("crosstraffic", _crosstraffic),
    "network/weight-S": ("weight_bytes", parse_size_bytes),
    "network/latency-factor": ("latency_factor", _steps),
    "network/bandwidth-factor": ("bandwidth_factor", _steps),
    "network/loopback-bw": ("loopback_bandwidth_bytes_per_s", parse_bandwidth_bytes_per_s),
    "network/loopback-lat": ("loopback_latency_s", parse_time_s),
    "smpi/lat-factor": ("latency_factor", _steps),
    "smpi/bw-factor": ("bandwidth_factor", _steps),
    "smpi/os": ("send_overhead", _overheads),
    "smpi/ois": ("isend_overhead", _overheads),
    "smpi/or": ("recv_overhead", _overheads),
    "smpi/test": ("test_s", parse_time_s),
    "smpi/iprobe": ("iprobe_s", parse_time_s),
    "smpi/grow-injected-times": ("polls_grow", _yes_or_no),
    "smpi/wtime": ("wtime_s", parse_time_s),
    "smpi/send-is-detached-thresh": ("detached_below_bytes", _whole_bytes),
}

# options that choose the algorithm of a collective; which there are is for those to say who have them
_COLLECTIVES: Final = tuple(
    f"smpi/{op}"
    for op in (
        *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
        *("allgatherv", "alltoallv", "reduce_scatter"),
    )
)

# options that say what is so anyway
_GIVEN: Final[dict[str, tuple[str, ...]]] = {
    "network/optim": ("Full", "Lazy"),  # full is what we do; lazy promises the same shares for less work
    "network/solver": ("maxmin",),
    "cpu/model": ("Cas01",),
    "cpu/optim": ("Full", "Lazy"),
    "cpu/solver": ("maxmin",),
    "host/model": ("default",),
    "precision/timing": ("1e-9",),
    "precision/work-amount": ("1e-5",),
    "surf/precision": ("1e-9",),
    "maxmin/precision": ("1e-5",),
    "smpi/async-small-thresh": ("0",),
    "smpi/coll-selector": ("default",),
    "smpi/iprobe-cpu-usage": ("1", "1.0"),
}


def read_config(config: Element, model: NetworkModel) -> NetworkModel:
    """The model with the options of a <config> applied; options that change nothing here are warned about.

    Raises
    ------
    PlatformError
        If an option's value cannot be read, or asks for another network model than SMPI's.
    """
    changes: dict[str, Any] = {}
    for prop in config.children:
        if prop.tag != "prop":
            raise prop.error("<config> holds <prop id='option' value='...'/> only")
        prop.check_attributes(("id", "value"))
        name, value = prop.text("id"), prop.text("value").strip()
        if name in _FIELDS:
            field, parse = _FIELDS[name]
            try:
                changes[field] = parse(value)
            except ValueError as wrong:
                raise prop.error(f"option {name}: {wrong}") from None
        elif name in _COLLECTIVES:
            changes["algorithms"] = (*changes.get("algorithms", model.algorithms), (name.removeprefix("smpi/"), value))
        elif name == "network/model":
            if value != "SMPI":
                raise prop.error(
                    f"network model {value!r} is not supported: only 'SMPI' is; remove the option or change it to that"
                )
        elif value not in _GIVEN.get(name, ()):
            suggestion = meant(name, [*_FIELDS, *_COLLECTIVES, *_GIVEN]) if name not in _GIVEN else ""
            prop.warn(f"option {name}={value} is ignored: smpy does not have it{suggestion}")
    try:
        return replace(model, **changes)
    except ValueError as wrong:
        raise config.error(str(wrong)) from None
