"""Processors of this machine: the ones that this process may use, and those that share a core."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROCESSORS: Final = Path("/sys/devices/system/cpu")


def usable_processors() -> tuple[int, ...]:
    """Numbers of the processors that this process may use, rising."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def siblings_of(processor: int) -> frozenset[int]:
    """Processors of the same core (simultaneous multithreading), itself included; it alone if the system has none."""
    with suppress(OSError, ValueError):
        text = (_PROCESSORS / f"cpu{processor}" / "topology" / "thread_siblings_list").read_text(encoding="ascii")
        return frozenset(_numbers(text)) | {processor}
    return frozenset((processor,))


def processors_beside(processor: int, usable: Sequence[int]) -> tuple[int, ...]:
    """Usable processors of other cores than this one's; those of its core if there is no other core."""
    others = [other for other in usable if other != processor]
    siblings = siblings_of(processor)
    return tuple(other for other in others if other not in siblings) or tuple(others)


def _numbers(text: str) -> list[int]:
    """Numbers of a list such as `0-3,8`."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
