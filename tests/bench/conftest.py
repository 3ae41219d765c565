"""The table that the benchmarks fill, shown at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.table import Table

TABLE = Table()


@pytest.fixture
def table() -> Table:
    return TABLE


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TABLE.rows:
        terminalreporter.section("benchmarks")
        terminalreporter.write_line(TABLE.render())
