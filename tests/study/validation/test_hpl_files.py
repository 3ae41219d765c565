"""Results of HPL are read with the choices that their names encode, and wrong ones are refused with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpy.errors import UsageError
from smpy.study.validation.hpl_files import hpl_flop, read_hpl

HEAD = """================================================================================
N      :   20000
SWAP   : Mix (threshold = 64)
EQUIL  : yes
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
"""
ROW = "WC12R3L4       20000   192     4     8              21.35              2.4984e+02\n"


def _read(tmp_path: Path, text: str):
    path = tmp_path / "HPL.out"
    path.write_text(text, encoding="utf-8")
    return read_hpl(path)


def test_a_result_has_the_choices_of_its_name_and_heading(tmp_path: Path):
    (result,) = _read(tmp_path, HEAD + ROW)
    flags = dict(zip(result.flags[:-1:2], result.flags[1:-1:2], strict=True))
    assert (result.n, result.nb, result.p, result.q, result.n_ranks) == (20000, 192, 4, 8, 32)
    assert (flags["--pmap"], flags["--depth"], flags["--bcast"]) == ("column", "1", "2ring")
    assert (flags["--rfact"], flags["--ndiv"], flags["--pfact"], flags["--nbmin"]) == ("right", "3", "left", "4")
    assert (flags["--swap"], flags["--swap-threshold"], result.flags[-1]) == ("mix", "64", "--equil")


def test_the_time_has_the_digits_of_the_rate(tmp_path: Path):
    (result,) = _read(tmp_path, "WR00L2L2  100  10  1  1  0.00  3.4567e-01\n")
    assert result.time_s == pytest.approx(hpl_flop(100) / 3.4567e8)


@pytest.mark.parametrize(("line", "flag"), [("Binary-exchange", "bin-exch"), ("Spread-roll (long)", "long")])
def test_other_swaps_are_read(tmp_path: Path, line: str, flag: str):
    (result,) = _read(tmp_path, HEAD.replace("Mix (threshold = 64)", line) + ROW)
    assert flag in result.flags


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello\n", "there is no result of HPL in it"),
        (HEAD + ROW.replace("2.4984", "3.4984"), "line 8: 21.35 s and 3.4984e.02 Gflops disagree"),
        (HEAD + ROW.replace("192", "1x2"), "line 8, .*is no result of HPL"),
        (HEAD + ROW.replace("WC12", "WC17"), "line 8, .*is no result of HPL"),
        (HEAD + ROW.replace("192", "0"), "line 8: there is no run of HPL"),
        (HEAD + ROW + "||Ax-b||_oo/(eps*N)=  99.0 ...... FAILED\n", "line 9: this run failed its check"),
    ],
)
def test_a_file_without_a_right_result_is_refused_with_its_line(tmp_path: Path, text: str, told: str):
    with pytest.raises(UsageError, match=told):
        _read(tmp_path, text)
