"""Files of ranks that are written piece by piece, in the order of a trace, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from smpy.export.rank_program import RankProgram, RunFacts

_ROWS_AT_ONCE: Final = 1 << 17
"""Rows whose lines are held in memory."""


def write_rank_files(run: RunFacts, programs: Sequence[RankProgram], paths: Sequence[Path]) -> None:
    """Add the actions of a run to the programs of its ranks, and append their lines to the files of the ranks.

    Parameters
    ----------
    run : RunFacts
        The run.
    programs : sequence of RankProgram
        Program of each rank; it may have first lines.
    paths : sequence of Path
        File of each rank.
    """
    adds = [program.add for program in programs]
    lines = [program.lines for program in programs]
    rows = run.rows()
    for first in rows:
        adds[first.rank](first)
        for row in islice(rows, _ROWS_AT_ONCE):
            adds[row.rank](row)
        _append_lines(lines, paths)
    for program in programs:
        program.end()
    _append_lines(lines, paths)
    run.check_tags()


def _append_lines(lines: Sequence[list[str]], paths: Sequence[Path]) -> None:
    """Append the lines of each rank to its file, and remove them."""
    for path, of_rank in zip(paths, lines, strict=True):
        if of_rank:
            with path.open("a", encoding="utf-8") as file:
                file.write("\n".join(of_rank) + "\n")
            of_rank.clear()
