"""The options of the models, under SimGrid's names: in a platform file's <config>, or given to the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from smpy.errors import UsageError
from smpy.platforms.models import Models, Overhead, Step
from smpy.units import parse_bandwidth_bytes_per_s, parse_size_bytes, parse_time_s

if TYPE_CHECKING:
    from smpy.platforms.simgrid.elements import Element

CROSSTRAFFIC: Final = 0.05
Fields = dict[str, Any]


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


class _Unsupported(Exception):
    """An option, or a value of it, that smpy does not have; the message says why."""


def _unused(instead: str) -> Callable[[str], NoReturn]:
    def refuse(text: str) -> NoReturn:
        raise _Unsupported(f"it has no effect on SMPI's network model, whose option is {instead}")

    return refuse


def _model(text: str) -> Fields:
    if text != "SMPI":
        raise ValueError(
            f"network model {text!r} is not supported: only 'SMPI' is; remove the option or change it to that"
        )
    return {}


def _selector(text: str) -> Fields:
    if text != "default":
        raise _Unsupported("smpy does not have it")
    return {"table": "smpi"}


def _polls(text: str) -> Fields:
    rules = {"grow": {"polls_grow": True, "polls_notice": False}, "notice": {"polls_notice": True}}
    if text not in rules:
        raise ValueError(f"{text!r} is not a rule for polls: {' and '.join(rules)} are")
    return rules[text]


def _sets(field: str, parse: Callable[[str], Any]) -> Callable[[str], Fields]:
    return lambda text: {field: parse(text)}


def _accepts(*values: str) -> Callable[[str], Fields]:
    """An option whose accepted values change nothing."""

    def check(text: str) -> Fields:
        if text not in values:
            raise _Unsupported("smpy does not have it")
        return {}

    return check


# the fields that an option sets, by the model they are of; those without one change nothing
_OPTIONS_OF: Final[dict[str, dict[str, Callable[[str], Fields]]]] = {
    "network": {
        "network/TCP-gamma": _sets("tcp_gamma_bytes", parse_size_bytes),
        "network/crosstraffic": _sets("crosstraffic", _crosstraffic),
        "network/weight-S": _sets("weight_bytes", parse_size_bytes),
        "network/loopback-bw": _sets("loopback_bandwidth_bytes_per_s", parse_bandwidth_bytes_per_s),
        "network/loopback-lat": _sets("loopback_latency_s", parse_time_s),
        "smpi/lat-factor": _sets("latency_factor", _steps),
        "smpi/bw-factor": _sets("bandwidth_factor", _steps),
    },
    "calls": {
        "smpi/os": _sets("send_overhead", _overheads),
        "smpi/ois": _sets("isend_overhead", _overheads),
        "smpi/or": _sets("recv_overhead", _overheads),
        "smpi/wtime": _sets("wtime_s", parse_time_s),
        "smpi/send-is-detached-thresh": _sets("detached_below_bytes", _whole_bytes),
    },
    "polling": {
        "smpi/test": _sets("test_s", parse_time_s),
        "smpi/iprobe": _sets("iprobe_s", parse_time_s),
        "smpi/grow-injected-times": _sets("polls_grow", _yes_or_no),
        "smpy/polls": _polls,
    },
    "collectives": {
        "smpi/coll-selector": _selector,
    },
    "": {
        "network/model": _model,
        "network/latency-factor": _unused("smpi/lat-factor"),
        "network/bandwidth-factor": _unused("smpi/bw-factor"),
        "network/optim": _accepts("Full", "Lazy"),  # full is what we do; lazy promises the same shares for less work
        "network/solver": _accepts("maxmin"),
        "cpu/model": _accepts("Cas01"),
        "cpu/optim": _accepts("Full", "Lazy"),
        "cpu/solver": _accepts("maxmin"),
        "host/model": _accepts("default"),
        "precision/timing": _accepts("1e-9"),
        "precision/work-amount": _accepts("1e-5"),
        "surf/precision": _accepts("1e-9"),
        "maxmin/precision": _accepts("1e-5"),
        "smpi/iprobe-cpu-usage": _accepts("1", "1.0"),
        "smpi/async-small-thresh": _accepts("0"),
    },
}
_OPTIONS: Final = {name: (model, read) for model, options in _OPTIONS_OF.items() for name, read in options.items()}

# options that choose the algorithm of a collective; which there are is for those to say who have them
_COLLECTIVES: Final = tuple(
    f"smpi/{op}"
    for op in (
        *("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall"),
        *("allgatherv", "alltoallv", "reduce_scatter"),
    )
)


def _with_option(models: Models, name: str, value: str) -> Models:
    """The models with an option applied; raises ValueError for what cannot be, and `_Unsupported`."""
    if name in _COLLECTIVES:
        chosen = (*models.collectives.algorithms, (name.removeprefix("smpi/"), value))
        return replace(models, collectives=replace(models.collectives, algorithms=chosen))
    if name not in _OPTIONS:
        from smpy.platforms.simgrid.elements import meant

        raise _Unsupported(f"smpy does not have it{meant(name, [*_OPTIONS, *_COLLECTIVES])}")
    model, read = _OPTIONS[name]
    fields = read(value)
    return replace(models, **{model: replace(getattr(models, model), **fields)}) if fields else models


def read_config(config: Element, models: Models) -> Models:
    """The models with the options of a <config> applied; options that change nothing here are warned about.

    Raises
    ------
    PlatformError
        If an option's value cannot be read, or asks for another network model than SMPI's.
    """
    for prop in config.children:
        if prop.tag != "prop":
            raise prop.error("<config> holds <prop id='option' value='...'/> only")
        prop.check_attributes(("id", "value"))
        name, value = prop.text("id"), prop.text("value").strip()
        try:
            models = _with_option(models, name, value)
        except ValueError as wrong:
            raise prop.error(f"option {name}: {wrong}") from None
        except _Unsupported as reason:
            prop.warn(f"option {name}={value} is ignored: {reason}")
    return models


def with_options(models: Models, options: Iterable[tuple[str, str]]) -> Models:
    """The models with options applied that a run was given.

    Raises
    ------
    UsageError
        If an option's value cannot be read, or if it would change nothing.
    """
    for name, value in options:
        try:
            models = _with_option(models, name, value)
        except (ValueError, _Unsupported) as wrong:
            raise UsageError(f"--set {name}={value}: {wrong}") from None
    return models
