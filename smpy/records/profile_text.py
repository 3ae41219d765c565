"""A profile for people: what stands out, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smpy.records.profile import KINDS, LATE, Profile, SiteTotal
from smpy.records.text_table import text_table
from smpy.units import format_bytes, format_time

_COSTLIEST: Final = 3
_SMALLEST_SHARE: Final = 0.005  # of the ranks' time: what is less stands out from nothing
_MANY_ROWS: Final = 20

_IN_WORDS: Final = {
    "compute": "computing",
    "sleep": "asleep",
    "overhead": "overhead",
    "polling": "polling",
    "probing": "probing",
    "transfer": "transfer",
    "late_sender": "late sender",
    "late_receiver": "late receiver",
    "late_members": "late members",
}


def highlights(profile: Profile) -> list[tuple[str, str]]:
    """The lines of a summary: where most time went, and who is waited for.

    Parameters
    ----------
    profile : Profile
        Of the run.

    Returns
    -------
    list of (str, str)
        A topic, empty where it is that of the line before, and what there is to say.
    """
    totals = profile.by_site()
    whole_s = sum(it.total_s for it in totals)
    if whole_s <= 0:
        return []
    costly = [it for it in totals[:_COSTLIEST] if it.total_s >= _SMALLEST_SHARE * whole_s]
    lines = [f"{it.total_s / whole_s:6.1%} {_place(it)}: {_split(it)}".lstrip() for it in costly]
    facts = list(zip(["costs most", *[""] * len(lines)], lines, strict=False))
    waited_s = sum(profile.kept_waiting_s)
    if waited_s > 0 and waited_s >= _SMALLEST_SHARE * whole_s:
        rank = max(range(len(profile.kept_waiting_s)), key=profile.kept_waiting_s.__getitem__)
        kept_s = profile.kept_waiting_s[rank]
        facts.append(("waited for", f"rank {rank} most: {kept_s / waited_s:.1%} of what ranks wait for others"))
    return facts


def _place(total: SiteTotal) -> str:
    site = total.site
    call = site.call or "the program's own computing"
    before = "" if site.call or not site.line else " up to"
    return f"{call}{before} {site.line}".rstrip()


def _split(total: SiteTotal) -> str:
    """The kinds of a site's time that matter, the largest first."""
    whole_s = total.total_s
    parts = sorted(zip(total.spent_s, KINDS, strict=True), reverse=True)
    return ", ".join(f"{_IN_WORDS[kind]} {part / whole_s:.0%}" for part, kind in parts[:2] if part >= 0.05 * whole_s)


def tables(profile: Profile) -> str:
    """The profile as tables: by call site, by rank, by pair of ranks or hosts, by link.

    Parameters
    ----------
    profile : Profile
        Of the run.
    """
    parts = [_sites_table(profile.by_site()), _ranks_table(profile), _pairs_table(profile), _links_table(profile)]
    return "\n\n".join(part for part in parts if part)


def _sites_table(totals: Sequence[SiteTotal]) -> str:
    whole_s = sum(it.total_s for it in totals)
    head = ("time", "share", "calls", "compute", "overhead", "transfer", "late", "sent", "slowest", "call", "line")
    rows = [
        (
            format_time(it.total_s),
            f"{it.total_s / whole_s:.1%}" if whole_s else "",
            f"{it.count:,}" if it.site.call else "",
            format_time(_of(it, "compute", "sleep")),
            format_time(_of(it, "overhead", "polling", "probing")),
            format_time(_of(it, "transfer")),
            format_time(_of(it, *LATE)),
            format_bytes(it.sent_bytes) if it.sent_bytes else "",
            str(it.slowest) if it.slowest >= 0 else "",
            it.site.call or "(own)",
            it.site.line,
        )
        for it in totals
    ]
    return "All ranks, by call site\n" + text_table(head, rows, n_words=2)


def _of(total: SiteTotal, *kinds: str) -> float:
    return sum(total.spent_s[KINDS.index(kind)] for kind in kinds)


def _ranks_table(profile: Profile) -> str:
    names = (*KINDS, "ended")
    by_rank = profile.by_rank()
    shown = [i for i, _ in enumerate(names) if any(row[i] for row in by_rank)]
    head = ("rank", *(names[i].replace("_", " ") for i in shown), "kept waiting")
    some, left = _first_and_last(range(len(by_rank)))
    rows = [
        (str(rank), *(format_time(by_rank[rank][i]) for i in shown), format_time(profile.kept_waiting_s[rank]))
        for rank in some
    ]
    return "By rank\n" + text_table(head, rows) + (f"\n  ... {left:,} more: --json has them all" if left else "")


def _pairs_table(profile: Profile) -> str:
    if not profile.pairs:
        return ""
    unit = "host" if profile.pairs_are_of_hosts else "rank"
    largest = sorted(profile.pairs, key=lambda pair: (-pair[3], pair[:2]))
    rows = [(str(a), str(b), f"{n:,}", format_bytes(size)) for a, b, n, size in largest[:_MANY_ROWS]]
    left = len(largest) - len(rows)
    table = text_table((f"from {unit}", f"to {unit}", "messages", "bytes"), rows)
    return "Who sends most to whom\n" + table + (f"\n  ... {left:,} more: --json has them all" if left else "")


def _links_table(profile: Profile) -> str:
    if not profile.links:
        return ""
    hottest = sorted(profile.links, key=lambda it: (-it.saturated_s, -it.bytes))
    rows = [
        (
            f"{it.saturated_s / profile.makespan_s:.1%}" if profile.makespan_s else "",
            f"{it.busy_s / profile.makespan_s:.1%}" if profile.makespan_s else "",
            format_bytes(it.bytes),
            str(it.most_flows),
            it.link,
        )
        for it in hottest[:_MANY_ROWS]
    ]
    left = len(hottest) - len(rows)
    table = text_table(("saturated", "busy", "bytes", "most at once", "link"), rows, n_words=1)
    return "Links\n" + table + (f"\n  ... {left:,} more: --json has them all" if left else "")


def _first_and_last(numbers: range) -> tuple[list[int], int]:
    """As many as a table has, and how many it leaves out."""
    if len(numbers) <= _MANY_ROWS:
        return list(numbers), 0
    half = _MANY_ROWS // 2
    return [*numbers[:half], *numbers[-half:]], len(numbers) - 2 * half
