"""Reader of calibrations, the TOML files that `smpy calibrate` writes."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

from smpy.compute.clock.memory_shares import LoadSlowdown
from smpy.errors import UsageError
from smpy.input_files import read_text
from smpy.units import parse_bandwidth_bytes_per_s, parse_size_bytes, parse_speed_flop_per_s


def read_result(path: Path) -> dict[str, Any]:
    """The tables of a calibration.

    Raises
    ------
    UsageError
        If the file cannot be read, or is no calibration.
    """
    try:
        tables = tomllib.loads(read_text(path, "calibration"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no calibration: {error}") from error
    about = tables.get("calibration")
    if not isinstance(about, dict):
        raise UsageError(f"{path} is no calibration: it has no table [calibration]; `smpy calibrate` writes such files")
    return tables


def core_speed_flop_per_s(path: Path) -> float:
    """The core speed in a calibration of this machine.

    Raises
    ------
    UsageError
        If the file cannot be read, is no calibration, or says no speed.
    """
    host = read_result(path).get("host")
    text = host.get("speed") if isinstance(host, dict) else None
    if not isinstance(text, str):
        raise UsageError(f"{path}: it says no host.speed; `smpy calibrate host` writes a file that does")
    try:
        speed_flop_per_s = parse_speed_flop_per_s(text)
    except ValueError as error:
        raise UsageError(f"{path}: host.speed: {error}") from error
    if not 0 < speed_flop_per_s < math.inf:
        raise UsageError(f"{path}: host.speed is {text!r}, which is no speed of a machine")
    return speed_flop_per_s


def load_slowdown(path: Path) -> LoadSlowdown | None:
    """Effect of a load of memory on code beside it, from a calibration of this machine; None if it says none.

    Raises
    ------
    UsageError
        If the file cannot be read, is no calibration, or a number in it is out of range.
    """
    tables = read_result(path)
    load = tables["calibration"].get("load")
    if load is None:
        return None
    try:
        slowdown = LoadSlowdown(
            core=float(load["core_slowdown"]),
            memory=float(load["memory_slowdown"]),
            core_bandwidth_bytes_per_s=parse_bandwidth_bytes_per_s(tables["host"]["core_memory_bandwidth"]),
            load_bytes=int(parse_size_bytes(load["memory"])),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: [calibration.load] is not as `smpy calibrate host` writes it: {error}") from error
    numbers = slowdown.core, slowdown.memory, slowdown.core_bandwidth_bytes_per_s, slowdown.load_bytes
    if not all(0 < number < math.inf for number in numbers):
        raise UsageError(f"{path}: [calibration.load] has a number that no machine has: {load}")
    return slowdown
