"""The pages on computing, profiles, checks and energy: their commands give the output that they show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpy.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [(DOCS / name).read_text(encoding="utf-8") for name in ("computing.md", "profile.md", "checks.md", "energy.md")]
SHOWN = [
    found
    for page in PAGES
    for found in re.findall(r"^    \$ smpy (.*)\n((?:    (?!\$).*\n|\n(?=    ))*)", page, re.MULTILINE)
]
FILES = [found for page in PAGES for found in re.findall(r"```\w+\n# (\S+)\n(.*?)```", page, re.DOTALL)]
OF_THIS_MACHINE = ("wall time", "peak memory")


def told(output: str) -> list[str]:
    lines = (line.strip() for line in output.splitlines())
    return [line for line in lines if line and not line.startswith(OF_THIS_MACHINE)]


@pytest.mark.parametrize(("command", "output"), SHOWN)
def test_a_command_of_a_page_gives_what_it_shows(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert told(CliRunner().invoke(main, shlex.split(command)).output) == told(output)
