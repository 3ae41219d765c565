"""Expectations of each module: tests that pass under a real MPI, and the ones of them that do not pass here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

RANKS: Final = (1, 2, 3, 4, 5, 7, 8)


def _read(name: str) -> Any:
    return json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))


MUST_PASS: Final[dict[str, frozenset[str]]] = {
    module: frozenset(f"{module}.{name}" for name in names) for module, names in _read("must_pass.json")["ids"].items()
}
"""Ids of the tests that pass under MPICH, by module."""

SKIPPED_ALONE: Final = ("mpi-world-size<2", "comm.size==1")
"""Reasons for which tests skip themselves on one rank."""

MISSES: Final[dict[str, str]] = {test: reason for reason, tests in _read("misses.json").items() for test in tests}
"""Ids of those that do not pass here, or pass without showing anything, with the reason."""
