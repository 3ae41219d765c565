"""`Exporter`, the base class of objects that lend memory by the buffer protocol: a compiled one, or a plain one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smpy.engine.surface import surface

__all__ = ["Exporter"]

if TYPE_CHECKING or surface is None:

    class Exporter:
        """An object that lends the memory of its `_view`, if there is one; plain Python needs version 3.12 for that."""

        __slots__ = ("_view",)

        _view: memoryview

        def __buffer__(self, flags: int, /) -> memoryview:
            return getattr(self, "_view", memoryview(b""))

else:
    Exporter = surface.Exporter
