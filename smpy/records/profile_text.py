"""A profile for people: its outstanding lines and ranks, and its tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from smpy.records.computing_lines import FunctionTime, by_function, called, calling
from smpy.records.profile import INTERVAL_KINDS, KINDS, LATE, CallSite, LinkLoad, RunProfile, SiteTotal
from smpy.records.remark import Remark
from smpy.records.shared_hosts import shared_hosts
from smpy.records.text_table import text_table
from smpy.records.time_words import KIND_WORDS, USER_CODE, kind_words
from smpy.units import format_bytes, format_energy, format_time

_COSTLIEST: Final = 3
_SMALLEST_SHARE: Final = 0.005  # share of the ranks' time: smaller ones are not named
_MANY_ROWS: Final = 20
_ROUNDING: Final = 1e-6
_HOT_SHARE: Final = 0.1  # share of the makespan: a link that is saturated for less is not hot
_MOST: Final = 0.5  # share of a rank's delays: a line with less is not named
_OWN: Final = tuple(at for at, kind in enumerate(KINDS) if kind not in (*LATE, "transfer"))  # the rank's own work
_SUMS: Final = {
    "compute": ("compute",),
    "sleep": ("sleep",),
    "overhead": ("overhead",),
    "polling": ("polling", "probing"),
    "file I/O": ("io",),
    "device": ("device",),
    "transfer": ("transfer",),
    "waiting": LATE,
}
_SELDOM: Final = ("sleep", "polling", "file I/O", "device")  # columns that are shown only if a rank has such time


def highlights(profile: RunProfile) -> list[tuple[str, str]]:
    """Lines of a summary: the costliest lines of the program, and the rank whose delays cause most waits.

    Parameters
    ----------
    profile : RunProfile
        Profile of the run.

    Returns
    -------
    list of (str, str)
        Topic, empty where it is that of the line before; text.
    """
    totals = profile.by_site()
    whole_s = sum(each.total_s for each in totals)
    if whole_s <= 0:
        return []
    calls = [(each.total_s, _in_words(each)) for each in totals if each.total_s and not _is_sampled(each, profile)]
    functions = by_function(profile.computing_lines, profile.computed_s())
    costly = sorted(
        calls + [(each.seconds, _function_in_words(each)) for each in functions if each.seconds],
        key=lambda each: -each[0],
    )
    lines = [
        f"{seconds / whole_s:6.1%} {words}".lstrip()
        for seconds, words in costly[:_COSTLIEST]
        if seconds >= _SMALLEST_SHARE * whole_s
    ]
    facts = list(zip(["costs most", *[""] * len(lines)], lines, strict=False))
    waited_s = sum(_spent_s(each, *LATE) for each in totals)
    if waited_s > 0 and waited_s >= _SMALLEST_SHARE * whole_s:
        facts.append(("waits due to", _cause(profile, waited_s)))
    hot = _hot_link(profile)
    if hot is not None:
        share = f"saturated {hot.saturated_s / profile.makespan_s:.1%} of the time"
        facts.append(("hot link", f"{hot.label}, {share} by up to {hot.most_flows:,} messages at once"))
        facts.append(("", "contention in the network: --trace FOLDER, then smpy analyze bounds FOLDER shows its share"))
    if profile.burst_spread is not None:
        facts.append(("noise", f"equal computing differs by up to {profile.burst_spread.relative:.1%} (95 % of pairs)"))
    return facts


def _cause(profile: RunProfile, waited_s: float) -> str:
    """Words for the rank that causes most waits, if that is certain and more than noise explains."""
    caused_s = profile.caused_waits_s
    unknown_s = max(waited_s - sum(caused_s), 0.0)
    is_known = unknown_s <= _ROUNDING * waited_s
    most_s = max(caused_s, default=0.0)
    equal = [rank for rank, seconds in enumerate(caused_s) if seconds >= (1 - _ROUNDING) * most_s]
    next_s = max((seconds for seconds in caused_s if seconds < (1 - _ROUNDING) * most_s), default=0.0)
    if waited_s <= profile.noise_waiting_s or 0 < most_s <= profile.noise_waiting_s:
        return "no rank more than noise of this machine explains"
    if most_s <= unknown_s + next_s or (len(equal) > 1 and not is_known):
        return "delays that ranks pass on: --trace FOLDER, then smpy analyze waits FOLDER, names their causes"
    least = "" if is_known else "at least "
    more = f" (and {len(equal) - 1:,} more as much)" if len(equal) > 1 else ""
    longer = _longer_than_others(profile, equal[0], most_s)
    return f"rank {equal[0]} most{more}: {least}{most_s / waited_s:.1%} of what ranks wait for others{longer}"


def _longer_than_others(profile: RunProfile, rank: int, caused_s: float) -> str:
    """Words for the place where a rank takes longer than the others' mean, if that explains most waits for it."""
    n_others = max(len(profile.finish_s) - 1, 1)
    places = [_place(site, profile) for site in profile.sites]
    longer_s = {place: 0.0 for place, _ in places}
    rows = [
        (whose, places[site][0], places[site][1] * sum(profile.spent_s[kind][row] for kind in _OWN))
        for row, (whose, site) in enumerate(zip(profile.rank, profile.site, strict=True))
    ]
    for whose, place, seconds in rows:
        longer_s[place] += seconds if whose == rank else -seconds / n_others
    place = max(longer_s, key=longer_s.__getitem__)
    if longer_s[place] * n_others < _MOST * caused_s:
        return ""
    return f"; it is {format_time(longer_s[place])} longer in {place}{_as_long(rows, rank, place)}"


def _as_long(rows: Iterable[tuple[int, str, float]], rank: int, place: str) -> str:
    """Words for the other ranks that take as long in a place as the named rank."""
    spent_s: dict[int, float] = {}
    for whose, where, seconds in rows:
        if where == place:
            spent_s[whose] = spent_s.get(whose, 0.0) + seconds
    least_s = (1 - _ROUNDING) * spent_s[rank]
    others = [whose for whose, seconds in spent_s.items() if whose != rank and seconds >= least_s]
    if len(others) > 1:
        return f", and so are {len(others):,} other ranks"
    return f", and so is rank {others[0]}" if others else ""


def _place(site: CallSite, profile: RunProfile) -> tuple[str, float]:
    """Words for a site, and the part of its time there: a call and its line, or the function with most samples."""
    lines = [] if site.call else [row for row in profile.computing_lines if row.ended_by == site.line]
    if lines:
        function = by_function(lines, {site.line: 1.0})[0]
        return f"{calling(function.function)} {next(iter(function.lines))}", function.seconds
    return f"{called(site.call, site.line)} {site.line}".rstrip(), 1.0


def _hot_link(profile: RunProfile) -> LinkLoad | None:
    """The shared link saturated longest by several messages; None if none was saturated for long."""
    shared = [link for link in profile.links if link.is_shared and link.most_flows > 1 and link.saturated_s > 0]
    hottest = max(shared, key=lambda link: link.saturated_s, default=None)
    return hottest if hottest is not None and hottest.saturated_s >= _HOT_SHARE * profile.makespan_s else None


def _is_sampled(total: SiteTotal, profile: RunProfile) -> bool:
    """Whether samples show the lines in which the time of a site was spent."""
    return not total.site.call and any(row.ended_by == total.site.line for row in profile.computing_lines)


def _in_words(total: SiteTotal) -> str:
    """Words for a call site; for a call, with the two largest kinds of its time."""
    site, whole_s = total.site, total.total_s
    if not site.call:
        return f"{called(site.call, site.line)} {site.line}".rstrip()
    parts = sorted(zip(total.spent_s, KINDS, strict=True), reverse=True)
    words = ", ".join(
        f"{kind_words(kind, site.call)} {part / whole_s:.0%}" for part, kind in parts[:2] if part >= 0.05 * whole_s
    )
    return f"{site.call} {site.line}".rstrip() + f": {words}"


def _function_in_words(function: FunctionTime) -> str:
    """Words for a function with its costliest line; with the shares of the two costliest if both matter."""
    shares = [(line.rpartition(":")[2], seconds / function.seconds) for line, seconds in function.lines.items()]
    words = [f"line {number} {share:.0%}" for number, share in shares[:2] if share >= 0.05]
    split = f": {', '.join(words)}" if len(words) > 1 else ""
    return f"{USER_CODE} in {calling(function.function)} {next(iter(function.lines))}{split}"


def tables(profile: RunProfile, remarks: Iterable[Remark] = ()) -> str:
    """Tables of the profile: by call site, by line of computing, by rank, by pair of ranks or hosts, by link.

    Parameters
    ----------
    profile : RunProfile
        Profile of the run.
    remarks : iterable of Remark, optional
        Remarks on the run: the kernels that shared hosts slowed down stand below the call sites.
    """
    parts = [
        _sites_table(profile),
        shared_hosts(remark.to_record() for remark in remarks),
        _computing_table(profile),
        _ranks_table(profile),
        _pairs_table(profile),
        _links_table(profile),
    ]
    return "\n\n".join(part for part in parts if part)


def _sites_table(profile: RunProfile) -> str:
    totals = profile.by_site()
    work = [profile.scaled(total) for total in totals]
    calls, sent = ("scaled calls", "scaled sent") if profile.skipped_work else ("calls", "sent")
    whole_s = sum(total.total_s for total in totals)
    sums = [name for name in _SUMS if name not in _SELDOM or any(_spent_s(total, *_SUMS[name]) for total in totals)]
    has_energy = any(total.above_idle_j for total in totals)
    energy = ("above idle",) if has_energy else ()
    head = ("time", "share", calls, *sums, *energy, sent, "slowest rank", "call", "line")
    rows = [
        (
            format_time(total.total_s),
            f"{total.total_s / whole_s:.1%}" if whole_s else "",
            f"{count:,.0f}" if total.site.call else "",
            *(format_time(_spent_s(total, *_SUMS[name])) for name in sums),
            *((format_energy(total.above_idle_j),) if has_energy else ()),
            format_bytes(round(sent_bytes)) if sent_bytes else "",
            str(total.slowest) if total.slowest >= 0 else "",
            called(total.site.call, total.site.line),
            total.site.line,
        )
        for total, (count, _, sent_bytes, _) in zip(totals, work, strict=True)
    ]
    return "All ranks, by call site\n" + text_table(head, rows, n_words=2)


def _computing_table(profile: RunProfile) -> str:
    functions = by_function(profile.computing_lines, profile.computed_s())
    whole_s = sum(each.total_s for each in profile.by_site())
    lines = [(seconds, each.function, line) for each in functions for line, seconds in each.lines.items() if seconds]
    lines.sort(key=lambda each: -each[0])
    rows = [
        (format_time(seconds), f"{seconds / whole_s:.1%}", calling(function), line)
        for seconds, function, line in lines[:_MANY_ROWS]
    ]
    left = len(lines) - len(rows)
    table = text_table(("time", "share", "function", "line"), rows, n_words=2)
    more = f"\n  ... {left:,} more: --json has them all" if left else ""
    return f"User code of all ranks, by line (sampled)\n{table}{more}" if rows else ""


def _spent_s(total: SiteTotal, *kinds: str) -> float:
    return sum(total.spent_s[KINDS.index(kind)] for kind in kinds)


def _ranks_table(profile: RunProfile) -> str:
    names = INTERVAL_KINDS
    by_rank = profile.by_rank()
    shown = [i for i, _ in enumerate(names) if any(row[i] for row in by_rank)]
    caused_s = profile.caused_waits_s or [0.0] * len(by_rank)
    noise_s = profile.noise_waiting_s
    above_idle_j = profile.above_idle_by_rank_j()
    energy = ("above idle",) if any(above_idle_j) else ()
    head = ("rank", *(KIND_WORDS[names[i]] for i in shown), *energy, "others waited", "waits due to")
    some, left = _first_and_last(range(len(by_rank)))
    rows = [
        (
            str(rank),
            *(format_time(by_rank[rank][i]) for i in shown),
            *((format_energy(above_idle_j[rank]),) if energy else ()),
            format_time(profile.kept_waiting_s[rank]),
            "noise" if 0 < caused_s[rank] <= noise_s else format_time(caused_s[rank]),
        )
        for rank in some
    ]
    return "By rank\n" + text_table(head, rows) + (f"\n  ... {left:,} more: --json has them all" if left else "")


def _pairs_table(profile: RunProfile) -> str:
    if not profile.pairs:
        return ""
    unit = "host" if profile.pairs_are_of_hosts else "rank"
    largest = sorted(profile.pairs, key=lambda pair: (-pair[3], pair[:2]))
    rows = [(str(a), str(b), f"{n:,}", format_bytes(size)) for a, b, n, size in largest[:_MANY_ROWS]]
    left = len(largest) - len(rows)
    table = text_table((f"from {unit}", f"to {unit}", "messages", "bytes"), rows)
    more = f"\n  ... {left:,} more: --json has them all" if left else ""
    return f"Communication matrix, largest pairs first\n{table}{more}"


def _links_table(profile: RunProfile) -> str:
    if not profile.links:
        return ""
    hottest = sorted(profile.links, key=lambda link: (-link.saturated_s, -link.bytes))
    rows = [
        (
            f"{link.saturated_s / profile.makespan_s:.1%}" if profile.makespan_s else "",
            f"{link.busy_s / profile.makespan_s:.1%}" if profile.makespan_s else "",
            format_bytes(link.bytes),
            str(link.most_flows),
            link.label,
        )
        for link in hottest[:_MANY_ROWS]
    ]
    left = len(hottest) - len(rows)
    table = text_table(("saturated", "busy", "bytes", "messages at once", "link"), rows, n_words=1)
    head = "Links, saturated by several messages at once: contention in the network" if _hot_link(profile) else "Links"
    return f"{head}\n{table}" + (f"\n  ... {left:,} more: --json has them all" if left else "")


def _first_and_last(numbers: range) -> tuple[list[int], int]:
    """Numbers to show in a table, and how many others it leaves out."""
    if len(numbers) <= _MANY_ROWS:
        return list(numbers), 0
    half = _MANY_ROWS // 2
    return [*numbers[:half], *numbers[-half:]], len(numbers) - 2 * half
