"""Long traces of many ranks, written a step at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.records.synthetic_trace import SCHEMAS, SyntheticTrace

KINDS = ["compute", "overhead", "late_sender", "transfer", "late_members"]
CALLS = [("", 10), ("Isend", 11), ("Recv", 12), ("Allreduce", 14)]


def write_ring(folder: Path, n_ranks: int, n_steps: int) -> Path:
    """Ranks compute, each for as long as chance has it, and send to the next one; now and then all meet.

    A step has three intervals of each rank, and a fourth one of those that wait; every tenth step has two more. It has
    a message of each rank.
    """
    rng, ranks, now_s = np.random.default_rng(1), np.arange(n_ranks), np.zeros(n_ranks)
    rest = SyntheticTrace([f"node-{rank // 16}" for rank in range(n_ranks)])
    sites = [np.array([rest.site(rank, call, line) for rank in range(n_ranks)]) for call, line in CALLS]
    before, target = (ranks - 1) % n_ranks, (ranks + 1) % n_ranks
    nobody, size = np.full(n_ranks, -1), np.full(n_ranks, 100_000)
    folder.mkdir(parents=True)
    schemas = {name: pa.schema(SCHEMAS[name]) for name in ("intervals", "messages")}
    writers = {name: pq.ParquetWriter(folder / f"{name}.parquet", schema) for name, schema in schemas.items()}
    rows_of: dict[str, list[pa.RecordBatch]] = {name: [] for name in writers}
    for step in range(n_steps):
        sent_s = now_s + rng.exponential(1e-3, n_ranks) * (1 + (ranks % 100 == step % 100))
        posted_s = sent_s + 2e-6
        is_there_s = np.maximum(posted_s, sent_s[before])
        arrived_s = is_there_s + 1e-4
        parts = [
            (0, sent_s, 0, nobody),
            (1, posted_s, 1, nobody),
            (2, is_there_s, 2, before),
            (3, arrived_s, 2, nobody),
        ]
        if step % 10 == 9:
            met_s = np.full(n_ranks, arrived_s.max())
            parts += [(4, met_s, 3, np.full(n_ranks, arrived_s.argmax())), (3, met_s + 5e-5, 3, nobody)]
        ends_s = np.concatenate([part[1] for part in parts])
        starts_s = np.concatenate([now_s, ends_s[:-n_ranks]])
        rows = np.flatnonzero(ends_s > starts_s)
        other = np.concatenate([part[3] for part in parts])[rows]
        kinds = pa.array(np.repeat([part[0] for part in parts], n_ranks)[rows], pa.int32())
        columns: dict[str, Any] = {
            "rank": np.tile(ranks, len(parts))[rows],
            "start_s": starts_s[rows],
            "end_s": ends_s[rows],
            "kind": pa.DictionaryArray.from_arrays(kinds, KINDS),
            "site": np.concatenate([sites[part[2]] for part in parts])[rows],
            "other": pa.array(other, pa.int32(), mask=other < 0),
        }
        rows_of["intervals"].append(batch(schemas["intervals"], len(rows), columns))
        columns = {
            "message": step * n_ranks + ranks,
            "source": ranks,
            "target": target,
            "tag": 0 * ranks,
            "bytes": size,
        }
        columns |= {"send_site": sites[1], "receive_site": sites[2][target], "send_posted_s": sent_s}
        columns |= {"receive_posted_s": posted_s[target], "started_s": sent_s, "ended_s": arrived_s[target]}
        rows_of["messages"].append(batch(schemas["messages"], n_ranks, columns))
        now_s = ends_s[-n_ranks:]
        if step % 100 == 99 or step == n_steps - 1:
            for name, batches in rows_of.items():
                writers[name].write_table(pa.Table.from_batches(batches))
                batches.clear()
    for writer in writers.values():
        writer.close()
    rest.now_s = now_s.tolist()
    return rest.write(folder, besides=tuple(writers))


def batch(schema: pa.Schema, n_rows: int, columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows; a column that is not told is null."""
    arrays = [
        columns[field.name] if isinstance(columns.get(field.name), pa.Array)
        else pa.array(columns[field.name], field.type) if field.name in columns
        else pa.nulls(n_rows, field.type)
        for field in schema
    ]  # fmt: skip
    return pa.record_batch(arrays, schema=schema)
