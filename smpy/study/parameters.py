"""A parameter of a sensitivity analysis: a key of the machine, or the speed of cores, between two values."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from smpy.errors import UsageError, meant
from smpy.study.axes import Range

CPU: Final = "cpu"
"""Key that is not one of the machine: a factor on the speed of all cores, as in `smpy replay --cpu`."""

MEMORY_KEYS: Final = ("host.core_memory_bandwidth", "host.memory_bandwidth")
"""Bandwidths of memory: of a core alone, and of all cores of a host together."""

_NAMES: Final = {
    "network.latency": "the network's latency",
    "network.bandwidth": "the network's bandwidth",
    "host.speed": "the hosts' speed",
    "host.cores": "the hosts' cores",
    "host.memory_bandwidth": "the memory bandwidth of a host",
    "host.core_memory_bandwidth": "the memory bandwidth of a core",
    CPU: "the speed of cores",
}
_NUMBER: Final = r"(?:\d++\.?\d*+|\.\d+)(?:[eE][+-]?\d+)?"
_FACTOR: Final = re.compile(rf"x({_NUMBER})|({_NUMBER})x", re.ASCII)
_QUANTITY: Final = re.compile(rf"({_NUMBER})([A-Za-z/]*)", re.ASCII)
_TIMES: Final = "x"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A key, and the values that it may have.

    Attributes
    ----------
    key : str
        Key for `--set`, or `CPU`.
    range : Range
        The values; of factors, the unit is "x".
    """

    key: str
    range: Range

    @property
    def name(self) -> str:
        """Words for the parameter: "the network's latency"."""
        return _NAMES.get(self.key, self.key)

    @property
    def is_factor(self) -> bool:
        """Whether values multiply the machine's."""
        return self.range.unit == _TIMES

    def at(self, share: float) -> str:
        """The value at a share of the way from the low end to the high one, as `--set` takes it."""
        text = str(self.range.at(share))
        return f"x{text.removesuffix(_TIMES)}" if self.is_factor else text


def read_parameter(text: str, *, is_logarithmic: bool = False) -> Parameter:
    """Read a parameter from a text of `--vary`.

    Parameters
    ----------
    text : str
        KEY=LOW:HIGH. The ends are factors (x0.5, or 0.5x), or values with the same unit. Between whole numbers without
        a unit there are whole numbers only.
    is_logarithmic : bool
        Whether values are spread by equal factors, rather than by equal differences.

    Raises
    ------
    UsageError
        If it is no such text, or there is nothing between its ends.

    Examples
    --------
    >>> latency = read_parameter("network.latency=0.5x:2x")
    >>> latency.name, latency.at(0), latency.at(0.5), latency.at(1)
    ("the network's latency", 'x0.5', 'x1.25', 'x2')
    >>> read_parameter("network.bandwidth=5Gb/s:20Gb/s", is_logarithmic=True).at(0.5)
    '10Gb/s'
    """
    key, equals, ends = text.partition("=")
    key, (low, colon, high) = key.strip(), ends.partition(":")
    if not (key and equals and colon):
        raise UsageError(
            f"{text!r} is not KEY=LOW:HIGH, such as network.latency=0.5x:2x or network.bandwidth=5Gb/s:20Gb/s"
        )
    if key != CPU and not re.search("[./]", key):
        raise UsageError(
            f"{key!r} is neither a key of the machine, such as network.latency, nor one of SimGrid's, such as "
            f"smpi/async-small-thresh, nor {CPU}, the speed of cores"
        )
    (first, unit, is_first_whole), (last, last_unit, is_last_whole) = _end(text, low), _end(text, high)
    if unit != last_unit:
        raise UsageError(f"{text}: write both ends as factors, or with the same unit")
    if key == CPU and unit != _TIMES:
        raise UsageError(f"{text}: the speed of cores is varied by factors: write {CPU}=0.5x:2x")
    if not first < last:
        raise UsageError(f"{text}: there is no range from {low} to {high}: write the lower end first")
    if first == 0 and (is_logarithmic or unit == _TIMES):
        raise UsageError(f"{text}: {low} is the logarithm of nothing: begin above 0")
    return Parameter(key, Range(first, last, unit, is_first_whole and is_last_whole, is_logarithmic))


def _end(whole: str, text: str) -> tuple[float, str, bool]:
    """The number, its unit, and whether it is a whole number without a unit."""
    text = text.strip()
    if factor := _FACTOR.fullmatch(text):
        number, unit = factor[1] or factor[2], _TIMES
    elif quantity := _QUANTITY.fullmatch(text):
        number, unit = quantity[1], quantity[2]
    else:
        raise UsageError(f"{whole}: {text!r} is neither a factor, such as x2, nor a value, such as 10Gb/s")
    if not math.isfinite(float(number)):
        raise UsageError(f"{whole}: {text!r} is larger than any number that can be computed with")
    return float(number), unit, not unit and number.isdecimal()


def read_parameters(texts: Iterable[str], *, is_logarithmic: bool = False) -> list[Parameter]:
    """Read several parameters, all of different keys.

    Raises
    ------
    UsageError
        If there are none, a key comes twice, or one is wrong.
    """
    by_key: dict[str, Parameter] = {}
    for text in texts:
        parameter = read_parameter(text, is_logarithmic=is_logarithmic)
        if parameter.key in by_key:
            raise UsageError(f"{parameter.key} is varied twice: say it once, from its lowest value to its highest")
        by_key[parameter.key] = parameter
    if not by_key:
        raise UsageError("what is to be varied? Say such as --vary network.latency=0.5x:2x")
    return list(by_key.values())


def read_factors(text: str, keys: Collection[str]) -> dict[str, float]:
    """Read factors on some keys from a text of `--predict`.

    Parameters
    ----------
    text : str
        KEY=VALUE,...; values are factors.
    keys : collection of str
        Keys that there are.

    Raises
    ------
    UsageError
        If a key is unknown, or comes twice, or a value is no factor above 0.

    Examples
    --------
    >>> read_factors("network.latency=2x,cpu=x0.5", ["cpu", "network.latency"])
    {'network.latency': 2.0, 'cpu': 0.5}
    """
    factors: dict[str, float] = {}
    for part in text.split(","):
        key, _, value = (word.strip() for word in part.partition("="))
        if key not in keys:
            raise UsageError(f"{text!r}: {key!r} is not varied{meant(key, keys)}; it has {', '.join(keys)}")
        factor = _FACTOR.fullmatch(value)
        number = float(factor[1] or factor[2]) if factor else 0.0
        if not 0 < number < math.inf:
            raise UsageError(f"{text!r}: {value!r} is no factor above 0 on the machine's own value, such as x2")
        if key in factors:
            raise UsageError(f"{text!r}: {key} is there twice")
        factors[key] = number
    return factors
