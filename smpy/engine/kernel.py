"""The compiled event kernel as cffi shows it, and the compiled surface: the one place that imports them.

`surface` is None where it is not built, or when SMPY_SURFACE=python asks to do without it.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from smpy.engine._event import ffi, lib

__all__ = ["ffi", "lib", "surface"]


def _compiled_surface() -> Any:
    if os.environ.get("SMPY_SURFACE") == "python":
        return None
    try:
        return importlib.import_module("smpy.engine._surface")
    except ImportError:
        return None


surface: Any = _compiled_surface()
