"""Traces written by hand: a test says what each rank did, and the folder of `smpy/records/schema.md` is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from smpy.records.trace_info import info_text, sealed
from smpy.records.trace_layout import COLUMNS, FORMAT

WORD = pa.dictionary(pa.int32(), pa.string())
SCHEMAS = {
    name: {column: WORD if kind == "string" else getattr(pa, kind)() for column, kind in columns.items()}
    for name, columns in COLUMNS.items()
}


def seal(folder: Path) -> Path:
    """Write down anew what files a trace has, after a change that a test has made to them or to `run.json`."""
    info = json.loads((folder / "run.json").read_text())
    info.pop("sha256", None)
    traced = info.pop("trace")
    files = {path.name: sealed(path.read_bytes()) for path in [*folder.glob("*.parquet"), folder / "machine.json"]}
    for name in files.keys() - {"machine.json"}:
        files[name]["rows"] = pq.ParquetFile(folder / name).metadata.num_rows
    (folder / "run.json").write_text(info_text(json.dumps(info, indent=2), traced | {"files": files}))
    return folder


class SyntheticTrace:
    """A trace in the making: each rank's intervals follow each other; `write` adds the idle ends."""

    def __init__(self, host_of_rank: Sequence[str]) -> None:
        self.host_of_rank = list(host_of_rank)
        self.now_s = [0.0] * len(host_of_rank)
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self.rows["comms"] = [{"comm": 0, "other": 0, "first": 0, "step": 1, "n": len(host_of_rank)}]
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

    def write(self, folder: Path, *, is_complete: bool = True, besides: Sequence[str] = (), **info: Any) -> Path:
        """Write all of it, besides the tables that are there."""
        makespan_s = max(self.now_s)
        for rank, now_s in enumerate(self.now_s):
            if now_s < makespan_s:
                self.spend(rank, "idle", makespan_s - now_s)
        self.rows["intervals"].sort(key=lambda row: row["end_s"])
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.rows.keys() - set(besides):
            rows = self.rows[name]
            if not rows:
                continue
            pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(SCHEMAS[name])), folder / f"{name}.parquet")
        hosts = list(dict.fromkeys(self.host_of_rank))
        trace = {
            "format": FORMAT, "program_path": "/prog.py", "is_complete": is_complete, "window_s": None,
            "ranks": None, "can_replay": False, "n_wildcards": 0,
            "n_polls": 0, "n_failed_polls": 0, "n_choices": 0, "regions": [],
            "hosts_of_ranks": [[hosts.index(host), 1] for host in self.host_of_rank],
            "algorithms": [], "host_speed_flop_per_s": None,
        }  # fmt: skip
        summary = {
            "mapping": [[host, 1] for host in self.host_of_rank],
            "schema": 3,
            "smpy": "0.1",
            "program": "prog.py",
            "args": [],
            "platform": "two hosts",
            "platform_fingerprint": "",
            "finish_s": self.now_s,
            "bytes": sum(row["bytes"] for row in self.rows["messages"]),
            "host": {"command": []},
        }
        numbers = {"ranks": len(self.now_s), "makespan_s": makespan_s, "messages": len(self.rows["messages"])}
        (folder / "machine.json").write_text("{}")
        (folder / "run.json").write_text(json.dumps(summary | numbers | {"profile": None, "trace": trace} | info))
        return seal(folder)


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
