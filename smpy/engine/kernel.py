"""The compiled event kernel as cffi shows it: the one place that imports it, for this package alone."""

from __future__ import annotations

from smpy.engine._event import ffi, lib

__all__ = ["ffi", "lib"]
