"""Names of hosts: their natural order, and short texts for many of them, such as `node-[0-31]`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_DIGITS: Final = re.compile("([0-9]+)")
_RANGE: Final = re.compile(r"(.*)\[([0-9]{1,18})-([0-9]{1,18})\](.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"(?<![0-9])[0-9]{1,18}(?=[^0-9]*$|\.)")


def natural_key(name: str) -> tuple[object, ...]:
    """Key that sorts names naturally: a number in a name compares as a number.

    Examples
    --------
    >>> sorted(["h10", "h9", "h1-b", "h1"], key=natural_key)
    ['h1', 'h1-b', 'h9', 'h10']
    """
    parts: list[object] = list(_DIGITS.split(name))
    for at in range(1, len(parts), 2):
        digits = str(parts[at]).lstrip("0")
        parts[at] = (len(digits), digits)  # compares as the number does, whatever its length
    return tuple(parts), name


def merge_hosts(hosts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Hosts with a number each; consecutively numbered hosts with the same number are merged.

    Examples
    --------
    >>> merge_hosts([("h08", 2), ("h09", 2), ("h10", 2), ("h11", 1), ("h13", 1)])
    [('h[08-10]', 2), ('h11', 1), ('h13', 1)]
    """
    runs: list[tuple[str, int]] = []
    first: tuple[str, str, str] | None = None  # parts of the open range: before the number, the number, after it
    last, value = "", 0

    def close() -> None:
        if first is not None:
            before, number, after = first
            name = f"{before}{number}{after}" if number == last else f"{before}[{number}-{last}]{after}"
            runs.append((name, value))

    for host, its_value in hosts:
        before, number, after = _split(host)
        goes_on = first is not None and (before, after, its_value) == (first[0], first[2], value)
        if not (goes_on and number and last and number == str(int(last) + 1).zfill(len(last))):
            close()
            first, value = (before, number, after), its_value
        last = number
    close()
    return runs


def merge_names(names: Iterable[str]) -> list[str]:
    """Names of hosts, with consecutively numbered ones merged.

    Examples
    --------
    >>> merge_names(["node-0.org", "node-1.org", "login"])
    ['node-[0-1].org', 'login']
    """
    return [name for name, _ in merge_hosts((name, 0) for name in names)]


def expand_name(name: str) -> list[str]:
    """Names of the hosts that a merged name stands for.

    Examples
    --------
    >>> expand_name("h[08-10]"), expand_name("h11")
    (['h08', 'h09', 'h10'], ['h11'])
    """
    parts = _RANGE.fullmatch(name)
    if parts is None:
        return [name]
    before, first, last, after = parts.groups()
    return [f"{before}{number:0{len(first)}}{after}" for number in range(int(first), int(last) + 1)]


def _split(name: str) -> tuple[str, str, str]:
    """Split a name around its number: the first number before a dot, or the last number."""
    digits = _NUMBER.search(name)
    return (name, "", "") if digits is None else (name[: digits.start()], digits[0], name[digits.end() :])
