"""Mutations of files that are imported: the import ends with a trace, or with one sentence and no folder."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import smpy
from smpy.errors import SmpyError
from smpy.records.trace_layout import COLUMNS
from tests.platforms.mutations import mutate

FEW, MANY = range(25), range(25, 1025)


def check_mutated(files: Sequence[Path], main: Path, to: Path, seed: int, form: str, **options: object) -> None:
    """Import `main` after a mutation of one of the files, which is undone."""
    path = random.Random(seed).choice(files)
    whole = path.read_bytes()
    path.write_bytes(mutate(whole, seed))
    try:
        trace = smpy.import_trace(main, to, form=form, overwrite=True, **options)
    except SmpyError as error:
        refusal = str(error)
    else:
        refusal = "none"
        for table in COLUMNS:
            if trace.has_dates or table not in ("intervals", "messages", "regions"):
                trace.table(table)
        for file in to.iterdir():
            file.unlink()
        to.rmdir()
    finally:
        path.write_bytes(whole)
    assert refusal
    assert "\n" not in refusal
    assert not to.exists()
    assert sorted(each.name for each in to.parent.iterdir() if each.name.startswith(f".{to.name}")) == []
