"""The register of network models: a class under a decorator, from smpy or from an installed package.

A package names the module of its model as an entry point of the group `smpy.networks`; it is imported when a run names
the model, or when a machine has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias, TypeVar

from smpy.errors import UsageError
from smpy.installed_parts import import_part, installed_parts
from smpy.platforms.models.collective_models import collective_model_name, parse_collective_model
from smpy.units import (
    LARGEST,
    SMALLEST,
    exact_bandwidth,
    exact_size,
    exact_speed,
    exact_time,
    parse_bandwidth_bytes_per_s,
    parse_number,
    parse_size_bytes,
    parse_speed_flop_per_s,
    parse_time_s,
)

GROUP: Final = "smpy.networks"
NETWORK_KINDS: Final = ("smpi", "lv08", "cm02", "raw", "constant", "ib")
"""Names of SimGrid's network models."""
IDEAL: Final = "ideal"
IDEAL_PARTS: Final = ("contention", "bandwidth", "latency", "overhead")
"""Parts of a network that can be made ideal, in the order in which an analysis removes them."""
KernelKind: TypeAlias = str | Path | Callable[[], int]
"""Name of a `network_kind` of the kernel; a shared library that exports one as `smpy_network`; or a function that
returns the address of one, such as a cffi module has."""
Parameters: TypeAlias = Mapping[str, float | tuple[float, ...]]
FROM_LINKS: Final = -inf
"""Marks a parameter that the machine's links determine; unlike NaN it equals itself, so that models can be compared."""
N = TypeVar("N", bound=type["Network"])


def check_not_negative(part: object, names: Iterable[str]) -> None:
    """Check numbers of a part of the models.

    Raises
    ------
    ValueError
        If one is negative, or too large.
    """
    for name in names:
        number = getattr(part, name)
        if not number >= 0:
            raise ValueError(f"{name} is {number}: it cannot be negative")
        if number > LARGEST:
            raise ValueError(f"{name} is {number:g}: it can be {LARGEST:g}")


class Wire(NamedTuple):
    """Route that represents those of a machine: its ends, its latency and its lowest bandwidth."""

    name: str
    latency_s: float
    bandwidth_bytes_per_s: float


class SendCosts(NamedTuple):
    """Costs of a send to its rank: of its first byte, and of each one more; above `eager_bytes` it waits.

    A smaller one travels before its receive is there, if it `travels_early`.
    """

    first_byte_s: float
    further_byte_s: float
    eager_bytes: float
    travels_early: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """A model of the time of messages, with the attributes that all models share.

    A subclass is a frozen dataclass whose further fields are numbers with defaults: the parameters of its kind in the
    kernel, each under its name there, with its unit (`latency_s`).

    Parameters
    ----------
    loopback_bandwidth_bytes_per_s, loopback_latency_s : float
        The link of a host to itself in zones that declare none.
    ideal : tuple of str
        Members of `IDEAL_PARTS` that take no time: sharing links with other messages, the bytes of a message, the
        latency of its route, the overheads of calls (polls and the clock keep theirs: a loop of free ones never ends).
    about : str
        Source of parameters that the machine's links gave; empty: none are from there.

    Attributes
    ----------
    ideal_parts : tuple of str
        Parts that can be ideal under this model.
    keys : mapping of str to str
        Names in options and files of fields that are not called there as here without their units.

    Raises
    ------
    ValueError
        If a number is negative, a bandwidth is 0, or the model has no such ideal part.
    """

    loopback_bandwidth_bytes_per_s: float = 10e9
    loopback_latency_s: float = 0.0
    ideal: tuple[str, ...] = ()
    about: str = field(default="", compare=False)
    ideal_parts: ClassVar[tuple[str, ...]] = ("overhead",)
    keys: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __post_init__(self) -> None:
        lacking = self.lacking()
        numbers = (
            each.name
            for each in fields(self)
            if isinstance(getattr(self, each.name), int | float) and each.name not in lacking
        )
        check_not_negative(self, (name for name in numbers if name != "loopback_bandwidth_bytes_per_s"))
        if not self.loopback_bandwidth_bytes_per_s >= SMALLEST:
            raise ValueError(f"loopback_bandwidth_bytes_per_s must be above 0: from {SMALLEST:g} to {LARGEST:g}")
        for part in self.ideal:
            if part not in self.ideal_parts:
                raise ValueError(
                    f"ideal is {', '.join(self.ideal)}: its parts are {', '.join(self.ideal_parts)} under the network "
                    f"model {self.name}"
                )

    @property
    def name(self) -> str:
        """Name by which a run chooses the model."""
        return _named(type(self)).name

    @property
    def kernel_kind(self) -> KernelKind:
        """The kernel's part of the model."""
        return _named(type(self)).kernel

    @property
    def times_collectives_by(self) -> str:
        """Name of the model by which it times collectives as a whole; "": collectives are their messages."""
        return ""

    def lacking(self) -> tuple[str, ...]:
        """Parameters that the links of the machine have yet to determine."""
        return tuple(each.name for each in fields(self) if each.default == getattr(self, each.name) == FROM_LINKS)

    def on_links(self, wire: Wire, local: Wire, sends: SendCosts) -> Self:
        """The model with its missing numbers, from a route between hosts, one within a host, and the cost of a send."""
        raise NotImplementedError(f"{type(self).__name__} lacks {self.lacking()} of {wire}, {local} and {sends}")

    def own_sends(self) -> SendCosts | None:
        """Costs of sends that replace those of the machine; None: the model has none, and receives cost time."""
        return None

    def parameters(self) -> Parameters:
        """Parameters of its kind in the kernel, by name."""
        return {name: getattr(self, name) for name in parameter_names(type(self))}


class RegisteredNetwork(NamedTuple):
    """A network model, its name and its part in the kernel."""

    name: str
    model: type[Network]
    kernel: KernelKind


_models: Final[dict[str, RegisteredNetwork]] = {}


def network_model(name: str, *, kernel: KernelKind) -> Callable[[N], N]:
    """Register a subclass of `Network` as a model that a run can name.

    Parameters
    ----------
    name : str
        Name in options and files, in lower case.
    kernel : str, Path or callable
        Its part in the kernel (`KernelKind`), which `kernels/event/networks/network_kind.h` describes.

    Raises
    ------
    ValueError
        If there is another one of that name.
    TypeError
        If a field is no number with a default.
    """

    def register(model: N) -> N:
        if name in (*_models, *NETWORK_KINDS, IDEAL):
            there = _models[name].model.__module__ if name in _models else "smpy"
            raise ValueError(f"{there} has a network model {name!r}: give the one in {model.__module__} another name")
        if name != name.lower() or ":" in name:
            raise ValueError(f"{name!r} is no name of a network model: write it in lower case, without a colon")
        for parameter, default in _defaults(model).items():
            if not isinstance(default, int | float) or isinstance(default, bool):
                raise TypeError(f"{parameter} of the network model {name!r} must have a number as its default")
        _models[name] = RegisteredNetwork(name, model, kernel)
        return model

    return register


def registered_names() -> list[str]:
    """Names of the models that have registered, or that installed packages name; sorted."""
    return sorted({*_models, *installed_parts(GROUP)})


def registered_model(name: str) -> type[Network] | None:
    """The model of this name, also from an installed package; None if there is none.

    Raises
    ------
    UsageError
        If the module of the package cannot be imported, or registers no such model.
    """
    if name not in _models and (point := installed_parts(GROUP).get(name)) is not None:
        origin = import_part(point)
        if name not in _models:
            raise UsageError(f"{origin} registers no model of that name: put it under @network_model")
    return _models[name].model if name in _models else None


def _named(model: type[Network]) -> RegisteredNetwork:
    registered = next((each for each in _models.values() if each.model is model), None)
    if registered is None:
        raise UsageError(f"{model.__name__} is no registered network model: put it under @network_model")
    return registered


# ---- parameters, as options and files have them ----


class Unit(NamedTuple):
    """Reader, writer and example text of a quantity; a number without a unit has no example."""

    parse: Callable[[str], float]
    write: Callable[[float], str | float]
    example: str


_UNITS: Final = {
    "_bytes_per_s": Unit(parse_bandwidth_bytes_per_s, exact_bandwidth, "10GB/s"),
    "_flop_per_s": Unit(parse_speed_flop_per_s, exact_speed, "50Gf"),
    "_s_per_byte": Unit(parse_time_s, exact_time, "0.1ns"),
    "_s": Unit(parse_time_s, exact_time, "1us"),
    "_bytes": Unit(parse_size_bytes, exact_size, "8KiB"),
    "collective_model": Unit(parse_collective_model, collective_model_name, "log"),
    "": Unit(parse_number, float, ""),
}


class NetworkParameter(NamedTuple):
    """A parameter of a model.

    Attributes
    ----------
    key : str
        Name in options and files: the field's without its unit, unless the model has another one.
    field : str
        Name of the field.
    default : float
        Value where none is given.
    unit : Unit
        Unit that the field's name ends with.
    """

    key: str
    field: str
    default: float
    unit: Unit

    def checked(self, number: float) -> float:
        """The number, an integer if the default is one.

        Raises
        ------
        ValueError
            If it should be whole.
        """
        if not isinstance(self.default, int):
            return number
        if number != int(number):
            raise ValueError(f"{self.key} is {number:g}, and must be a whole number")
        return int(number)


def parameters_of(model: type[Network]) -> list[NetworkParameter]:
    """The parameters of a registered model, in the order of its fields."""
    parameters = []
    for name, default in _defaults(model).items():
        suffix = next(suffix for suffix in _UNITS if name.endswith(suffix))
        key = model.keys.get(name, name.removesuffix(suffix))
        parameters.append(NetworkParameter(key, name, default, _UNITS[suffix]))
    return parameters


def parameter_names(model: type[Network]) -> list[str]:
    """The fields of a registered model that are its parameters."""
    return list(_defaults(model))


def _defaults(model: type[Network]) -> dict[str, Any]:
    common = {each.name for each in fields(Network)}
    return {each.name: each.default for each in fields(model) if each.name not in common}
