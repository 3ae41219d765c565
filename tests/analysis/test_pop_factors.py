"""Factors that another tool measured are predicted as those of traces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("scipy")

from smpy.analysis import pop_from_factors
from smpy.cli.main import main
from smpy.errors import UsageError
from smpy.records.factor_table import read_factors

RANKS = np.array([2, 4, 8, 16, 32, 64])
HEAD = "ranks,load_balance,serialisation,transfer\n"


def rows() -> list[dict[str, float]]:
    """A constant, a pipeline and an Amdahl curve of planted parameters."""
    pipeline, amdahl = RANKS / (0.4 + 0.6 * (2 * RANKS - 1)), 1 / (0.998 + 0.002 * RANKS)
    return [
        {"ranks": int(n), "load_balance": 0.96, "serialisation": 0.99 * float(ser), "transfer": 0.98 * float(trf)}
        for n, ser, trf in zip(RANKS, pipeline, amdahl, strict=True)
    ]


def text_of(table: list[dict[str, float]]) -> str:
    return "\n".join([",".join(table[0]), *(",".join(map(repr, row.values())) for row in table)])


def test_planted_curves_are_found_and_predict_the_product_of_their_factors():
    found = pop_from_factors(rows(), [512, 4096])
    curves = {name: factor.curve for name, factor in found.predictions.factors.items()}
    assert [curve.family for curve in curves.values()] == ["constant", "pipeline", "amdahl"]
    assert (curves["transfer"].a, curves["transfer"].f) == pytest.approx((0.98, 0.998), abs=1e-5)
    ranks = np.array([512.0, 4096.0])
    truth = 0.96 * 0.99 * ranks / (0.4 + 0.6 * (2 * ranks - 1)) * 0.98 / (0.998 + 0.002 * ranks)
    assert found.predictions.parallel(ranks) == pytest.approx(truth, rel=1e-4)
    assert [run.parallel for run in found.runs] == pytest.approx(
        [row["load_balance"] * row["serialisation"] * row["transfer"] for row in rows()], rel=1e-12
    )


def test_rows_of_a_file_may_have_any_order_other_spellings_blank_lines_and_remarks(tmp_path: Path):
    table = rows()
    (tmp_path / "factors.csv").write_bytes(
        b"\xef\xbb\xbf" + text_of(table[::-1]).replace("serialisation", " Serialization").encode() + b"\n\n# by hand\n"
    )
    found = pop_from_factors(tmp_path / "factors.csv", [512])
    assert found.to_record() == pop_from_factors(table, [512]).to_record()


def test_communication_stands_for_serialisation_and_transfer():
    both = [
        {"ranks": row["ranks"], "load_balance": 0.96, "communication": row["serialisation"] * row["transfer"]}
        for row in rows()
    ]
    found = pop_from_factors(both, [512])
    assert list(found.predictions.factors) == ["load_balance", "communication"]
    assert "communication" in found.table().splitlines()[3]
    assert [run.parallel for run in found.runs] == pytest.approx(
        [run.parallel for run in pop_from_factors(rows(), [1]).runs]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty: its first line is ranks,load_balance,serialisation,transfer"),
        ("ranks,load_balance,tranfser\n", "line 1: there is no column 'tranfser': did you mean 'transfer'?"),
        ("ranks,load_balance\n8,1\n", "line 1: the columns are ranks,load_balance,serialisation,transfer or"),
        ("ranks,load_balance,communication,communication\n", "line 1: the columns are"),
        (HEAD + "8,1,1\n", "line 2: it has 3 columns, and the head 4"),
        (HEAD + "8,1,1,1\n0,1,1,1\n", "line 3: '0' is no number of ranks"),
        (HEAD + "8.5,1,1,1\n", "'8.5' is no number of ranks"),
        (HEAD + f"{'9' * 5000},1,1,1\n", "is no number of ranks"),
        (HEAD + "8,93.5,1,1\n", "load balance is 93.5: it is a ratio such as 0.93, not per cents"),
        (HEAD + "8,1,-0.5,1\n", "'-0.5' is no serialisation: it is a ratio above 0"),
        (HEAD + "8,1,nan,1\n", "'nan' is no serialisation"),
        (HEAD + "8,1,1e400,1\n", "'1e400' is no serialisation"),
        (HEAD + "8,1,0_9,1\n", "'0_9' is no serialisation"),
        (HEAD + "8,1,,1\n", "'' is no serialisation"),
        (HEAD + '8,1,"1,1\n', "line 2: unexpected end of data"),
        (HEAD + "8,1,1,1\n16,1,1,1\n", "at least 3 different numbers of ranks, one run of each: these are of 8, 16"),
        (HEAD + "8,1,1,1\n8,1,1,1\n16,1,1,1\n", "at least 3 different numbers of ranks"),
        (HEAD + "8,1,1,1\n" * 10_001, "this is the row after 10,000"),
        (b"ranks\xff", "it is not a text file in UTF-8"),
    ],
)
def test_a_wrong_table_is_refused_by_file_and_line(tmp_path: Path, text: str | bytes, said: str):
    path = tmp_path / "factors.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ran = CliRunner().invoke(main, ["analyze", "pop", "--factors", str(path), "--predict", "512"])
    assert ran.exit_code == 2
    assert said in ran.output
    assert len(ran.output.splitlines()) == 1
    assert str(path) in ran.output or "at least 3" in said


def test_a_device_and_a_missing_file_are_refused():
    for path in ("/dev/zero", "nowhere.csv"):
        with pytest.raises(UsageError, match="cannot read"):
            read_factors(path)


def test_the_command_prints_the_factors_their_predictions_and_json(tmp_path: Path):
    path = tmp_path / "factors.csv"
    path.write_text(text_of(rows()))
    words = ["analyze", "pop", "--factors", str(path), "--predict", "512,4096", "--json", str(tmp_path / "pop.json")]
    ran = CliRunner().invoke(main, words)
    assert ran.exit_code == 0, ran.output
    assert ran.output.split()[0] == "Efficiencies"
    assert "Predicted efficiencies" in ran.output
    record = json.loads((tmp_path / "pop.json").read_text())
    assert record["predictions"]["ranks"] == [512, 4096]
    assert [run["n_ranks"] for run in record["runs"]] == RANKS.tolist()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a trace"),
        (("--factors", "a.csv"), "say numbers of ranks, --predict RANKS"),
        (("--factors", "a.csv", "--predict", "8", "trace"), "only --predict goes with it"),
        (("--factors", "a.csv", "--predict", "8", "--weak"), "only --predict goes with it"),
    ],
)
def test_a_table_is_in_place_of_traces(words: tuple[str, ...], said: str):
    ran = CliRunner().invoke(main, ["analyze", "pop", *words])
    assert ran.exit_code == 2
    assert said in ran.output
