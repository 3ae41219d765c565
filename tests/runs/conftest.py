"""Programs and callers of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import write_files

PRINTS_SERVER = "import os; print(open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()[1])"
"""A program that prints the number of the process above its guard."""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Writes a program into the working directory: its name."""
    monkeypatch.chdir(tmp_path)

    def write(source: str) -> str:
        write_files(tmp_path, {"program.py": source})
        return "program.py"

    return write
