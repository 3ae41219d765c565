"""Facts on the real machine that made a record, and the date; nothing on the simulated machine."""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from datetime import UTC, datetime
from time import time
from typing import Any


def this_machine(wall_s: float) -> dict[str, Any]:
    """Name, processor and versions of this machine, the date when a run of that length began, and its command line."""
    numpy = sys.modules.get("numpy")
    return {
        "name": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": getattr(numpy, "__version__", None),
        "command": list(sys.argv),
        "began": datetime.fromtimestamp(time() - wall_s, UTC).isoformat(timespec="seconds"),
        "wall_s": wall_s,
    }


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
