"""Worked examples of the SMPI model: the dates SimGrid gives, and those a pencil gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.performed import performed_s
from tests.peer.case import platform_xml

HERE = Path(__file__).parent
ORACLE = json.loads((HERE / "smpi.json").read_text())
EXAMPLES = {example["id"]: example for example in ORACLE["examples"]}


def finish_s(example: dict[str, Any], folder: Path) -> list[float]:
    (folder / "platform.xml").write_text(platform_xml(example["platform"], example["options"]))
    assert len(example["hosts"]) == example["ranks"]
    return performed_s(example["steps"], example["hosts"], folder / "platform.xml", folder)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_worked_example_ends_at_the_dates_of_simgrid(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    assert finish_s(example, tmp_path) == pytest.approx(example["finish_s"], rel=ORACLE["relative_tolerance"], abs=0)


# Constants of the default model for the sizes below: latency factor, bandwidth factor; 16 bytes of envelope; 5 % of a
# flow loads its way back, so that a link used both ways carries 1.05 of it.
SMALL, LARGE = (2.01467, 0.812084), (11.6436, 0.940694)


@pytest.mark.parametrize(
    ("name", "date_s"),
    [
        ("E1-1", 50e-6 * SMALL[0] + 17 * 1.05 / (125e6 * SMALL[1])),
        ("E1-1000000", 50e-6 * LARGE[0] + 1_000_016 * 1.05 / (125e6 * LARGE[1])),
        ("E2-1", 60e-6 * SMALL[0] + 17 * 1.05 / (125e6 * SMALL[1])),
        ("E3", 50e-6 * LARGE[0] + 2 * 1_000_016 * 1.05 / (125e6 * LARGE[1])),
        ("E7", 50e-6 * LARGE[0] + 1_000_016 * 1.05 / (125e6 * LARGE[1])),
        ("E9", 50e-6 * LARGE[0] + 1_000_016 / (125e6 * LARGE[1])),
        ("E12", 50e-6 * LARGE[0] + 1_000_016 / (1000 / (2 * 50e-6) * LARGE[1])),
        ("E13b", 1_000_016 / (10e9 * LARGE[1])),
        ("E18", 1e-4 * sum(range(1, 15))),
        ("E20-6", 6 / 4),
        ("cores-1", 2.0),
    ],
)
def test_a_worked_example_ends_at_the_date_of_its_closed_form(name: str, date_s: float, tmp_path: Path) -> None:
    assert max(finish_s(EXAMPLES[name], tmp_path)) == pytest.approx(date_s, rel=1e-9, abs=0)
