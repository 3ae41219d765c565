"""Layout of a trace: names of files, columns of tables, and the number of the format (`schema.md`)."""

from __future__ import annotations

from typing import Final

from smpy.errors import DamagedFileError

FORMAT: Final = 5
"""Format of the files: it grows with any change of tables, columns, kinds, actions or keys of `run.json`."""

READABLE: Final = (4, 5)
"""Readable formats: this one and the one before, but never 2, whose machine was a pickle."""

COMMS_MAX: Final = 1 << 24
"""Limit of the numbers of communicators, by which readers index tables. A trace need not have all numbers."""

INFO: Final = "run.json"
MACHINE: Final = "machine.json"
MACHINE_OF_FORMAT_2: Final = "machine.pickle"  # never read; removed when a new trace replaces one of format 2

COLUMNS: Final = {
    "intervals": {
        "rank": "int32",
        "start_s": "float64",
        "end_s": "float64",
        "kind": "string",
        "site": "int32",
        "other": "int32",
        "message": "int64",
    },
    "messages": {
        "message": "int64",
        "source": "int32",
        "target": "int32",
        "tag": "int32",
        "bytes": "int64",
        "send_site": "int32",
        "receive_site": "int32",
        "send_posted_s": "float64",
        "receive_posted_s": "float64",
        "started_s": "float64",
        "ended_s": "float64",
        "alone_s": "float64",
    },
    "sites": {
        "site": "int32",
        "rank": "int32",
        "call": "string",
        "file": "string",
        "line": "int32",
        "comm": "int32",
        "is_kernel": "bool_",
    },
    "comms": {"comm": "int32", "other": "int32", "first": "int32", "step": "int32", "n": "int32"},
    "regions": {"rank": "int32", "name": "string", "start_s": "float64", "end_s": "float64"},
    "actions": {
        "rank": "int32",
        "action": "string",
        "site": "int32",
        "comm": "int32",
        "peer": "int32",
        "tag": "int32",
        "bytes": "int64",
        "amount": "float64",
        "request": "int32",
        "detail": "int32",
    },
    "collectives": {
        "schedule": "int32",
        "operation": "string",
        "algorithm": "string",
        "n_ranks": "int32",
        "n_remote": "int32",
        "bytes": "int64",
        "commutative": "bool_",
        "is_predefined": "bool_",
        "is_derived": "bool_",
        "are_equal": "bool_",
        "in_parts": "bool_",
        "item_bytes": "int64",
        "n_entries": "int64",
        "total_bytes": "int64",
    },
}
"""Tables and the columns of each, with their types."""

OPTIONAL_COLUMNS: Final = {"intervals": {"power_w": "float64"}}
"""Columns that only some traces have, with their types: power, if the machine has it."""

NEW_COLUMNS: Final = {"collectives": {"in_parts"}}
"""Columns that the previous format lacks; they read as false."""

MAY_BE_NULL: Final = {
    "intervals": {"site", "other", "message", "power_w"},
    "messages": {"tag", "send_site", "receive_site", "receive_posted_s", "started_s", "ended_s", "alone_s"},
    "actions": {"site", "comm"},
    "sites": {"comm"},
    "collectives": {"total_bytes"},
}
"""Columns that may be null."""

REMEDY: Final = "record the run again"


def damaged(what: str) -> DamagedFileError:
    """Error for a trace that changed after it was written."""
    return DamagedFileError(f"{what}; {REMEDY}")
