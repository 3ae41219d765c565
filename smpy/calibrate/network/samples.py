"""Measured times of messages in a CSV file.

The first line is a comment with where they were measured, as JSON. A last line that was cut off is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from smpy.calibrate.spread import relative_spread
from smpy.errors import UsageError

Kind = Literal[
    "pingpong",
    "send",
    "isend",
    "recv",
    "stream",
    "exchange",
    "waits",
    "returns",
    "copy",
    "reduce",
    "cold",
    "blocks",
    "pairs",
]
KINDS: Final[tuple[str, ...]] = get_args(Kind)
HEAD: Final = "# smpy calibrate network "
COLUMNS: Final = "kind,bytes,repetition,time_s"

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MessageSample:
    """One measured time.

    Parameters
    ----------
    kind : str
        "pingpong": half of a round trip by Send and Recv. "send", "isend": the call alone. "recv": the end of a receive
        whose message is there. "stream": per message, of many in one direction. "exchange": of a Sendrecv that
        both ranks call. "waits", "returns": a Send whose receive was posted much later, which waited for it, or not.
        "copy", "reduce": of one rank alone, in touched memory. "cold": a copy into memory that nothing has touched.
        "blocks": one block of a column, packed or unpacked. "pairs": of a Sendrecv with a partner, that all ranks of a
        full host call at once.
    size_bytes : int
        Size of the message; of "blocks", memory from the first to the last; of "pairs", of all messages that are
        under way at once.
    repetition : int
        The round it belongs to.
    time_s : float
        In seconds.
    """

    kind: str
    size_bytes: int
    repetition: int
    time_s: float


@dataclass(frozen=True, slots=True)
class Samples:
    """All times of a measurement.

    Parameters
    ----------
    rows : tuple of MessageSample
        In the order in which they were measured.
    about : dict
        Machine and software of the measurement.
    """

    rows: tuple[MessageSample, ...]
    about: dict[str, Any] = field(default_factory=dict)

    def medians(self, kind: Kind) -> tuple[Vector, Vector]:
        """Sizes in bytes, ascending, and the median time of each, in seconds."""
        times: dict[int, list[float]] = {}
        for row in self.rows:
            if row.kind == kind:
                times.setdefault(row.size_bytes, []).append(row.time_s)
        sizes = sorted(times)
        return np.array(sizes, dtype=float), np.array([np.median(times[size]) for size in sizes], dtype=float)

    def spread(self, kind: Kind) -> float:
        """`relative_spread` over the sizes; NaN if no size was repeated."""
        times: dict[int, list[float]] = {}
        for row in self.rows:
            if row.kind == kind:
                times.setdefault(row.size_bytes, []).append(row.time_s)
        return relative_spread(times.values())


def is_raw(text: str) -> bool:
    """Whether a text is a file of samples."""
    return text.startswith(HEAD)


def read_raw(text: str, name: str) -> Samples:
    """The samples of a file's text.

    Raises
    ------
    UsageError
        If a line is none; with its number.
    """
    whole = text[: text.rfind("\n") + 1].splitlines()
    about: object = None
    with suppress(ValueError, IndexError):
        about = json.loads(whole[0].removeprefix(HEAD))
    if not isinstance(about, dict) or len(whole) < 2 or whole[1] != COLUMNS:
        raise UsageError(f"{name}: line 1 and 2 are not those of a measurement of `smpy calibrate network`")
    return Samples(tuple(_sample(name, number, row) for number, row in enumerate(whole[2:], start=3)), about)


def _sample(name: str, number: int, row: str) -> MessageSample:
    try:
        kind, size, repetition, time_s = row.split(",")
        sample = MessageSample(kind, int(size), int(repetition), float(time_s))
    except ValueError:
        raise UsageError(f"{name}: line {number} is no measurement: {row!r}") from None
    if kind not in KINDS or sample.size_bytes < 0 or not 0 <= sample.time_s < np.inf:
        raise UsageError(f"{name}: line {number} is no measurement: {row!r}")
    return sample


def join_samples(parts: Sequence[Samples]) -> Samples:
    """Samples of several measurements as one: the last gives the place, and all give their benchmarks."""
    about: dict[str, Any] = {}
    for part in parts:
        for key, value in part.about.items():
            before = about.get(key)
            about[key] = before + value if key == "benchmarks" and before else value
    return Samples(tuple(row for part in parts for row in part.rows), about)
