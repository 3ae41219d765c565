"""The versions that a run depends on."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

_CODE: Final = (".py", ".so", ".json", ".toml")
OF_RESULTS: Final = (
    "__init__.py",
    "blas.py",
    "collectives",
    "compute",
    "emulate",
    "engine",
    "mpi",
    "option_texts.py",
    "options.py",
    "platforms",
    "records",
    "replay",
    "units.py",
)
"""Files and folders of smpy that results depend on."""


@cache
def versions() -> dict[str, str]:
    """Versions of numpy and Python; for smpy, a hash of the files that results depend on."""
    return {
        "smpy": _hash_of_files(),
        "numpy": version("numpy"),
        "python": platform.python_version(),
    }


def _hash_of_files() -> str:
    root = Path(__file__).parent.parent
    whole = sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in _CODE and path.relative_to(root).parts[0] in OF_RESULTS:
            whole.update(f"{path.relative_to(root)}\0".encode())
            whole.update(path.read_bytes())
    return whole.hexdigest()[:16]
