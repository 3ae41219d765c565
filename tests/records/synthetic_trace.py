"""Traces written by hand: a test says what each rank did, and the folder of `smpy/records/schema.md` is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

WORD = pa.dictionary(pa.int32(), pa.string())
SCHEMAS = {
    "intervals": {
        "rank": pa.int32(), "start_s": pa.float64(), "end_s": pa.float64(), "kind": WORD, "site": pa.int32(),
        "other": pa.int32(), "message": pa.int64(),
    },
    "messages": {
        "message": pa.int64(), "source": pa.int32(), "target": pa.int32(), "tag": pa.int32(), "bytes": pa.int64(),
        "send_site": pa.int32(), "receive_site": pa.int32(), "send_posted_s": pa.float64(),
        "receive_posted_s": pa.float64(), "started_s": pa.float64(), "ended_s": pa.float64(), "alone_s": pa.float64(),
    },
    "sites": {
        "site": pa.int32(), "rank": pa.int32(), "call": WORD, "file": WORD, "line": pa.int32(), "comm": pa.int32(),
        "is_kernel": pa.bool_(),
    },
    "comms": {
        "comm": pa.int32(), "name": pa.string(), "other": pa.int32(), "first": pa.int32(), "step": pa.int32(),
        "n": pa.int32(),
    },
    "regions": {"rank": pa.int32(), "name": WORD, "start_s": pa.float64(), "end_s": pa.float64()},
    "actions": {
        "rank": pa.int32(), "action": WORD, "site": pa.int32(), "comm": pa.int32(), "peer": pa.int32(),
        "tag": pa.int32(), "bytes": pa.int64(), "amount": pa.float64(), "request": pa.int32(), "detail": pa.int32(),
    },
    "collectives": {
        "schedule": pa.int32(), "operation": pa.string(), "algorithm": pa.string(), "n_ranks": pa.int32(),
        "n_remote": pa.int32(), "bytes": pa.int64(), "commutative": pa.bool_(), "is_predefined": pa.bool_(),
        "is_derived": pa.bool_(), "are_equal": pa.bool_(), "item_bytes": pa.int64(), "n_entries": pa.int64(),
        "total_bytes": pa.int64(),
    },
}  # fmt: skip


class SyntheticTrace:
    """A trace in the making: each rank's intervals follow each other; `write` adds the idle ends."""

    def __init__(self, host_of_rank: Sequence[str]) -> None:
        self.host_of_rank = list(host_of_rank)
        self.now_s = [0.0] * len(host_of_rank)
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self.rows["comms"] = [{"comm": 0, "name": None, "other": 0, "first": 0, "step": 1, "n": len(host_of_rank)}]
        self._sites: dict[tuple[Any, ...], int] = {}

    def site(self, rank: int, call: str, line: int, file: str = "prog.py", *, is_kernel: bool = False) -> int:
        """The row of `sites` for a call of a rank's."""
        key = (rank, call, file, line)
        if key not in self._sites:
            self._sites[key] = len(self._sites) + 1
            names = ("rank", "call", "file", "line")
            row = {"site": self._sites[key], **dict(zip(names, key, strict=True)), "is_kernel": is_kernel}
            self.rows["sites"].append({**row, "comm": 0 if call and not is_kernel else None})
        return self._sites[key]

    def spend(
        self, rank: int, kind: str, seconds: float, site: int | None = None, other: int | None = None,
        message: int | None = None,
    ) -> None:  # fmt: skip
        """Let time of a kind pass for a rank."""
        start_s = self.now_s[rank]
        self.now_s[rank] = start_s + seconds
        times = {"start_s": start_s, "end_s": self.now_s[rank]}
        self.rows["intervals"].append(
            {"rank": rank, **times, "kind": kind, "site": site, "other": other, "message": message}
        )

    def message(self, source: int, target: int, size_bytes: int, **columns: Any) -> int:
        """The number of a message; other columns by their names."""
        number = len(self.rows["messages"])
        base = dict.fromkeys(SCHEMAS["messages"]) | {"message": number, "source": source, "target": target}
        self.rows["messages"].append(base | {"tag": 0, "bytes": size_bytes} | columns)
        return number

    def write(self, folder: Path, *, is_complete: bool = True, **info: Any) -> Path:
        """Write all of it into a new folder."""
        makespan_s = max(self.now_s)
        for rank, now_s in enumerate(self.now_s):
            if now_s < makespan_s:
                self.spend(rank, "idle", makespan_s - now_s)
        self.rows["intervals"].sort(key=lambda row: row["end_s"])
        folder.mkdir(parents=True)
        for name, rows in self.rows.items():
            pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(SCHEMAS[name])), folder / f"{name}.parquet")
        trace = {
            "format": 1, "is_complete": is_complete, "window_s": None, "ranks": None, "can_replay": False,
            "n_wildcards": 0, "n_failed_polls": 0, "host_of_rank": self.host_of_rank, "command": [],
        }  # fmt: skip
        summary = {"schema": 3, "smpy": "0.1", "program": "prog.py", "args": [], "platform": "two hosts"}
        numbers = {"ranks": len(self.now_s), "makespan_s": makespan_s, "messages": len(self.rows["messages"])}
        (folder / "run.json").write_text(json.dumps(summary | numbers | {"profile": None, "trace": trace} | info))
        return folder


def late_sender() -> SyntheticTrace:
    """Rank 0 computes for 3 s and sends 1,000 bytes, which take 1 s, to rank 1, which computes for 1 s and waits."""
    trace = SyntheticTrace(["a", "b"])
    send, receive = trace.site(0, "Send", 7), trace.site(1, "Recv", 9)
    for rank, seconds in ((0, 3.0), (1, 1.0)):
        trace.spend(rank, "compute", seconds, trace.site(rank, "", 5))
    sent = trace.message(
        0, 1, 1000, send_site=send, receive_site=receive, send_posted_s=3.0, receive_posted_s=1.0, started_s=3.0,
        ended_s=4.0, alone_s=1.0,
    )  # fmt: skip
    trace.spend(1, "late_sender", 2.0, receive, other=0, message=sent)
    trace.spend(1, "transfer", 1.0, receive, message=sent)
    trace.spend(0, "overhead", 0.5, send)
    return trace
