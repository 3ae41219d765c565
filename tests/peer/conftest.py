"""Fixtures of the comparisons with smpirun."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peer.runners import compile_programs, missing_tool


@pytest.fixture(scope="session")
def smpirun() -> None:
    """SimGrid's tools; tests that need them are skipped where they are missing."""
    if reason := missing_tool():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def binaries(smpirun: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the compiled C twins."""
    return compile_programs(tmp_path_factory.mktemp("smpirun"))
