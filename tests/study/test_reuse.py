"""A study takes a result of another one only where its own run would be the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import smpy
from smpy.runs.files_read import state_of
from smpy.runs.request import RunInputs
from smpy.study.journal import Entry
from smpy.study.reuse import Results
from tests.study.studies import study_table

ENTRY = Entry({"makespan_s": 1.0})


def keep(study: smpy.Study, cache: Path, *read: Path) -> None:
    """Leave a result of each point of a study there, as if it had read these files."""
    results = Results(cache, study.definition)
    for point in study.points:
        reads = RunInputs({str(path): state_of(str(path)) or "" for path in read})
        results.keep(point, study.origin(point, reads), ENTRY)
    results.close()


def is_found(study: smpy.Study, cache: Path) -> list[bool]:
    """Whether there is a result for each point."""
    results = Results(cache, study.definition)
    found = [results.find(point) is not None for point in study.points]
    results.close()
    return found


def study_in(folder: Path, data: str) -> smpy.Study:
    """A study of the program above its folder, with data in the folder."""
    folder.mkdir(parents=True)
    (folder / "data").write_text(data)
    (folder.parent / "reads.py").write_text("open('data').read()")
    (folder / "study.toml").write_text(
        'program = "../reads.py"\noptions = { ranks = 1, compute = "none" }\naxes = { seed = [1] }\n'
    )
    return smpy.Study(folder / "study.toml")


def test_a_result_is_not_reused_if_its_run_did_not_note_a_variable_that_the_study_names(tmp_path: Path):
    table = study_table(tmp_path)
    keep(smpy.Study(table, tmp_path / "one"), tmp_path / "cache")
    named = smpy.Study({**table, "environment": ["SMPY_TEST_NAMED"]}, tmp_path / "two")
    assert is_found(smpy.Study(table, tmp_path / "two"), tmp_path / "cache") == [True] * 3
    assert is_found(named, tmp_path / "cache") == [False] * 3


def test_a_result_is_not_taken_where_the_same_name_is_another_file(tmp_path: Path):
    first = study_in(tmp_path / "one", "5")
    keep(first, tmp_path / "cache", tmp_path / "one" / "data")
    assert is_found(first, tmp_path / "cache") == [True]
    assert is_found(study_in(tmp_path / "two", "7"), tmp_path / "cache") == [False]
    assert is_found(study_in(tmp_path / "three", "5"), tmp_path / "cache") == [True]
    assert is_found(study_in(tmp_path / "elsewhere" / "four", "5"), tmp_path / "cache") == [True]


def test_a_file_outside_of_the_program_and_the_study_may_have_been_named_relatively(tmp_path: Path):
    (tmp_path / "p").mkdir()
    (tmp_path / "data").write_text("5")
    first = study_in(tmp_path / "p" / "one", "")
    keep(first, tmp_path / "cache", tmp_path / "data")
    assert is_found(study_in(tmp_path / "p" / "two", ""), tmp_path / "cache") == [True]
    assert is_found(study_in(tmp_path / "q" / "r" / "three", ""), tmp_path / "cache") == [False]


def test_a_result_is_not_taken_from_a_study_that_did_not_look_at_an_input(tmp_path: Path):
    study = study_in(tmp_path / "one", "5")
    with open(tmp_path / "one" / "study.toml", "a") as file:
        file.write('\ninputs = ["data"]\n')
    attentive = smpy.Study(tmp_path / "one" / "study.toml")
    keep(study, tmp_path / "cache")
    assert is_found(study, tmp_path / "cache") == [True]
    assert is_found(attentive, tmp_path / "cache") == [False]
    keep(attentive, tmp_path / "cache")
    assert is_found(attentive, tmp_path / "cache") == [True]


@pytest.mark.parametrize("key", ["price.host_eur", "price.switch_eur"])
def test_equal_machines_of_different_prices_have_results_of_their_own(key: str, tmp_path: Path):
    keep(smpy.Study(study_table(tmp_path, axes={f"set.{key}": [1], "args.n": [1]})), tmp_path / "cache")
    both = smpy.Study(study_table(tmp_path, axes={f"set.{key}": [1, 2], "args.n": [1]}))
    assert is_found(both, tmp_path / "cache") == [True, False]


@pytest.mark.parametrize("option", ["ppn", "cpus_per_task"])
def test_runs_that_are_placed_in_other_ways_on_equal_machines_have_results_of_their_own(option: str, tmp_path: Path):
    table = study_table(tmp_path)
    table["options"]["platform"] = "flat hosts=4 cores=4"
    keep(smpy.Study({**table, "axes": {option: [1], "args.n": [1]}}), tmp_path / "cache")
    both = smpy.Study({**table, "axes": {option: [1, 2], "args.n": [1]}})
    assert is_found(both, tmp_path / "cache") == [True, False]
