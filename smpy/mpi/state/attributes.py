"""Attributes: values that a rank caches on an object, with callbacks for its copy and its end."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any, ClassVar, Final

from smpy.engine.running import current
from smpy.mpi.state.constants import KEYVAL_INVALID
from smpy.mpi.state.exceptions import fail
from smpy.mpi.state.handle import Handle
from smpy.mpi.state.per_rank_attributes import Attributes, KeyKind
from smpy.mpi.state.world import world

__all__ = ["Attributed", "attributes_of", "copy_attributes", "delete_attributes"]

_FIRST_KEYVAL: Final = 100
"""First number of a key made by a program, above the predefined keys."""


class Attributed(Handle):
    """An object that attributes can be cached on."""

    __slots__ = ()
    _predefined_keyvals: ClassVar[frozenset[int]] = frozenset()

    def _attributes_of_rank(self, call: str) -> Attributes:
        """Attributes that the running rank has cached; raises when the handle is null."""
        raise NotImplementedError

    def _attributes_to_change(self, call: str) -> Attributes:
        """The same, to be added to."""
        return self._attributes_of_rank(call)

    def _predefined_attribute(self, keyval: int) -> Any:
        """Value of a predefined key."""
        raise NotImplementedError

    def Get_attr(self, keyval: int) -> Any:
        """The value cached under a key, None when there is none.

        Parameters
        ----------
        keyval : int
            A predefined key, or one of `Create_keyval`.
        """
        attributes = self._attributes_of_rank("Get_attr")
        if keyval in self._predefined_keyvals:
            return self._predefined_attribute(keyval)
        if keyval not in attributes:
            self._kind_of_keyval(keyval, "Get_attr")
            return None
        return attributes[keyval][1]

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Cache a value under a key; one that is there already is deleted first.

        Parameters
        ----------
        keyval : int
            One of `Create_keyval`.
        attrval : object
            The value; an int when the key is for C and Fortran (``nopython``).
        """
        attributes = self._attributes_to_change("Set_attr")
        kind = self._kind_of_keyval(keyval, "Set_attr")
        value = int(attrval) if kind.is_number else attrval
        if keyval in attributes:
            _delete(self, attributes, keyval, "Set_attr")
        attributes[keyval] = kind, value

    def Delete_attr(self, keyval: int) -> None:
        """Delete the value cached under a key.

        Parameters
        ----------
        keyval : int
            One of `Create_keyval`.
        """
        attributes = self._attributes_of_rank("Delete_attr")
        if keyval not in attributes:
            self._kind_of_keyval(keyval, "Delete_attr")
            fail("ERR_KEYVAL", f"Delete_attr({keyval}): nothing is cached under this key")
        _delete(self, attributes, keyval, "Delete_attr")

    @classmethod
    def Create_keyval(
        cls,
        copy_fn: Callable[[Any, int, Any], Any] | bool | None = None,
        delete_fn: Callable[[Any, int, Any], None] | None = None,
        nopython: bool = False,
    ) -> int:
        """A new key, for objects of this family.

        Parameters
        ----------
        copy_fn : callable or bool, optional
            Called with the object, the key and the value when the object is duplicated: the value for the duplicate,
            or ``NotImplemented`` for none. True gives the duplicate the same value, False or None none.
        delete_fn : callable, optional
            Called with the object, the key and the value when the value is deleted or the object freed.
        nopython : bool
            Whether values are integers, as in C and Fortran, rather than objects.
        """
        known = world()
        keyval = _FIRST_KEYVAL + known.n_keyvals
        known.n_keyvals += 1
        known.keyvals[keyval] = KeyKind(cls._family, copy_fn, delete_fn, nopython)
        return keyval

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:
        """Give a key back; values cached under it stay until they are deleted.

        Parameters
        ----------
        keyval : int
            One of `Create_keyval`.

        Returns
        -------
        int
            ``KEYVAL_INVALID``
        """
        cls._kind_of_keyval(keyval, "Free_keyval")
        del world().keyvals[keyval]
        return KEYVAL_INVALID

    @classmethod
    def _kind_of_keyval(cls, keyval: int, call: str) -> KeyKind:
        kind = world().keyvals.get(keyval)
        if kind is None or kind.family != cls._family:
            fail("ERR_KEYVAL", f"{call}({keyval}): this is no key of a {cls._family}: Create_keyval makes one")
        return kind


def attributes_of(family: str, number: int) -> Attributes:
    """Attributes that the running rank has cached on an object that other ranks may use too.

    Parameters
    ----------
    family : str
        Its family.
    number : int
        Its number there.
    """
    return world().attributes.setdefault((current().rank, family, number), {})


def copy_attributes(old: Attributed, attributes: Attributes, call: str) -> Attributes:
    """Attributes that a new duplicate of `old` gets from the copy callbacks.

    Raises
    ------
    Exception
        If a callback raises: ``ERR_OTHER``; its traceback goes to stderr.
    """
    copied: Attributes = {}
    for keyval, (kind, value) in attributes.items():
        if callable(kind.copy_fn):
            new = _called(kind.copy_fn, old, keyval, value, call)
            if new is not NotImplemented:
                copied[keyval] = kind, new
        elif kind.copy_fn:
            copied[keyval] = kind, value
    return copied


def delete_attributes(freed: Attributed, attributes: Attributes, call: str) -> None:
    """Delete all that is cached on an object that is about to be freed, the latest first."""
    for keyval in reversed(list(attributes)):
        _delete(freed, attributes, keyval, call)


def _delete(holder: Attributed, attributes: Attributes, keyval: int, call: str) -> None:
    kind, value = attributes.pop(keyval)
    if kind.delete_fn is not None:
        _called(kind.delete_fn, holder, keyval, value, call)


def _called(function: Callable[[Any, int, Any], Any], holder: Attributed, keyval: int, value: Any, call: str) -> Any:
    try:
        return function(holder, keyval, value)
    except Exception as error:  # noqa: BLE001  # whatever the program's callback raises
        traceback.print_exc(file=sys.stderr)
        reason = f"{call}: the callback of attribute {keyval} raised {type(error).__name__}: {error}"
    return fail("ERR_OTHER", reason)
