"""The order in which hosts take ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, get_args

from smpy.platforms.host_names import natural_key

HostOrder = Literal["natural", "lexicographic", "platform"]
HOST_ORDERS: Final[tuple[HostOrder, ...]] = get_args(HostOrder)


def ordered_hosts(host_names: Sequence[str], order: HostOrder) -> list[int]:
    """Numbers of the hosts, in an order of their names.

    Parameters
    ----------
    host_names : sequence of str
        By host number.
    order : {"natural", "lexicographic", "platform"}
        By name, where h2 comes before h10; by name as text, where h10 comes before h2; as the machine lists them.

    Examples
    --------
    >>> ordered_hosts(["h10", "h9", "g"], "natural")
    [2, 1, 0]
    >>> ordered_hosts(["h10", "h9", "g"], "lexicographic")
    [2, 0, 1]
    """
    numbers = range(len(host_names))
    if order == "platform":
        return list(numbers)
    if order == "lexicographic":
        return sorted(numbers, key=host_names.__getitem__)
    if all(one <= other for one, other in pairwise(map(natural_key, host_names))):  # the usual case needs no memory
        return list(numbers)
    keys = list(map(natural_key, host_names))
    return sorted(numbers, key=keys.__getitem__)
