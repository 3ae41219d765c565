"""Reads parallel efficiencies of threads: the table [threads] of a machine."""

from __future__ import annotations

from smpy.platforms.models.thread_efficiency import ThreadEfficiency
from smpy.platforms.own_format.settings import TomlTable, number_of


def read_threads(threads: TomlTable) -> tuple[ThreadEfficiency, ...]:
    """Efficiencies in the table [threads], which holds a table of a number of threads each, by kernel or class.

    Raises
    ------
    PlatformError
        If one is none.
    """
    efficiencies = []
    for kernel, table in threads.tables():
        try:
            efficiencies.append(ThreadEfficiency(kernel, _points(table)))
        except ValueError as wrong:
            raise threads.error(kernel, str(wrong)) from None
    threads.check_keys()
    return tuple(sorted(efficiencies, key=lambda each: each.kernel))


def thread_tables(efficiencies: tuple[ThreadEfficiency, ...]) -> dict[str, dict[str, object]]:
    """Table from which `read_threads` makes the efficiencies."""
    tables: dict[str, object] = {each.kernel: {str(n): part for n, part in each.points} for each in efficiencies}
    return {"threads": tables} if tables else {}


def _points(table: TomlTable) -> tuple[tuple[int, float], ...]:
    points = []
    for number, setting in table.values():
        if not number.isdecimal():
            raise setting.error(f"{number!r} is no number of threads: write it such as 4 = 0.95")
        points.append((int(number), number_of(setting)))
    return tuple(sorted(points))
