"""Quantities with units: the only place that reads "10Gbps" and writes "50.0 us".

The grammar is SimGrid's: a number, directly followed by a unit whose case matters; besides SimGrid's units there are
"Gb/s", "GB/s" and "Gflop/s". Everything else in smpy is a plain number in SI base units (s, bytes, flop) with the unit
in its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Final

_NUMBER: Final = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_DECIMAL: Final = {"": 1.0} | {prefix: 1e3 ** (i + 1) for i, prefix in enumerate("kMGTPEZY")}
_BINARY: Final = {f"{prefix}i": 1024.0 ** (i + 1) for i, prefix in enumerate("KMGTPEZY")}
_LONG: Final = ("", "kilo", "mega", "giga", "tera", "peta", "exa", "zeta", "yotta")

_TIME: Final = {
    "w": 7 * 86400.0, "d": 86400.0, "h": 3600.0, "m": 60.0,
    "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12,
}  # fmt: skip
_SPEED: Final = {f"{prefix}flops": 1e3**i for i, prefix in enumerate(_LONG)} | {
    f"{prefix}{unit}": scale for prefix, scale in _DECIMAL.items() for unit in ("f", "flops", "flop/s")
}
_BYTES: Final = {f"{prefix}B": scale for prefix, scale in (_DECIMAL | _BINARY).items()} | {
    f"{prefix}b": scale / 8 for prefix, scale in (_DECIMAL | _BINARY).items()
}
_BANDWIDTH: Final = {f"{unit}{per}": scale for unit, scale in _BYTES.items() for per in ("ps", "/s")}
_FREQUENCY: Final = {f"{prefix}Hz": scale for prefix, scale in _DECIMAL.items()}
_POWER: Final = {f"{prefix}W": scale for prefix, scale in _DECIMAL.items()} | {"mW": 1e-3}
_MONEY: Final = {f"{prefix}EUR": scale for prefix, scale in _DECIMAL.items()}
SMALLEST: Final = 1e-30  # least number of a machine, beside 0: farther out, results computed from it are no numbers
LARGEST: Final = 1e30
_LONGEST_IN_DAYS_S: Final = 86400e5

_TIME_STEPS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_SPEED_STEPS: Final = ((1e15, "Pf"), (1e12, "Tf"), (1e9, "Gf"), (1e6, "Mf"), (1.0, "f"))
_ENERGY_STEPS: Final = ((1e12, "TJ"), (1e9, "GJ"), (1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"))
_BYTES_STEPS: Final = ((1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def _parse(text: str, units: dict[str, float], what: str, example: str) -> float:
    number = _NUMBER.match(text.strip())
    if number is None:
        raise ValueError(f"{text!r} is not a {what}: write a number and a unit, such as {example}")
    unit = text.strip()[number.end() :]
    if unit and unit not in units:
        raise ValueError(f"{text!r} is not a {what}: unknown unit {unit!r}; {_advice(unit, units, example)}")
    value = float(number[0]) * units.get(unit, 1.0)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a {what}: it is larger than any number that can be computed with")
    return value


def _advice(unit: str, units: dict[str, float], example: str) -> str:
    """Advice on a unit to use in place of an unknown one."""
    short = re.sub("bits?", "b", re.sub("[Bb]ytes?", "B", unit))
    if short in units:
        return f"did you mean {short!r}?"
    if unit.endswith("Hz") and units is not _FREQUENCY:
        return f"write a clock's rate times the operations of a cycle, such as {example}"
    alike = [known for known in units if known.lower() == unit.lower()]
    if alike:
        return f"the case of units matters, did you mean {' or '.join(map(repr, alike))}?"
    return f"write it such as {example}"


def parse_time_s(text: str) -> float:
    """Seconds of a time such as "50us"; a bare number is seconds.

    Units are w, d, h, m (60 s), s, ms, us, ns and ps.

    Raises
    ------
    ValueError
        If it is not a number followed by one of these units.

    Examples
    --------
    >>> parse_time_s("1.5ms")
    0.0015
    """
    return _parse(text, _TIME, "time", '"50us"')


def parse_speed_flop_per_s(text: str) -> float:
    """Flop per second of a speed such as "1Gf", "2.5teraflops" or "3Gflop/s"; a bare number is flop/s.

    Raises
    ------
    ValueError
        If it is not a number followed by f, flops or flop/s with a decimal prefix.

    Examples
    --------
    >>> parse_speed_flop_per_s("1Gf")
    1000000000.0
    """
    return _parse(text, _SPEED, "speed", '"1Gf"')


def parse_bandwidth_bytes_per_s(text: str) -> float:
    """Bytes per second of a bandwidth such as "10Gbps" (bits) or "1.25GB/s" (bytes); a bare number is bytes/s.

    Prefixes are decimal (k, M, G, ...) or binary (Ki, Mi, Gi, ...).

    Raises
    ------
    ValueError
        If it is not a number followed by bps, b/s, Bps or B/s with such a prefix.

    Examples
    --------
    >>> parse_bandwidth_bytes_per_s("10Gbps")
    1250000000.0
    """
    return _parse(text, _BANDWIDTH, "bandwidth", '"10Gbps" (bits) or "1.25GBps" (bytes)')


def parse_size_bytes(text: str) -> float:
    """Bytes of a size such as "64KiB"; a bare number is bytes.

    Raises
    ------
    ValueError
        If it is not a number followed by B or b (bits) with a decimal or binary prefix.

    Examples
    --------
    >>> parse_size_bytes("64KiB")
    65536.0
    """
    return _parse(text, _BYTES, "size", '"64KiB"')


def parse_power_w(text: str) -> float:
    """Watts of a power such as "350W" or "1.2kW"; a bare number is W.

    Raises
    ------
    ValueError
        If it is not a number followed by W with a decimal prefix.

    Examples
    --------
    >>> parse_power_w("1.2kW")
    1200.0
    """
    return _parse(text, _POWER, "power", '"350W"')


def parse_eur(text: str) -> float:
    """Euros of an amount such as "1.3MEUR" or "800kEUR"; a bare number is EUR.

    Raises
    ------
    ValueError
        If it is not a number followed by EUR with a decimal prefix.

    Examples
    --------
    >>> parse_eur("1.3MEUR")
    1300000.0
    """
    return _parse(text, _MONEY, "price", '"1.3MEUR"')


def parse_frequency_hz(text: str) -> float:
    """Hertz of a frequency such as "2.4GHz"; a bare number is hertz.

    Raises
    ------
    ValueError
        If it is not a number followed by Hz with a decimal prefix.

    Examples
    --------
    >>> parse_frequency_hz("2.4GHz")
    2400000000.0
    """
    return _parse(text, _FREQUENCY, "frequency", '"2.4GHz"')


def parse_number(text: str) -> float:
    """A number without a unit, such as "0.97".

    Raises
    ------
    ValueError
        If it is none.

    Examples
    --------
    >>> parse_number("1.5e3")
    1500.0
    """
    if _NUMBER.fullmatch(text.strip()) is None or not math.isfinite(float(text)):
        raise ValueError(f"{text!r} is not a number that can be computed with")
    return float(text)


def has_unit(text: str) -> bool:
    """Whether a quantity says its unit; zero needs none."""
    number = _NUMBER.match(text.strip())
    return number is None or float(number[0]) == 0 or number.end() < len(text.strip())


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    """`value` in the largest unit of which it makes at least one, to four digits."""
    scale, unit = next((step for step in steps if abs(value) >= step[0] * 0.99995), steps[-1])
    return f"{value / scale:.4g} {unit}"


def format_time(time_s: float) -> str:
    """A time for people, to four digits.

    Examples
    --------
    >>> format_time(0.00123456)
    '1.235 ms'
    >>> format_time(4000)
    '1 h 6 min 40 s'
    """
    if abs(time_s) < 120 or abs(time_s) > _LONGEST_IN_DAYS_S:
        return _scaled(time_s, _TIME_STEPS) if time_s else "0 s"
    minutes, seconds = divmod(round(abs(time_s)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
    return ("-" if time_s < 0 else "") + " ".join(f"{count} {unit}" for count, unit in parts if count)


def format_bytes(size_bytes: float) -> str:
    """An amount of data for people, in decimal units.

    Examples
    --------
    >>> format_bytes(65536)
    '65.54 kB'
    >>> format_bytes(12)
    '12 B'
    """
    return _scaled(size_bytes, _BYTES_STEPS)


def format_energy(energy_j: float) -> str:
    """An energy for people.

    Examples
    --------
    >>> format_energy(1234.4)
    '1.234 kJ'
    """
    return _scaled(energy_j, _ENERGY_STEPS)


def format_speed(speed_flop_per_s: float) -> str:
    """A speed of computing for people, in the units that `parse_speed_flop_per_s` reads.

    Examples
    --------
    >>> format_speed(49.6e9)
    '49.6 Gf'
    """
    return _scaled(speed_flop_per_s, _SPEED_STEPS)


# ---- texts that are read as the very same number ----


def exact_time(time_s: float) -> str:
    """The shortest text that `parse_time_s` reads as that time.

    Examples
    --------
    >>> exact_time(3e-7), exact_time(1 / 3)
    ('0.3us', '0.3333333333333333s')
    """
    return _exact(time_s, parse_time_s, {unit: _TIME[unit] for unit in ("s", "ms", "us", "ns")})


def exact_bandwidth(bandwidth_bytes_per_s: float) -> str:
    """The shortest text that `parse_bandwidth_bytes_per_s` reads as that bandwidth.

    Examples
    --------
    >>> exact_bandwidth(24e9), exact_bandwidth(1.25e9)
    ('24GB/s', '10Gb/s')
    """
    units = {f"{prefix}{unit}/s": _BYTES[f"{prefix}{unit}"] for unit in "Bb" for prefix in ("", "k", "M", "G", "T")}
    return _exact(bandwidth_bytes_per_s, parse_bandwidth_bytes_per_s, units)


def exact_speed(speed_flop_per_s: float) -> str:
    """The shortest text that `parse_speed_flop_per_s` reads as that speed.

    Examples
    --------
    >>> exact_speed(49.6e9)
    '49.6Gf'
    """
    return _exact(
        speed_flop_per_s, parse_speed_flop_per_s, {f"{prefix}f": _DECIMAL[prefix] for prefix in ("", *"kMGT")}
    )


def exact_size(size_bytes: float) -> str:
    """The shortest text that `parse_size_bytes` reads as that size.

    Examples
    --------
    >>> exact_size(65536), exact_size(65537)
    ('64KiB', '65537B')
    """
    return _exact(size_bytes, parse_size_bytes, {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2})


def _exact(value: float, parse: Callable[[str], float], units: dict[str, float]) -> str:
    scaled = [(value / scale, unit) for unit, scale in units.items()]
    texts = [f"{number!r}".removesuffix(".0") + unit for number, unit in scaled if math.isfinite(number)]
    return min((text for text in texts if _is_read_as(text, value, parse)), key=len)


def _is_read_as(text: str, value: float, parse: Callable[[str], float]) -> bool:
    try:
        return parse(text) == value
    except ValueError:  # rounding made it larger than any number
        return False


# ---- texts of measured numbers: for people, and read as what they say ----


def rounded_time(time_s: float, unit: str, digits: int) -> str:
    """A time in a unit that is told, to so many digits, for `parse_time_s`.

    Examples
    --------
    >>> rounded_time(6.892172e-07, "us", 6), rounded_time(8.410843e-13, "ns", 4)
    ('0.689217us', '0.0008411ns')
    """
    return f"{_plain(time_s / _TIME[unit], digits)}{unit}"


def rounded_bandwidth(bandwidth_bytes_per_s: float, digits: int) -> str:
    """A bandwidth in the largest decimal unit of bytes of which it makes at least one, for its `parse_` function.

    Examples
    --------
    >>> rounded_bandwidth(7911084000, 6), rounded_bandwidth(12.5e6, 6)
    ('7.91108GB/s', '12.5MB/s')
    """
    return _rounded(bandwidth_bytes_per_s, _BYTES_STEPS, digits) + "/s"


def rounded_speed(speed_flop_per_s: float, digits: int) -> str:
    """A speed of computing in the largest unit of which it makes at least one, for its `parse_` function.

    Examples
    --------
    >>> rounded_speed(12.13e9, 6)
    '12.13Gf'
    """
    return _rounded(speed_flop_per_s, _SPEED_STEPS, digits)


def _rounded(value: float, steps: tuple[tuple[float, str], ...], digits: int) -> str:
    rounded = float(f"{value:.{digits}g}")
    scale, unit = next((step for step in steps if rounded >= step[0]), steps[-1])
    return f"{_plain(rounded / scale, digits)}{unit}"


def _plain(value: float, digits: int) -> str:
    """Number with so many digits, without an exponent."""
    from decimal import Decimal  # few runs print such numbers

    text = f"{Decimal(f'{value:.{digits}g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
