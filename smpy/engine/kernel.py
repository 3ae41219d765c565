"""The compiled event kernel: the only module that imports it, private to this package."""

from __future__ import annotations

from smpy.engine._event import ffi, lib

__all__ = ["ffi", "lib"]
