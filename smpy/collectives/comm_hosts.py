"""Hosts of one communicator, and the state of SMPI's search for them; `host_search` has the messages of that search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from smpy.collectives.hosts import Hosts

SEARCHED: Final = frozenset({"", "local", "leaders"})
"""Groups among which SMPI searches for hosts: a whole communicator, the ranks of a host, the first ranks of hosts."""


class HostSearch:
    """State of SMPI's search for the ranks that share a host, which sends messages once per communicator.

    SMPI makes a communicator of the ranks of each host, and one of their first ranks. A table may search again in
    these.

    Parameters
    ----------
    is_due : bool
        Whether none of these searches has been made yet.

    Attributes
    ----------
    due : set of str
        Members of `SEARCHED` whose search has not been made yet.
    """

    __slots__ = ("_part", "due")

    def __init__(self, *, is_due: bool) -> None:
        self.due = set(SEARCHED) if is_due else set()
        self._part = ""

    @property
    def is_due(self) -> bool:
        """Whether the search among these ranks has not been made yet."""
        return self._part in self.due

    def finish(self) -> None:
        """Note that the search among these ranks has been made."""
        self.due.discard(self._part)

    def among(self, part: str) -> HostSearch:
        """The search among the ranks of a part, one of `SEARCHED`; it shares `due` with this search."""
        search = HostSearch(is_due=False)
        search.due, search._part = self.due, part
        return search


class HostsOfComm:
    """The hosts of a communicator's ranks, found on first use, and the state of SMPI's search for them.

    Parameters
    ----------
    find : callable
        Returns the hosts.
    """

    __slots__ = ("_find", "_hosts", "search")

    def __init__(self, find: Callable[[], Hosts]) -> None:
        self._find = find
        self._hosts: Hosts | None = None
        self.search = HostSearch(is_due=True)

    def known(self) -> Hosts:
        """The hosts."""
        if self._hosts is None:
            self._hosts = self._find()
        return self._hosts
