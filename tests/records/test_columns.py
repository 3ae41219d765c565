"""Columns are numpy arrays and back, whatever their offsets, chunks and nulls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow")

import pyarrow as pa

from smpy.records.columns import is_known, numbers, words

VALUES = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "bool_": st.booleans(),
}
APP = Path(__file__).parents[2] / "apps" / "conjugate_gradient.py"
WITHOUT_PANDAS = """
import sys
from smpy.cli.main import main
for line in sys.stdin.read().splitlines():
    try:
        main(line.split())
    except SystemExit as end:
        assert not end.code, line
    found = {"pandas", "pyarrow.compute", "pyarrow.dataset"} & sys.modules.keys()
    assert not found, (line, found)
"""


@st.composite
def columns(draw: st.DrawFn) -> tuple[object, list[object]]:
    """A column in chunks that are parts of longer ones, and its values."""
    kind = draw(st.sampled_from(list(VALUES)))
    chunks, values = [], []
    for _ in range(draw(st.integers(0, 3))):
        of = draw(st.lists(VALUES[kind] | st.none(), max_size=20))
        first = draw(st.integers(0, len(of)))
        chunks.append(pa.array(of, getattr(pa, kind)())[first : first + 7])
        values += of[first : first + 7]
    return pa.chunked_array(chunks, getattr(pa, kind)()), values


@settings(max_examples=50)
@given(columns())
def test_numbers_and_nulls_are_those_of_the_column(drawn: tuple):
    column, values = drawn
    assert numbers(column, null=0).tolist() == [each or 0 for each in values]
    known = is_known(column)
    assert known.tolist() == [each is not None for each in values]
    assert numbers(column)[known].tolist() == [each for each in values if each is not None]
    for chunk in column.chunks:
        assert numbers(chunk, null=1).tolist() == [1 if each is None else each for each in chunk.to_pylist()]


def test_a_float_that_is_null_may_be_none():
    assert np.isnan(numbers(pa.array([1.0, None]), null=np.nan)).tolist() == [False, True]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_words_are_a_column_of_words(of: list[str]):
    made = words(of)
    made.validate(full=True)
    assert made.to_pylist() == of


@pytest.mark.parametrize(
    "commands",
    [
        ("replay TRACE",),
        pytest.param(
            ("waits TRACE", "pop TRACE --denoise cpu", "bounds TRACE", "critical-path TRACE", "compare TRACE TRACE"),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["replay", "analyze"],
)
def test_what_records_and_reads_traces_imports_no_pandas(tmp_path: Path, commands: tuple[str, ...]):
    lines = ["run -np 4 --compute models --quiet --trace TRACE APP --n 12"]
    lines += [each if each.startswith("replay") else f"analyze {each}" for each in commands]
    text = "\n".join(lines).replace("TRACE", str(tmp_path / "trace")).replace("APP", str(APP))
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_PANDAS], input=text, text=True, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
