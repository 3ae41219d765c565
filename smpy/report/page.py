"""The page on a trace: tables as HTML, and figures as data that `page.js` draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time_ns
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from smpy.errors import UsageError
from smpy.records.computing_lines import called, sites_by_line
from smpy.records.files import check_writable, complaint, write_whole
from smpy.records.time_shares import TimeShares
from smpy.records.time_words import KIND_WORDS
from smpy.records.trace import Trace
from smpy.report.document import document, facts_table, figure, plotly_script, rows_table
from smpy.units import format_bytes, format_time

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SITES_MAX: Final = 200  # in the table
_BARS_MAX: Final = 15
_LINKS_MAX: Final = 30
_COMPUTING: Final = {
    "measured": "measured",
    "models": "modelled (--compute models)",
    "mixed": "modelled and measured (--compute mixed)",
    "none": "free (--compute none)",
}


class Analysis(Protocol):
    """The result of an analysis, as `smpy.analysis` has it."""

    def table(self) -> str:
        """Text for people."""

    def plot(self) -> Figure:
        """A figure of plotly's."""


def write_report(trace: Trace, path: Path, analyses: Mapping[str, Analysis | str] | None = None) -> None:
    """Write the page.

    Parameters
    ----------
    trace : Trace
        Trace to show; memory does not grow with it.
    path : Path
        File to write; an existing one is replaced.
    analyses : mapping of str to Analysis or str, optional
        Further sections by their titles: results, or why there is none.

    Raises
    ------
    UsageError
        If the trace cannot be read, the file cannot be written, or plotly is not installed.
    """
    check_writable(path)
    plotly_js = plotly_script("analysis")
    from smpy.report.tiled_timeline import is_tiled
    from smpy.report.tiles import replace_tiles

    tiles = path.with_name(f"{path.stem}.tiles")
    try:
        with TemporaryDirectory(prefix=".tiles-", dir=path.parent if is_tiled(trace) else None) as new_tiles:
            page = _page(trace, analyses or {}, plotly_js, Path(new_tiles), tiles.name)
            replace_tiles(tiles, Path(new_tiles))
    except OSError as error:
        raise UsageError(complaint(path, error)) from error
    write_whole(path, page)


def _page(
    trace: Trace, analyses: Mapping[str, Analysis | str], plotly_js: str, new_tiles: Path, tiles_name: str
) -> str:
    """Text of the page, whose tiles are written to a folder, and will be in another one beside the page."""
    from smpy.report.call_stacks import SECTION, call_stacks
    from smpy.report.messages import messages
    from smpy.report.packed import packed
    from smpy.report.tiled_timeline import timeline
    from smpy.report.timeline import PictureRows, time_by_row

    rows, timeline_rows = PictureRows(trace), PictureRows(trace, with_threads=True)
    profile = trace.info.get("profile") or {}
    picture = timeline(trace, timeline_rows, f"{time_ns():x}", new_tiles)
    data = {
        "ranks": rows.ranks.tolist(),
        "is_of_all": len(rows.ranks) == trace.n_ranks,
        "labels": trace.labels,
        "sites": _site_bars(profile),
        "links": _link_bars(profile, trace.makespan_s),
        "rank_rows": {"per_row": rows.per_row, "n_rows": rows.n},
        "call_stacks": call_stacks(profile, trace.n_ranks),
        "timeline": {**picture, "folder": quote(tiles_name, errors="surrogateescape")},
        "time_by_row": packed(time_by_row(trace, rows)),
        "messages": messages(trace, rows, timeline_rows),
        "figures": {
            title: json.loads(analysis.plot().to_json())
            for title, analysis in analyses.items()
            if not isinstance(analysis, str)
        },
    }
    of_stacks = {"User code by function": SECTION} if data["call_stacks"] else {}
    sections = {
        "Where the time goes": _profile(profile),
        **of_stacks,
        **{title: _analysis(title, analysis) for title, analysis in analyses.items()},
        "Messages": _messages(trace),
        "Links": _links(profile, trace.makespan_s),
        "Timeline": _timeline(trace),
    }
    return document(_title(trace), _summary(trace.info), sections, data, plotly_js, ["call_stacks.js", "page.js"])


def _title(trace: Trace) -> str:
    ranks = "1 rank" if trace.n_ranks == 1 else f"{trace.n_ranks:,} ranks"
    return f"{Path(trace.info['program']).name}: {format_time(trace.makespan_s)} on {ranks}, {trace.info['platform']}"


def _summary(info: Mapping[str, Any]) -> str:
    shares: dict[str, Any] = {share.name: info.get(f"{share.name}_share") for share in fields(TimeShares)}
    shares |= {name: shares[name] or 0.0 for name in ("io", "device")}  # runs of earlier versions had none
    traced = info["trace"]
    facts = {
        "program": " ".join([info["program"], *info["args"]]),
        "machine": info["platform"],
        "makespan": f"{format_time(info['makespan_s'])} simulated",
        "messages": f"{info['messages']:,} carrying {format_bytes(info['bytes'])}" if "bytes" in info else None,
        "share of time": TimeShares(**shares).render() if None not in shares.values() else None,
        "computing": _COMPUTING.get(info.get("compute", "")),
        "command": " ".join(info["host"]["command"]) if "host" in info else None,
        "traced": _parts_traced(traced, info["makespan_s"]),
        "incomplete": None if traced["is_complete"] else "the run stopped before its end: the page ends there",
    }
    remarks = [(str(remark["topic"]), _in_words(remark)) for remark in info.get("remarks", [])]
    rows = [*((name, fact) for name, fact in facts.items() if fact), *remarks]
    return facts_table(rows)


def _parts_traced(traced: Mapping[str, Any], makespan_s: float) -> str | None:
    parts = []
    if traced["window_s"] is not None:
        first_s, last_s = traced["window_s"]
        parts.append(f"from {format_time(first_s)} to {format_time(min(last_s, makespan_s))}")
    if traced["ranks"] is not None:
        parts.append(f"{len(traced['ranks']):,} ranks")
    return ", ".join(parts) or None


def _in_words(remark: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {json.dumps(value)[:300]}" for name, value in remark.items() if name != "topic")


def _profile(profile: Mapping[str, Any]) -> str:
    by_rank = '<p class="note">Time by rank:</p>' + figure("ranks")
    if not profile:
        return by_rank
    sites, kinds = sites_by_line(profile), profile["kinds"]
    whole_s = sum(sum(site["spent_s"]) for site in sites) or 1.0
    shown = [at for at, _ in enumerate(kinds) if any(site["spent_s"][at] for site in sites)]
    head = [
        "call",
        "line",
        "time",
        "share",
        "calls",
        *(KIND_WORDS.get(kinds[at], kinds[at]) for at in shown),
        "sent",
        "slowest rank",
    ]
    rows = [
        [
            called(site["call"], site["line"]),
            site["line"] or "",
            format_time(sum(site["spent_s"])),
            f"{sum(site['spent_s']) / whole_s:.1%}",
            f"{site['count']:,}" if site["count"] else "",
            *(format_time(site["spent_s"][at]) for at in shown),
            format_bytes(site["sent_bytes"]) if site["sent_bytes"] else "",
            str(site["slowest"]) if site["slowest"] >= 0 else "",
        ]
        for site in sites[:_SITES_MAX]
    ]
    left = len(sites) - len(rows)
    note = f'<p class="note">{left:,} more call sites: <code>smpy run --json</code> has them all.</p>' if left else ""
    return figure("sites") + rows_table(head, rows, 2) + note + by_rank


def _site_bars(profile: Mapping[str, Any]) -> dict[str, Any]:
    sites = sites_by_line(profile)[:_BARS_MAX] if profile else []
    labels = [
        f"{number + 1}. {called(site['call'], site['line'])} {site['line'] or ''}" for number, site in enumerate(sites)
    ]
    return {"labels": labels, "spent_s": [site["spent_s"] for site in sites], "kinds": profile.get("kinds", [])}


def _analysis(title: str, analysis: Analysis | str) -> str:
    if isinstance(analysis, str):
        return f'<p class="note">{escape(analysis)}</p>\n'
    return f"<pre>{escape(analysis.table())}</pre>\n" + figure(title)


def _messages(trace: Trace) -> str:
    n = trace.n_rows("messages")
    if not n:
        return '<p class="note">None.</p>'
    count = "1 message" if n == 1 else f"{n:,} messages"
    return f'<p class="note">{count}: bytes by sender and receiver.</p>{figure("matrix")}<p class="told"></p>'


def _hottest(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Links by descending time of saturation."""
    columns = profile.get("links") or {"link": []}
    links = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return sorted(links, key=lambda link: (-link["saturated_s"], -link["busy_s"], -link["bytes"]))[:_LINKS_MAX]


def _link_bars(profile: Mapping[str, Any], makespan_s: float) -> dict[str, list[Any]]:
    links, whole_s = _hottest(profile), makespan_s or 1.0
    return {
        "link": [link.get("joins") or link["link"] for link in links],
        "busy": [link["busy_s"] / whole_s for link in links],
        "saturated": [link["saturated_s"] / whole_s for link in links],
    }


def _links(profile: Mapping[str, Any], makespan_s: float) -> str:
    links, whole_s = _hottest(profile), makespan_s or 1.0
    if not links:
        return '<p class="note">None that messages share.</p>'
    rows = [
        (
            link.get("joins") or link["link"],
            f"{link['saturated_s'] / whole_s:.1%}",
            f"{link['busy_s'] / whole_s:.1%}",
            format_bytes(link["bytes"]),
            str(link["most_flows"]),
        )
        for link in links
    ]
    left = len(profile["links"]["link"]) - len(links)
    more = f", and {left:,} more were used" if left else ""
    note = (
        f'<p class="note">The busiest ones{more}. Busy: with messages on it; saturated: with as much as it carries.</p>'
    )
    return note + figure("links") + rows_table(("link", "saturated", "busy", "bytes", "messages at once"), rows, 1)


def _timeline(trace: Trace) -> str:
    from smpy.report.messages import DRAWN_MAX
    from smpy.report.tiled_timeline import is_tiled
    from smpy.report.timeline import n_intervals

    n, n_messages = n_intervals(trace), trace.n_rows("messages")
    coarse = "a point has the kind that took most of its time, until few are in view"
    how = coarse if is_tiled(trace) else "each as it was"
    how_many = f"the {DRAWN_MAX:,} that took longest" if n_messages > DRAWN_MAX else "all"
    return (
        f'<p class="note">{n:,} intervals, {how}. Draw a box to look closer; a double click shows all. '
        f'<label><input type="checkbox" id="shows-messages"> messages ({how_many}, up to 1,000 at a time)</label></p>\n'
        f'<p class="legend"></p>{figure("timeline")}<p class="told"></p>'
    )
