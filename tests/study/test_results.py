"""Numbers that a study takes from what its program prints: the first of all it printed, however much that is."""

from __future__ import annotations

import io

import pytest

from smpy.study.journal import Entry
from smpy.study.results import are_known, kept_output, number_of

NUMBER = r"t=(\d+)?"


def entry_of(output: str, *patterns: str) -> Entry:
    """Entry of a run that has printed this."""
    kept, matches = kept_output(output, patterns)
    return Entry({}, output=kept, matches=matches)


@pytest.mark.parametrize("n_lines", [1, 100_000])
def test_the_first_match_counts_however_much_is_printed(n_lines: int):
    entry = entry_of("t=1\n" + "t=2\n" * n_lines, NUMBER, "u=(.)")
    assert number_of(NUMBER, entry) == 1
    assert number_of("u=(.)", entry) is None
    assert len(entry.output) < 30_000


def test_numbers_are_found_in_a_file_that_is_searched_in_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("smpy.study.results._PART_MAX", 100)
    lines = [f"line {i} of 9,000\n" for i in range(9_000)]
    lines[5_000] = "t=7 and\nu=8\n"
    whole = io.StringIO("".join(lines))
    _, matches = kept_output("first and last part" * 2_000, [NUMBER, r"and\nu=(\d)", r"^line (8999)", "v=(.)"], whole)
    assert matches == {NUMBER: 7, r"and\nu=(\d)": 8, r"^line (8999)": 8999, "v=(.)": None}


def test_a_new_result_is_known_only_while_all_output_is_there():
    assert are_known({"t": NUMBER}, entry_of("t=1"))
    assert not are_known({"t": NUMBER}, entry_of("t=1\n" * 100_000))
    assert are_known({"t": NUMBER}, entry_of("t=1\n" * 100_000, NUMBER, "more"))


@pytest.mark.parametrize("output", ["t=", "u=1", ""])
def test_a_group_without_a_number_is_no_number(output: str):
    assert number_of(NUMBER, entry_of(output)) is None
    assert number_of("(.)=", entry_of(output)) is None
