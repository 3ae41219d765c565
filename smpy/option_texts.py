"""Readers and writers of the texts of options.

A reader raises ValueError with a message that begins with the text; a writer gives a text that is read as the same.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from smpy.errors import meant

if TYPE_CHECKING:
    from smpy.compute.models.modelling import ComputeMode
    from smpy.engine.time_calls import NoiseKind


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """Reader of whole numbers from one to another; None: there is no largest."""

    least: int
    most: int | None = None

    def __call__(self, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a whole number") from None
        if number < self.least or (self.most is not None and number > self.most):
            limits = f"at least {self.least}" if self.most is None else f"from {self.least} to {self.most}"
            raise ValueError(f"{text} is not {limits}")
        return number


@dataclass(frozen=True, slots=True)
class OneOf:
    """Reader of names in a list."""

    names: tuple[str, ...]

    def __call__(self, text: str) -> str:
        if text not in self.names:
            raise ValueError(f"{text!r} is none of {', '.join(self.names)}{meant(text, self.names)}")
        return text


def change(text: str) -> tuple[str, str]:
    """Key and value of `--set`."""
    pair = re.match(r"((?:link|host)\[.*?\]\.\w+)=|([^=:]*/[^=:]*)[=:]|([^=]*[./][^=]*)=", text)
    if pair is None:
        from smpy.platforms.own_format.one_line import SHORT_KEYS

        key, equals, rest = text.partition("=")
        advice = f": write {SHORT_KEYS[key]}={rest}" if equals and key in SHORT_KEYS else ""
        raise ValueError(
            f"{text!r} is not KEY=VALUE with a key such as host.cores, topology.oversubscription or smpi/test{advice}"
        )
    return pair[1] or pair[2] or pair[3], text[pair.end() :]


def algorithm(text: str) -> tuple[str, str]:
    """Collective and algorithm of `--algorithm`."""
    operation, equals, name = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is not COLLECTIVE=NAME, such as alltoall=ring")
    return operation, name


def computing(text: str) -> tuple[ComputeMode, Path | None, Path | None]:
    """Mode, file to record and file to replay."""
    match text.partition(":"):
        case ("measured" | "models" | "mixed" | "none") as mode, "", "":
            return mode, None, None
        case "record", ":", file if file:
            return "measured", Path(file), None
        case "replay", ":", file if file:
            return "measured", None, Path(file)
    raise ValueError(f"{text!r} is none of measured, models, mixed, none, record:FILE and replay:FILE")


def computing_text(value: tuple[ComputeMode, Path | None, Path | None]) -> str:
    """Text that `computing` reads."""
    mode, record, replay = value
    return f"record:{record}" if record is not None else f"replay:{replay}" if replay is not None else mode


def speed_flop_per_s(text: str) -> float:
    """Speed of a core."""
    from smpy.units import parse_speed_flop_per_s

    speed = parse_speed_flop_per_s(text)
    if not 0 < speed < math.inf:
        raise ValueError(f"{text!r} is not a speed of a machine")
    return speed


_NOISE: Final = "5%, pareto:5% and ticks:1ms:20us"
_MOST_NOISE: Final = {"normal": 0.3, "pareto": 1.0}  # above, normal factors fall below 0, and Pareto's have no variance


def noise_model(text: str) -> tuple[NoiseKind, float, float]:
    """Kind of noise on computing, its size (a share; of ticks, seconds), and the period of ticks in seconds, else 0."""
    from smpy.units import parse_time_s

    match text.split(":"):
        case [share]:
            return "normal", _noise_share(text, share, "normal"), 0.0
        case ["pareto", share]:
            return "pareto", _noise_share(text, share, "pareto"), 0.0
        case ["ticks", period, size]:
            period_s, size_s = parse_time_s(period), parse_time_s(size)
            if not (0 < size_s < math.inf and 1e-9 <= period_s < math.inf):
                raise ValueError(f"{text!r}: ticks take some time, every 1ns or more: write ticks:1ms:20us")
            return "ticks", size_s, period_s
    raise ValueError(f"{text!r} is no noise such as {_NOISE}")


def _noise_share(text: str, share: str, kind: NoiseKind) -> float:
    number = re.fullmatch(r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?%", share.strip())
    if number is None:
        raise ValueError(f"{text!r} is no noise such as {_NOISE}")
    size = float(share.strip()[:-1]) / 100
    if not 0 < size <= _MOST_NOISE[kind]:
        raise ValueError(f"{text!r}: {kind} noise is above 0 and at most {_MOST_NOISE[kind]:.0%}")
    return size


def noise_model_text(value: tuple[NoiseKind, float, float]) -> str:
    """Text that `noise_model` reads."""
    from smpy.units import exact_time

    kind, size, period_s = value
    if kind == "ticks":
        return f"ticks:{exact_time(period_s)}:{exact_time(size)}"
    percents = (f"{100 * size:.{digits}g}" for digits in range(3, 18))
    share = next((percent for percent in percents if float(percent) / 100 == size), repr(100 * size))
    return f"pareto:{share}%" if kind == "pareto" else f"{share}%"


NO_BACKGROUND: Final = "none"
_MESSAGE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class UniformTraffic:
    """Uniform random traffic of other jobs.

    Attributes
    ----------
    share : float
        Part of the bandwidth on their way that the messages of a host take, above 0 and below 1.
    size_bytes : int
        Size of each message.
    """

    share: float
    size_bytes: int = _MESSAGE_BYTES


def background(text: str) -> UniformTraffic | Path | Literal["none"]:
    """Traffic of other jobs: uniform, or that of a trace; "none" for no traffic."""
    from smpy.units import parse_size_bytes

    if text.strip() == NO_BACKGROUND:
        return NO_BACKGROUND
    key, is_uniform, value = text.partition("=")
    if key.strip() != "share" or not is_uniform:
        return Path(text)
    share, comma, size = value.partition(",")
    name, _, size = size.partition("=")
    number = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*", share)
    part, size_bytes = math.nan, 0
    try:
        part = float(number[1]) / (100 if number[2] else 1) if number else math.nan
        size_bytes = int(parse_size_bytes(size)) if comma else _MESSAGE_BYTES
    except ValueError:
        pass
    if not 0 < part < 1 or (comma and name.strip() != "size") or not 0 < size_bytes < 1 << 63:
        raise ValueError(f"{text!r} is not share=30% or share=30%,size=64KiB: a share is above 0 and below 100%")
    return UniformTraffic(part, size_bytes)


def background_text(value: UniformTraffic | Path | Literal["none"]) -> str:
    """Text that `background` reads."""
    if isinstance(value, UniformTraffic):
        return f"share={value.share!r},size={value.size_bytes}B"
    text = str(value)
    return f"./{text}" if isinstance(value, Path) and (text == NO_BACKGROUND or text.startswith("share=")) else text


LOAD_GOVERNORS: Final = ("ondemand", "conservative")
"""Governors that follow the load of hosts."""
GOVERNORS: Final = ("performance", "powersave", *LOAD_GOVERNORS)
_PERIOD_S: Final = 0.1  # SimGrid's plugin/dvfs/sampling-rate


def governor(text: str) -> tuple[str, float]:
    """Name of a governor of hosts, and its period in seconds."""
    from smpy.units import parse_time_s

    name, colon, period = text.partition(":")
    if name not in GOVERNORS:
        raise ValueError(f"{name!r} is none of {', '.join(GOVERNORS)}{meant(name, GOVERNORS)}")
    period_s = parse_time_s(period) if colon else _PERIOD_S
    if not 1e-6 <= period_s < math.inf:
        raise ValueError(f"{text!r}: a governor looks every 1us or more: write {name}:0.1")
    return name, period_s


def governor_text(value: tuple[str, float]) -> str:
    """Text that `governor` reads."""
    return f"{value[0]}:{value[1]!r}"


_HALF_WIDTH: Final = "1%"


def skipped_iterations(text: str) -> float:
    """Half width of `--iterations`, as a part of a loop's time."""
    word, colon, part = text.partition(":")
    number = (part if colon else _HALF_WIDTH).strip()
    try:
        half_width = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        half_width = math.nan
    if word != "skip" or not 0 < half_width < 1:
        raise ValueError(f"{text!r} is not skip or skip:HALF_WIDTH, such as skip:1%")
    return half_width


def skipped_iterations_text(half_width: float) -> str:
    """Text that `skipped_iterations` reads."""
    return f"skip:{half_width!r}"


def window_s(text: str) -> tuple[float, float]:
    """First and last date of `--trace-window`."""
    from smpy.units import parse_time_s

    first, colon, last = text.partition(":")
    window = parse_time_s(first) if first.strip() else 0.0, parse_time_s(last) if last.strip() else math.inf
    if not colon or not 0 <= window[0] < window[1]:
        raise ValueError(f"{text!r} is not FROM:TO, such as 10ms:2s")
    return window


def window_text(window_s: tuple[float, float]) -> str:
    """Text that `window_s` reads."""
    return ":".join("" if end_s == math.inf else repr(end_s) for end_s in window_s)


def rank_numbers(text: str) -> tuple[int, ...]:
    """Numbers of ranks, in order, from a list with ranges."""
    ranks: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise ValueError(f"{part!r} is not a rank, nor a range of ranks such as 0-63")
        ranks.update(range(int(first), int(last if dash else first) + 1))
    return tuple(sorted(ranks))


def ranks_text(ranks: tuple[int, ...]) -> str:
    """Text that `rank_numbers` reads."""
    ends = [[ranks[0], ranks[0]]]
    for rank in ranks[1:]:
        if rank == ends[-1][1] + 1:
            ends[-1][1] = rank
        else:
            ends.append([rank, rank])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in ends)


def chosen_message(text: str) -> tuple[int, int, int, int]:
    """Rank, number of its receive, source and tag, from RANK:N=SOURCE:TAG."""
    numbers = re.fullmatch(r"(\d+):(\d+)=(\d+):(\d+)", text.strip())
    if numbers is None or not int(numbers[2]) or any(int(number) >= 1 << 31 for number in numbers.groups()):
        raise ValueError(f"{text!r} is not RANK:N=SOURCE:TAG, such as 0:1=2:7; N begins with 1")
    return int(numbers[1]), int(numbers[2]), int(numbers[3]), int(numbers[4])


def chosen_message_text(chosen: tuple[int, int, int, int]) -> str:
    """Text that `chosen_message` reads."""
    return "{}:{}={}:{}".format(*chosen)


def pair_text(pair: tuple[str, str]) -> str:
    """Text that `change` and `algorithm` read."""
    return "=".join(pair)
