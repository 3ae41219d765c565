"""`Info`: pairs of strings, with the methods of the standard and those of a dictionary."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, TypeAlias

from smpy.engine.running import current, is_running
from smpy.mpi.state.constants import MAX_INFO_KEY, MAX_INFO_VAL
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle, of_family

__all__ = ["INFO_ENV", "INFO_NULL", "Info", "pairs_of"]

_ENVIRONMENT: Final[dict[str, str]] = {}
"""Placeholder for the properties of the rank that reads them."""


class Info(Handle):
    """Pairs of strings: hints for calls.

    Parameters
    ----------
    info : Info, optional
        One to make another handle of; null without it.
    """

    __slots__ = ("__weakref__", "_pairs_or_null")
    _family: ClassVar = "Info"

    _pairs_or_null: dict[str, str] | None

    def __new__(cls, info: Info | None = None) -> Self:
        self = super().__new__(cls)
        self._pairs_or_null = None if info is None else of_family(info, Info)._pairs_or_null
        return self

    def _identity(self) -> int:
        return 0 if self._pairs_or_null is None else id(self._pairs_or_null)

    def _become_null(self) -> None:
        self._pairs_or_null = None

    def __reduce__(self) -> str | tuple[Any, ...]:
        if not self or self._is_predefined():
            return super().__reduce__()
        return type(self).Create, (self.items(),)

    @property
    def _pairs(self) -> dict[str, str]:
        """The pairs; raises ``ERR_INFO`` when the handle is null."""
        if self._pairs_or_null is None:
            fail("ERR_INFO", "the info object is null")
        return _environment() if self._pairs_or_null is _ENVIRONMENT else self._pairs_or_null

    # ---- the standard's ----

    @classmethod
    def Create(cls, items: Items | None = None) -> Self:
        """Make an object with these pairs.

        Parameters
        ----------
        items : Info, mapping or iterable of pairs, optional
            Keys and values.
        """
        self = cls()
        self._pairs_or_null = {}
        self.update(items or ())
        return self

    @classmethod
    def Create_env(cls, args: Sequence[str] | None = None) -> Self:
        """Make an object with the properties of the program's start.

        Parameters
        ----------
        args : str or sequence of str, optional
            Command and arguments; default: the running rank's.
        """
        return cls.Create(_environment([args] if isinstance(args, str) else args))

    def Free(self) -> None:
        """Give the object back; the handle becomes null."""
        self._writable("Free")
        self._become_null()

    def Dup(self) -> Self:
        """A further object with the same pairs."""
        return self.Create(self._pairs)

    def Get(self, key: str) -> str | None:
        """The value of a key, None when there is no such key."""
        return self._pairs.get(_checked_key(key, "Get"))

    def Set(self, key: str, value: str) -> None:
        """Give a key a value."""
        pairs = self._writable("Set")
        if not len(value) < MAX_INFO_VAL:
            fail("ERR_INFO_VALUE", f"Set: a value has less than {MAX_INFO_VAL} characters, this one {len(value)}")
        pairs[_checked_key(key, "Set")] = value

    def Delete(self, key: str) -> None:
        """Forget a key; it must exist."""
        pairs = self._writable("Delete")
        if _checked_key(key, "Delete") not in pairs:
            fail("ERR_INFO_NOKEY", f"Delete: there is no key {key!r}")
        del pairs[key]

    def Get_nkeys(self) -> int:
        """Number of keys."""
        return len(self._pairs)

    def Get_nthkey(self, n: int) -> str:
        """The n-th key, in the order in which keys were set."""
        keys = list(self._pairs)
        if not 0 <= n < len(keys):
            fail("ERR_ARG", f"Get_nthkey({n}): there are {len(keys)} keys, counted from 0")
        return keys[n]

    # ---- a dictionary's; a null object has no keys ----

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._pairs) if self else 0

    def __contains__(self, key: str, /) -> bool:
        return bool(self) and key in self._pairs

    def __getitem__(self, key: str, /) -> str:
        if key not in self:
            raise KeyError(key)
        return self._pairs[key]

    def __setitem__(self, key: str, value: str, /) -> None:
        self._need(key)
        self.Set(key, value)

    def __delitem__(self, key: str, /) -> None:
        if key not in self:
            raise KeyError(key)
        self.Delete(key)

    def get(self, key: str, default: str | None = None) -> str | None:
        """The value of a key, `default` when there is no such key."""
        return self._pairs[key] if key in self else default

    def keys(self) -> list[str]:
        """The keys."""
        return list(self._pairs) if self else []

    def values(self) -> list[str]:
        """The values."""
        return list(self._pairs.values()) if self else []

    def items(self) -> list[tuple[str, str]]:
        """Keys and values."""
        return list(self._pairs.items()) if self else []

    def update(self, items: Items = (), **kwds: str) -> None:
        """Set several pairs.

        Parameters
        ----------
        items : Info, mapping or iterable of pairs
            Keys and values.
        kwds : str
            More of them.
        """
        self._need("update")
        pairs = items.items() if isinstance(items, Info | Mapping) else items
        for key, value in (*pairs, *kwds.items()):
            self.Set(key, value)

    def pop(self, key: str, *default: str) -> str:
        """Forget a key: its value, or `default` when there is no such key."""
        if key not in self and default:
            return default[0]
        value = self[key]
        self.Delete(key)
        return value

    def popitem(self) -> tuple[str, str]:
        """Forget the key set last: it and its value."""
        self._need("popitem")
        pairs = self._writable("popitem")
        if not pairs:
            raise KeyError("popitem: there are no keys")
        return pairs.popitem()

    def copy(self) -> Self:
        """A further object with the same pairs; null when this one is."""
        return self.Dup() if self else type(self)()

    def clear(self) -> None:
        """Forget all keys."""
        if self:
            self._writable("clear").clear()

    # ---- checks ----

    def _need(self, key: str) -> None:
        if not self:
            raise KeyError(key)

    def _writable(self, call: str) -> dict[str, str]:
        if self._pairs_or_null is _ENVIRONMENT:
            fail("ERR_INFO", f"{call}: MPI_INFO_ENV is predefined: use a Dup() of it")
        return self._pairs


Items: TypeAlias = Info | Mapping[str, str] | Iterable[tuple[str, str]]


def pairs_of(info: Info | None) -> dict[str, str]:
    """The hints that a call was given, as a dictionary of its own; none when null."""
    return dict(info._pairs) if info else {}


def _checked_key(key: str, call: str) -> str:
    if not 0 < len(key) < MAX_INFO_KEY:
        fail("ERR_INFO_KEY", f"{call}({key!r}): a key has between 1 and {MAX_INFO_KEY - 1} characters")
    return key


def _environment(args: Sequence[str] | None = None) -> dict[str, str]:
    command = list(sys.argv if args is None else args)
    environment = {"command": command[0], "argv": " ".join(command[1:])} if command else {}
    environment["wdir"] = os.getcwd()
    if is_running():
        engine = current()
        environment |= {"maxprocs": str(engine.n_ranks), "host": engine.host_name(engine.rank)}
        environment["thread_level"] = "MPI_THREAD_MULTIPLE"
    return environment


INFO_NULL: Final = Info()
INFO_ENV: Final = Info()
INFO_ENV._pairs_or_null = _ENVIRONMENT
Info._know({"INFO_NULL": INFO_NULL, "INFO_ENV": INFO_ENV})
