"""Layout of a trace: names of files, columns of tables, and the number of the format (`schema.md`)."""

from __future__ import annotations

from typing import Final

from smpy.errors import DamagedFileError

FORMAT: Final = 9
"""Format of the files: it grows with any change of tables, columns, kinds, actions or keys of `run.json`."""

READABLE: Final = (7, 8, 9)
"""Readable formats: this one and those before."""

COMMS_MAX: Final = 1 << 24
"""Limit of the numbers of communicators, by which readers index tables. A trace need not have all numbers."""

INFO: Final = "run.json"
MACHINE: Final = "machine.json"

_INTERVAL: Final = {
    "start_s": "float64",
    "end_s": "float64",
    "kind": "string",
    "site": "int32",
    "other": "int32",
    "message": "int64",
}
_REGION: Final = {"name": "string", "start_s": "float64", "end_s": "float64"}
_THREAD: Final = {"rank": "int32", "thread": "int32"}

COLUMNS: Final = {
    "intervals": {"rank": "int32", **_INTERVAL},
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
    "regions": {"rank": "int32", **_REGION},
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
    "counters": {"rank": "int32", "region": "string", "name": "string", "value": "float64"},
    "threads": {**_THREAD, "name": "string", "start_s": "float64", "end_s": "float64"},
    "thread_intervals": {**_THREAD, **_INTERVAL},
    "thread_messages": {"message": "int64", "send_thread": "int32", "receive_thread": "int32"},
    "thread_regions": {**_THREAD, **_REGION},
    "wake_ups": {**_THREAD, "date_s": "float64", "by_rank": "int32", "by_thread": "int32"},
}
"""Tables and the columns of each, with their types."""

RARE_TABLES: Final = ("threads", "thread_intervals", "thread_messages", "thread_regions", "wake_ups", "counters")
"""Tables that few traces have: of runs with threads, or with ranks that others start; or imported ones."""

DATED_TABLES: Final = ("intervals", "messages", "regions")
"""Tables that an imported trace without dates lacks."""

OPTIONAL_COLUMNS: Final = {"intervals": {"power_w": "float64"}, "thread_intervals": {"power_w": "float64"}}
"""Columns that only some traces have, with their types: power, if the machine has it."""

MAY_BE_NULL: Final = {
    "intervals": {"site", "other", "message", "power_w"},
    "messages": {"tag", "send_site", "receive_site", "receive_posted_s", "started_s", "ended_s", "alone_s"},
    "actions": {"site", "comm"},
    "sites": {"comm"},
    "collectives": {"total_bytes"},
    "thread_intervals": {"site", "other", "message", "power_w"},
    "thread_messages": {"send_thread", "receive_thread"},
    "wake_ups": {"thread", "by_thread"},
}
"""Columns that may be null."""

REMEDY: Final = "record the run again"


def damaged(what: str) -> DamagedFileError:
    """Error for a trace that changed after it was written."""
    return DamagedFileError(f"{what}; {REMEDY}")
