"""Hosts of one communicator, and the messages still due in it by which an MPI library finds them.

Modules `host_search` and `han_communicators` have these messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from smpy.collectives.hosts import Hosts

SEARCHED: Final = frozenset({"", "local", "leaders"})
"""Groups among which SMPI searches for hosts: a whole communicator, the ranks of a host, the first ranks of hosts."""

_OF_HAN: Final = frozenset({"han", "han_simple", "han_order"}) | {
    f"han_order_{operation}" for operation in ("bcast", "reduce", "gather", "scatter", "allgather")
}
"""Names of the messages of `han_communicators`."""
SENT_ONCE: Final = SEARCHED | _OF_HAN


class HostSearch:
    """State of a library's search for the ranks that share a host, which sends messages once per communicator.

    SMPI makes a communicator of the ranks of each host, and one of their first ranks. A table may search again in
    these. Open MPI's han makes communicators in several calls.

    Parameters
    ----------
    is_due : bool
        Whether no messages of such a search have been sent yet.

    Attributes
    ----------
    due : set of str
        Members of `SENT_ONCE` whose messages have not been sent yet.
    """

    __slots__ = ("_part", "due")

    def __init__(self, *, is_due: bool) -> None:
        self.due = set(SENT_ONCE) if is_due else set()
        self._part = ""

    @property
    def is_due(self) -> bool:
        """Whether SMPI's search among these ranks has not been made yet."""
        return self._part in self.due

    def finish(self) -> None:
        """Note that SMPI's search among these ranks has been made."""
        self.due.discard(self._part)

    def take(self, name: str) -> bool:
        """Whether the messages with a name are due; after this call, they no longer are."""
        is_due = name in self.due
        self.due.discard(name)
        return is_due

    def among(self, part: str) -> HostSearch:
        """The search among the ranks of a part, one of `SEARCHED`; it shares `due` with this search."""
        search = HostSearch(is_due=False)
        search.due, search._part = self.due, part
        return search


class HostsOfComm:
    """The hosts of a communicator's ranks, found on first use, and the state of the library's search for them.

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
