"""Machines that change while a program runs: the dates SimGrid gives."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from smpy.errors import PlatformWarning
from tests.oracle.performed import performed_s

HERE = Path(__file__).parent
ORACLE = json.loads((HERE / "profiles.json").read_text())
EXAMPLES = {example["id"]: example for example in ORACLE["examples"]}
WORDS = {"host": "", "host_b": "", "link": "", "split": "", "after": ""}


def finish_s(example: dict[str, Any], folder: Path) -> list[float]:
    xml = ORACLE["platform"].format(**WORDS | example["machine"])
    props = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in example["options"].items())
    head = '<platform version="4.1">'
    (folder / "machine.xml").write_text(xml.replace(head, f'{head}<config id="General">{props}</config>'))
    for name, text in example["files"].items():
        (folder / name).write_text(text)
    return performed_s(example["steps"], ("a", "b", "c"), folder / "machine.xml", folder)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_machine_that_changes_gives_the_dates_of_simgrid(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlatformWarning)  # "trace of a file": SimGrid ignores the period of a trace
        dates_s = finish_s(example, tmp_path)
    assert dates_s == pytest.approx(example["finish_s"], rel=ORACLE["relative_tolerance"], abs=0)


# Time of a message: latency and bandwidth factor of its size, an envelope, and 5 % for its acknowledgements.
LATENCY_S, RATE = 50e-6 * 11.6436, 125e6 * 0.940694 / 1.05


@pytest.mark.parametrize(
    ("name", "date_s"),
    [
        ("E21", 1.25),
        ("E22", 0.05 + 2 * (LATENCY_S + 10_000_016 / RATE - 0.05)),
        ("latency phase, same bandwidth", 0.0001 + 1_000_016 / RATE),
        ("at 0", LATENCY_S + 2 * 1_000_016 / RATE),
        ("bound", 0.01 + (10_000_016 - (0.01 - LATENCY_S) * RATE) / (125e6 * 0.940694)),
        ("periodicity", 3 + 0.25 + (3 - 3 * 0.875 - 0.25) / 0.5),
    ],
)
def test_a_change_ends_at_the_date_of_its_closed_form(name: str, date_s: float, tmp_path: Path) -> None:
    assert max(finish_s(EXAMPLES[name], tmp_path)) == pytest.approx(date_s, rel=1e-9, abs=0)
