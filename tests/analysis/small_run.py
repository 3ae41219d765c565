"""A program of computing, messages and barriers, performed on a network without contention, and its trace.

A step is said for all ranks in one order, so nothing can deadlock. Dates are those of the plain rules: an eager message
starts when it is sent, another one when both sides are there; a barrier ends when the last rank has entered it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from smpy.records.trace import Trace
from tests.records.synthetic_trace import SCHEMAS, SyntheticTrace


class Compute(NamedTuple):
    rank: int
    seconds: float
    line: int
    kernel: str = ""


class Message(NamedTuple):
    source: int
    target: int
    bytes: int
    line: int
    eager: bool = False


class Barrier(NamedTuple):
    line: int


Step = Compute | Message | Barrier


class Rules(NamedTuple):
    latency_s: float = 0.0
    bandwidth_bytes_per_s: float = 1e9
    cpu: float = 1.0


def perform(n_ranks: int, steps: list[Step], rules: Rules | None = None) -> SyntheticTrace:
    """The trace of a program."""
    run = SyntheticTrace([f"h{rank}" for rank in range(n_ranks)])
    for step in steps:
        if isinstance(step, Compute):
            site = run.site(step.rank, step.kernel, step.line, is_kernel=bool(step.kernel))
            _spend(run, step.rank, "compute", run.now_s[step.rank] + step.seconds / (rules or Rules()).cpu, site)
        elif isinstance(step, Barrier):
            last = max(range(n_ranks), key=run.now_s.__getitem__)
            for rank in range(n_ranks):
                site = run.site(rank, "Barrier", step.line)
                _spend(run, rank, "late_members", run.now_s[last], site, other=last)
        else:
            _pass(run, step, rules or Rules())
    return run


def _pass(run: SyntheticTrace, step: Message, rules: Rules) -> None:
    sent_s, asked_s = run.now_s[step.source], run.now_s[step.target]
    send, receive = run.site(step.source, "Send", step.line), run.site(step.target, "Recv", step.line + 1)
    met_s = max(sent_s, asked_s)
    started_s = sent_s if step.eager else met_s
    ended_s = started_s + rules.latency_s + step.bytes / rules.bandwidth_bytes_per_s
    number = run.message(
        step.source, step.target, step.bytes, send_site=send, receive_site=receive, send_posted_s=sent_s,
        receive_posted_s=asked_s, started_s=sent_s if step.eager else None, ended_s=ended_s,
        alone_s=ended_s - started_s,
    )  # fmt: skip
    _spend(run, step.target, "late_sender", sent_s, receive, other=step.source, message=number)
    _spend(run, step.target, "transfer", ended_s, receive, message=number)
    if not step.eager:
        _spend(run, step.source, "late_receiver", asked_s, send, other=step.target, message=number)
        _spend(run, step.source, "transfer", ended_s, send, message=number)


def _spend(run: SyntheticTrace, rank: int, kind: str, until_s: float, *rest: int, **told: int) -> None:
    if until_s > run.now_s[rank]:
        run.spend(rank, kind, until_s - run.now_s[rank], *rest, **told)
        run.now_s[rank] = until_s
        run.rows["intervals"][-1]["end_s"] = until_s


class InMemory:
    """A trace held in memory, with the tables of its files."""

    def __init__(self, run: SyntheticTrace) -> None:
        self.n_ranks, self.makespan_s = len(run.now_s), max(run.now_s)
        self.info, self.folder = {"trace": {"can_replay": True}}, Path("in memory")
        self.keeps_seconds = False
        self._rows = run.rows
        for rank, now_s in enumerate(run.now_s):
            if now_s < self.makespan_s:
                run.spend(rank, "idle", self.makespan_s - now_s)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        rows = sorted(self._rows[name], key=lambda row: row["end_s"]) if name == "intervals" else self._rows[name]
        return pa.Table.from_pylist(rows, schema=pa.schema(SCHEMAS[name])).select(columns or list(SCHEMAS[name]))

    def n_rows(self, name: str) -> int:
        return len(self._rows[name])

    def batches(self, name: str, columns: Sequence[str] | None = None) -> list[pa.RecordBatch]:
        return self.table(name, columns).to_batches()


def trace_of(folder: Path, n_ranks: int, steps: list[Step], rules: Rules | None = None, **info: object) -> Trace:
    """The same, written and read."""
    return Trace(perform(n_ranks, steps, rules).write(folder, **info))


class Performed(NamedTuple):
    makespan_s: float
    computing_s: tuple[float, ...] = ()
    n_left_alone: int = 0
    noise_removed: str = ""


class Again:
    """Performs the same program on another network, as a replay of its trace would."""

    def __init__(self, n_ranks: int, steps: list[Step], rules: Rules) -> None:
        self.n_ranks, self.steps, self.rules = n_ranks, steps, rules
        self.asked: list[tuple[Sequence[str], Sequence[tuple[object, ...]]]] = []

    def __call__(
        self,
        trace: object,
        /,
        *,
        ideal: Sequence[str] = (),
        better: Sequence[tuple[object, ...]] = (),
        denoise: Sequence[str] = (),
    ) -> Performed:
        self.asked.append((tuple(ideal), tuple(better)))
        rules, steps = self.rules, self.steps
        if "latency" in ideal:
            rules = rules._replace(latency_s=0.0)
        if "bandwidth" in ideal:
            rules = rules._replace(bandwidth_bytes_per_s=float("inf"))
        for part, *name, factor in better:
            assert isinstance(factor, float)
            if part == "latency":
                rules = rules._replace(latency_s=rules.latency_s / factor)
            elif part == "bandwidth":
                rules = rules._replace(bandwidth_bytes_per_s=rules.bandwidth_bytes_per_s * factor)
            elif part == "computing":
                rules = rules._replace(cpu=rules.cpu * factor)
            elif part in ("kernel", "host"):
                steps = [self._faster(step, part, name, factor) for step in steps]
        return Performed(max(perform(self.n_ranks, steps, rules).now_s))

    def _faster(self, step: Step, part: object, names: Sequence[object], factor: float) -> Step:
        if not isinstance(step, Compute):
            return step
        host = f"h{step.rank}"
        if list(names) in ([[host]] if part == "host" else [[step.kernel], [step.kernel, host]]):
            return step._replace(seconds=step.seconds / factor)
        return step
