"""The compiled surface of MPI's hot calls: the one place that imports it.

`surface` is None where it is not built, or when SMPY_SURFACE=python asks to do without it.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["surface"]


def _compiled_surface() -> Any:
    if os.environ.get("SMPY_SURFACE") == "python":
        return None
    try:
        return importlib.import_module("smpy.engine._surface")
    except ImportError:
        return None


surface: Any = _compiled_surface()
