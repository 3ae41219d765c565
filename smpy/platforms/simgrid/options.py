"""Options of the models, under SimGrid's names: in a platform file's <config>, or passed to the run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from smpy.errors import PlatformWarning, UsageError, meant
from smpy.platforms.models.machine_models import Models, Overhead, Penalties, Step
from smpy.platforms.models.network_models import NETWORK_KINDS
from smpy.platforms.models.networks import NETWORKS, with_network
from smpy.units import parse_bandwidth_bytes_per_s, parse_number, parse_size_bytes, parse_time_s

if TYPE_CHECKING:
    from smpy.platforms.simgrid.elements import Element

CROSSTRAFFIC: Final = 0.05
OVERHEAD_PROPERTIES: Final = ("smpi/os", "smpi/ois", "smpi/or")
"""Properties of a host that override the machine's options of these names, for the ranks on it."""
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
        return (Step(0.0, parse_number(text)),)
    return tuple(Step(above, parse_number(values[0])) for above, values in _rows(text))


def parse_overheads(text: str) -> tuple[Overhead, ...]:
    """Steps of "threshold:constant:per byte;..." as `smpi/os` has them; none if all are 0.

    Raises
    ------
    ValueError
        If it is not of that form.

    Examples
    --------
    >>> parse_overheads("1000:2us:1ns")
    (Overhead(above_bytes=1000.0, constant_s=2e-06, per_byte_s=1e-09),)
    """
    overheads = tuple(
        Overhead(above, parse_time_s(values[0]), parse_time_s(values[1]) if len(values) > 1 else 0.0)
        for above, values in _rows(text)
    )
    return () if all(row.constant_s == 0 and row.per_byte_s == 0 for row in overheads) else overheads


class _Unsupported(Exception):
    """An option, or a value of it, that smpy does not support; the message says why."""


class _NoEffect(_Unsupported):
    """An option of another network model than the machine's: SMPI ignores it."""


def _penalties(text: str) -> Penalties:
    values = [parse_number(value) for value in text.split(";")]
    if len(values) != len(Penalties._fields):
        raise ValueError(f"{text!r} is not Be;Bs;ys: write three numbers, such as 0.965;0.925;1.35")
    return Penalties(*values)


def _compat(text: str) -> Fields:
    rules = {"simgrid-3.32": False, "simgrid-2017": True}
    if text not in rules:
        raise ValueError(f"{text!r} is no version whose rules smpy has: there are {' and '.join(rules)}")
    return {"factor_caps": rules[text]}


# tables of collectives by the names of their selectors
_TABLE_OF_SELECTOR: Final = {
    "default": "smpi",
    **{name: f"smpi-{name}" for name in ("mpich", "ompi", "mvapich2", "impi")},
}


def _selector(text: str) -> Fields:
    if text not in _TABLE_OF_SELECTOR:
        raise _Unsupported(f"smpy does not have it: it has {', '.join(_TABLE_OF_SELECTOR)}")
    return {"table": _TABLE_OF_SELECTOR[text]}


def _polls(text: str) -> Fields:
    rules = {"grow": {"polls_grow": True, "polls_notice": False}, "notice": {"polls_notice": True}}
    if text not in rules:
        raise ValueError(f"{text!r} is not a rule for polls: there are {' and '.join(rules)}")
    return rules[text]


def _sets(field: str, parse: Callable[[str], Any]) -> Callable[[str], Fields]:
    return lambda text: {field: parse(text)}


def _only(*values: str) -> Callable[[str], Fields]:
    """An option that could change simulated times; the values that smpy accepts do not."""

    def check(text: str) -> Fields:
        if text not in values and _number(text) not in map(_number, values):
            raise ValueError(f"smpy has only {' and '.join(values)}, and {text!r} would give other dates")
        return {}

    return check


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _instead(message: str) -> Callable[[str], Fields]:
    """An option that a run has in another form."""

    def refuse(text: str) -> Fields:
        raise _Unsupported(message)

    return refuse


def _for(kinds: Iterable[str], read: Callable[[str], Fields]) -> dict[str, Callable[[str], Fields]]:
    return dict.fromkeys(kinds, read)


_FLOWS: Final = tuple(kind for kind in NETWORK_KINDS if kind != "constant")
_ANY: Final = ""  # also a model that is not SimGrid's
_TABLES: Final = ("smpi", "ib")
_SCALARS: Final = tuple(kind for kind in _FLOWS if kind not in _TABLES)

# the fields of the network that an option sets, by the network models that have it
_NETWORK_OPTIONS: Final[dict[str, dict[str, Callable[[str], Fields]]]] = {
    "network/TCP-gamma": _for(_FLOWS, _sets("tcp_gamma_bytes", parse_size_bytes)),
    "network/crosstraffic": _for(_FLOWS, _sets("crosstraffic", _crosstraffic)),
    "network/weight-S": _for(_FLOWS, _sets("weight_bytes", parse_size_bytes)),
    "network/loopback-bw": _for((_ANY,), _sets("loopback_bandwidth_bytes_per_s", parse_bandwidth_bytes_per_s)),
    "network/loopback-lat": _for((_ANY,), _sets("loopback_latency_s", parse_time_s)),
    "network/latency-factor": _for(_SCALARS, _sets("latency_factor", _steps))
    | {"constant": _sets("constant_s", parse_time_s)},
    "network/bandwidth-factor": _for(_SCALARS, _sets("bandwidth_factor", _steps)),
    "smpi/lat-factor": _for(_TABLES, _sets("latency_factor", _steps)),
    "smpi/bw-factor": _for(_TABLES, _sets("bandwidth_factor", _steps)),
    "smpi/IB-penalty-factors": _for(("ib",), _sets("penalties", _penalties)),
    "smpy/compat": _for(NETWORK_KINDS, _compat),
}
_INSTEAD: Final = {
    "network/latency-factor": "smpi/lat-factor",
    "network/bandwidth-factor": "smpi/bw-factor",
    "smpi/lat-factor": "network/latency-factor",
    "smpi/bw-factor": "network/bandwidth-factor",
}

# the fields that any other option sets, by their model; options without a field change nothing
_OPTIONS_OF: Final[dict[str, dict[str, Callable[[str], Fields]]]] = {
    "calls": {
        "smpi/os": _sets("send_overhead", parse_overheads),
        "smpi/ois": _sets("isend_overhead", parse_overheads),
        "smpi/or": _sets("recv_overhead", parse_overheads),
        "smpi/wtime": _sets("wtime_s", parse_time_s),
        "smpi/send-is-detached-thresh": _sets("detached_below_bytes", _whole_bytes),
        "smpi/async-small-thresh": _sets("early_below_bytes", _whole_bytes),
        "smpi/init": _sets("init_s", parse_time_s),
        "smpi/finalization-barrier": _sets("finalize_barrier", _yes_or_no),
        "smpi/barrier-finalization": _sets("finalize_barrier", _yes_or_no),
    },
    "polling": {
        "smpi/test": _sets("test_s", parse_time_s),
        "smpi/iprobe": _sets("iprobe_s", parse_time_s),
        "smpi/iprobe-cpu-usage": _sets("iprobe_part", parse_number),
        "smpi/grow-injected-times": _sets("polls_grow", _yes_or_no),
        "smpy/polls": _polls,
    },
    "collectives": {
        "smpi/coll-selector": _selector,
    },
    "": {
        "network/optim": _only("Full", "Lazy"),  # full is what we do; lazy promises the same shares for less work
        "network/solver": _only("maxmin"),
        "cpu/model": _only("Cas01"),
        "cpu/optim": _only("Full", "Lazy", "TI"),  # both promise the same dates
        "cpu/solver": _only("maxmin"),
        "host/model": _only("compound"),
        "precision/timing": _only("1e-9"),
        "precision/work-amount": _only("1e-5"),
        "surf/precision": _only("1e-9"),
        "maxmin/precision": _only("1e-5"),
        "maxmin/concurrency-limit": _only("-1"),
        "smpi/barrier-collectives": _only("no"),
        "smpi/simulate-computation": _instead("--compute says whether computing takes time"),
        "smpi/host-speed": _instead("--host-speed says how fast this machine is"),
        "smpi/cpu-threshold": _instead("--compute measured counts what takes longer than the clock can tell"),
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


# options that name the network model; the others change its numbers, whatever their order
_MODEL: Final = "network/model"
_HOST_MODEL: Final = ("host/model", "default")  # with it SMPI takes LV08, whatever network model is named
_FLAGS: Final = {"smpy/compat": "--compat "}


def _network_option(kind: str, name: str) -> Callable[[str], Fields]:
    """Reader of an option of the network under a network model."""
    readers = _NETWORK_OPTIONS[name]
    if known := readers.keys() & {kind, _ANY}:
        return readers[known.pop()]
    instead = _INSTEAD.get(name, "")
    hint = f", whose option is {instead}" if kind in _NETWORK_OPTIONS.get(instead, ()) else ""
    raise _NoEffect(f"it has no effect on the network model {kind}{hint}")


def _with_option(models: Models, name: str, value: str) -> Models:
    """Models with an option applied; raises ValueError for impossible values, and `_Unsupported`."""
    if name in _COLLECTIVES:
        chosen = (*models.collectives.algorithms, (name.removeprefix("smpi/"), value))
        return replace(models, collectives=replace(models.collectives, algorithms=chosen))
    if name in _NETWORK_OPTIONS:
        fields = _network_option(models.network.name, name)(value)
        return replace(models, network=replace(models.network, **fields))
    if name not in _OPTIONS:
        known = (_MODEL, *_NETWORK_OPTIONS, *_OPTIONS, *_COLLECTIVES)
        raise _Unsupported(f"smpy does not have it{meant(name, known)}")
    model, read = _OPTIONS[name]
    fields = read(value)
    return replace(models, **{model: replace(getattr(models, model), **fields)}) if fields else models


def _names_network(name: str, value: str) -> bool:
    return name == _MODEL or (name, value) == _HOST_MODEL


def _with_network(models: Models, value: str) -> Models:
    return replace(models, network=with_network(models.network, "lv08" if value == _HOST_MODEL[1] else value))


def _read_props(configs: Iterable[Element]) -> list[tuple[Element, str, str]]:
    """Options of <config> elements: each with its element, its name and its value."""
    options = []
    for config in configs:
        config.check_attributes(("id",))
        for prop in config.children:
            if prop.tag != "prop":
                raise prop.error("<config> holds <prop id='option' value='...'/> only")
            prop.check_attributes(("id", "value"))
            options.append((prop, prop.text("id"), prop.text("value").strip()))
    return options


def _check_file_model(prop: Element, value: str) -> None:
    """Warn that a file's network model has no effect: smpirun names SMPI's on its command line, which wins."""
    if value.lower() not in NETWORKS:
        raise prop.error(f"option {_MODEL}: {value!r} is not a network model: there are {', '.join(NETWORKS)}")
    if value.lower() != "smpi":
        prop.warn(
            f"option {_MODEL}={value} is ignored, as smpirun does, which names SMPI itself: to have it, say "
            f"--network {value.lower()}"
        )


def with_options(
    models: Models,
    options: Iterable[tuple[str, str]],
    configs: Iterable[Element] = (),
    *,
    network: str | None = None,
) -> Models:
    """Models with options applied: first a file's, then those of the run, which override them.

    A network model that is named changes the defaults alone: whatever else is set holds, in whatever order.

    Parameters
    ----------
    models : Models
        Models of the machine.
    options : iterable of (str, str)
        Names and values that the run was given. Options of another network model are warned about: SMPI ignores them.
    configs : iterable of Element
        The <config> elements of its file. Options that change nothing here are warned about.
    network : str, optional
        Name of a network model (see `smpy.platforms.models.networks.with_network`), which stands above one among the
        options.

    Raises
    ------
    UsageError
        If an option of the run cannot be read, or smpy does not have it.
    PlatformError
        If an option of the file cannot be read.
    """
    run_options, props = list(options), _read_props(configs)
    for _, name, value in props:
        if (name, value) == _HOST_MODEL:
            models = _with_network(models, value)
    models = _with_networks(models, run_options, network)
    for prop, name, value in props:
        if name == _MODEL:
            _check_file_model(prop, value)
        elif not _names_network(name, value):
            models = _with_prop(models, prop, name, value)
    for name, value in run_options:
        if not _names_network(name, value):
            models = _with_given(models, name, value)
    return models


def _with_networks(models: Models, run_options: list[tuple[str, str]], network: str | None) -> Models:
    """Models with the network that the run names, in its options or beside them."""
    for name, value in run_options:
        if _names_network(name, value):
            try:
                models = _with_network(models, value)
            except ValueError as wrong:
                raise _refused(name, value, wrong) from None
    if network is None:
        return models
    try:
        return replace(models, network=with_network(models.network, network, models.described))
    except ValueError as wrong:
        raise UsageError(f"--network {network}: {wrong}") from None


def _with_given(models: Models, name: str, value: str) -> Models:
    try:
        return _with_option(models, name, value)
    except _NoEffect as reason:
        message = f"--set {name}={value} is ignored, as smpirun does: {reason}"
        warnings.warn_explicit(message, PlatformWarning, "smpy", 1)
        return models
    except (ValueError, _Unsupported) as wrong:
        raise _refused(name, value, wrong) from None


def _with_prop(models: Models, prop: Element, name: str, value: str) -> Models:
    try:
        return _with_option(models, name, value)
    except ValueError as wrong:
        raise prop.error(f"option {name}: {wrong}") from None
    except _Unsupported as reason:
        prop.warn(f"option {name}={value} is ignored: {reason}")
        return models


def _refused(name: str, value: str, wrong: Exception) -> UsageError:
    return UsageError(f"{_FLAGS.get(name, f'--set {name}=')}{value}: {wrong}")
