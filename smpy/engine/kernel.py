"""The compiled event kernel as cffi shows it, and the compiled surface: the one place that imports them.

`surface` is None where it is not built, or when SMPY_SURFACE=python asks to do without it.
"""

from __future__ import annotations

import os
from typing import Any

from smpy.engine._event import ffi, lib

__all__ = ["ffi", "lib", "surface"]

surface: Any = None
if os.environ.get("SMPY_SURFACE") != "python":
    try:
        from smpy.engine import _surface as surface
    except ImportError:
        surface = None
