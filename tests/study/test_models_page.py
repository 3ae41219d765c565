"""The page on models: its commands print what it shows."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpy.cli.main import main

pytest.importorskip("scipy")

PAGE = (
    (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8").partition("## Models and their")[0]
)
FILES = re.findall(r"```\w+\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"^    \$ smpy (.*)\n((?:    (?!\$).*\n|\n(?=    ))*)", PAGE, re.MULTILINE)


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert len(SHOWN) == 7
    for command, output in SHOWN:
        done = CliRunner().invoke(main, shlex.split(command))
        assert done.exit_code == 0, done.output
        lines = [line.strip() for line in output.splitlines() if line.strip() not in ("", "...")]
        printed = [line.strip() for line in done.output.splitlines()]
        assert [line for line in lines if line not in printed] == []
