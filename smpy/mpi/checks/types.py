"""Keys of message types, as the kernel compares them, and the layouts that they stand for.

A key of the compiled surface holds the characters of a buffer's format, or the address of a predefined `Datatype`. A
key of `smpy.mpi` is the number of a layout, counted from `_FIRST_OF_LAYOUTS`.
"""

from __future__ import annotations

from typing import Final

from smpy.mpi.data.datatypes import PREDEFINED, of_format
from smpy.mpi.data.layout import Layout

__all__ = ["TypeKeys"]

_FIRST_OF_LAYOUTS: Final = 1 << 62
_FIRST_OF_ADDRESSES: Final = 1 << 24


class TypeKeys:
    """Layouts of all keys used in a run."""

    def __init__(self) -> None:
        self._of_layouts: dict[int, Layout] = {}
        self._layouts = {id(handle): handle._layout_or_null for handle in PREDEFINED.values()}

    def key_of(self, layout: Layout) -> int:
        """Key of a layout."""
        key = _FIRST_OF_LAYOUTS + layout.number
        self._of_layouts[key] = layout
        return key

    def layout_of(self, key: int) -> Layout | None:
        """Layout that a key stands for; None when the key is unknown."""
        if key >= _FIRST_OF_LAYOUTS:
            return self._of_layouts[key]
        if key >= _FIRST_OF_ADDRESSES:
            return self._layouts.get(key)
        code = key.to_bytes(3, "little").rstrip(b"\0").decode("latin-1").lstrip("@=<>!")
        try:
            return of_format(code)._layout
        except KeyError:
            return None
