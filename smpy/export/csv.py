"""A trace as comma-separated values: a file per table, and its `run.json`; of threads, if it has some."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from smpy.errors import UsageError
from smpy.records.files import complaint, in_place_when_whole, write_whole
from smpy.records.trace import Trace
from smpy.records.trace_layout import COLUMNS, DATED_TABLES, RARE_TABLES

SUFFIX: Final = ".csv"


def write(trace: Trace, path: Path) -> None:
    """Write a trace to the folder `path`.

    Parameters
    ----------
    trace : Trace
        Trace to write.
    path : Path
        The folder, created if it does not exist. Files in it with a table's name are replaced.

    Raises
    ------
    UsageError
        If the trace cannot be read, or a file cannot be written.
    """
    tables = {name for name in COLUMNS if name not in RARE_TABLES or trace.n_rows(name)}
    if not trace.has_dates:
        tables -= set(DATED_TABLES)
    schemas = {name: trace.schema(name) for name in COLUMNS if name in tables}
    import pyarrow as pa
    from pyarrow import csv

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(complaint(path, error)) from error
    for name, schema in schemas.items():
        fields = [
            pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in schema
        ]
        plain = pa.schema(fields)
        with (
            in_place_when_whole(path / f"{name}.csv") as scratch,
            scratch.open("wb") as file,
            csv.CSVWriter(file, plain) as writer,
        ):
            for batch in trace.batches(name):
                writer.write_batch(batch.cast(plain))
    write_whole(path / "run.json", (trace.folder / "run.json").read_text(encoding="utf-8"))
