"""Table of traces in place of a study: a file of comma-separated values names each trace and the levels of its axes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from smpy.analysis.formulas import RANKS
from smpy.analysis.result import import_optional
from smpy.errors import UsageError
from smpy.records.trace import Trace
from smpy.study.csv_rows import number_above_0, read_csv_rows
from smpy.study.table import FILES, StudyTable

_TRACE: Final = "trace"


def read_trace_table(path: Path) -> StudyTable:
    """Table with a row per trace; `ranks` is an axis, too, with the number of ranks of each.

    Parameters
    ----------
    path : Path
        File with a column `trace` and one of numbers for each axis; folders are relative to the file's.

    Raises
    ------
    UsageError
        If the file is no such table, or a trace cannot be read: file, line and why.
    """
    head, lines = read_csv_rows(path, "table of traces")
    if head.count(_TRACE) != 1 or len(set(head)) != len(head) or not all(head):
        raise UsageError(f"{path}, line 1: it needs a column trace, and one of another name for each axis")
    if RANKS in head:
        raise UsageError(f"{path}, line 1: each trace has its ranks: leave the column out")
    axes = [name for name in head if name != _TRACE]
    rows = []
    for line, words in lines:
        cells = dict(zip(head, words, strict=True))
        folder = Path(path.parent, cells[_TRACE].strip()).absolute()
        try:
            trace = Trace(folder)
            makespan_s = trace.makespan_s
        except UsageError as error:
            raise UsageError(f"{path}, line {line}: {error}") from error
        levels = {name: number_above_0(path, line, cells[name]) for name in axes}
        files = {**dict.fromkeys(FILES, ""), _TRACE: str(folder)}
        rows.append({**levels, RANKS: trace.n_ranks, "error": "", "makespan_s": makespan_s, **files})
    frame = import_optional("pandas", extra="study").DataFrame(
        rows, columns=[*axes, RANKS, "error", "makespan_s", *FILES]
    )
    return StudyTable(path.stem, frame, (*axes, RANKS), (), path.parent)
