"""Tutorial: a newcomer who types its commands, in order, sees the output that it shows."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpy.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILES = dict(
    zip(re.findall(r"Write this file, `(.*?)`", PAGE), re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL), strict=True)
)
SHOWN = re.findall(r"^    \$ smpy (.*)\n((?:    (?!\$).*\n)*)", PAGE, re.MULTILINE)
OF_THIS_MACHINE = ("wall time", "peak memory", "folder", "conjugate_gradient:")
PROGRESS = " points have ended, "  # after each 30 s of a study: slow machines show it


def lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith(OF_THIS_MACHINE) and PROGRESS not in line]


@pytest.mark.slow
def test_each_command_of_the_tutorial_gives_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    shutil.copytree(ROOT / "apps", tmp_path / "apps")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert (len(FILES), len(SHOWN)) == (2, 8)
    for command, output in SHOWN:
        done = CliRunner().invoke(main, shlex.split(command))
        assert done.exit_code == 0, done.output
        printed = lines(done.output)
        expected = lines(output)
        assert len(printed) == len(expected), done.output
        for line, shown in zip(printed, expected, strict=True):
            assert line == shown or (shown.endswith(" ...") and line.startswith(shown[:-4])), command


def test_the_numbers_of_the_decision_are_those_of_the_study() -> None:
    study = next(output for command, output in SHOWN if command.startswith("study run"))
    decision = PAGE.partition("## The decision")[2]
    times = re.findall(r"([\d.]+) ms", decision)
    assert len(times) == 5
    assert {time for time in times if f"{time} ms" not in study} == set()
