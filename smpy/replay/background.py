"""Messages of other jobs on the machine of a run: uniform traffic, or those of a trace on hosts without ranks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal

from smpy.engine.background import message_dtype
from smpy.errors import UsageError
from smpy.option_texts import NO_BACKGROUND, UniformTraffic, background, background_text
from smpy.records.columns import numbers
from smpy.records.remark import Remark
from smpy.records.trace import Trace
from smpy.records.trace_layout import INFO, damaged
from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from smpy.engine.engine import Engine

_DATES: Final = ("started_s", "send_posted_s", "receive_posted_s")

AnyBackground = UniformTraffic | Path | Literal["none"]


@dataclass(frozen=True, slots=True)
class OtherJobs:
    """Background of a world.

    Attributes
    ----------
    text : str
        The same as ``--background`` said.
    seed : int
        Seed of what is drawn.
    about : str
        Words for it.
    n_sources : int
        Number of sources that may be held back.
    """

    text: str
    seed: int
    about: str
    n_sources: int


def add_background(engine: Engine, traffic: AnyBackground, seed: int) -> None:
    """Put other jobs' messages on the links of a world, before its run.

    Parameters
    ----------
    engine : Engine
        The world, whose ranks have their hosts.
    traffic : UniformTraffic or Path or "none"
        Uniform traffic; or the folder of a trace, whose messages set out at the dates of that run, over and over,
        between hosts without ranks, in the order of their numbers.
    seed : int
        Seed of uniform traffic, or of the date in the trace at which the run begins.

    Raises
    ------
    UsageError
        If the machine has no links to share, or too few free hosts.
    """
    if traffic == NO_BACKGROUND:
        return
    if isinstance(traffic, UniformTraffic):
        engine.add_uniform_traffic(traffic.share, traffic.size_bytes, seed=seed)
        size = format_bytes(traffic.size_bytes)
        about = f"uniform traffic of {traffic.share:.4g} of the bandwidth, in messages of {size} (seed {seed})"
        n_sources = engine.platform.n_hosts
    else:
        if not traffic.is_dir():
            raise UsageError(f"--background {traffic}: there is no such folder: say share=30%, a trace, or none")
        trace = Trace(traffic)
        messages, n_hosts = _messages(trace, engine)
        period_s = max(trace.makespan_s, float(messages["date_s"][-1]))
        engine.add_listed_messages(messages, period_s, Random(seed).random() * period_s)
        about, n_sources = f"{traffic} on {n_hosts:,} free hosts, from a drawn date of it on (seed {seed})", 1
    engine.world_storage[OtherJobs] = OtherJobs(background_text(traffic), seed, about, n_sources)


def _messages(trace: Trace, engine: Engine) -> tuple[NDArray[Any], int]:
    """Messages between hosts of a trace, on free hosts; and the number of these."""
    import numpy as np

    host_of_rank = np.array(
        [host for host, n in trace.info["trace"]["hosts_of_ranks"] for _ in range(n)], dtype=np.int64
    )
    hosts = np.unique(host_of_rank)
    free = sorted(set(range(engine.platform.n_hosts)) - set(engine.hosts_of(range(engine.n_ranks))))
    if len(hosts) > len(free):
        raise UsageError(
            f"--background {trace.folder}: its ranks were on {len(hosts):,} hosts, and this run leaves {len(free):,} "
            f"of {engine.platform.n_hosts:,} free: use a larger machine, or fewer hosts (--ppn)"
        )
    table = trace.table("messages", ["source", "target", "bytes", *_DATES])
    source, target, nbytes = (numbers(table[name]) for name in ("source", "target", "bytes"))
    started_s, *posted_s = (numbers(table[name], null=np.nan) for name in _DATES)
    date_s = np.where(np.isnan(started_s), np.fmax(*posted_s), started_s)
    place = np.array(free, dtype=np.int32)[np.searchsorted(hosts, host_of_rank)]
    is_kept = (place[source] != place[target]) & ~np.isnan(date_s)
    messages = np.empty(int(is_kept.sum()), message_dtype())
    messages["date_s"], messages["bytes"] = date_s[is_kept], nbytes[is_kept]
    messages["source_host"], messages["target_host"] = place[source[is_kept]], place[target[is_kept]]
    if not len(messages) or not trace.makespan_s:
        raise UsageError(f"--background {trace.folder}: none of its messages took time between hosts")
    return messages[np.argsort(messages["date_s"], kind="stable")], len(hosts)


def recorded_background(trace: Trace) -> tuple[AnyBackground, int]:
    """Background of a traced run, and its seed."""
    recorded = trace.info.get("background") or {"text": NO_BACKGROUND, "seed": 0}
    try:
        return background(recorded["text"]), recorded["seed"]
    except ValueError as error:
        raise damaged(f"{trace.folder / INFO}: background: {error}") from error


def background_record(engine: Engine) -> dict[str, Any] | None:
    """JSON-serialisable dict of the background of a world: text and seed; None: there is none."""
    jobs = engine.world_storage.get(OtherJobs)
    return None if jobs is None else {"text": jobs.text, "seed": jobs.seed}


def remark_on_background(engine: Engine) -> Remark | None:
    """Remark on the messages of other jobs in a world whose run is over; None: there is no background."""
    jobs = engine.world_storage.get(OtherJobs)
    if jobs is None:
        return None
    counts = engine.background_counts()
    plural = "s" * (counts.messages != 1)
    lines = [jobs.about, f"{counts.messages:,} message{plural} carrying {format_bytes(counts.bytes)}"]
    held_share = counts.held_s / (jobs.n_sources * engine.now_s) if engine.now_s else 0.0
    if held_share > 0:
        lines[-1] += f"; held back for {held_share:.2%} of the time, because their way was full"
    facts = {"messages": counts.messages, "bytes": counts.bytes, "held_share": held_share}
    return Remark("background", tuple(lines), facts)


def with_cost(remark: Remark, with_s: float, without_s: float) -> Remark:
    """The remark with the makespan of the same run without background.

    Examples
    --------
    >>> with_cost(Remark("background", ("uniform traffic",), {}), 1.5, 1.2).lines[1]
    'makespan without it 1.2 s: it costs 300 ms, 25.0 %'
    """
    share = f", {(with_s - without_s) / without_s:.1%}".replace("%", " %") if without_s else ""
    cost = f"it costs {format_time(with_s - without_s)}{share}" if with_s > without_s else "it costs nothing"
    line = f"makespan without it {format_time(without_s)}: {cost}"
    return remark._replace(lines=(*remark.lines, line), facts={**remark.facts, "makespan_without_s": without_s})
