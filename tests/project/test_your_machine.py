"""The page for planners: each of its commands gives the output that it shows; so does the page on `smpy platform`."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpy.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "your-machine.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^    \$ smpy (.*)\n((?:    (?!\$).*\n)*)", PAGE, re.MULTILINE)
RUNS = [(command, output) for command, output in SHOWN if command.startswith("run ")]
WHAT_IF = re.findall(r"^\| `(--.*?)` \| ([0-9.]+ [a-z]+) \|", PAGE, re.MULTILINE)
OF_THIS_MACHINE = ("wall time", "peak memory")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the page's user: a file, and the programs."""
    (tmp_path / "cluster.toml").write_text(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])
    shutil.copytree(ROOT / "apps", tmp_path / "apps")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output_of(command: str) -> list[str]:
    result = CliRunner().invoke(main, shlex.split(command))
    lines = [line.rstrip() for line in result.output.splitlines()]
    return [line for line in lines if not line.strip().startswith(OF_THIS_MACHINE)]


def shown(output: str) -> list[str]:
    lines = [line.removeprefix("    ").rstrip() for line in output.splitlines()]
    return [line for line in lines if not line.strip().startswith(OF_THIS_MACHINE)]


@pytest.mark.parametrize(("command", "output"), [pair for pair in SHOWN if pair not in RUNS])
def test_a_command_of_the_page_gives_what_it_shows(command: str, output: str) -> None:
    assert output_of(command) == shown(output)


def test_the_machine_that_the_page_on_platforms_shows_looks_like_that() -> None:
    page = (ROOT / "docs" / "platform.md").read_text(encoding="utf-8")
    block = re.search(r"^    smpy (platform show .*)\n\n((?:    .*\n)+?)    \.\.\.\n", page, re.MULTILINE)
    assert block is not None
    expected = shown(block[2])
    assert output_of(block[1])[: len(expected)] == expected


@pytest.mark.slow
@pytest.mark.parametrize(("command", "output"), RUNS)
def test_a_run_of_the_page_gives_what_it_shows(command: str, output: str) -> None:
    assert output_of(command) == shown(output)


@pytest.mark.slow
@pytest.mark.parametrize(("option", "makespan"), WHAT_IF)
def test_a_change_has_the_makespan_of_the_table(option: str, makespan: str) -> None:
    command = RUNS[-1][0]
    if option.startswith("--platform"):
        command = command.replace("--platform cluster.toml", "")
    told = output_of(command.replace(" --compute none", f" {option} --compute none"))
    assert f"  makespan       {makespan} simulated" in told


def test_the_table_of_changes_and_the_commands_are_found() -> None:
    assert len(WHAT_IF) >= 9
    assert len(RUNS) == 2
    assert len(SHOWN) >= 8
